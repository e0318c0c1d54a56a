/*
 * quantized_numbers: integers that represent the numbers of a range, as TensorFlow's quantized ops
 * convert them. The lowest integer of the type is range[0], the highest range[1], and 0 is moved to
 * the nearest integer.
 *
 * TensorFlow has two conversions of the same meaning that round differently: one by one in double,
 * and whole tensors in float. Each op uses the one of its counterpart in TensorFlow.
 */
#ifndef KERNELS_QUANTIZED_NUMBERS_H
#define KERNELS_QUANTIZED_NUMBERS_H

#include "runtime/kernel.h"

#define DTYPES_QUANTIZED                                                            \
    (DTYPES(DT_QINT8) | DTYPES(DT_QUINT8) | DTYPES(DT_QINT32) | DTYPES(DT_QINT16) | \
     DTYPES(DT_QUINT16))

/* The least and the greatest integer of a type. */
struct quantized_limits {
    double lowest, highest;
};
struct quantized_limits quantized_limits(enum dtype dtype);

/* Element i of an array of a quantized type. */
int32_t quantized_get(enum dtype dtype, const void *x, int64_t i);
void quantized_set(enum dtype dtype, void *x, int64_t i, int32_t value); /* keeps the low bits */

/* ---- one by one, in double ---- */

float quantized_to_float(enum dtype dtype, int32_t x, const float range[2]);
/* The nearest integer of the type. */
int32_t quantized_of_float(enum dtype dtype, float x, const float range[2]);
/* The same, which may lie outside of the type. */
int64_t quantized_unlimited(enum dtype dtype, float x, const float range[2]);

/* ---- whole tensors, in float ---- */

struct quantized_line {
    float low;   /* range[0] */
    float scale; /* from integers to numbers; 0: the range is one number */
    float zero;  /* the value of the integer 0 */
    float back;  /* from numbers to integers */
    float shift; /* of the number 0, in integers */
    float lowest, highest;
};
struct quantized_line quantized_line(enum dtype dtype, const float range[2]);

static inline float quantized_line_to_float(const struct quantized_line *line, int32_t x)
{
    return line->scale == 0 ? line->low : line->zero + (float)x * line->scale;
}

int32_t quantized_line_of_float(const struct quantized_line *line, float x);

/* ---- ranges ---- */

/* Inputs `input` and `input` + 1: two finite numbers. */
struct status quantized_read_range(const struct kernel_context *k, int input, float out[2]);
/**
 * The same from input 2, for two operands whose ranges must not be empty.
 *
 * Errors  INVALID_ARGUMENT "max_<x_text>." or "max_<y_text>."
 */
struct status quantized_check_ranges(const struct kernel_context *k, const char *x_text,
                                     const char *y_text);
/* Outputs `output` and `output` + 1 become scalars. */
struct status quantized_set_range(struct kernel_context *k, int output, float low, float high);
/* The range of int32 products of integers of two types. */
void quantized_product_range(enum dtype a, const float a_range[2], enum dtype b,
                             const float b_range[2], float out[2]);

#endif
