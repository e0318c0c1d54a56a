/*
 * batch_merge: concatenates the rows of all calls of a batch into one tensor.
 */
#ifndef SERVER_INFERENCE_BATCH_MERGE_H
#define SERVER_INFERENCE_BATCH_MERGE_H

#include "server/inference/inference.h"

/**
 * Merges input `index` of all calls, which have `rows` rows in total. `padding` more rows repeat
 * the first row of the last call that has rows. If the callable's parameters allow it, other
 * dimensions that differ are padded to the largest, with the first element of each tensor.
 *
 * Owner   out is the caller's, of the run's pool
 * Errors  FAILED_PRECONDITION shapes differ; INVALID_ARGUMENT cannot be padded; RESOURCE_EXHAUSTED
 */
struct status batch_merge(const struct inference_call *calls, int index, int64_t rows,
                          int64_t padding, struct run *run, struct tensor *out);

#endif
