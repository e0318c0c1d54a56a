/*
 * elementwise: the machinery of element-wise ops. A family of ops is a table: a name, and for each
 * dtype a plain loop over one row.
 */
#ifndef KERNELS_ELEMENTWISE_H
#define KERNELS_ELEMENTWISE_H

#include "runtime/kernel.h"

/* x and out may be the same memory. */
typedef void unary_row(const void *x, void *out, int64_t count);

/* x_step and y_step are 1, or 0 for a single element that goes with the whole row. out may be x
 * or y if that has step 1. */
typedef void binary_row(const void *x, const void *y, void *out, int64_t count, int x_step,
                        int y_step);

/* Runs a row over one or two operands of any real type. half and bfloat16 go through the float
 * row in blocks that fit the L1 cache. `out_dtype` may differ (comparisons give bool). */
void unary_apply(unary_row *const *rows, enum dtype dtype, const void *x, void *out, int64_t count);
void binary_apply(binary_row *const *rows, enum dtype dtype, enum dtype out_dtype, const void *x,
                  const void *y, void *out, int64_t count, int x_step, int y_step);

/* The loop of an op over floats; NULL: the op is not in this family's table. */
unary_row *unary_find_row(const char *op);
unary_row *activation_find_row(const char *op);
binary_row *binary_find_row(const char *op);

/* Computes a broadcasting op: shapes, output and walk. */
struct status binary_compute_rows(struct kernel_context *k, binary_row *const *rows);
struct status binary_compute_to(struct kernel_context *k, binary_row *const *rows,
                                struct tensor **result);

/* Elements of half or bfloat16 that a row gets at a time, as floats. The row of such a type itself
 * stands for an op of several steps and rounds after each. */
#define HALF_BLOCK 512
void half_block_load(enum dtype dtype, const void *from, float *to, int64_t count);
void half_block_store(enum dtype dtype, const float *from, void *to, int64_t count);
/* Rounds any number of floats to half or bfloat16, in place. */
void half_block_round(enum dtype dtype, float *x, int64_t count);
/* x rounded to half or bfloat16. */
float half_round(enum dtype dtype, float x);

float half_step(float x);
float bfloat16_step(float x);

/* The rows of half and bfloat16 of an op: STEPS(R, x) has R(…) around each step but the
 * last, as TensorFlow rounds. One loop for both, without vector code, which would be large. */
typedef float round_step(float x);
#define ONE_COPY __attribute__((noinline, noclone))
#define HALF_UNARY(op, STEPS)                                                                 \
    ONE_COPY static void op##_steps(const float *x, float *out, int64_t count, round_step *R) \
    {                                                                                         \
        for (int64_t i = 0; i < count; i++)                                                   \
            out[i] = STEPS(R, x[i]);                                                          \
    }                                                                                         \
    static void op##_half(const void *x, void *out, int64_t count)                            \
    {                                                                                         \
        op##_steps(x, out, count, half_step);                                                 \
    }                                                                                         \
    static void op##_bfloat16(const void *x, void *out, int64_t count)                        \
    {                                                                                         \
        op##_steps(x, out, count, bfloat16_step);                                             \
    }
#define HALF_BINARY(op, STEPS)                                                                    \
    ONE_COPY static void op##_steps(const float *xs, const float *ys, float *out, int64_t count,  \
                                    int x_step, int y_step, round_step *R)                        \
    {                                                                                             \
        for (int64_t i = 0; i < count; i++) {                                                     \
            const float x = xs[i * x_step], y = ys[i * y_step];                                   \
            out[i] = STEPS(R, x, y);                                                              \
        }                                                                                         \
    }                                                                                             \
    static void op##_half(const void *x, const void *y, void *out, int64_t count, int x_step,     \
                          int y_step)                                                             \
    {                                                                                             \
        op##_steps(x, y, out, count, x_step, y_step, half_step);                                  \
    }                                                                                             \
    static void op##_bfloat16(const void *x, const void *y, void *out, int64_t count, int x_step, \
                              int y_step)                                                         \
    {                                                                                             \
        op##_steps(x, y, out, count, x_step, y_step, bfloat16_step);                              \
    }
#define ROWS_HALF(op) [DT_HALF] = op##_half, [DT_BFLOAT16] = op##_bfloat16

/* sum[i] += x[i], of any real type. */
void add_elements(enum dtype dtype, const void *x, void *sum, int64_t count);

/* Element i of a tensor of any floating type; floating_store rounds the value to the type. */
double floating_element(const struct tensor *x, int64_t i);
/* The same for any real type. */
double real_element(const struct tensor *x, int64_t i);
void floating_store(struct tensor *out, int64_t i, double value);

/* x as the floating type holds it. No result of one operation is rounded twice by going through
 * double. */
static inline double round_to(enum dtype dtype, double x)
{
    if (dtype == DT_DOUBLE)
        return x;
    return (double)(dtype == DT_FLOAT ? (float)x : half_round(dtype, (float)x));
}

static inline void *at_bytes(void *base, int64_t offset, size_t size)
{
    return (char *)base + (size_t)offset * size;
}

static inline const void *at_bytes_const(const void *base, int64_t offset, size_t size)
{
    return (const char *)base + (size_t)offset * size;
}

#endif
