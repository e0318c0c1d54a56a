/*
 * checkpoint_keys: hash tables in checkpoints. A table's rows are divided into shards (row_keys.h),
 * which do not depend on the number of ps tasks. Besides "ids/shards", the number of shards, each
 * non-empty shard has:
 *
 *     ids/shard_0007/keys            int64 [rows], ascending
 *     ids/shard_0007/values          float [rows, row…]
 *     ids/shard_0007/values/Adagrad  the same for a slot
 *     ids/shard_0007/used            int64 [rows]: the step of the key's last update
 *     ids/shard_0007/waiting_keys    int64 [waiting]: keys that have no row yet
 *     ids/shard_0007/waiting_used    int64 [waiting]
 *     ids/shard_0007/waiting_count   int64 [waiting]: the number of their updates
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_KEYS_H
#define TRAINER_CHECKPOINT_CHECKPOINT_KEYS_H

#include "storage/bundle_writer.h"
#include "trainer/checkpoint/checkpoint.h"

/* Writes a variable by keys, one shard at a time. */
struct status checkpoint_write_keys(const struct checkpoint_layout *layout, int variable,
                                    struct client_snapshot *snapshot, struct bundle_writer *writer);

/* Checks that the bundle has the variable, and that its tensors are consistent. Counts missing
 * slots. */
struct status checkpoint_check_keys(struct checkpoint *checkpoint, int variable);

/* See client_state.get_keys. DATA_LOSS: keys that do not ascend or are not of this shard, or
 * impossible steps or counts. */
struct status checkpoint_get_keys(struct client_state *state, int variable, uint32_t shard,
                                  enum key_part part, struct bytes *out);

/* Copies the values of keys, [count, row]; a key without a row has the default value. Caches the
 * shards that it has read. */
struct status checkpoint_copy_keys(struct checkpoint *checkpoint, int variable,
                                   const struct row_ids *keys, float *out);
void checkpoint_tables_free(struct checkpoint *checkpoint);

#endif
