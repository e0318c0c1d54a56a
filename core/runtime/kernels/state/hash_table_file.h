/*
 * hash_table_file: reads the keys and values of a table from the lines of a text file, as
 * TensorFlow's InitializeTableFromTextFile.
 */
#ifndef KERNELS_HASH_TABLE_FILE_H
#define KERNELS_HASH_TABLE_FILE_H

#include "runtime/kernel.h"

#define HASH_TABLE_FILE_LINE   (-2) /* the whole line */
#define HASH_TABLE_FILE_NUMBER (-1) /* its number, from 0, plus offset */

struct hash_table_file {
    int64_t key_index, value_index; /* a column, or one of the above */
    int64_t vocab_size;             /* how many lines to read; -1: all */
    int64_t offset;
    char delimiter;
};

struct hash_table_lines {
    struct tensor keys, values;
    struct tensor text; /* that their strings point into */
};

/**
 * Reads the file into memory of the run.
 *
 * Owner   out, even after a failure: hash_table_lines_finish
 * Errors  in TensorFlow's words; NOT_FOUND if there is no such file; RESOURCE_EXHAUSTED, before it
 *         is read, if it is larger than what the run may still hold
 */
struct status hash_table_file_read(struct kernel_context *k, const struct hash_table_file *file,
                                   const char *path, enum dtype key, enum dtype value,
                                   struct hash_table_lines *out);
void hash_table_lines_finish(struct hash_table_lines *lines); /* accepts a zeroed one */

#endif
