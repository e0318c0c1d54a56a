/* The contents of a hash table at an earlier moment, and restoring them. */
#include <stdlib.h>

#include "base/arena.h"
#include "trainer/ps/key_table.h"

/* ---- saved rows ---- */

static bool has_row(uint32_t row)
{
    return !key_is_waiting(row);
}

static size_t record_bytes(const struct key_table *table, uint32_t row)
{
    size_t row_bytes = has_row(row) ? table->stride * sizeof(float) : 0;

    return sizeof(struct key_record) + ((row_bytes + 7) & ~(size_t)7);
}

void key_saved_add(const struct key_table *table, const struct key_entry *entry,
                   struct key_saved *saved)
{
    size_t size = record_bytes(table, entry->row);
    struct key_record record = {
        .key = entry->key, .used = entry->used, .row = entry->row, .size = (uint32_t)size
    };

    buffer_reserve(&saved->bytes, size);
    char *at = saved->bytes.data + saved->bytes.size;
    memcpy(at, &record, sizeof record);
    if (has_row(entry->row))
        memcpy(at + sizeof record, key_row(table, entry->row), table->stride * sizeof(float));
    saved->bytes.size += size;
    saved->count++;
}

void key_saved_finish(struct key_saved *saved)
{
    buffer_finish(&saved->bytes);
    *saved = (struct key_saved){ 0 };
}

static int by_key(const void *a, const void *b)
{
    const struct key_record *left = *(const struct key_record *const *)a;
    const struct key_record *right = *(const struct key_record *const *)b;

    return left->key != right->key ? (left->key < right->key ? -1 : 1)
                                   : (left < right ? -1 : left > right);
}

const struct key_record **key_saved_sort(const struct key_saved *saved)
{
    const struct key_record **records = zalloc((saved->count + 1) * sizeof *records);
    const char *at = saved->bytes.data;

    for (size_t i = 0; i < saved->count; i++) {
        records[i] = (const struct key_record *)(const void *)at;
        at += records[i]->size;
    }
    qsort(records, saved->count, sizeof *records, by_key);
    return records;
}

/* ---- snapshots ---- */

struct key_snapshot *key_table_hold(struct key_table *table, uint64_t step, bool slots)
{
    struct key_snapshot *snapshot = zalloc(sizeof *snapshot);

    snapshot->step = step;
    snapshot->slots = slots;
    pthread_mutex_lock(&table->lock);
    memcpy(snapshot->scalars, table->scalars, sizeof snapshot->scalars);
    snapshot->next = table->snapshots;
    table->snapshots = snapshot;
    pthread_mutex_unlock(&table->lock);
    return snapshot;
}

/* Forgets what was saved. */
static void drop_saved(struct key_table *table, struct key_snapshot *snapshot)
{
    for (int s = 0; s < KEY_SHARDS; s++)
        key_saved_finish(&snapshot->saved[s]);
    key_indexes_free(snapshot);
    if (table->budget != NULL)
        budget_give(table->budget, snapshot->paid_bytes);
    snapshot->paid_bytes = 0;
}

void key_table_let_go(struct key_table *table, struct key_snapshot *snapshot)
{
    pthread_mutex_lock(&table->lock);
    struct key_snapshot **at = &table->snapshots;
    while (*at != snapshot)
        at = &(*at)->next;
    *at = snapshot->next;
    pthread_mutex_unlock(&table->lock);
    drop_saved(table, snapshot);
    key_image_release(snapshot->image);
    free(snapshot);
}

/* A snapshot that finds no memory fails when it is read; training continues. */
static void save_for(struct key_table *table, struct key_snapshot *snapshot,
                     const struct key_entry *entry)
{
    int64_t bytes = (int64_t)record_bytes(table, entry->row);

    if (table->budget != NULL && !status_is_ok(budget_take(table->budget, bytes))) {
        snapshot->failed = true;
        drop_saved(table, snapshot);
        return;
    }
    snapshot->paid_bytes += bytes;
    key_saved_add(table, entry, &snapshot->saved[key_shard(entry->key)]);
}

void key_snapshots_save(struct key_table *table, const struct key_entry *entry)
{
    for (struct key_snapshot *at = table->snapshots; at != NULL; at = at->next)
        if (!at->failed && entry->used <= at->step)
            save_for(table, at, entry);
}

/* ---- reading a snapshot ---- */

/* A key of the shard; its row is in the table or saved. */
struct image_row {
    int64_t key;
    uint64_t used;
    uint32_t row;        /* as an entry's */
    const float *values; /* the row and its slots; NULL: the key waits for a row */
};

