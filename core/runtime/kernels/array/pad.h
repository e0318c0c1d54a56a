/*
 * pad: the paddings of a tensor's dimensions, for the ops that pad.
 */
#ifndef KERNELS_PAD_H
#define KERNELS_PAD_H

#include "runtime/kernel.h"

struct pads {
    int64_t before[SHAPE_RANK_MAX];
    struct shape out; /* the padded shape */
};

/* From a matrix of a row (before, after) for each dimension. INVALID_ARGUMENT in TensorFlow's
 * words. */
struct status pads_read(const struct kernel_context *k, const struct shape *x,
                        const struct tensor *list, struct pads *pads);

/* ---- mirroring; offset 1: REFLECT omits the edge; 0: SYMMETRIC repeats it ---- */

/* INVALID_ARGUMENT: a padding is larger than its dimension has elements to mirror. */
struct status pads_check_mirrored(const struct pads *pads, const struct shape *x, int offset);

/* The index of the input for index i of a padded dimension. */
int64_t pads_mirrored(int64_t i, int64_t before, int64_t dim, int offset);

#endif
