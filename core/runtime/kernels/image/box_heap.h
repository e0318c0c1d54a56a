/*
 * box_heap: a heap of boxes ordered by score, and the overlap of two boxes.
 *
 * Pushing and popping compare in the same order as the standard library of TensorFlow's builds:
 * among equal scores, CombinedNonMaxSuppression takes the box that comes to the top.
 */
#ifndef KERNELS_BOX_HEAP_H
#define KERNELS_BOX_HEAP_H

#include "runtime/kernel.h"

struct box_candidate {
    int64_t box;
    float score;
    int64_t compared; /* selected boxes that it was compared with */
};

struct box_heap {
    struct box_candidate *at;
    int64_t count;
    bool ties_by_box; /* among equal scores, the first box comes first */
};

/* Takes memory for `count` candidates; the caller releases it. */
struct status box_heap_reserve(struct kernel_context *k, int64_t count, struct tensor *memory,
                               struct box_heap *heap);
void box_heap_push(struct box_heap *heap, struct box_candidate value);
struct box_candidate box_heap_pop(struct box_heap *heap);

/* The intersection of two boxes, over their union. Any two opposite corners make a box. */
float boxes_overlap(const float *a, const float *b);

static inline float larger(float a, float b)
{
    return a < b ? b : a;
}

static inline float smaller(float a, float b)
{
    return b < a ? b : a;
}

#endif
