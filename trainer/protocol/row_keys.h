/*
 * row_keys: the rules of a hash table, a variable whose rows are identified by 64-bit keys. It has
 * no fixed number of rows, and two keys never share one. All tasks apply these rules, which depend
 * neither on the number of ps tasks nor on the order in which keys arrive:
 *
 *     shard of a key          the upper bits of its hash, one of KEY_SHARDS
 *     ps of a key             shard modulo the number of ps tasks
 *     initial value of a row  drawn from (the variable's seed, the key)
 *     chance of a key         drawn from (the same two), compared with `probability`
 *
 * Keys are int64 and ascend as such. In a message a key has its sign bit flipped, which keeps the
 * order for unsigned numbers.
 *
 * A key gets a row after `min_count` updates with a gradient for it, if its chance admits it. Until
 * then it has its initial value, and its gradients are ignored. Paddle's CountFilterEntry and
 * ProbabilityEntry and DeepRec's CounterFilter admit keys in the same way; they count lookups,
 * whereas this counts updates, so reading changes nothing.
 *
 * A key expires after `ttl_steps` steps without an update of it. If the rows of a shard exceed its
 * part of `bytes_max`, the least recently updated rows are evicted.
 */
#ifndef TRAINER_PROTOCOL_ROW_KEYS_H
#define TRAINER_PROTOCOL_ROW_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tensor/row_keys_spec.h"

#define KEY_SHARDS    1024
#define KEY_COUNT_MAX (1 << 30)

/* The parts of a shard in a snapshot or a checkpoint. Keys ascend. `rows` keys have a row;
 * `waiting` keys have been seen but have no row yet. */
enum key_part {
    KEY_PART_VALUES,        /* float [rows, row]; parts 1 to 4: the optimizer's slots */
    KEY_PART_KEYS = 5,      /* int64 [rows] */
    KEY_PART_USED,          /* int64 [rows]: the step of the key's last update */
    KEY_PART_WAITING_KEYS,  /* int64 [waiting] */
    KEY_PART_WAITING_USED,  /* int64 [waiting] */
    KEY_PART_WAITING_COUNT, /* int64 [waiting]: the number of updates of the key */
    KEY_PARTS,
};

/* Memory of a ps per row besides the row itself: the key, when it was last used, its links in
 * lists. */
#define KEY_ENTRY_BYTES 36

/* row_bytes: of a row and its slots. INVALID_ARGUMENT: a rule out of range, which is named. */
struct status row_keys_check(const struct row_keys_spec *spec, uint64_t row_bytes);

struct optimizer;
/* Can this optimizer train a table with these rules? row_bytes: of a row without slots.
 * UNIMPLEMENTED: it changes every row; INVALID_ARGUMENT: as row_keys_check. */
struct status row_keys_can_train(const struct row_keys_spec *spec, uint64_t row_bytes,
                                 const struct optimizer *optimizer);

uint32_t key_shard(int64_t key);
static inline int key_ps(int64_t key, int ps_count)
{
    return (int)(key_shard(key) % (uint32_t)ps_count);
}

static inline uint64_t key_to_wire(int64_t key)
{
    return (uint64_t)key ^ (UINT64_C(1) << 63);
}

static inline int64_t key_from_wire(uint64_t number)
{
    return (int64_t)(number ^ (UINT64_C(1) << 63));
}

/* Can this key ever get a row? */
bool key_has_chance(const struct row_keys_spec *spec, int64_t key);

/* The initial value of a key's row, [count]. */
void key_initial_value(const struct row_keys_spec *spec, int64_t key, float *out, size_t count);

/* In evaluation and serving, the value of each element for a key without a row: the mean of the
 * initial distribution. */
float key_default_value(const struct row_keys_spec *spec);

#endif
