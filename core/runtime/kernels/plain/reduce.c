#include "runtime/kernels/plain/reduce.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "runtime/kernels/plain/types.h"
#include "tensor/dtype.h"

#define FOLD_ADD(T, W, a, x) (T)((W)(a) + (W)(x))
#define FOLD_MUL(T, W, a, x) (T)((W)(a) * (W)(x))
/* A NaN is kept. Of 0 and -0, which are equal, the last one wins, as in TensorFlow. */
#define FOLD_MAX(T, W, a, x) (x) >= (a) || (x) != (x) ? (x) : (a)
#define FOLD_MIN(T, W, a, x) (x) <= (a) || (x) != (x) ? (x) : (a)

#define START(name, T, value)                  \
    static void name(void *out, int64_t count) \
    {                                          \
        for (int64_t i = 0; i < count; i++)    \
            ((T *)out)[i] = value;             \
    }

/* Four rows at a time, so that out is read and written a quarter as often. Each column is still
 * folded in the order of its rows. */
#define COLUMNS(attributes, name, T, W, EXPR)                                            \
    attributes static void name(const void *x_, void *out_, int64_t rows, int64_t count) \
    {                                                                                    \
        const T *x = x_;                                                                 \
        T *out = out_;                                                                   \
        for (; rows >= 4; rows -= 4, x += 4 * count) {                                   \
            const T *x1 = x + count, *x2 = x1 + count, *x3 = x2 + count;                 \
            IVDEP for (int64_t i = 0; i < count; i++)                                    \
            {                                                                            \
                T first = EXPR(T, W, out[i], x[i]), second = EXPR(T, W, first, x1[i]);   \
                T third = EXPR(T, W, second, x2[i]);                                     \
                out[i] = EXPR(T, W, third, x3[i]);                                       \
            }                                                                            \
        }                                                                                \
        for (; rows > 0; rows--, x += count)                                             \
            IVDEP for (int64_t i = 0; i < count; i++) out[i] = EXPR(T, W, out[i], x[i]); \
    }

/* Eight running results instead of one chain of additions: faster, and the error of a sum grows
 * more slowly. Long rows of sums are cut into blocks for the same reason. */
#define LANES 8
#define ROW(attributes, name, T, W, EXPR)                                    \
    attributes static void name(const void *x_, void *out_, int64_t count)   \
    {                                                                        \
        const T *x = x_;                                                     \
        T result = *(T *)out_, lane[LANES];                                  \
        int64_t i = 0;                                                       \
        while (count - i >= LANES) {                                         \
            int64_t left = count - i, end = i + (left < 2048 ? left : 2048); \
            for (int l = 0; l < LANES; l++)                                  \
                lane[l] = x[i + l];                                          \
            for (i += LANES; i + LANES <= end; i += LANES)                   \
                for (int l = 0; l < LANES; l++)                              \
                    lane[l] = EXPR(T, W, lane[l], x[i + l]);                 \
            for (int half = LANES / 2; half > 0; half /= 2)                  \
                for (int l = 0; l < half; l++)                               \
                    lane[l] = EXPR(T, W, lane[l], lane[l + half]);           \
            result = EXPR(T, W, result, lane[0]);                            \
        }                                                                    \
        for (; i < count; i++)                                               \
            result = EXPR(T, W, result, x[i]);                               \
        *(T *)out_ = result;                                                 \
    }

