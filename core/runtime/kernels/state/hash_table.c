#include "runtime/kernels/state/hash_table.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/map.h"

/* An entry: the bytes of key and value (for strings, their characters), in one allocation. */
struct entry {
    struct bytes key, value;
    char data[];
};

#define RESERVED_MAX 2

struct hash_table {
    struct object object;
    struct hash_table_kind kind;
    int64_t key_count, value_count; /* elements of one key, and of one value */
    struct entry *reserved[RESERVED_MAX];
    _Atomic size_t bytes;     /* of the entries */
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
    atomic_store_explicit(&table->bytes, 0, memory_order_relaxed);
}

static size_t entry_bytes(const struct entry *entry)
{
    return HASH_TABLE_ENTRY_BYTES + entry->key.size + entry->value.size;
}

/* Removes the entry of a key, if there is one. */
static void forget(struct hash_table *table, struct bytes key)
{
    struct entry *entry = map_remove(&table->map, key);
    if (entry != NULL)
        atomic_fetch_sub_explicit(&table->bytes, entry_bytes(entry), memory_order_relaxed);
    free(entry);
}

static void table_destroy(struct object *object)
{
    struct hash_table *table = (struct hash_table *)object;
    forget_all(table);
    for (int i = 0; i < RESERVED_MAX; i++)
        free(table->reserved[i]);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

const struct object_type hash_table_type = { "lookup table", table_destroy };

/* TensorFlow has no tables of objects, complex numbers and the rest either. */
#define DTYPES_HELD (DTYPES_REAL | DTYPES(DT_BOOL) | DTYPES(DT_STRING))

static struct status reserve_key(struct hash_table *table, const struct tensor *key, int index);

struct status hash_table_create(const struct hash_table_kind *kind, struct object **out)
{
    if ((DTYPES(kind->key) & DTYPES_HELD) == 0 || (DTYPES(kind->value) & DTYPES_HELD) == 0)
        return status_error(STATUS_UNIMPLEMENTED, "lookup tables of %s to %s",
                            dtype_name(kind->key), dtype_name(kind->value));
    struct hash_table *table = zalloc(sizeof *table);
    table->object = (struct object){ .type = &hash_table_type, .references = 1 };
    table->kind = *kind;
    table->kind.empty_key = table->kind.deleted_key = NULL;
    table->key_count = shape_size(&kind->key_shape);
    table->value_count = shape_size(&kind->value_shape);
    atomic_init(&table->initialised, kind->is_mutable);
    pthread_mutex_init(&table->lock, NULL);
    struct status status = reserve_key(table, kind->empty_key, 0);
    if (status_is_ok(status))
        status = reserve_key(table, kind->deleted_key, 1);
    if (status_is_ok(status))
        *out = &table->object;
    else
        object_release(&table->object);
    return status;
}

const struct hash_table_kind *hash_table_kind(const struct hash_table *table)
{
    return &table->kind;
}

enum dtype hash_table_key_dtype(const struct hash_table *table)
{
    return table->kind.key;
}

enum dtype hash_table_value_dtype(const struct hash_table *table)
{
    return table->kind.value;
}

bool hash_table_is_mutable(const struct hash_table *table)
{
    return table->kind.is_mutable;
}

bool hash_table_is_initialised(const struct hash_table *table)
{
    return atomic_load_explicit(&table->initialised, memory_order_acquire);
}

size_t hash_table_bytes(const struct hash_table *table)
{
    return atomic_load_explicit(&table->bytes, memory_order_relaxed);
}

int64_t hash_table_size(struct hash_table *table)
{
    pthread_mutex_lock(&table->lock);
    int64_t size = (int64_t)table->map.live;
    pthread_mutex_unlock(&table->lock);
    return size;
}

/* Several strings: each after its size. */
static struct bytes join_strings(const struct bytes *strings, int64_t count, struct buffer *buffer)
{
    buffer->size = 0;
    for (int64_t i = 0; i < count; i++) {
        uint64_t size = strings[i].size;
        buffer_append(buffer, &size, sizeof size);
        if (size > 0)
            buffer_append(buffer, strings[i].data, size);
    }
    return count > 0 ? (struct bytes){ buffer->data, buffer->size } : (struct bytes){ "", 0 };
}

static struct bytes next_string(struct bytes *joined)
{
    uint64_t size;
    memcpy(&size, joined->data, sizeof size);
    struct bytes text = { joined->data + sizeof size, size };
    *joined = (struct bytes){ text.data + size, joined->size - sizeof size - size };
    return text;
}

/* Elements [i · count, (i + 1) · count) as bytes: the characters of a string, or the numbers
 * themselves. Valid until the buffer's next use. */
static struct bytes element_bytes(const struct tensor *tensor, int64_t i, int64_t count,
                                  struct buffer *buffer)
{
    if (tensor->dtype == DT_STRING) {
        const struct bytes *strings = tensor_strings(tensor) + i * count;
        if (count != 1)
            return join_strings(strings, count, buffer);
        return strings->size == 0 ? (struct bytes){ "", 0 } : *strings; /* a key is never NULL */
    }
    size_t size = dtype_size(tensor->dtype) * (size_t)count;
    if (size == 0)
        return (struct bytes){ "", 0 };
    return (struct bytes){ (const char *)tensor->data + (size_t)i * size, size };
}

static struct status make_entry(struct bytes key, struct bytes value, struct entry **out)
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
    *out = entry;
    return status_ok();
}

