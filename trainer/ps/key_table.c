#include "trainer/ps/key_table.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

#define ROWS_BLOCK_BYTES ((size_t)256 << 10)

void key_table_init(struct key_table *table, size_t row_floats, struct budget *budget,
                    uint64_t hash_seed)
{
    *table =
        (struct key_table){ .row_floats = row_floats, .budget = budget, .hash_seed = hash_seed };
    pthread_mutex_init(&table->lock, NULL);
}

static void clear(struct key_table *table)
{
    assert(table->snapshots == NULL);
    key_map_finish(&table->map);
    key_blocks_finish(&table->rows);
    key_saved_finish(&table->undo);
    table->undo_kept = table->full = false;
}

void key_table_finish(struct key_table *table)
{
    clear(table);
    pthread_mutex_destroy(&table->lock);
}

static struct status begin(struct key_table *table, const struct row_keys_spec *spec,
                           const struct optimizer *optimizer, const float *settings,
                           const float *scalars)
{
    TRY(row_keys_can_train(spec, table->row_floats * sizeof(float), optimizer));
    table->stride = table->row_floats * (size_t)(1 + optimizer->slots_count);
    clear(table);
    table->spec = *spec;
    table->optimizer = optimizer;
    memcpy(table->settings, settings, sizeof table->settings);
    for (int s = 0; s < optimizer->scalars_count; s++)
        table->scalars[s] =
            scalars != NULL ? scalars[s]
                            : optimizer_initial(settings, optimizer->scalars[s].initial_setting);
    table->rows_each = 1;
    while (table->rows_each * 2 * table->stride * sizeof(float) <= ROWS_BLOCK_BYTES)
        table->rows_each *= 2;
    table->rows.budget = table->budget;
    table->rows.block_bytes = table->rows_each * table->stride * sizeof(float);
    table->rows_end = 0;
    table->free_rows = KEY_NONE;
    table->full = !key_map_init(&table->map, table->budget, table->hash_seed);
    if (table->full)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for an empty hash table");
    return status_ok();
}

struct status key_table_begin(struct key_table *table, const struct row_keys_spec *spec,
                              const struct optimizer *optimizer, const float *settings,
                              const float *scalars)
{
    pthread_mutex_lock(&table->lock);
    struct status status = begin(table, spec, optimizer, settings, scalars);
    pthread_mutex_unlock(&table->lock);
    return status;
}

struct status key_table_check(struct key_table *table)
{
    pthread_mutex_lock(&table->lock);
    bool full = table->full;
    uint32_t count = table->map.count;
    pthread_mutex_unlock(&table->lock);
    if (!full)
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "no memory for another row of a hash table with %u keys: let keys expire "
                        "(ttl_steps, bytes_max), admit fewer (min_count), or take more ps tasks or "
                        "a larger --memory_budget_bytes",
                        count);
}

/* ---- rows ---- */

static size_t row_bytes(const struct key_table *table)
{
    return table->stride * sizeof(float);
}

/* KEY_NONE: no memory. */
static uint32_t take_row(struct key_table *table)
{
    uint32_t row = table->free_rows;

    if (row != KEY_NONE) {
        memcpy(&table->free_rows, key_row(table, row), sizeof table->free_rows);
        return row;
    }
    if (table->rows_end == KEY_WAITING - 1 ||
        (table->rows_end % table->rows_each == 0 && !key_blocks_add(&table->rows)))
        return KEY_NONE;
    return table->rows_end++;
}

static void free_row(struct key_table *table, uint32_t row)
{
    memcpy(key_row(table, row), &table->free_rows, sizeof table->free_rows);
    table->free_rows = row;
}

bool key_table_admit(struct key_table *table, struct key_entry *entry)
{
    const struct optimizer *optimizer = table->optimizer;
    uint32_t row = take_row(table);

    if (row == KEY_NONE) {
        table->full = true;
        return false;
    }
    float *at = key_row(table, row);
    key_initial_value(&table->spec, entry->key, at, table->row_floats);
    for (int s = 0; s < optimizer->slots_count; s++) {
        float *slot = at + (size_t)(1 + s) * table->row_floats;
        float initial = optimizer_initial(table->settings, optimizer->slots[s].initial_setting);
        for (size_t i = 0; i < table->row_floats; i++)
            slot[i] = initial;
    }
    entry->row = row;
    table->map.shards[key_shard(entry->key)].bytes += row_bytes(table);
    return true;
}

uint32_t key_table_add(struct key_table *table, int64_t key, uint64_t used)
{
    uint32_t index = key_map_add(&table->map, key, used);

    if (index == KEY_NONE)
        table->full = true;
    else
        table->map.shards[key_shard(key)].bytes += KEY_ENTRY_BYTES;
    return index;
}

/* ---- finding many keys ---- */

#define GROUP 64

/* Bytes of a row to prefetch: the processor's own prefetcher finds the rest. */
#define AHEAD_BYTES_MAX 512

