/*
 * file_source_internal: what the files of the file_source share.
 *
 *     file_source_epoch.c    the order of the files in an epoch, and the file that is open
 *     file_source_blocks.c   the rows of this reader, block by block, and the bad records
 *     file_source_kept.c     blocks that stay in memory for later epochs
 *     file_source.c          the batches
 *     file_source_count.c    how many rows there are
 *     file_source_locate.c   finds the position of a row with a NaN
 */
#ifndef TRAINER_DATA_FILE_SOURCE_INTERNAL_H
#define TRAINER_DATA_FILE_SOURCE_INTERNAL_H

#include "base/random.h"
#include "trainer/data/batch_buffer.h"
#include "trainer/data/file_source.h"

#define KEPT_MAX 16

struct file_source {
    struct batch_source source; /* first */
    struct file_split *split;
    struct batch_order how;
    bool quiet;           /* for file_source_count_rows: bad records are not reported */
    uint64_t bad_records; /* that it has met in this epoch */
    char first_bad[512];  /* what is wrong with the first of them, with its position */

    uint32_t *files; /* [paths_count]: in the epoch's order */
    uint32_t next_file;
    uint32_t file;               /* that is open */
    struct record_reader *open;  /* NULL: none */
    uint64_t record;             /* in this file: the number of the next one, counting bad ones */
    uint64_t index;              /* the same in the epoch */
    uint64_t epoch, epoch_taken; /* rows of this epoch in earlier blocks */
    uint64_t epoch_records;      /* of all readers; 0: unknown */
    uint64_t epoch_rows;         /* of this reader, in the first epoch that it finished */
    bool unread;                 /* blocks of this epoch were skipped unread */
    bool astray;                 /* a failure has left it at an unknown position */
    bool reads_blocks;           /* some block could not be skipped unread */

    struct columns block;       /* that was read */
    const struct columns *rows; /* the block's: `block`, or kept ones */
    size_t block_rows;          /* of the block, whether read or skipped */
    /* The last kept block that was taken since the file was read; NULL: `open` is at `record`. */
    const struct kept_block *ahead;
    uint64_t behind; /* with `ahead`: the record at which `open` still is */
    uint32_t *order; /* the block's rows, in the order of use */
    size_t order_capacity, place;
    struct random random; /* orders the blocks of this epoch */

    /* source.keep of them, used round-robin; zeroed until used. */
    struct batch_buffer batches[KEPT_MAX];
    int current; /* the one that is made */
};

/* ---- epochs and their files (file_source_epoch.c) ---- */

/* Is each record a row, because none may be bad? */
bool file_source_rows_are_records(const struct file_source *source);
/* Can all records be counted without reading their fields? If none may be bad, each is a row. */
bool file_source_can_count_records(const struct file_split *split);
/* The number of rows that this reader has in earlier epochs. */
uint64_t file_source_rows_before(const struct file_source *source, uint64_t epoch);
/* The epoch of this reader's row of this number. The length of an epoch must be known. */
uint64_t file_source_epoch_of(const struct file_source *source, uint64_t row);
void file_source_begin_epoch(struct file_source *source, uint64_t epoch);
struct status file_source_open_file(struct file_source *source, uint32_t file);
/* Opens the next file of the epoch if none is open. Returns false if none is left. */
struct status file_source_open_next(struct file_source *source, bool *more);
void file_source_close_file(struct file_source *source);

/* ---- blocks of rows (file_source_blocks.c) ---- */

/* Reads one record into the block. *ended: the file has no more. */
struct status file_source_read_row(struct file_source *source, bool *ended);
/* The rows of a block, if they are small. */
size_t file_source_rows_wanted(const struct file_source *source);
/* Reads the next block of the epoch, which is empty at the end. */
struct status file_source_next_block(struct file_source *source);
/* Passes the next block without reading its values, as if all its rows had been taken. *passed is
 * false if file_source_next_block might have ended it earlier, for its memory. */
struct status file_source_pass_block(struct file_source *source, bool *passed);
/* Ensures that the block has a row left. *found is false at the end of the input. */
struct status file_source_find_row(struct file_source *source, bool *found);

/* DATA_LOSS: this reader has read an epoch and found no row in it. Says why. */
struct status file_source_no_rows(const struct file_source *source);

/* ---- kept blocks (file_source_kept.c) ---- */

/* Takes the next block of the epoch, without its order, if it is kept. */
bool file_source_take_kept(struct file_source *source);
/* Continues in the file after the kept blocks that were taken. */
struct status file_source_catch_up(struct file_source *source);
/* Keeps the block that was just read from this record on, if it may be kept. */
void file_source_keep_block(struct file_source *source, uint64_t first);

/* Opens a source of all rows that reports no bad records (file_source.c). */
struct status file_source_open_quietly(const struct data_split *split, struct file_source **out);

#endif
