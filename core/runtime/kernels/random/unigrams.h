/*
 * unigrams: draws classes by weights. `seen_counts` counts the classes that runs have seen,
 * `given_weights` has fixed weights.
 */
#ifndef KERNELS_UNIGRAMS_H
#define KERNELS_UNIGRAMS_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/philox.h"

/* A number in [0, range), without bias, as TensorFlow draws it; 0 if `range` is 0. */
uint64_t philox_below_64(struct philox_reader *reader, uint64_t range);

/* Each class counts once before it is seen. */
struct seen_counts {
    int32_t *sums;  /* [2 * leaves]: sums[i] = sums[2i] + sums[2i + 1]; sums[1] is the total */
    int64_t leaves; /* a power of two; leaf i is sums[leaves + i] */
    int64_t range;
};

/**
 * Owner   *out frees with seen_counts_finish
 * Errors  INVALID_ARGUMENT, of kernel_table_may_grow
 */
struct status seen_counts_start(struct kernel_context *k, int64_t range, struct seen_counts *out);
void seen_counts_finish(struct seen_counts *counts); /* accepts a zeroed one */
int64_t seen_counts_draw(const struct seen_counts *counts, struct philox_reader *reader);
float seen_counts_share(const struct seen_counts *counts, int64_t value);
/* Nothing is counted once the total is the greatest int32. */
void seen_counts_add(struct seen_counts *counts, int64_t value);

struct given_weights {
    float *weights; /* [count] */
    int64_t count;
    float total;
    struct weight_cell *cells; /* [count], see unigrams.c */
};

/* Reads the weights from the attributes of FixedUnigramCandidateSampler. Owner and errors as above,
 * and those of read_model_file. */
struct status given_weights_start(struct kernel_context *k, int64_t range,
                                  struct given_weights *out);
void given_weights_finish(struct given_weights *weights);
int64_t given_weights_draw(const struct given_weights *weights, struct philox_reader *reader);
float given_weights_share(const struct given_weights *weights, int64_t value);

#endif
