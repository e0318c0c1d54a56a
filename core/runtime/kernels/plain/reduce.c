#include "runtime/kernels/plain/reduce.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "runtime/kernels/plain/types.h"
#include "tensor/dtype.h"

#define FOLD_ADD(T, W, a, x) (T)((W)(a) + (W)(x))
#define FOLD_MUL(T, W, a, x) (T)((W)(a) * (W)(x))
/* NaN, once met, stays. */
#define FOLD_MAX(T, W, a, x) (x) > (a) || (x) != (x) ? (x) : (a)
#define FOLD_MIN(T, W, a, x) (x) < (a) || (x) != (x) ? (x) : (a)

#define START(name, T, value)                  \
    static void name(void *out, int64_t count) \
    {                                          \
        for (int64_t i = 0; i < count; i++)    \
            ((T *)out)[i] = value;             \
    }

#define COLUMNS(attributes, name, T, W, EXPR)                                        \
    attributes static void name(const void *x_, void *out_, int64_t count)           \
    {                                                                                \
        const T *x = x_;                                                             \
        T *out = out_;                                                               \
        IVDEP for (int64_t i = 0; i < count; i++) out[i] = EXPR(T, W, out[i], x[i]); \
    }

/* Eight running results, so that the loop is not one chain of additions: faster, and the error of a
 * sum grows slower. Long rows of sums are cut into blocks for the same reason. */
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

#define MEAN_FINISH(s, T, W)                                              \
    static void mean_finish_##s(void *out, int64_t count, int64_t folded) \
    {                                                                     \
        for (int64_t i = 0; i < count && folded > 0; i++)                 \
            ((T *)out)[i] = (T)(((T *)out)[i] / (T)folded);               \
        for (int64_t i = 0; i < count && folded == 0; i++)                \
            ((T *)out)[i] = MEAN_OF_NONE_##s;                             \
    }
#define MEAN_OF_NONE_f32 NAN
#define MEAN_OF_NONE_f64 NAN
#define MEAN_OF_NONE_i8  0
#define MEAN_OF_NONE_i16 0
#define MEAN_OF_NONE_i32 0
#define MEAN_OF_NONE_i64 0
#define MEAN_OF_NONE_u8  0
#define MEAN_OF_NONE_u16 0
#define MEAN_OF_NONE_u32 0
#define MEAN_OF_NONE_u64 0
REAL_TYPES(MEAN_FINISH)

/* Sums of squares; the root at the end. The plain loop: norms are rare. */
#define EUCLIDEAN(s, T, root)                                               \
    static void square_row_##s(const void *x, void *out, int64_t count)     \
    {                                                                       \
        for (int64_t i = 0; i < count; i++)                                 \
            *(T *)out += ((const T *)x)[i] * ((const T *)x)[i];             \
    }                                                                       \
    static void square_columns_##s(const void *x, void *out, int64_t count) \
    {                                                                       \
        for (int64_t i = 0; i < count; i++)                                 \
            ((T *)out)[i] += ((const T *)x)[i] * ((const T *)x)[i];         \
    }                                                                       \
    static void root_##s(void *out, int64_t count, int64_t folded)          \
    {                                                                       \
        (void)folded;                                                       \
        for (int64_t i = 0; i < count; i++)                                 \
            ((T *)out)[i] = root(((T *)out)[i]);                            \
    }
EUCLIDEAN(f32, float, sqrtf)
EUCLIDEAN(f64, double, sqrt)

START(all_start, bool, true)
START(any_start, bool, false)
#define FOLD_AND(T, W, a, x) (a) && (x)
#define FOLD_OR(T, W, a, x)  (a) || (x)
ROW(, all_row, bool, bool, FOLD_AND)
ROW(, any_row, bool, bool, FOLD_OR)
COLUMNS(, all_columns, bool, bool, FOLD_AND)
COLUMNS(, any_columns, bool, bool, FOLD_OR)

