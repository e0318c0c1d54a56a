/*
 * hash_table_file: reads the keys and values of a table from the lines of a text file, as
 * TensorFlow's InitializeTableFromTextFile.
 */
#ifndef KERNELS_HASH_TABLE_FILE_H
#define KERNELS_HASH_TABLE_FILE_H

#include "tensor/tensor.h"

#define HASH_TABLE_FILE_LINE   (-2) /* the whole line */
#define HASH_TABLE_FILE_NUMBER (-1) /* its number, from 0, plus offset */

struct hash_table_file {
    int64_t key_index, value_index; /* a column, or one of the above */
    int64_t vocab_size;             /* how many lines to read; -1: all */
    int64_t offset;
    char delimiter;
};

/* Keys and values live in `arena`. Errors in TensorFlow's words; NOT_FOUND if there is no such
 * file. */
struct status hash_table_file_read(const struct hash_table_file *file, const char *path,
                                   enum dtype key, enum dtype value, struct arena *arena,
                                   struct tensor *keys, struct tensor *values);

#endif
