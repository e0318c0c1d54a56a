/*
 * batch_merge: one tensor of the rows of all calls of a batch.
 */
#ifndef SERVER_INFERENCE_BATCH_MERGE_H
#define SERVER_INFERENCE_BATCH_MERGE_H

#include "server/inference/inference.h"

/**
 * Merges the input `index` of all calls, which have `rows` rows together. `padding` more rows
 * repeat the first row of the last call that has rows. If the other dimensions differ, they are
 * padded to the largest with the first element of each tensor, if the parameters of the callable
 * say so.
 *
 * Owner   out is the caller's, of the run's pool
 * Errors  FAILED_PRECONDITION shapes differ; INVALID_ARGUMENT cannot be padded; RESOURCE_EXHAUSTED
 */
struct status batch_merge(const struct inference_call *calls, int index, int64_t rows,
                          int64_t padding, struct run *run, struct tensor *out);

#endif
