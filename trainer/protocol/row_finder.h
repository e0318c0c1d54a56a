/*
 * row_finder: the rows of one variable that a batch needs: each once, in rising order, and where
 * among them the row of each id is. An id is the number of a row or, in a hash table, any 64-bit
 * key.
 *
 *     row_finder_begin(&finder, rows_count);
 *     TRY(row_finder_add(&finder, ids, count));                 for each lookup of the batch
 *     row_finder_finish(&finder);
 *     …finder.rows: {2, 5, 9} for the ids 9, 2, 9, 5; finder.places: {2, 0, 2, 1}…
 *
 * Zero-initialise it. Ids that are added stay valid until row_finder_finish: those of a single
 * lookup are not copied. Its memory grows to what the largest batch needs. A table that is not much
 * larger than the batch also has a bit for each row.
 */
#ifndef TRAINER_PROTOCOL_ROW_FINDER_H
#define TRAINER_PROTOCOL_ROW_FINDER_H

#include "trainer/protocol/row_ids.h"

/* An id and its place in the order in which the ids were added. */
struct row_entry {
    uint64_t id;
    size_t place;
};

struct row_finder {
    int64_t rows_count; /* of the variable; negative: ids are keys */
    struct row_ids rows;
    int64_t *places; /* [count]: of each id that was added, its row's place in `rows` */
    size_t count;
    size_t capacity;     /* of the arrays of ids */
    const int64_t *only; /* the ids that were added, while they are of one lookup; NULL: `joined` */
    int64_t *joined;     /* those of several lookups, in the order in which they were added */
    int64_t *ids;
    struct row_entry *entries, *spare; /* for sorting; NULL until needed */
    size_t entries_capacity;
    uint64_t *marks; /* a bit for each row, all 0 between two batches */
    uint32_t *ranks; /* for each word of marks: the rows that are marked before it */
    size_t words;    /* of marks and ranks */
};

void row_finder_begin(struct row_finder *finder, int64_t rows_count);
void row_finder_begin_keys(struct row_finder *finder); /* of a hash table */
/* INVALID_ARGUMENT: an id is not in [0, rows_count). A key may be any number. */
struct status row_finder_add(struct row_finder *finder, const int64_t *ids, size_t count);
void row_finder_finish(struct row_finder *finder);
void row_finder_free(struct row_finder *finder);

#endif