#define SUM_ROWS(s, T, W)                      \
    START(sum_start_##s, T, 0)                 \
    ROW(SIMD_##s, sum_row_##s, T, W, FOLD_ADD) \
    COLUMNS(SIMD_##s, sum_columns_##s, T, W, FOLD_ADD)
#define PROD_ROWS(s, T, W)                      \
    START(prod_start_##s, T, 1)                 \
    ROW(SIMD_##s, prod_row_##s, T, W, FOLD_MUL) \
    COLUMNS(SIMD_##s, prod_columns_##s, T, W, FOLD_MUL)
#define MAX_ROWS(s, T, W)                      \
    START(max_start_##s, T, LOWEST_##s)        \
    ROW(SIMD_##s, max_row_##s, T, W, FOLD_MAX) \
    COLUMNS(SIMD_##s, max_columns_##s, T, W, FOLD_MAX)
#define MIN_ROWS(s, T, W)                      \
    START(min_start_##s, T, HIGHEST_##s)       \
    ROW(SIMD_##s, min_row_##s, T, W, FOLD_MIN) \
    COLUMNS(SIMD_##s, min_columns_##s, T, W, FOLD_MIN)

#define LOWEST_f32  -INFINITY
#define LOWEST_f64  -INFINITY
#define LOWEST_i8   INT8_MIN
#define LOWEST_i16  INT16_MIN
#define LOWEST_i32  INT32_MIN
#define LOWEST_i64  INT64_MIN
#define LOWEST_u8   0
#define LOWEST_u16  0
#define LOWEST_u32  0
#define LOWEST_u64  0
#define HIGHEST_f32 INFINITY
#define HIGHEST_f64 INFINITY
#define HIGHEST_i8  INT8_MAX
#define HIGHEST_i16 INT16_MAX
#define HIGHEST_i32 INT32_MAX
#define HIGHEST_i64 INT64_MAX
#define HIGHEST_u8  UINT8_MAX
#define HIGHEST_u16 UINT16_MAX
#define HIGHEST_u32 UINT32_MAX
#define HIGHEST_u64 UINT64_MAX

REAL_TYPES(SUM_ROWS)
REAL_TYPES(PROD_ROWS)
REAL_TYPES(MAX_ROWS)
REAL_TYPES(MIN_ROWS)

/* Integer sums are in 64 bits, as in TensorFlow: in their own type, two large ones would
 * overflow. */
#define WIDE_SUM_ROWS(s, T, S)                                                                     \
    SIMD static void wide_sum_row_##s(const void *x, void *sums, int64_t count)                    \
    {                                                                                              \
        uint64_t sum = *(uint64_t *)sums;                                                          \
        for (int64_t i = 0; i < count; i++)                                                        \
            sum += (uint64_t)((const T *)x)[i];                                                    \
        *(uint64_t *)sums = sum;                                                                   \
    }                                                                                              \
    SIMD static void wide_sum_columns_##s(const void *x_, void *sums, int64_t rows, int64_t count) \
    {                                                                                              \
        const T *x = x_;                                                                           \
        for (; rows > 0; rows--, x += count)                                                       \
            for (int64_t i = 0; i < count; i++)                                                    \
                ((uint64_t *)sums)[i] += (uint64_t)x[i];                                           \
    }                                                                                              \
    static void mean_finish_##s(const void *sums, void *out, int64_t count, int64_t folded)        \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                        \
            ((T *)out)[i] = (T)(folded > 0 ? ((const S *)sums)[i] / (S)folded : 0);                \
    }
#define WIDE_SIGNED(s, T, W)   WIDE_SUM_ROWS(s, T, int64_t)
#define WIDE_UNSIGNED(s, T, W) WIDE_SUM_ROWS(s, T, uint64_t)
SIGNED_TYPES(WIDE_SIGNED)
UNSIGNED_TYPES(WIDE_UNSIGNED)

#define EMPTY_MEAN_f32  NAN
#define EMPTY_MEAN_f64  NAN
#define EMPTY_MEAN_c64  0 /* as in TensorFlow */
#define EMPTY_MEAN_c128 0
#define MEAN_FINISH(s, T, W)                                                                   \
    static void mean_finish_##s(const void *sums, void *out, int64_t count, int64_t folded)    \
    {                                                                                          \
        for (int64_t i = 0; i < count; i++)                                                    \
            ((T *)out)[i] = folded > 0 ? ((const T *)sums)[i] / (T)folded : (T)EMPTY_MEAN_##s; \
    }
FLOAT_TYPES(MEAN_FINISH)

/* Sums of squares, with the root at the end. A plain loop: norms are rare. The squares and sums of
 * integers wrap, so that a sum may be negative. Its root is what x86 makes of NaN. */
#define EUCLIDEAN(s, T, W)                                                                 \
    static void square_row_##s(const void *x, void *out, int64_t count)                    \
    {                                                                                      \
        W sum = (W) * (T *)out;                                                            \
        for (int64_t i = 0; i < count; i++)                                                \
            sum += (W)((const T *)x)[i] * (W)((const T *)x)[i];                            \
        *(T *)out = (T)sum;                                                                \
    }                                                                                      \
    static void square_columns_##s(const void *x_, void *out, int64_t rows, int64_t count) \
    {                                                                                      \
        const T *x = x_;                                                                   \
        for (; rows > 0; rows--, x += count)                                               \
            for (int64_t i = 0; i < count; i++)                                            \
                ((T *)out)[i] = (T)((W)((T *)out)[i] + (W)x[i] * (W)x[i]);                 \
    }                                                                                      \
    static void root_##s(const void *sums, void *out, int64_t count, int64_t folded)       \
    {                                                                                      \
        (void)folded;                                                                      \
        for (int64_t i = 0; i < count; i++) {                                              \
            double sum = (double)((const T *)sums)[i];                                     \
            ((T *)out)[i] = sum < 0 ? NEGATIVE_ROOT_##s : (T)sqrt(sum);                    \
        }                                                                                  \
    }
#define NEGATIVE_ROOT_f32 NAN
#define NEGATIVE_ROOT_f64 NAN
#define NEGATIVE_ROOT_i8  0
#define NEGATIVE_ROOT_i16 0
#define NEGATIVE_ROOT_i32 INT32_MIN
#define NEGATIVE_ROOT_i64 INT64_MIN
#define NEGATIVE_ROOT_u8  0
#define NEGATIVE_ROOT_u16 0
#define NEGATIVE_ROOT_u32 0
#define NEGATIVE_ROOT_u64 0
REAL_TYPES(EUCLIDEAN)

START(all_start, bool, true)
START(any_start, bool, false)
#define FOLD_AND(T, W, a, x) (a) && (x)
#define FOLD_OR(T, W, a, x)  (a) || (x)
ROW(, all_row, bool, bool, FOLD_AND)
ROW(, any_row, bool, bool, FOLD_OR)
COLUMNS(, all_columns, bool, bool, FOLD_AND)
COLUMNS(, any_columns, bool, bool, FOLD_OR)

#define FOLD_ROWS(op, s)                                                 \
    {                                                                    \
        op##_start_##s, op##_row_##s, op##_columns_##s, NULL, DT_INVALID \
    }
#define FOLD_REAL(op)                                                  \
    [DT_FLOAT] = FOLD_ROWS(op, f32), [DT_DOUBLE] = FOLD_ROWS(op, f64), \
    [DT_INT8] = FOLD_ROWS(op, i8), [DT_INT16] = FOLD_ROWS(op, i16),    \
    [DT_INT32] = FOLD_ROWS(op, i32), [DT_INT64] = FOLD_ROWS(op, i64),  \
    [DT_UINT8] = FOLD_ROWS(op, u8), [DT_UINT16] = FOLD_ROWS(op, u16),  \
    [DT_UINT32] = FOLD_ROWS(op, u32), [DT_UINT64] = FOLD_ROWS(op, u64)
#define FOLD_COMPLEX(op) [DT_COMPLEX64] = FOLD_ROWS(op, c64), [DT_COMPLEX128] = FOLD_ROWS(op, c128)
#define MEAN_ROWS(s)                                                             \
    {                                                                            \
        sum_start_##s, sum_row_##s, sum_columns_##s, mean_finish_##s, DT_INVALID \
    }
#define WIDE_MEAN_ROWS(s)                                                                 \
    {                                                                                     \
        sum_start_u64, wide_sum_row_##s, wide_sum_columns_##s, mean_finish_##s, DT_UINT64 \
    }
#define EUCLIDEAN_ROWS(s)                                                       \
    {                                                                           \
        sum_start_##s, square_row_##s, square_columns_##s, root_##s, DT_INVALID \
    }

/* Sums and products of complex numbers. A norm is a complex number without an imaginary part. */
#define COMPLEX_TYPES(X) \
    X(c64, float complex, float complex) X(c128, double complex, double complex)
#define SIMD_c64
#define SIMD_c128
#define COMPLEX_SQUARES(s, T, W)                                                           \
    static void square_row_##s(const void *x, void *out, int64_t count)                    \
    {                                                                                      \
        for (int64_t i = 0; i < count; i++)                                                \
            *(T *)out += ((const T *)x)[i] * (T)conj(((const T *)x)[i]);                   \
    }                                                                                      \
    static void square_columns_##s(const void *x_, void *out, int64_t rows, int64_t count) \
    {                                                                                      \
        const T *x = x_;                                                                   \
        for (; rows > 0; rows--, x += count)                                               \
            for (int64_t i = 0; i < count; i++)                                            \
                ((T *)out)[i] += x[i] * (T)conj(x[i]);                                     \
    }                                                                                      \
    static void root_##s(const void *sums, void *out, int64_t count, int64_t folded)       \
    {                                                                                      \
        (void)folded;                                                                      \
        for (int64_t i = 0; i < count; i++)                                                \
            ((T *)out)[i] = (T)csqrt(((const T *)sums)[i]);                                \
    }
COMPLEX_TYPES(SUM_ROWS)
COMPLEX_TYPES(PROD_ROWS)
COMPLEX_TYPES(MEAN_FINISH)
COMPLEX_TYPES(COMPLEX_SQUARES)

static const struct fold_op fold_ops[] = {
    { "Sum", { FOLD_REAL(sum), FOLD_COMPLEX(sum) } },
    { "Prod", { FOLD_REAL(prod), FOLD_COMPLEX(prod) } },
    { "Max", { FOLD_REAL(max) } },
    { "Min", { FOLD_REAL(min) } },
    { "Mean",
      { [DT_FLOAT] = MEAN_ROWS(f32),
        [DT_DOUBLE] = MEAN_ROWS(f64),
        [DT_INT8] = WIDE_MEAN_ROWS(i8),
        [DT_INT16] = WIDE_MEAN_ROWS(i16),
        [DT_INT32] = WIDE_MEAN_ROWS(i32),
        [DT_INT64] = WIDE_MEAN_ROWS(i64),
        [DT_UINT8] = WIDE_MEAN_ROWS(u8),
        [DT_UINT16] = WIDE_MEAN_ROWS(u16),
        [DT_UINT32] = WIDE_MEAN_ROWS(u32),
        [DT_UINT64] = WIDE_MEAN_ROWS(u64),
        [DT_COMPLEX64] = MEAN_ROWS(c64),
        [DT_COMPLEX128] = MEAN_ROWS(c128) } },
    { "EuclideanNorm",
      { [DT_FLOAT] = EUCLIDEAN_ROWS(f32),
        [DT_DOUBLE] = EUCLIDEAN_ROWS(f64),
        [DT_INT8] = EUCLIDEAN_ROWS(i8),
        [DT_INT16] = EUCLIDEAN_ROWS(i16),
        [DT_INT32] = EUCLIDEAN_ROWS(i32),
        [DT_INT64] = EUCLIDEAN_ROWS(i64),
        [DT_UINT8] = EUCLIDEAN_ROWS(u8),
        [DT_UINT16] = EUCLIDEAN_ROWS(u16),
        [DT_UINT32] = EUCLIDEAN_ROWS(u32),
        [DT_UINT64] = EUCLIDEAN_ROWS(u64),
        [DT_COMPLEX64] = EUCLIDEAN_ROWS(c64),
        [DT_COMPLEX128] = EUCLIDEAN_ROWS(c128) } },
    { "All", { [DT_BOOL] = { all_start, all_row, all_columns, NULL, DT_INVALID } } },
    { "Any", { [DT_BOOL] = { any_start, any_row, any_columns, NULL, DT_INVALID } } },
};

const struct fold_op *fold_op_find(const char *name)
{
    for (size_t i = 0; i < COUNT(fold_ops); i++)
        if (strcmp(fold_ops[i].name, name) == 0)
            return &fold_ops[i];
    return NULL;
}

/* NaN never wins. If no element is better than `worst`, the first wins. */
#define ARG_LOOP(name, T, V, load, better, worst)                    \
    static int64_t name(const void *x_, int64_t count, int64_t step) \
    {                                                                \
        const T *x = x_;                                             \
        V best = worst;                                              \
        int64_t at = 0;                                              \
        for (int64_t i = 0; i < count; i++) {                        \
            V value = load(x[i * step]);                             \
            if (value better best) {                                 \
                best = value;                                        \
                at = i;                                              \
            }                                                        \
        }                                                            \
        return at;                                                   \
    }
#define AS_IS(x)      (x)
#define WORST_MAX_f32 -FLT_MAX
#define WORST_MAX_f64 -DBL_MAX
#define WORST_MIN_f32 FLT_MAX
#define WORST_MIN_f64 DBL_MAX
#define HALF_MAX      65504.0f
#define BFLOAT16_MAX  3.38953139e38f
#define ARG_FLOAT_ROWS(s, T, W)                          \
    ARG_LOOP(arg_max_##s, T, T, AS_IS, >, WORST_MAX_##s) \
    ARG_LOOP(arg_min_##s, T, T, AS_IS, <, WORST_MIN_##s)
#define ARG_ROWS(s, T, W)                             \
    ARG_LOOP(arg_max_##s, T, T, AS_IS, >, LOWEST_##s) \
    ARG_LOOP(arg_min_##s, T, T, AS_IS, <, HIGHEST_##s)
FLOAT_TYPES(ARG_FLOAT_ROWS)
INTEGER_TYPES(ARG_ROWS)
ARG_LOOP(arg_max_b8, bool, bool, AS_IS, >, false)
ARG_LOOP(arg_min_b8, bool, bool, AS_IS, <, true)
ARG_LOOP(arg_max_f16, uint16_t, float, half_to_float, >, -HALF_MAX)
ARG_LOOP(arg_min_f16, uint16_t, float, half_to_float, <, HALF_MAX)
ARG_LOOP(arg_max_bf16, uint16_t, float, bfloat16_to_float, >, -BFLOAT16_MAX)
ARG_LOOP(arg_min_bf16, uint16_t, float, bfloat16_to_float, <, BFLOAT16_MAX)

arg_row *arg_row_find(enum dtype dtype, bool minimum)
{
    static arg_row *const loops[2][DTYPE_COUNT] = {
        { ROWS_REAL(arg_max), [DT_BOOL] = arg_max_b8, [DT_HALF] = arg_max_f16,
          [DT_BFLOAT16] = arg_max_bf16 },
        { ROWS_REAL(arg_min), [DT_BOOL] = arg_min_b8, [DT_HALF] = arg_min_f16,
          [DT_BFLOAT16] = arg_min_bf16 },
    };
    return loops[minimum][dtype];
}