#define FOLD_ROWS(op, s)                                     \
    {                                                        \
        op##_start_##s, op##_row_##s, op##_columns_##s, NULL \
    }
#define FOLD_OP(op)                                                        \
    {                                                                      \
        [DT_FLOAT] = FOLD_ROWS(op, f32), [DT_DOUBLE] = FOLD_ROWS(op, f64), \
        [DT_INT8] = FOLD_ROWS(op, i8), [DT_INT16] = FOLD_ROWS(op, i16),    \
        [DT_INT32] = FOLD_ROWS(op, i32), [DT_INT64] = FOLD_ROWS(op, i64),  \
        [DT_UINT8] = FOLD_ROWS(op, u8), [DT_UINT16] = FOLD_ROWS(op, u16),  \
        [DT_UINT32] = FOLD_ROWS(op, u32), [DT_UINT64] = FOLD_ROWS(op, u64) \
    }
#define MEAN_ROWS(s)                                                 \
    {                                                                \
        sum_start_##s, sum_row_##s, sum_columns_##s, mean_finish_##s \
    }

static const struct fold_op fold_ops[] = {
    { "Sum", FOLD_OP(sum) },
    { "Prod", FOLD_OP(prod) },
    { "Max", FOLD_OP(max) },
    { "Min", FOLD_OP(min) },
    { "Mean",
      { [DT_FLOAT] = MEAN_ROWS(f32),
        [DT_DOUBLE] = MEAN_ROWS(f64),
        [DT_INT8] = MEAN_ROWS(i8),
        [DT_INT16] = MEAN_ROWS(i16),
        [DT_INT32] = MEAN_ROWS(i32),
        [DT_INT64] = MEAN_ROWS(i64),
        [DT_UINT8] = MEAN_ROWS(u8),
        [DT_UINT16] = MEAN_ROWS(u16),
        [DT_UINT32] = MEAN_ROWS(u32),
        [DT_UINT64] = MEAN_ROWS(u64) } },
    { "EuclideanNorm",
      { [DT_FLOAT] = { sum_start_f32, square_row_f32, square_columns_f32, root_f32 },
        [DT_DOUBLE] = { sum_start_f64, square_row_f64, square_columns_f64, root_f64 } } },
    { "All", { [DT_BOOL] = { all_start, all_row, all_columns, NULL } } },
    { "Any", { [DT_BOOL] = { any_start, any_row, any_columns, NULL } } },
};

const struct fold_op *fold_op_find(const char *name)
{
    for (size_t i = 0; i < COUNT(fold_ops); i++)
        if (strcmp(fold_ops[i].name, name) == 0)
            return &fold_ops[i];
    return NULL;
}

/* NaN wins nothing, not even from the first place. */
#define ARG_LOOP(name, T, load, better)                                  \
    static int64_t name(const void *x_, int64_t count, int64_t step)     \
    {                                                                    \
        const T *x = x_;                                                 \
        int64_t best = 0;                                                \
        for (int64_t i = 1; i < count; i++) {                            \
            bool first = load(x[best * step]) != load(x[best * step]) && \
                         load(x[i * step]) == load(x[i * step]);         \
            if (load(x[i * step]) better load(x[best * step]) || first)  \
                best = i;                                                \
        }                                                                \
        return best;                                                     \
    }
#define AS_IS(x) (x)
#define ARG_ROWS(s, T, W)              \
    ARG_LOOP(arg_max_##s, T, AS_IS, >) \
    ARG_LOOP(arg_min_##s, T, AS_IS, <)
REAL_TYPES(ARG_ROWS)
ARG_ROWS(b8, bool, )
ARG_LOOP(arg_max_f16, uint16_t, half_to_float, >)
ARG_LOOP(arg_min_f16, uint16_t, half_to_float, <)
ARG_LOOP(arg_max_bf16, uint16_t, bfloat16_to_float, >)
ARG_LOOP(arg_min_bf16, uint16_t, bfloat16_to_float, <)

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
