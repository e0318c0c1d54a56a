/*
 * table_file: keys and values of a table from the lines of a text file.
 * Source: savedmodel-format.md §17.2.
 */
#ifndef KERNELS_TABLE_FILE_H
#define KERNELS_TABLE_FILE_H

#include "tensor/tensor.h"

#define TABLE_FILE_LINE   (-2) /* the whole line */
#define TABLE_FILE_NUMBER (-1) /* its number, from 0, plus offset */

struct table_file {
    int64_t key_index, value_index; /* a column, or one of the above */
    int64_t vocab_size;             /* how many lines are used; -1: all */
    int64_t offset;
    char delimiter;
};

/* Memory of keys and values is in `arena`. Errors in TensorFlow's words; NOT_FOUND the file. */
struct status table_file_read(const struct table_file *file, const char *path, enum dtype key,
                              enum dtype value, struct arena *arena, struct tensor *keys,
                              struct tensor *values);

#endif