static int by_row_key(const void *a, const void *b)
{
    const struct image_row *left = a, *right = b;

    return left->key < right->key ? -1 : left->key > right->key;
}

static struct image_row *collect(const struct key_table *table, const struct key_snapshot *snapshot,
                                 uint32_t shard, size_t *count)
{
    const struct key_map *map = &table->map;
    const struct key_saved *saved = &snapshot->saved[shard];
    size_t capacity = saved->count + 1;

    for (uint32_t i = map->shards[shard].oldest; i != KEY_NONE; i = key_map_at(map, i)->newer)
        capacity++;
    struct image_row *rows = zalloc(capacity * sizeof *rows);
    *count = 0;
    for (uint32_t i = map->shards[shard].oldest; i != KEY_NONE; i = key_map_at(map, i)->newer) {
        const struct key_entry *entry = key_map_at(map, i);
        if (entry->used <= snapshot->step)
            rows[(*count)++] =
                (struct image_row){ entry->key, entry->used, entry->row,
                                    has_row(entry->row) ? key_row(table, entry->row) : NULL };
    }
    const char *at = saved->bytes.data;
    for (size_t i = 0; i < saved->count; i++) {
        const struct key_record *record = (const struct key_record *)(const void *)at;
        rows[(*count)++] =
            (struct image_row){ record->key, record->used, record->row,
                                has_row(record->row) ? (const float *)(record + 1) : NULL };
        at += record->size;
    }
    qsort(rows, *count, sizeof *rows, by_row_key);
    return rows;
}

void key_image_release(struct key_image *image)
{
    if (image == NULL ||
        atomic_fetch_sub_explicit(&image->references, 1, memory_order_acq_rel) != 1)
        return;
    if (image->budget != NULL)
        budget_give(image->budget, image->paid_bytes);
    free(image->data);
    free(image);
}

struct key_image *key_image_acquire(struct key_image *image)
{
    atomic_fetch_add_explicit(&image->references, 1, memory_order_relaxed);
    return image;
}

/* Lays out the parts of an image one after the other. */
static size_t lay_out(const struct key_table *table, bool slots, struct key_image *image)
{
    size_t offset = 0;

    for (int part = 0; part < KEY_PARTS; part++) {
        size_t count = part < KEY_PART_WAITING_KEYS ? image->rows : image->waiting;
        size_t size =
            count * (part < KEY_PART_KEYS ? table->row_floats * sizeof(float) : sizeof(int64_t));
        bool wanted =
            part == 0 || part >= KEY_PART_KEYS || (slots && part <= table->optimizer->slots_count);
        image->parts[part] = (struct bytes){ NULL, wanted ? size : 0 };
        offset += (image->parts[part].size + 7) & ~(size_t)7;
    }
    return offset;
}

static struct status make_image(struct key_table *table, bool slots, struct key_image *image)
{
    size_t size = lay_out(table, slots, image), offset = 0;

    if (table->budget != NULL) {
        TRY(budget_take(table->budget, (int64_t)size));
        image->budget = table->budget;
        image->paid_bytes = (int64_t)size;
    }
    image->data = malloc(size > 0 ? size : 1);
    if (image->data == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of rows", size);
    for (int part = 0; part < KEY_PARTS; part++) {
        bool there =
            part == 0 || part >= KEY_PART_KEYS || (slots && part <= table->optimizer->slots_count);
        image->parts[part].data = there ? (char *)image->data + offset : NULL;
        offset += (image->parts[part].size + 7) & ~(size_t)7;
    }
    return status_ok();
}

static int64_t *numbers(const struct key_image *image, enum key_part part)
{
    return (int64_t *)(uintptr_t)image->parts[part].data;
}

static void copy_row(const struct key_table *table, const struct image_row *row, size_t at,
                     const struct key_image *image)
{
    size_t bytes = table->row_floats * sizeof(float);

    numbers(image, KEY_PART_KEYS)[at] = row->key;
    numbers(image, KEY_PART_USED)[at] = (int64_t)row->used;
    for (int part = 0; part < KEY_PART_KEYS; part++)
        if (image->parts[part].data != NULL)
            memcpy((char *)(uintptr_t)image->parts[part].data + at * bytes,
                   row->values + (size_t)part * table->row_floats, bytes);
}

static void copy_rows(const struct key_table *table, const struct image_row *rows, size_t count,
                      const struct key_image *image)
{
    size_t at = 0, waiting = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].values != NULL) {
            copy_row(table, &rows[i], at++, image);
            continue;
        }
        numbers(image, KEY_PART_WAITING_KEYS)[waiting] = rows[i].key;
        numbers(image, KEY_PART_WAITING_USED)[waiting] = (int64_t)rows[i].used;
        numbers(image, KEY_PART_WAITING_COUNT)[waiting++] = rows[i].row - KEY_WAITING;
    }
}