static struct status put(struct hash_table *table, struct bytes key, struct bytes value)
{
    struct entry *entry;
    TRY(make_entry(key, value, &entry));
    forget(table, key); /* the map borrows the key from the entry */
    map_put(&table->map, entry->key, entry);
    atomic_fetch_add_explicit(&table->bytes, entry_bytes(entry), memory_order_relaxed);
    return status_ok();
}

static struct status reserve_key(struct hash_table *table, const struct tensor *key, int index)
{
    struct buffer buffer = { 0 };
    struct status status = status_ok();
    if (key != NULL)
        status = make_entry(element_bytes(key, 0, table->key_count, &buffer), (struct bytes){ 0 },
                            &table->reserved[index]);
    buffer_finish(&buffer);
    return status;
}

/* The name of a reserved key; NULL: the key is not reserved. */
static const char *reserved_name(const struct hash_table *table, struct bytes key)
{
    static const char *const names[] = { "empty_key", "deleted_key" };
    for (int i = 0; i < RESERVED_MAX; i++)
        if (table->reserved[i] != NULL && bytes_equal(table->reserved[i]->key, key))
            return names[i];
    return NULL;
}

static struct status check_reserved(const struct hash_table *table, struct bytes key)
{
    const char *name = reserved_name(table, key);
    return name == NULL ? status_ok()
                        : status_error(STATUS_INVALID_ARGUMENT,
                                       "Using the %s as a table key is not allowed", name);
}

/* Are none of the keys reserved? */
static struct status check_keys(const struct hash_table *table, const struct tensor *keys,
                                int64_t count)
{
    struct buffer buffer = { 0 };
    struct status status = status_ok();
    for (int64_t i = 0; table->reserved[0] != NULL && i < count && status_is_ok(status); i++)
        status = check_reserved(table, element_bytes(keys, i, table->key_count, &buffer));
    buffer_finish(&buffer);
    return status;
}

/* The number of keys in a tensor. */
static int64_t count_keys(const struct hash_table *table, const struct tensor *keys)
{
    return table->key_count > 0 ? keys->size / table->key_count : 0;
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
        element_text(arena, table->kind.key, old->key),
        element_text(arena, table->kind.value, old->value),
        element_text(arena, table->kind.value, value));
    arena_destroy(arena);
    return status;
}

static struct status add_one(struct hash_table *table, struct bytes key, struct bytes value)
{
    const struct entry *old = table->kind.is_mutable ? NULL : map_get(&table->map, key);
    if (old == NULL)
        return put(table, key, value);
    return bytes_equal(old->value, value) ? status_ok() : conflict(table, old, value);
}

/* Reserved keys are passed over. */
static struct status add_all(struct hash_table *table, const struct tensor *keys,
                             const struct tensor *values)
{
    struct buffer of_key = { 0 }, of_value = { 0 };
    int64_t count = count_keys(table, keys);
    struct status status = status_ok();
    for (int64_t i = 0; i < count && status_is_ok(status); i++) {
        struct bytes key = element_bytes(keys, i, table->key_count, &of_key);
        if (reserved_name(table, key) == NULL)
            status = add_one(table, key, element_bytes(values, i, table->value_count, &of_value));
    }
    buffer_finish(&of_key);
    buffer_finish(&of_value);
    return status;
}

