/*
 * key_table: the part of a hash table on one ps: rows by keys (row_keys.h), with their optimizer
 * slots.
 *
 *     block of rows:   [ row | slot 1 | slot 2 ] [ row | slot 1 | slot 2 ] …
 *
 * A row and its slots are adjacent, because an update needs them together. Rows are in blocks that
 * never move. Only updates change a table: they create rows, count keys, and expire them. Reading a
 * key without a row returns its initial value and creates nothing. A repeated call is therefore
 * harmless, and a synchronous job's tables depend only on its updates.
 *
 * A snapshot is copy-on-write: an update saves the old row before it changes it for the first time
 * after the snapshot. It saves single rows rather than blocks: keys are spread over all blocks, so
 * copying whole blocks would copy the table within a few steps. The entry's `used` tells which rows
 * have changed.
 *
 * Threads  safe; one lock for each table
 */
#ifndef TRAINER_PS_KEY_TABLE_H
#define TRAINER_PS_KEY_TABLE_H

#include <pthread.h>

#include "rpc/message.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/ps/key_map.h"

/* The saved old rows: key_record after key_record. */
struct key_saved {
    struct buffer bytes;
    size_t count;
};

struct key_table {
    size_t row_floats; /* constant, like all fields up to `lock` */
    struct budget *budget;
    uint64_t hash_seed;
    pthread_mutex_t lock;
    struct row_keys_spec spec;
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX], scalars[OPTIMIZER_SCALARS_MAX];
    size_t stride;      /* floats of a row and its slots */
    uint32_t rows_each; /* rows per block: a power of 2 */
    struct key_map map;
    struct key_blocks rows;
    uint32_t rows_end, free_rows; /* as in key_map; a free row begins with the number of the next
                                   * one */
    bool full;                    /* a row was lost for lack of memory */
    bool undo_kept;
    struct key_saved undo; /* the old rows of the last update */
    struct key_snapshot *snapshots;
};

void key_table_init(struct key_table *table, size_t row_floats, struct budget *budget,
                    uint64_t hash_seed);
void key_table_finish(struct key_table *table);

/**
 * Clears the table and sets its rules. scalars NULL: the optimizer's initial ones. No snapshot may
 * be held.
 *
 * Errors  as row_keys_can_train; RESOURCE_EXHAUSTED no memory for an empty table, which
 *         key_table_check then reports as well
 */
struct status key_table_begin(struct key_table *table, const struct row_keys_spec *spec,
                              const struct optimizer *optimizer, const float *settings,
                              const float *scalars);

/* RESOURCE_EXHAUSTED: a row found no memory, so the table is incomplete. */
struct status key_table_check(struct key_table *table);

enum key_reading {
    KEY_NOW,       /* a key without a row has its initial value */
    KEY_BEFORE,    /* the same, as it was before the last update */
    KEY_EVALUATED, /* a key without a row has the default value */
};

/* Copies the rows of keys to out [count, row]. Returns false if the rows before the last update
 * were not kept. */
bool key_table_copy(struct key_table *table, const int64_t *keys, size_t count,
                    enum key_reading reading, float *out);

struct key_update {
    const int64_t *keys; /* [count], ascending */
    const float *g;      /* [count, row] */
    size_t count;
    float rate;
    uint64_t step; /* the number of this update */
    bool keep_before;
};

/* Applies one update, counts its keys, and expires keys. An update without keys counts too. */
void key_table_apply(struct key_table *table, const struct key_update *update);

/* Instead of an update, in a step that is skipped: nothing changes. */
void key_table_skip(struct key_table *table, bool keep_before);

/* ---- snapshots and restoring: key_snapshot.c ---- */

/* One shard, as it was. */
struct key_image {
    _Atomic int references;
    uint32_t shard;
    size_t rows, waiting; /* how many keys */
    struct budget *budget;
    int64_t paid_bytes;
    struct bytes parts[KEY_PARTS]; /* NULL data: an absent slot */
    void *data;
};

