/*
 * row_finder: the distinct rows of one variable that a batch needs, in rising order, and the
 * position of each id's row among them. An id is a row number or, in a hash table, any 64-bit key.
 *
 *     row_finder_begin(&finder, &scratch, rows_count);
 *     TRY(row_finder_add(&finder, ids, count));                 for each lookup of the batch
 *     row_finder_finish(&finder);
 *     …finder.rows: {2, 5, 9} for the ids 9, 2, 9, 5; finder.places: {2, 0, 2, 1}…
 *
 * Zero-initialise both. Added ids must stay valid until row_finder_finish: those of a single lookup
 * are not copied. The memory grows to the needs of the largest batch. A finder keeps 16 bytes an
 * id; what only the search needs, 32 to 60 bytes an id, is in a row_scratch, which any number of
 * finders share, one after the other.
 */
#ifndef TRAINER_PROTOCOL_ROW_FINDER_H
#define TRAINER_PROTOCOL_ROW_FINDER_H

#include "trainer/protocol/row_ids.h"

/* An id and its index in the order of addition. */
struct row_entry {
    uint64_t id;
    size_t place;
};

/* The memory of a search, from row_finder_begin to row_finder_finish. */
struct row_scratch {
    int64_t *joined; /* the ids of several lookups, in the order of addition */
    size_t joined_capacity;
    struct row_entry *entries, *spare; /* for sorting; NULL until needed */
    size_t entries_capacity;
    uint64_t *marks;  /* a bitmap of rows, all 0 between searches; only for tables that are not much
                      * larger than the batch */
    uint32_t *ranks;  /* for each word of `marks`: the number of marked rows before it */
    size_t words;     /* of marks and ranks */
    uint32_t *placed; /* numbers that are written in random order, then copied to the finder */
    size_t placed_capacity;
};

struct row_finder {
    int64_t rows_count; /* of the variable; negative: ids are keys */
    struct row_ids rows;
    int64_t *places; /* [count]: the position in `rows` of each added id's row */
    size_t count;
    int64_t *ids;                /* of `rows` */
    size_t capacity;             /* of `places` and `ids` */
    const int64_t *only;         /* the added ids, if there is only one lookup; NULL: joined */
    struct row_scratch *scratch; /* borrowed */
};

void row_finder_begin(struct row_finder *finder, struct row_scratch *scratch, int64_t rows_count);
/* For the keys of a hash table. */
void row_finder_begin_keys(struct row_finder *finder, struct row_scratch *scratch);
/* INVALID_ARGUMENT: an id is not in [0, rows_count). Any number is a valid key. */
struct status row_finder_add(struct row_finder *finder, const int64_t *ids, size_t count);
void row_finder_finish(struct row_finder *finder);
void row_finder_free(struct row_finder *finder);
void row_scratch_free(struct row_scratch *scratch);

/* The memory that it keeps for its rows and places. */
size_t row_finder_bytes(const struct row_finder *finder);

#endif
