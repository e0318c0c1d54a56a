/*
 * key_values: reads a hash table "ids" shard by shard, as the two variables of its export:
 *
 *     ids/keys    int64 [n]            the keys that have a row, shard by shard
 *     ids/values  float [n + 1, row…]  the default value, then the rows in the order of the keys
 *
 * An empty table is exported with the key 0 and the default row, because TensorFlow refuses to
 * initialize a lookup table with nothing.
 *
 * Neither the shards nor the order depend on the number of ps tasks.
 */
#ifndef TRAINER_CLIENT_KEY_VALUES_H
#define TRAINER_CLIENT_KEY_VALUES_H

#include "trainer/protocol/placement.h"

/* The source of the shards: a snapshot or a checkpoint. */
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
    /* Cached until another table is counted: the number of rows of `counted`, which is a
     * variable plus 1 */
    int counted;
    int64_t rows;
};

/* Begins the variable of this name. Returns false if no hash table has such a variable. */
bool key_values_begin(struct key_values *values, const struct placement *placement,
                      const char *name);
/* Reads the next chunk, which is one shard; size 0: the end. */
struct status key_values_next(struct key_values *values, const struct key_reader *reader,
                              struct bytes *chunk);
void key_values_finish(struct key_values *values);

/* The first dimension of the variable. Counts the rows once per table. NOT_FOUND: no hash table
 * has such a variable. */
struct status key_values_count(struct key_values *values, const struct key_reader *reader,
                               const char *name, int64_t *rows);

#endif