static void prefetch_row(const struct key_table *table, uint32_t row)
{
    const char *at = (const char *)key_row(table, row);
    size_t size = row_bytes(table) < AHEAD_BYTES_MAX ? row_bytes(table) : AHEAD_BYTES_MAX;

    for (size_t i = 0; i < size; i += 64)
        __builtin_prefetch(at + i);
}

/* Finds the entries of up to GROUP keys, or KEY_NONE. Buckets, entries and rows are far apart in
 * memory, so the group waits for all its buckets together, then for its entries, then for its
 * rows. */
static void find_group(const struct key_table *table, const int64_t *keys, size_t count,
                       uint32_t *found)
{
    const struct key_map *map = &table->map;
    const uint32_t *buckets[GROUP];

    if (map->buckets.count == 0) { /* there was no memory even for an empty table */
        memset(found, 0xff, count * sizeof *found);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        buckets[i] = key_map_bucket(map, keys[i]);
        __builtin_prefetch(buckets[i]);
    }
    for (size_t i = 0; i < count; i++) {
        found[i] = *buckets[i];
        if (found[i] != KEY_NONE)
            __builtin_prefetch(key_map_at(map, found[i]));
    }
    for (size_t i = 0; i < count; i++) {
        found[i] = key_map_find_from(map, found[i], keys[i]);
        if (found[i] != KEY_NONE && !key_is_waiting(key_map_at(map, found[i])->row))
            prefetch_row(table, key_map_at(map, found[i])->row);
    }
}

/* ---- reading ---- */

void key_table_copy_value(const struct key_table *table, int64_t key, const float *row,
                          enum key_reading reading, float *out)
{
    if (row != NULL)
        memcpy(out, row, table->row_floats * sizeof *out);
    else if (reading != KEY_EVALUATED)
        key_initial_value(&table->spec, key, out, table->row_floats);
    else
        for (size_t i = 0; i < table->row_floats; i++)
            out[i] = key_default_value(&table->spec);
}

static void copy_group(const struct key_table *table, const int64_t *keys, size_t count,
                       enum key_reading reading, float *out)
{
    uint32_t found[GROUP];

    find_group(table, keys, count, found);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = found[i] != KEY_NONE ? key_map_at(&table->map, found[i])->row : KEY_WAITING;
        key_table_copy_value(table, keys[i], key_is_waiting(row) ? NULL : key_row(table, row),
                             reading, out + i * table->row_floats);
    }
}

/* Overwrites current values with the old values of what the last update changed. Both lists
 * ascend. */
static void take_back(const struct key_table *table, const int64_t *keys, size_t count, float *out)
{
    const struct key_record **records = key_saved_sort(&table->undo);

    for (size_t i = 0, u = 0; i < count; i++) {
        while (u < table->undo.count && records[u]->key < keys[i])
            u++;
        if (u < table->undo.count && records[u]->key == keys[i])
            key_table_copy_value(table, keys[i],
                                 key_is_waiting(records[u]->row) ? NULL
                                                                 : (const float *)(records[u] + 1),
                                 KEY_BEFORE, out + i * table->row_floats);
    }
    free(records);
}

bool key_table_copy(struct key_table *table, const int64_t *keys, size_t count,
                    enum key_reading reading, float *out)
{
    bool kept = true;

    for (size_t i = 0; i < count; i += GROUP) {
        pthread_mutex_lock(&table->lock); /* per group of keys: the longest that updates wait */
        copy_group(table, keys + i, count - i < GROUP ? count - i : GROUP, reading,
                   out + i * table->row_floats);
        pthread_mutex_unlock(&table->lock);
    }
    if (reading == KEY_BEFORE) { /* in a synchronous job, no update intervenes */
        pthread_mutex_lock(&table->lock);
        kept = table->undo_kept;
        if (kept)
            take_back(table, keys, count, out);
        pthread_mutex_unlock(&table->lock);
    }
    return kept;
}

/* ---- updating ---- */

/* Finds the row of a key for an update, and counts the key. NULL: it has no row yet. */
static float *use_key(struct key_table *table, int64_t key, uint32_t found,
                      const struct key_update *update)
{
    bool added = found == KEY_NONE;
    struct key_entry absent = { .key = key, .row = KEY_ABSENT };

    if (added && !key_has_chance(&table->spec, key))
        return NULL;
    if (update->keep_before)
        key_saved_add(table, added ? &absent : key_map_at(&table->map, found), &table->undo);
    if (added)
        found = key_table_add(table, key, update->step);
    else
        key_snapshots_save(table, key_map_at(&table->map, found));
    if (found == KEY_NONE)
        return NULL;
    struct key_entry *entry = key_map_at(&table->map, found);
    key_map_touch(&table->map, found, update->step);
    if (key_is_waiting(entry->row) &&
        (++entry->row - KEY_WAITING < table->spec.min_count || !key_table_admit(table, entry)))
        return NULL;
    return key_row(table, entry->row);
}

#define GATHER_ROW 8 /* floats: longer rows are updated in place, as in slice_rows.c */

