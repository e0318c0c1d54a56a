/*
 * hash_table: the object of all lookup tables (ops: hash_table_ops.c, table_handles.c). Elements of
 * keys and values are numbers, bools or strings; the table copies strings. A static table is filled
 * once and never changes afterwards, and reading it takes no lock.
 */
#ifndef KERNELS_HASH_TABLE_H
#define KERNELS_HASH_TABLE_H

#include "runtime/resources.h"

extern const struct object_type hash_table_type;

struct hash_table;
struct kernel_context;

struct hash_table_kind {
    enum dtype key, value;
    bool is_mutable;
    bool is_anonymous;                   /* it may end before what a run found in it */
    struct shape key_shape, value_shape; /* of one key and of one value: mostly scalars */
    /* The keys that entries of a dense table cannot have, and that are an error. NULL: none */
    const struct tensor *empty_key, *deleted_key;
};

/* UNIMPLEMENTED: a type is neither a plain number nor string. */
struct status hash_table_create(const struct hash_table_kind *kind, struct object **out);

/* Without the reserved keys. */
const struct hash_table_kind *hash_table_kind(const struct hash_table *table);
enum dtype hash_table_key_dtype(const struct hash_table *table);
enum dtype hash_table_value_dtype(const struct hash_table *table);
bool hash_table_is_mutable(const struct hash_table *table);
bool hash_table_is_initialised(const struct hash_table *table);
int64_t hash_table_size(struct hash_table *table);
size_t hash_table_bytes(const struct hash_table *table); /* of all entries, about */
#define HASH_TABLE_ENTRY_BYTES 80 /* of an entry without the bytes of its key and value, about */

/*
 * Adds keys[i] -> values[i]. A mutable table overwrites. A static table is filled once: later calls
 * are ignored, as in TensorFlow; FAILED_PRECONDITION if one key gets two values. INVALID_ARGUMENT:
 * a key is one of the reserved keys. The shapes of keys and values must fit the table's.
 */
struct status hash_table_add(struct hash_table *table, const struct tensor *keys,
                             const struct tensor *values);
/* Mutable tables: removes all entries first, and passes over reserved keys, which TensorFlow's
 * checkpoint of a dense table has for each empty bucket. */
struct status hash_table_replace(struct hash_table *table, const struct tensor *keys,
                                 const struct tensor *values);
struct status hash_table_remove(struct hash_table *table, const struct tensor *keys);

/*
 * out[i] = the value of keys[i], or value i · defaults_step of the defaults. FAILED_PRECONDITION
 * `Table not initialized.` Strings of a static table are borrowed; of a mutable or an anonymous one
 * they are copied to `arena`.
 */
struct status hash_table_find(struct hash_table *table, const struct tensor *keys,
                              const struct tensor *defaults, int defaults_step, struct arena *arena,
                              struct tensor *out);

/* All entries, oldest first. `keys` and `values` have room for at least hash_table_size; *count is
 * how many were written. */
struct status hash_table_export(struct hash_table *table, struct arena *arena, struct tensor *keys,
                                struct tensor *values, int64_t *count);

/* ---- for kernels: hash_table_ops.c ---- */

/* The table whose handle is input `index`. */
struct status kernel_hash_table(struct kernel_context *k, int index, struct hash_table **out);
/* hash_table_add, with the checks of types and of memory. Both are vectors. */
struct status kernel_hash_table_fill(struct kernel_context *k, struct hash_table *table,
                                     const struct tensor *keys, const struct tensor *values);

#endif
