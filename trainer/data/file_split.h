/*
 * file_split: the rows of files of records as a data_split. The files may be larger than memory.
 *
 * Each epoch reads the files in a new order (with `shuffle`), in blocks of shuffle_buffer rows, and
 * each block in a random order. Rows of different blocks are not mixed, so a file that is sorted by
 * its label needs a buffer of its size. Reader w of W reads all files and keeps the records w, w +
 * W, … of the endless sequence of epochs: readers that keep equally many rows together read every
 * row once per epoch. If records may be bad, the number of rows is unknown, and a reader keeps the
 * same records in each epoch.
 *
 * With batch_order.ahead, a source reads in its own thread (prefetch.h). Up to 16 batches of a
 * source stay valid, each in separate memory.
 *
 * `seek` reads through the rows that it skips, at most two epochs, from the current position if
 * possible. If the format can skip records, and none may be bad, it only finds the ends of records:
 * blocks whose rows certainly fit in a block's memory are skipped unread. If the rows were counted,
 * a reader of all rows jumps to positions in the files that were recorded then.
 *
 * The rows of a single file stay in memory for later epochs, up to kept_bytes_max, if none may be
 * bad and the reader takes all of them.
 *
 * A file whose size changes after it was first read ends the job: its rows would no longer be the
 * same ones for every epoch and every reader.
 *
 * Bad records are reported and skipped, until there are more than max_bad_records of them in the
 * first epoch of the split's readers: then `next` fails with DATA_LOSS. Later epochs skip the same
 * ones and do not count them again.
 */
#ifndef TRAINER_DATA_FILE_SPLIT_H
#define TRAINER_DATA_FILE_SPLIT_H

#include "trainer/data/row_layout.h"

struct file_split_options {
    const char *const *paths; /* sorted, at least one */
    int paths_count;
    const struct record_format *format; /* NULL: each file's own */
    struct record_options records;
    struct row_layout layout;
    uint32_t shuffle_buffer; /* rows; 0: keep the files' order */
    int64_t max_bad_records;
    size_t kept_bytes_max; /* of rows that are kept for later epochs; 0: none */
    /* Reports a bad record; any thread. */
    void (*warn)(void *context, const char *text);
    void *context;
};

/**
 * Owner   *out: file_split_destroy. The memory that the options point to outlives it
 * Errors  NOT_FOUND a file is missing; INVALID_ARGUMENT a format is not known, or a file lacks a
 *         column
 */
struct status file_split_create(const struct file_split_options *options, struct data_split **out);
void file_split_destroy(struct data_split *split); /* accepts NULL */

/* The number of bad records skipped so far. Threads: any. */
int64_t file_split_bad_records(const struct data_split *split);

/* Reads all rows to set split->rows. Bad records are neither reported nor counted. */
struct status file_split_count(struct data_split *split);

/* DATA_LOSS: the files have no records. Reads up to the first one. */
struct status file_split_check_records(const struct data_split *split);

#endif
