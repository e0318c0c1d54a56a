/* crop_lines: where CropAndResize and its gradients find the pixels of a box. */
#ifndef KERNELS_CROP_LINES_H
#define KERNELS_CROP_LINES_H

#include <math.h>

#include "runtime/kernel.h"

/* The positions of the output in a dimension of the image: first + i * step. */
struct crop_line {
    float first, step, last; /* last: of the image */
    int64_t last_index;      /* less than `last` if that was rounded up, from 2^24 on */
};

static inline struct crop_line crop_line_of(float low, float high, int64_t in, int64_t out)
{
    float last = (float)(in - 1), middle = (float)(0.5 * (double)(low + high) * (double)(in - 1));
    if (out == 1)
        return (struct crop_line){ middle, 0, last, in - 1 };
    return (struct crop_line){ low * last, (high - low) * last / (float)(out - 1), last, in - 1 };
}

static inline float crop_line_at(const struct crop_line *line, int64_t i)
{
    return line->first + (float)i * line->step;
}

/* False for NaN as well, which huge boxes give. */
static inline bool crop_is_inside(const struct crop_line *line, float at)
{
    return at >= 0 && at <= line->last;
}

/* The index of a whole position inside. */
static inline int64_t crop_index_of(const struct crop_line *line, float at)
{
    int64_t index = (int64_t)at;
    return index < line->last_index ? index : line->last_index;
}

/* The box of each image: shapes in TensorFlow's words; then, values. */
struct status crop_check_boxes(const struct tensor *boxes, const struct tensor *indices);
struct status crop_check_indices(const struct tensor *indices, int64_t images);

#endif