static void apply_each(const struct key_table *table, const struct optimizer_step *whole,
                       float *const *rows, const float *const *g, size_t count)
{
    struct optimizer_step step = *whole;

    step.count = table->row_floats;
    for (size_t i = 0; i < count; i++) {
        step.w = step.out = rows[i];
        step.g = g[i];
        for (int s = 0; s < table->optimizer->slots_count; s++)
            step.slots[s] = rows[i] + (size_t)(1 + s) * table->row_floats;
        table->optimizer->apply(&step);
    }
}

/* Copies part k of each row to or from one contiguous run. */
static void gather(const struct key_table *table, float *const *rows, size_t count, int k,
                   float *out)
{
    size_t row = table->row_floats;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < row; j++)
            out[i * row + j] = rows[i][(size_t)k * row + j];
}

static void scatter(const struct key_table *table, const float *from, size_t count, int k,
                    float *const *rows)
{
    size_t row = table->row_floats;

    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < row; j++)
            rows[i][(size_t)k * row + j] = from[i * row + j];
}

/* Updates short rows together: see apply_gathered in slice_rows.c. */
static void apply_gathered(const struct key_table *table, const struct optimizer_step *whole,
                           float *const *rows, const float *const *g, size_t count)
{
    float parts[1 + OPTIMIZER_SLOTS_MAX][GROUP * GATHER_ROW], gradients[GROUP * GATHER_ROW];
    struct optimizer_step step = *whole;
    int parts_count = 1 + table->optimizer->slots_count;

    for (size_t i = 0; i < count; i++)
        memcpy(gradients + i * table->row_floats, g[i], table->row_floats * sizeof(float));
    for (int k = 0; k < parts_count; k++) {
        gather(table, rows, count, k, parts[k]);
        if (k > 0)
            step.slots[k - 1] = parts[k];
    }
    step.w = step.out = parts[0];
    step.g = gradients;
    step.count = count * table->row_floats;
    table->optimizer->apply(&step);
    for (int k = 0; k < parts_count; k++)
        scatter(table, parts[k], count, k, rows);
}

static void apply_group(struct key_table *table, const struct key_update *update, size_t first,
                        size_t count)
{
    const struct optimizer_step whole = { .rate = update->rate,
                                          .settings = table->settings,
                                          .scalars = table->scalars };
    uint32_t found[GROUP];
    float *rows[GROUP];
    const float *g[GROUP];
    size_t used = 0;

    find_group(table, update->keys + first, count, found);
    for (size_t i = 0; i < count; i++) {
        rows[used] = use_key(table, update->keys[first + i], found[i], update);
        g[used] = update->g + (first + i) * table->row_floats;
        used += rows[used] != NULL;
    }
    if (used == 0)
        return;
    if (table->row_floats <= GATHER_ROW)
        apply_gathered(table, &whole, rows, g, used);
    else
        apply_each(table, &whole, rows, g, used);
}

static void remove_key(struct key_table *table, uint32_t index, const struct key_update *update)
{
    struct key_entry *entry = key_map_at(&table->map, index);
    struct key_list *shard = &table->map.shards[key_shard(entry->key)];

    if (update->keep_before && entry->used != update->step) /* otherwise it has been saved */
        key_saved_add(table, entry, &table->undo);
    key_snapshots_save(table, entry);
    shard->bytes -= KEY_ENTRY_BYTES;
    if (!key_is_waiting(entry->row)) {
        shard->bytes -= row_bytes(table);
        free_row(table, entry->row);
    }
    key_map_remove(&table->map, index);
}

static bool is_over(const struct key_table *table, const struct key_list *shard, uint64_t step)
{
    const struct row_keys_spec *spec = &table->spec;

    if (shard->oldest == KEY_NONE)
        return false;
    if (spec->bytes_max != 0 && shard->bytes > spec->bytes_max / KEY_SHARDS)
        return true;
    uint64_t used = key_map_at(&table->map, shard->oldest)->used;
    return spec->ttl_steps != 0 && used < step && step - used > spec->ttl_steps;
}

/* Only keys that one step used expire in one step, so this takes no longer than that step. */
static void expire(struct key_table *table, const struct key_update *update)
{
    if (table->spec.ttl_steps == 0 && table->spec.bytes_max == 0)
        return;
    for (uint32_t s = 0; s < KEY_SHARDS; s++)
        while (is_over(table, &table->map.shards[s], update->step))
            remove_key(table, table->map.shards[s].oldest, update);
}

static void begin_undo(struct key_table *table, bool keep_before)
{
    table->undo.bytes.size = table->undo.count = 0;
    table->undo_kept = keep_before;
}

void key_table_skip(struct key_table *table, bool keep_before)
{
    pthread_mutex_lock(&table->lock);
    begin_undo(table, keep_before);
    pthread_mutex_unlock(&table->lock);
}

void key_table_apply(struct key_table *table, const struct key_update *update)
{
    pthread_mutex_lock(&table->lock);
    begin_undo(table, update->keep_before);
    for (size_t i = 0; i < update->count; i += GROUP)
        apply_group(table, update, i, update->count - i < GROUP ? update->count - i : GROUP);
    expire(table, update);
    optimizer_advance(table->optimizer, table->settings, table->scalars);
    pthread_mutex_unlock(&table->lock);
}
