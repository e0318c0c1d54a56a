/*
 * key_values: a hash table "ids" as the two variables that are exported of it, read shard by shard:
 *
 *     ids/keys    int64 [n]            the keys that have a row, those of shard 0 first
 *     ids/values  float [n + 1, row…]  the default value, then the rows of the keys in their order
 *
 * A table without rows is exported with the key 0, whose row is the default one, because
 * TensorFlow refuses to fill a lookup table with nothing.
 *
 * Shards do not depend on the number of ps tasks, and neither does the order.
 */
#ifndef TRAINER_CLIENT_KEY_VALUES_H
#define TRAINER_CLIENT_KEY_VALUES_H

#include "trainer/protocol/placement.h"

/* Where the shards are: a snapshot or a checkpoint. */
struct key_reader {
    /* A part of a shard, valid until the next call. */
    struct status (*read)(void *context, int variable, uint32_t shard, enum key_part part,
                          struct bytes *out);
    void *context;
    const struct placement *placement;
};

/* Zero-initialise it; key_values_finish. */
struct key_values {
    bool is_open; /* one of the two variables is being read */
    int variable;
    enum key_part part;
    uint32_t shard;     /* the next one */
    bool has_begun;     /* the default row was given */
    bool has_rows;      /* a chunk of rows was given */
    float *default_row; /* of the values */
    /* Kept until another table is counted: the number of rows of `counted`, a variable plus 1 */
    int counted;
    int64_t rows;
};

/* Begins the variable of this name. False: no hash table has one of this name. */
bool key_values_begin(struct key_values *values, const struct placement *placement,
                      const char *name);
/* The next chunk, a shard's; size 0: the end. */
struct status key_values_next(struct key_values *values, const struct key_reader *reader,
                              struct bytes *chunk);
void key_values_finish(struct key_values *values);

/* The first dimension of the variable. Counts each table once. NOT_FOUND: no hash table has one of
 * this name. */
struct status key_values_count(struct key_values *values, const struct key_reader *reader,
                               const char *name, int64_t *rows);

#endif
