/*
 * batch_target: --target_p99_ms chooses how many rows may share a run, from what runs of each size
 * were measured to cost.
 *
 * A call that just misses a run waits for all of it, and then for its own. Two runs of the largest
 * batch must therefore fit into the target, with a fifth of it left for reading, printing and
 * chance. Calls never wait for others on purpose: as long as a thread is free, waiting would only
 * add latency, and once all are busy, batches grow by themselves.
 */
#ifndef SERVER_INFERENCE_BATCH_TARGET_H
#define SERVER_INFERENCE_BATCH_TARGET_H

#include "server/models/cost_table.h"

struct batch_target {
    int64_t rows_max;
    int64_t run_ns; /* that such a run takes; 0: nothing was measured yet */
};

/* A size that was not measured yet is tried if the one below it fits: a run takes at most twice as
 * long, which is within the target. `explores`: tries one size more than fits, in case that it was
 * measured in a bad moment. Threads: safe. */
struct batch_target batch_target_choose(const struct cost_table *costs, struct cost_key size,
                                        int64_t target_ns, bool explores);

#endif
