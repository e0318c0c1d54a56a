/*
 * bincount: what the ops that count numbers share. A bin is an element of a tensor; its type is
 * that of the weights: float, double, int32 or int64.
 */
#ifndef KERNELS_ARRAY_BINCOUNT_H
#define KERNELS_ARRAY_BINCOUNT_H

#include "tensor/tensor.h"

/* Adds 1, or weight `at` if there are weights, to a bin; with `binary`, sets it to 1. */
void bincount_add(const struct tensor *weights, int64_t at, bool binary, struct tensor *out,
                  int64_t bin);

/* Are there no weights, or one for each value? INVALID_ARGUMENT: no. */
struct status bincount_check_weights(const struct tensor *values, const struct tensor *weights);

/* Do the row splits (int64, at least one) begin with 0, never fall, and end with the number of
 * values? INVALID_ARGUMENT: no. */
struct status bincount_check_splits(const struct tensor *splits, int64_t values);

#endif
