/*
 * slice_plan: what StridedSlice and its relatives take of a tensor: their inputs begin, end and
 * strides, and their masks, as one start, step and count per dimension.
 */
#ifndef KERNELS_SLICE_PLAN_H
#define KERNELS_SLICE_PLAN_H

#include "runtime/kernel.h"
#include "runtime/kernels/plain/strided.h"

struct slice_masks {
    int64_t begin, end, ellipsis, new_axis, shrink_axis;
};

/* The specification with one entry per dimension of the input. */
struct slice_plan {
    int64_t begin[SHAPE_RANK_MAX], stride[SHAPE_RANK_MAX], count[SHAPE_RANK_MAX];
    struct shape out; /* with new axes, without shrunk ones */
};

struct slice_spec {
    const struct tensor *begin, *end, *strides;
    const struct slice_masks *masks;
};

/* The masks as the node's state. */
struct status slice_masks_prepare(struct prepare_context *p);

/* INVALID_ARGUMENT in TensorFlow's words: the slice does not fit the shape of the input. */
struct status slice_plan_make(const struct slice_spec *spec, const struct shape *input,
                              struct slice_plan *plan);

/* The walk over an array of `shape`; returns where it starts. */
int64_t slice_walk(const struct slice_plan *plan, const struct shape *shape, struct strided *out);

#endif
