/* Finds single keys in a snapshot, for evaluations. */
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/ps/key_table.h"

/* An open-addressing hash index of the saved records of a shard. */
struct key_index {
    size_t *slots;     /* [capacity]: the record's offset, plus 1; 0: free */
    size_t capacity;   /* 0, or a power of 2 that is at least twice `count` */
    size_t count, end; /* the records in it, and their bytes */
};

void key_indexes_free(struct key_snapshot *snapshot)
{
    for (int s = 0; snapshot->indexes != NULL && s < KEY_SHARDS; s++)
        free(snapshot->indexes[s].slots);
    free(snapshot->indexes);
    snapshot->indexes = NULL;
}

static const struct key_record *record_at(const struct key_saved *saved, size_t offset)
{
    return (const struct key_record *)(const void *)(saved->bytes.data + offset);
}

/* The slot of a key, or the free slot where it would be. */
static size_t *slot_of(const struct key_table *table, const struct key_saved *saved,
                       const struct key_index *index, int64_t key)
{
    size_t at = key_map_hash(&table->map, key) & (index->capacity - 1);

    while (index->slots[at] != 0 && record_at(saved, index->slots[at] - 1)->key != key)
        at = (at + 1) & (index->capacity - 1);
    return &index->slots[at];
}

/* Replaces an index by a larger, empty one. RESOURCE_EXHAUSTED: no memory for it. */
static struct status grow_index(const struct key_table *table, struct key_snapshot *snapshot,
                                struct key_index *index, size_t keys)
{
    size_t capacity = 64;

    while (capacity < 4 * keys)
        capacity *= 2;
    int64_t more = (int64_t)((capacity - index->capacity) * sizeof *index->slots);
    if (table->budget != NULL)
        TRY(budget_take(table->budget, more));
    snapshot->paid_bytes += more;
    free(index->slots);
    *index = (struct key_index){ zalloc(capacity * sizeof *index->slots), capacity, 0, 0 };
    return status_ok();
}

/* Adds the records that were saved since the last call; each key is saved once. */
static struct status update_index(const struct key_table *table, struct key_snapshot *snapshot,
                                  const struct key_saved *saved, struct key_index *index)
{
    if (index->capacity < 2 * saved->count)
        TRY(grow_index(table, snapshot, index, saved->count));
    while (index->count < saved->count) {
        const struct key_record *record = record_at(saved, index->end);
        *slot_of(table, saved, index, record->key) = index->end + 1;
        index->end += record->size;
        index->count++;
    }
    return status_ok();
}

/* NULL: no update has changed the key since, or there was none. */
static struct status find_saved(const struct key_table *table, struct key_snapshot *snapshot,
                                int64_t key, const struct key_record **out)
{
    uint32_t shard = key_shard(key);
    const struct key_saved *saved = &snapshot->saved[shard];
    struct key_index *index = &snapshot->indexes[shard];

    *out = NULL;
    if (saved->count == 0)
        return status_ok();
    TRY(update_index(table, snapshot, saved, index));
    size_t slot = *slot_of(table, saved, index, key);
    if (slot != 0)
        *out = record_at(saved, slot - 1);
    return status_ok();
}

/* The row of a key when the snapshot was taken; NULL: it had none. */
static struct status find_row(const struct key_table *table, struct key_snapshot *snapshot,
                              int64_t key, const float **out)
{
    uint32_t found = key_map_find(&table->map, key);
    const struct key_record *record;

    if (found != KEY_NONE && key_map_at(&table->map, found)->used <= snapshot->step) {
        uint32_t row = key_map_at(&table->map, found)->row;
        *out = key_is_waiting(row) ? NULL : key_row(table, row);
        return status_ok();
    }
    TRY(find_saved(table, snapshot, key, &record));
    *out = record == NULL || key_is_waiting(record->row) ? NULL : (const float *)(record + 1);
    return status_ok();
}

/* Creates the indexes of all shards at the first lookup. */
static struct status make_indexes(const struct key_table *table, struct key_snapshot *snapshot)
{
    int64_t bytes = (int64_t)(KEY_SHARDS * sizeof *snapshot->indexes);

    if (snapshot->indexes != NULL)
        return status_ok();
    if (table->budget != NULL)
        TRY(budget_take(table->budget, bytes));
    snapshot->paid_bytes += bytes;
    snapshot->indexes = zalloc((size_t)bytes);
    return status_ok();
}

static struct status copy_group(struct key_table *table, struct key_snapshot *snapshot,
                                const int64_t *keys, size_t count, float *out)
{
    const float *row;

    TRY(key_snapshot_check(snapshot));
    TRY(make_indexes(table, snapshot));
    for (size_t i = 0; i < count; i++) {
        TRY(find_row(table, snapshot, keys[i], &row));
        key_table_copy_value(table, keys[i], row, KEY_EVALUATED, out + i * table->row_floats);
    }
    return status_ok();
}

#define GROUP 256 /* keys per lock: the longest that updates wait */

struct status key_snapshot_copy(struct key_table *table, struct key_snapshot *snapshot,
                                const int64_t *keys, size_t count, float *out)
{
    struct status status = status_ok();

    TRY(key_table_check(table));
    for (size_t first = 0; first < count && status_is_ok(status); first += GROUP) {
        size_t end = count - first < GROUP ? count : first + GROUP;
        pthread_mutex_lock(&table->lock);
        status =
            copy_group(table, snapshot, keys + first, end - first, out + first * table->row_floats);
        pthread_mutex_unlock(&table->lock);
    }
    return status;
}
