/*
 * batch_target: how many rows may share a run, chosen by the measured cost of runs of each size.
 *
 * The smallest size whose rows cost about as little as in any other is chosen: if a run of 64 rows
 * takes as long as 64 runs, merging calls only makes the first of them wait for the last.
 *
 * --target_p99_ms limits the sizes. A call that just misses a run waits for that whole run and then
 * for its own. Two runs of the largest batch must therefore fit into the target, with a fifth of it
 * left for parsing, printing and variance.
 *
 * Calls never wait for others on purpose: while a thread is free, waiting would only add latency,
 * and once all are busy, batches grow by themselves.
 */
#ifndef SERVER_INFERENCE_BATCH_TARGET_H
#define SERVER_INFERENCE_BATCH_TARGET_H

#include "server/models/cost_table.h"

#define BATCH_TARGET_NONE INT64_MAX /* all sizes fit */

struct batch_target {
    int64_t rows_max;
    int64_t run_ns; /* duration of a run of rows_max rows; 0: not measured yet */
};

/* An unmeasured size is tried if the next smaller one fits and saves time: a run then takes at most
 * twice as long, which is within the target. Below a size that fits, sizes need not be measured: if
 * calls have several rows each, there are no smaller runs. `explores`: tries all fitting sizes and
 * one more, in case one was not measured, or at a bad moment. Threads: safe. */
struct batch_target batch_target_choose(const struct cost_table *costs, struct cost_key size,
                                        int64_t target_ns, bool explores);

#endif
