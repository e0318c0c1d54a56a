/*
 * broadcast: numpy's broadcasting as a walk over rows. Dimensions through which all operands step
 * alike are merged first: equal shapes, or a tensor and a scalar, are one row, and a trailing
 * vector gives one row per repetition.
 */
#ifndef KERNELS_PLAIN_BROADCAST_H
#define KERNELS_PLAIN_BROADCAST_H

#include "tensor/shape.h"

#define BROADCAST_OPERANDS_MAX 8

struct broadcast {
    int rank; /* after merging; the last dimension is the row */
    int operands;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[BROADCAST_OPERANDS_MAX][SHAPE_RANK_MAX]; /* elements; 0: repeated */
};

/* `out` must be the result of shape_broadcast on the operands, and none of them packed. */
void broadcast_init(struct broadcast *broadcast, const struct shape *out, int operands,
                    const struct shape *const *shapes);

/* Replaces shapes of which some are packed by shapes whose broadcast is walked in the same way:
 * dimensions of 1 in `out` do not matter, nor do any where each operand is as `out` or has one
 * element. False: more than SHAPE_RANK_MAX dimensions remain. */
bool broadcast_unpack(struct shape *out, int operands, struct shape *shapes);

static inline int64_t broadcast_row(const struct broadcast *broadcast)
{
    return broadcast->rank == 0 ? 1 : broadcast->dims[broadcast->rank - 1];
}

/* The step of an operand inside a row: 0 or 1. */
static inline int broadcast_step(const struct broadcast *broadcast, int operand)
{
    return broadcast->rank == 0 ? 1 : (int)broadcast->strides[operand][broadcast->rank - 1];
}

/* Walks the rows: offsets[operand] is where the row starts. Zero-initialise, then
 *     do { … walk.offsets[0] … } while (broadcast_next(&broadcast, &walk)); */
struct broadcast_walk {
    int64_t offsets[BROADCAST_OPERANDS_MAX];
    int64_t at[SHAPE_RANK_MAX];
};
bool broadcast_next(const struct broadcast *broadcast, struct broadcast_walk *walk);
/* The walk at its row number `row`. */
struct broadcast_walk broadcast_at(const struct broadcast *broadcast, int64_t row);

#endif
