/*
 * file_source: one reader's batches of a file_split: reads the files and blocks of each epoch in
 * order.
 */
#ifndef TRAINER_DATA_FILE_SOURCE_H
#define TRAINER_DATA_FILE_SOURCE_H

#include <stdatomic.h>

#include "trainer/data/file_split.h"
#include "trainer/data/kept_blocks.h"
#include "trainer/records/record_marks.h"

struct file_split {
    struct data_split split; /* first */
    struct file_split_options options;
    const struct record_format **formats; /* [paths_count] */
    struct data_column *columns;
    _Atomic int64_t bad;     /* records */
    _Atomic uint64_t passed; /* bit w % 64: reader w has read all of its files once */
    /* [paths_count]: the number of records, from the start of each file, in which bad ones have
     * been counted */
    _Atomic uint64_t *records_seen;
    /* [paths_count]: the size of each file when it was first opened for its rows, plus 1; 0: it
     * was not */
    _Atomic uint64_t *sizes;
    struct record_marks *marks; /* [paths_count]: recorded when the rows are counted */
    struct kept_blocks kept;    /* of readers that read all rows in every epoch */
};

/* The rows per block, which are read and ordered together, if they are small. */
int64_t file_source_block_rows(const struct file_split_options *options);

/* As data_split.open. */
struct status file_source_open(const struct data_split *split, const struct batch_order *order,
                               struct batch_source **out);

/* Counts the rows of an epoch. Bad records are not reported. DATA_LOSS: there is no row. */
struct status file_source_count_rows(const struct data_split *split, int64_t *out);

/* DATA_LOSS: an epoch has no record, good or bad. Reads up to the first one. */
struct status file_source_check_records(const struct data_split *split);

/* As data_split.locate. */
void file_source_locate(const struct data_split *split, int column, struct bytes row,
                        struct buffer *out);

#endif
