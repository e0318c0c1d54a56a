/* uniform_scale: how UniformQuantize and the ops like it turn integers into numbers: (integer -
 * zero) · scale, with one scale for a tensor or one for each index of an axis. */
#ifndef KERNELS_UNIFORM_SCALE_H
#define KERNELS_UNIFORM_SCALE_H

#include "runtime/kernel.h"

/* The attributes of one tensor: <prefix>quantization_axis, …_min_val and …_max_val. */
struct uniform_attrs {
    int64_t axis; /* -1: one scale */
    int32_t least, most;
};
struct status uniform_attrs_read(const struct node *node, const char *prefix,
                                 struct uniform_attrs *out);

/* The scales and zeros of a tensor. */
struct uniform_scale {
    const float *scales;
    const int32_t *zeros;
    int64_t count; /* 1, or the size of the axis */
    int64_t inner; /* elements of one index of the axis */
};
/**
 * Reads inputs `input` (scales) and `input` + 1 (zeros) of a tensor of `shape`.
 *
 * Errors  INVALID_ARGUMENT they do not fit the shape and the axis
 */
struct status uniform_scale_read(struct kernel_context *k, int input, const struct shape *shape,
                                 int64_t axis, struct uniform_scale *out);

/* INVALID_ARGUMENT: a scale of input `input` is not positive. UniformQuantize and
 * UniformQuantizedClipByValue take any. */
struct status uniform_scale_check(const struct kernel_context *k, int input);

/* The index of the scale of element i. */
static inline int64_t uniform_scale_at(const struct uniform_scale *scale, int64_t i)
{
    return scale->count == 1 ? 0 : i / scale->inner % scale->count;
}

/* A positive factor as an integer of 31 bits and a shift. */
struct uniform_factor {
    int32_t multiplier;
    int shift; /* to the left */
};
/* INVALID_ARGUMENT: not positive and finite. */
struct status uniform_factor_of(struct kernel_context *k, double factor,
                                struct uniform_factor *out);
/* x times the factor, rounded to the nearest, then kept within int32. */
int32_t uniform_multiply(int32_t x, struct uniform_factor factor);

static inline int32_t uniform_clamp(int32_t x, int32_t least, int32_t most)
{
    int32_t below = x < most ? x : most;
    return below > least ? below : least;
}

/* x as the integer floor(x / scale + 0.5) + zero, within least .. most. */
int32_t uniform_quantize(float x, float inverse_scale, int32_t zero, int32_t least, int32_t most);

/* Floats as bytes, with the scale and the zero that fit them. */
void uniform_quantize_run(const float *x, int64_t count, int8_t *out, float *scale, int32_t *zero);

#endif
