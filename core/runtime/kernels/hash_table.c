#include "runtime/kernels/hash_table.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"

/* An entry: the bytes of key and value (for strings, their characters), in one allocation. */
struct entry {
    struct bytes key, value;
    char data[];
};

struct hash_table {
    struct object object;
    enum dtype key, value;
    bool is_mutable;
    _Atomic bool initialised; /* of a static table: set last, read without the lock */
    pthread_mutex_t lock;
    struct map map; /* key -> struct entry */
};

static void forget_all(struct hash_table *table)
{
    for (size_t i = 0; i < table->map.count; i++)
        if (table->map.entries[i].key.data != NULL)
            free(table->map.entries[i].value);
    map_finish(&table->map);
    table->map = (struct map){ 0 };
}

static void table_destroy(struct object *object)
{
    struct hash_table *table = (struct hash_table *)object;
    forget_all(table);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

const struct object_type hash_table_type = { "lookup table", table_destroy };

/* TensorFlow has no tables of objects, complex numbers and the rest either. */
#define DTYPES_HELD (DTYPES_REAL | DTYPES(DT_BOOL) | DTYPES(DT_STRING))

struct status hash_table_create(enum dtype key, enum dtype value, bool is_mutable,
                                struct object **out)
{
    if ((DTYPES(key) & DTYPES_HELD) == 0 || (DTYPES(value) & DTYPES_HELD) == 0)
        return status_error(STATUS_UNIMPLEMENTED, "lookup tables of %s to %s", dtype_name(key),
                            dtype_name(value));
    struct hash_table *table = zalloc(sizeof *table);
    table->object = (struct object){ .type = &hash_table_type, .references = 1 };
    table->key = key;
    table->value = value;
    table->is_mutable = is_mutable;
    atomic_init(&table->initialised, is_mutable);
    pthread_mutex_init(&table->lock, NULL);
    *out = &table->object;
    return status_ok();
}

enum dtype hash_table_key_dtype(const struct hash_table *table)
{
    return table->key;
}

enum dtype hash_table_value_dtype(const struct hash_table *table)
{
    return table->value;
}

bool hash_table_is_mutable(const struct hash_table *table)
{
    return table->is_mutable;
}

bool hash_table_is_initialised(const struct hash_table *table)
{
    return atomic_load_explicit(&table->initialised, memory_order_acquire);
}

int64_t hash_table_size(struct hash_table *table)
{
    pthread_mutex_lock(&table->lock);
    int64_t size = (int64_t)table->map.live;
    pthread_mutex_unlock(&table->lock);
    return size;
}

/* An element as bytes: the characters of a string, or the number itself. */
static struct bytes element_bytes(const struct tensor *tensor, int64_t i)
{
    if (tensor->dtype == DT_STRING) {
        struct bytes text = tensor_strings(tensor)[i];
        return text.size == 0 ? (struct bytes){ "", 0 } : text; /* a key is never NULL */
    }
    size_t size = dtype_size(tensor->dtype);
    return (struct bytes){ (const char *)tensor->data + (size_t)i * size, size };
}

static struct status put(struct hash_table *table, struct bytes key, struct bytes value)
{
    struct entry *entry = malloc(sizeof *entry + key.size + value.size + 1);
    if (entry == NULL)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for a table entry of %zu bytes",
                            key.size + value.size);
    entry->key = (struct bytes){ entry->data, key.size };
    entry->value = (struct bytes){ entry->data + key.size, value.size };
    if (key.size > 0)
        memcpy(entry->data, key.data, key.size);
    if (value.size > 0)
        memcpy(entry->data + key.size, value.data, value.size);
    free(map_remove(&table->map, key)); /* the map borrows the key from the entry */
    map_put(&table->map, entry->key, entry);
    return status_ok();
}

/* A number or text for an error. */
static const char *element_text(struct arena *arena, enum dtype dtype, struct bytes bytes)
{
    if (dtype == DT_STRING)
        return arena_memdup(arena, bytes.data, bytes.size);
    if (dtype == DT_FLOAT || dtype == DT_DOUBLE) {
        double value;
        float narrow;
        memcpy(dtype == DT_FLOAT ? (void *)&narrow : (void *)&value, bytes.data, bytes.size);
        return arena_printf(arena, "%g", dtype == DT_FLOAT ? (double)narrow : value);
    }
    int64_t value = 0;
    memcpy(&value, bytes.data, bytes.size);
    if (dtype == DT_INT32)
        value = (int32_t)value;
    return arena_printf(arena, "%lld", (long long)value);
}

