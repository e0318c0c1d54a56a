/*
 * table: a lookup table, the object behind HashTable and MutableHashTable. Keys and values are
 * scalar numbers, bools or strings; strings are copied into the table. A static table is filled
 * once and never changes then, so reading it takes no lock.
 */
#ifndef KERNELS_TABLE_H
#define KERNELS_TABLE_H

#include "runtime/resources.h"

extern const struct object_type table_type;

struct table;

/* UNIMPLEMENTED: of types that are neither plain numbers nor strings. */
struct status table_create(enum dtype key, enum dtype value, bool is_mutable, struct object **out);

enum dtype table_key_dtype(const struct table *table);
enum dtype table_value_dtype(const struct table *table);
bool table_is_mutable(const struct table *table);
bool table_is_initialised(const struct table *table);
int64_t table_size(struct table *table);

/*
 * Adds keys[i] -> values[i]. A static table takes them only once: what comes later is ignored, as
 * in TensorFlow. FAILED_PRECONDITION where a static table gets two values for one key. A mutable
 * one overwrites.
 */
struct status table_add(struct table *table, const struct tensor *keys,
                        const struct tensor *values);
/* Mutable: forgets all first. */
struct status table_replace(struct table *table, const struct tensor *keys,
                            const struct tensor *values);
void table_remove(struct table *table, const struct tensor *keys);

/*
 * out[i] = the value of keys[i], or defaults[i · defaults_step]. FAILED_PRECONDITION `Table not
 * initialized.` Strings of a static table are borrowed; of a mutable one they are copied to
 * `arena`.
 */
struct status table_find(struct table *table, const struct tensor *keys,
                         const struct tensor *defaults, int defaults_step, struct arena *arena,
                         struct tensor *out);

/* All entries, in the order of their adding; `keys` and `values` are of table_size or more and say
 * in *count how many were written. */
struct status table_export(struct table *table, struct arena *arena, struct tensor *keys,
                           struct tensor *values, int64_t *count);

#endif