struct status key_snapshot_check(const struct key_snapshot *snapshot)
{
    return snapshot->failed
               ? status_error(STATUS_RESOURCE_EXHAUSTED,
                              "no memory to keep the rows of a hash table for a snapshot while "
                              "training changes them")
               : status_ok();
}

/* With the lock. */
static struct status read_shard(struct key_table *table, const struct key_snapshot *snapshot,
                                uint32_t shard, struct key_image *image)
{
    size_t count;

    TRY(key_snapshot_check(snapshot));
    struct image_row *rows = collect(table, snapshot, shard, &count);
    image->shard = shard;
    for (size_t i = 0; i < count; i++)
        image->rows += rows[i].values != NULL;
    image->waiting = count - image->rows;
    struct status status = make_image(table, snapshot->slots, image);
    if (status_is_ok(status))
        copy_rows(table, rows, count, image);
    free(rows);
    return status;
}

struct status key_snapshot_read(struct key_table *table, struct key_snapshot *snapshot,
                                uint32_t shard, struct key_image **out)
{
    if (snapshot->image != NULL && snapshot->image->shard == shard) {
        *out = snapshot->image;
        return status_ok();
    }
    TRY(key_table_check(table));
    struct key_image *image = zalloc(sizeof *image);
    atomic_init(&image->references, 1);
    pthread_mutex_lock(&table->lock);
    struct status status = read_shard(table, snapshot, shard, image);
    pthread_mutex_unlock(&table->lock);
    if (!status_is_ok(status)) {
        key_image_release(image);
        return status;
    }
    key_image_release(snapshot->image);
    *out = snapshot->image = image;
    return status_ok();
}

/* ---- restoring ---- */

/* With the lock. */
static void fill_row(struct key_table *table, const struct key_batch *batch, size_t i, uint32_t row)
{
    size_t floats = table->row_floats;

    for (int part = 0; part <= table->optimizer->slots_count; part++)
        if (batch->parts[part] != NULL)
            memcpy(key_row(table, row) + (size_t)part * floats, batch->parts[part] + i * floats,
                   floats * sizeof(float));
}

static void fill_key(struct key_table *table, const struct key_batch *batch, size_t i)
{
    uint32_t found = key_map_find(&table->map, batch->keys[i]);

    if (found == KEY_NONE)
        found = key_table_add(table, batch->keys[i], (uint64_t)batch->used[i]);
    if (found == KEY_NONE)
        return;
    struct key_entry *entry = key_map_at(&table->map, found);
    if (batch->waiting && key_is_waiting(entry->row))
        entry->row = KEY_WAITING | (uint32_t)batch->counts[i];
    else if (!key_is_waiting(entry->row) || key_table_admit(table, entry))
        fill_row(table, batch, i, entry->row);
}

struct status key_table_fill(struct key_table *table, const struct key_batch *batch)
{
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < batch->count && !table->full; i++)
        fill_key(table, batch, i);
    pthread_mutex_unlock(&table->lock);
    return key_table_check(table);
}

static int by_use(const void *a, const void *b)
{
    const struct key_entry *left = *(struct key_entry *const *)a;
    const struct key_entry *right = *(struct key_entry *const *)b;

    return left->used != right->used ? (left->used < right->used ? -1 : 1)
                                     : (left->key < right->key ? -1 : left->key > right->key);
}

/* Sorts the entries by when they were used, and within a step by key, the order in which updates
 * leave them. */
static void sort_shard(struct key_map *map, uint32_t shard)
{
    struct key_list *list = &map->shards[shard];
    struct key_entry **entries;
    size_t count = 0, at = 0;

    for (uint32_t i = list->oldest; i != KEY_NONE; i = key_map_at(map, i)->newer)
        count++;
    entries = zalloc((count + 1) * sizeof(struct key_entry *));
    for (uint32_t i = list->oldest; i != KEY_NONE; i = key_map_at(map, i)->newer)
        entries[at++] = key_map_at(map, i);
    qsort(entries, count, sizeof(struct key_entry *), by_use);
    for (at = 0; at < count; at++)
        key_map_touch(map, key_map_find(map, entries[at]->key), entries[at]->used);
    free(entries);
}

void key_table_sort(struct key_table *table)
{
    pthread_mutex_lock(&table->lock);
    for (uint32_t s = 0; s < KEY_SHARDS; s++)
        sort_shard(&table->map, s);
    pthread_mutex_unlock(&table->lock);
}