static struct status conflict(const struct hash_table *table, const struct entry *old,
                              struct bytes value)
{
    struct arena *arena = arena_create(0);
    struct status status = status_error(
        STATUS_FAILED_PRECONDITION,
        "HashTable has different value for same key. Key %s has %s and trying to add value %s",
        element_text(arena, table->key, old->key), element_text(arena, table->value, old->value),
        element_text(arena, table->value, value));
    arena_destroy(arena);
    return status;
}

static struct status add_all(struct hash_table *table, const struct tensor *keys,
                             const struct tensor *values)
{
    for (int64_t i = 0; i < keys->size; i++) {
        struct bytes key = element_bytes(keys, i), value = element_bytes(values, i);
        const struct entry *old = table->is_mutable ? NULL : map_get(&table->map, key);
        if (old == NULL)
            TRY(put(table, key, value));
        else if (!bytes_equal(old->value, value))
            return conflict(table, old, value);
    }
    return status_ok();
}

struct status hash_table_add(struct hash_table *table, const struct tensor *keys,
                             const struct tensor *values)
{
    struct status status = status_ok();
    pthread_mutex_lock(&table->lock);
    if (table->is_mutable || !hash_table_is_initialised(table)) {
        status = add_all(table, keys, values);
        if (status_is_ok(status))
            atomic_store_explicit(&table->initialised, true, memory_order_release);
        else if (!table->is_mutable)
            forget_all(table);
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}

struct status hash_table_replace(struct hash_table *table, const struct tensor *keys,
                                 const struct tensor *values)
{
    pthread_mutex_lock(&table->lock);
    forget_all(table);
    struct status status = add_all(table, keys, values);
    pthread_mutex_unlock(&table->lock);
    return status;
}

void hash_table_remove(struct hash_table *table, const struct tensor *keys)
{
    pthread_mutex_lock(&table->lock);
    for (int64_t i = 0; i < keys->size; i++)
        free(map_remove(&table->map, element_bytes(keys, i)));
    pthread_mutex_unlock(&table->lock);
}

/* Writes element i of a tensor. Copies characters if the table may free them. */
static struct status store(const struct hash_table *table, struct arena *arena, struct bytes value,
                           struct tensor *out, int64_t i)
{
    if (out->dtype != DT_STRING) {
        memcpy((char *)out->data + (size_t)i * value.size, value.data, value.size);
        return status_ok();
    }
    if (table->is_mutable && value.size > 0) {
        void *copy;
        TRY(arena_reserve(arena, value.size, &copy));
        memcpy(copy, value.data, value.size);
        value.data = copy;
    }
    tensor_strings_mut(out)[i] = value;
    return status_ok();
}

static struct status find_all(struct hash_table *table, const struct tensor *keys,
                              const struct tensor *defaults, int defaults_step, struct arena *arena,
                              struct tensor *out)
{
    for (int64_t i = 0; i < keys->size; i++) {
        const struct entry *entry = map_get(&table->map, element_bytes(keys, i));
        if (entry != NULL) {
            TRY(store(table, arena, entry->value, out, i));
            continue;
        }
        size_t size = dtype_size(out->dtype);
        memcpy((char *)out->data + (size_t)i * size,
               (const char *)defaults->data + (size_t)(i * defaults_step) * size, size);
    }
    return status_ok();
}

struct status hash_table_find(struct hash_table *table, const struct tensor *keys,
                              const struct tensor *defaults, int defaults_step, struct arena *arena,
                              struct tensor *out)
{
    if (!hash_table_is_initialised(table))
        return status_error(STATUS_FAILED_PRECONDITION, "Table not initialized.");
    if (!table->is_mutable)
        return find_all(table, keys, defaults, defaults_step, arena, out);
    pthread_mutex_lock(&table->lock);
    struct status status = find_all(table, keys, defaults, defaults_step, arena, out);
    pthread_mutex_unlock(&table->lock);
    return status;
}

struct status hash_table_export(struct hash_table *table, struct arena *arena, struct tensor *keys,
                                struct tensor *values, int64_t *count)
{
    struct status status = status_ok();
    *count = 0;
    pthread_mutex_lock(&table->lock);
    for (size_t i = 0; i < table->map.count && *count < keys->size && status_is_ok(status); i++) {
        const struct entry *entry = table->map.entries[i].value;
        if (table->map.entries[i].key.data == NULL)
            continue;
        status = store(table, arena, entry->key, keys, *count);
        if (status_is_ok(status))
            status = store(table, arena, entry->value, values, (*count)++);
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}
