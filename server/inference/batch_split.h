/*
 * batch_split: a call with more rows than one run may have (enable_large_batch_splitting). Its
 * parts are separate calls, which run in different batches, possibly concurrently; their answers
 * are joined.
 */
#ifndef SERVER_INFERENCE_BATCH_SPLIT_H
#define SERVER_INFERENCE_BATCH_SPLIT_H

#include "server/inference/inference.h"

/**
 * Splits the call into a part of `first_rows` rows (0: none) and parts of at most `rows_max` rows.
 *
 * Owner   *parts is a list; each part lives until its batch_split_end
 * Errors  RESOURCE_EXHAUSTED
 */
struct status batch_split(struct inference_call *whole, int64_t first_rows, int64_t rows_max,
                          struct inference_call **parts);

/* A part has run, and its `status` is set. If it was the last part, returns the whole call with
 * its status, otherwise NULL. Threads: any. */
struct inference_call *batch_split_end(struct inference_call *part);

/* Is this call, or the call of this part, cancelled? */
bool batch_split_is_cancelled(const struct inference_call *call);

/* The run of this call or part begins. The whole call stops waiting with its first part.
 * Threads: any. */
void batch_split_stop_waiting(struct inference_call *call);

#endif