struct key_snapshot {
    struct key_snapshot *next;
    uint64_t step; /* of its last update */
    bool slots, failed;
    int64_t paid_bytes;
    struct key_saved saved[KEY_SHARDS];
    struct key_index *indexes; /* [KEY_SHARDS]: of `saved`; NULL: no lookup yet */
    struct key_image *image;   /* the last image that was read; NULL: none */
    float scalars[OPTIMIZER_SCALARS_MAX];
};

/* Takes a snapshot after the update number `step`, while no update runs. Owner:
 * key_table_let_go. */
struct key_snapshot *key_table_hold(struct key_table *table, uint64_t step, bool slots);
void key_table_let_go(struct key_table *table, struct key_snapshot *snapshot);

/* Reads a shard of the snapshot, valid until another one is read; key_image_acquire keeps it
 * longer. Two threads must not use the same snapshot. RESOURCE_EXHAUSTED: no memory for the
 * shard, or earlier for the rows that updates had changed; or as key_table_check. */
struct status key_snapshot_read(struct key_table *table, struct key_snapshot *snapshot,
                                uint32_t shard, struct key_image **out);
/* Copies the values of keys at the time of the snapshot, [count, row]; a key that had no row has
 * the default value. Errors and threads: as key_snapshot_read. */
struct status key_snapshot_copy(struct key_table *table, struct key_snapshot *snapshot,
                                const int64_t *keys, size_t count, float *out);
struct key_image *key_image_acquire(struct key_image *image);
void key_image_release(struct key_image *image); /* accepts NULL */

/* Keys with their rows, or keys that wait for a row. */
struct key_batch {
    size_t count;
    bool waiting;
    const int64_t *keys;
    const int64_t *used;
    const int64_t *counts; /* of keys that wait */
    /* Values and slots [count, row]; NULL: the slot has its initial value */
    const float *parts[1 + OPTIMIZER_SLOTS_MAX];
};

/* Puts keys into a new table, before its first update. A key that occurs twice counts once.
 * RESOURCE_EXHAUSTED: no memory. */
struct status key_table_fill(struct key_table *table, const struct key_batch *batch);
/* After all key_table_fill: sorts the keys by when they were used. */
void key_table_sort(struct key_table *table);

/* ---- shared by key_table.c and key_snapshot.c, with the table's lock held ---- */

#define KEY_ABSENT (KEY_NONE - 1) /* a record's row: the key did not exist */

struct key_record {
    int64_t key;
    uint64_t used;
    uint32_t row;  /* KEY_WAITING | count, or KEY_ABSENT; otherwise the row and its slots follow */
    uint32_t size; /* bytes of the record with its row */
};

static inline bool key_is_waiting(uint32_t row)
{
    return row >= KEY_WAITING;
}

static inline float *key_row(const struct key_table *table, uint32_t row)
{
    return (float *)table->rows.blocks[row / table->rows_each] +
           (size_t)(row % table->rows_each) * table->stride;
}

/* The first adds an entry, the second gives an entry a row with initial values and slots.
 * KEY_NONE, false: no memory. */
uint32_t key_table_add(struct key_table *table, int64_t key, uint64_t used);
bool key_table_admit(struct key_table *table, struct key_entry *entry);

void key_saved_add(const struct key_table *table, const struct key_entry *entry,
                   struct key_saved *saved);
void key_saved_finish(struct key_saved *saved);
/* Frees the indexes of the saved records, which can then no longer be found. */
void key_indexes_free(struct key_snapshot *snapshot);
/* RESOURCE_EXHAUSTED: there was no memory to save a row. */
struct status key_snapshot_check(const struct key_snapshot *snapshot);
/* The value of a key with this row; if `row` is NULL, the value of a key without a row. */
void key_table_copy_value(const struct key_table *table, int64_t key, const float *row,
                          enum key_reading reading, float *out);
/* Pointers to the records in the order of keys, those of one key in the order of saving. Owner:
 * free. */
const struct key_record **key_saved_sort(const struct key_saved *saved);

/* Before a change: saves the entry for each snapshot that needs it. */
void key_snapshots_save(struct key_table *table, const struct key_entry *entry);

#endif