struct status hash_table_add(struct hash_table *table, const struct tensor *keys,
                             const struct tensor *values)
{
    struct status status = status_ok();
    pthread_mutex_lock(&table->lock);
    if (table->kind.is_mutable || !hash_table_is_initialised(table)) {
        status = check_keys(table, keys, count_keys(table, keys));
        if (status_is_ok(status))
            status = add_all(table, keys, values);
        if (status_is_ok(status))
            atomic_store_explicit(&table->initialised, true, memory_order_release);
        else if (!table->kind.is_mutable)
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

struct status hash_table_remove(struct hash_table *table, const struct tensor *keys)
{
    struct buffer buffer = { 0 };
    int64_t count = count_keys(table, keys);
    TRY(check_keys(table, keys, count));
    pthread_mutex_lock(&table->lock);
    for (int64_t i = 0; i < count; i++)
        forget(table, element_bytes(keys, i, table->key_count, &buffer));
    pthread_mutex_unlock(&table->lock);
    buffer_finish(&buffer);
    return status_ok();
}

/* Writes a string. Copies its characters if the table may free them during the run. */
static struct status store_string(const struct hash_table *table, struct arena *arena,
                                  struct bytes text, struct bytes *out)
{
    if ((table->kind.is_mutable || table->kind.is_anonymous) && text.size > 0) {
        void *copy;
        TRY(arena_reserve(arena, text.size, &copy));
        memcpy(copy, text.data, text.size);
        text.data = copy;
    }
    *out = text;
    return status_ok();
}

/* Writes key or value i, of `count` elements, of a tensor. */
static struct status store(const struct hash_table *table, struct arena *arena, struct bytes value,
                           int64_t count, struct tensor *out, int64_t i)
{
    if (out->dtype != DT_STRING) {
        if (value.size > 0)
            memcpy((char *)out->data + (size_t)i * value.size, value.data, value.size);
        return status_ok();
    }
    struct bytes *strings = tensor_strings_mut(out) + i * count;
    if (count == 1)
        return store_string(table, arena, value, strings);
    for (int64_t s = 0; s < count; s++)
        TRY(store_string(table, arena, next_string(&value), &strings[s]));
    return status_ok();
}

static struct status find_all(struct hash_table *table, const struct tensor *keys,
                              const struct tensor *defaults, int defaults_step, struct arena *arena,
                              struct tensor *out)
{
    struct buffer buffer = { 0 };
    int64_t count = count_keys(table, keys);
    size_t size = dtype_size(out->dtype) * (size_t)table->value_count;
    struct status status = check_keys(table, keys, count);
    for (int64_t i = 0; i < count && status_is_ok(status); i++) {
        const struct entry *entry =
            map_get(&table->map, element_bytes(keys, i, table->key_count, &buffer));
        if (entry != NULL)
            status = store(table, arena, entry->value, table->value_count, out, i);
        else if (size > 0)
            memcpy((char *)out->data + (size_t)i * size,
                   (const char *)defaults->data + (size_t)(i * defaults_step) * size, size);
    }
    buffer_finish(&buffer);
    return status;
}

struct status hash_table_find(struct hash_table *table, const struct tensor *keys,
                              const struct tensor *defaults, int defaults_step, struct arena *arena,
                              struct tensor *out)
{
    if (!hash_table_is_initialised(table))
        return status_error(STATUS_FAILED_PRECONDITION, "Table not initialized.");
    if (!table->kind.is_mutable)
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
    int64_t room = count_keys(table, keys);
    for (size_t i = 0; i < table->map.count && *count < room && status_is_ok(status); i++) {
        const struct entry *entry = table->map.entries[i].value;
        if (table->map.entries[i].key.data == NULL)
            continue;
        status = store(table, arena, entry->key, table->key_count, keys, *count);
        if (status_is_ok(status))
            status = store(table, arena, entry->value, table->value_count, values, (*count)++);
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}
