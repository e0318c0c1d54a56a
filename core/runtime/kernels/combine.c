#include "runtime/kernels/combine.h"

#include <float.h>
#include <limits.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

typedef void fold(enum combine op, const void *x, void *into, int64_t count);

/* As C divides, but for what C leaves undefined: x / 0 is 0, and the lowest number / -1 wraps. */
#define DIVIDE_FLOAT(name, T, W)            \
    static inline T divide_##name(T y, T x) \
    {                                       \
        return y / x;                       \
    }
#define DIVIDE_SIGNED(name, T, W)                                         \
    static inline T divide_##name(T y, T x)                               \
    {                                                                     \
        return (T)(x == 0 ? 0 : x == -1 ? (T)((W)0 - (W)y) : (T)(y / x)); \
    }
#define DIVIDE_UNSIGNED(name, T, W)          \
    static inline T divide_##name(T y, T x)  \
    {                                        \
        return (T)(x == 0 ? 0 : (T)(y / x)); \
    }
FLOAT_TYPES(DIVIDE_FLOAT)
SIGNED_TYPES(DIVIDE_SIGNED)
UNSIGNED_TYPES(DIVIDE_UNSIGNED)

/* One loop for each op, so that the choice is made outside it. */
#define FOLD(name, T, W)                                                                 \
    static void fold_##name(enum combine op, const void *x_, void *into_, int64_t count) \
    {                                                                                    \
        const T *x = x_;                                                                 \
        T *into = into_;                                                                 \
        if (op == COMBINE_ADD)                                                           \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = (T)((W)into[i] + (W)x[i]);                                     \
        else if (op == COMBINE_SUBTRACT)                                                 \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = (T)((W)into[i] - (W)x[i]);                                     \
        else if (op == COMBINE_MULTIPLY)                                                 \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = (T)((W)into[i] * (W)x[i]);                                     \
        else if (op == COMBINE_DIVIDE)                                                   \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = divide_##name(into[i], x[i]);                                  \
        else if (op == COMBINE_MAX)                                                      \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = x[i] < into[i] ? into[i] : x[i];                               \
        else if (op == COMBINE_MIN)                                                      \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = into[i] < x[i] ? into[i] : x[i];                               \
        else if (op == COMBINE_MAX_FIRST)                                                \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = into[i] < x[i] ? x[i] : into[i];                               \
        else                                                                             \
            for (int64_t i = 0; i < count; i++)                                          \
                into[i] = x[i] < into[i] ? x[i] : into[i];                               \
    }
REAL_TYPES(FOLD)

#define FOLD_COMPLEX(name, T)                                                            \
    static void fold_##name(enum combine op, const void *x_, void *into_, int64_t count) \
    {                                                                                    \
        const T *x = x_;                                                                 \
        T *into = into_;                                                                 \
        for (int64_t i = 0; i < 2 * count; i += 2) {                                     \
            const T re = into[i], im = into[i + 1];                                      \
            if (op == COMBINE_MULTIPLY) {                                                \
                into[i] = re * x[i] - im * x[i + 1];                                     \
                into[i + 1] = re * x[i + 1] + im * x[i];                                 \
            } else if (op == COMBINE_DIVIDE) {                                           \
                const T size = x[i] * x[i] + x[i + 1] * x[i + 1];                        \
                into[i] = (re * x[i] + im * x[i + 1]) / size;                            \
                into[i + 1] = (im * x[i] - re * x[i + 1]) / size;                        \
            } else {                                                                     \
                into[i] = op == COMBINE_ADD ? re + x[i] : re - x[i];                     \
                into[i + 1] = op == COMBINE_ADD ? im + x[i + 1] : im - x[i + 1];         \
            }                                                                            \
        }                                                                                \
    }
FOLD_COMPLEX(c64, float)
FOLD_COMPLEX(c128, double)

static fold *const folds[DTYPE_COUNT] = {
    ROWS_REAL(fold), [DT_COMPLEX64] = fold_c64, [DT_COMPLEX128] = fold_c128
};

#define BLOCK 256

void combine_elements(enum combine op, enum dtype dtype, const void *x, void *into, int64_t count)
{
    if (!dtype_is_half(dtype)) {
        folds[dtype](op, x, into, count);
        return;
    }
    float a[BLOCK], b[BLOCK];
    for (int64_t start = 0; start < count; start += BLOCK) {
        int64_t n = count - start < BLOCK ? count - start : BLOCK;
        half_block_load(dtype, (const uint16_t *)x + start, a, n);
        half_block_load(dtype, (const uint16_t *)into + start, b, n);
        fold_f32(op, a, b, n);
        half_block_store(dtype, b, (uint16_t *)into + start, n);
    }
}

/* ---- start values ---- */

#define HALF_GREATEST     0x7bff
#define BFLOAT16_GREATEST 0x7f7f
#define SIGN              0x8000

/* The highest or lowest number of a real type, at `out`. */
static void extreme(enum dtype dtype, bool lowest, void *out)
{
    const float greatest = FLT_MAX;
    const double greatest_double = DBL_MAX;
    size_t size = dtype_size(dtype);
    if (dtype == DT_FLOAT) {
        const float value = lowest ? -greatest : greatest;
        memcpy(out, &value, size);
    } else if (dtype == DT_DOUBLE) {
        const double value = lowest ? -greatest_double : greatest_double;
        memcpy(out, &value, size);
    } else if (dtype_is_half(dtype)) {
        const uint16_t value = (uint16_t)((dtype == DT_HALF ? HALF_GREATEST : BFLOAT16_GREATEST) |
                                          (lowest ? SIGN : 0));
        memcpy(out, &value, size);
    } else {
        bool is_signed =
            dtype == DT_INT8 || dtype == DT_INT16 || dtype == DT_INT32 || dtype == DT_INT64;
        unsigned char *bytes = out; /* little-endian: the last one has the sign */
        memset(bytes, lowest ? 0 : 0xFF, size);
        if (is_signed)
            bytes[size - 1] = lowest ? 0x80 : 0x7F;
    }
}

static void one(enum dtype dtype, void *out)
{
    const float one_f32[] = { 1, 0 };
    const double one_f64[] = { 1, 0 };
    const int64_t one_int = 1;
    const uint16_t one_half = dtype == DT_HALF ? float_to_half(1) : float_to_bfloat16(1);
    const void *value = &one_int;
    if (dtype == DT_FLOAT || dtype == DT_COMPLEX64)
        value = one_f32;
    else if (dtype == DT_DOUBLE || dtype == DT_COMPLEX128)
        value = one_f64;
    else if (dtype_is_half(dtype))
        value = &one_half;
    memcpy(out, value, dtype_size(dtype));
}

void combine_start(enum combine op, enum dtype dtype, void *into, int64_t count)
{
    unsigned char value[16] = { 0 };
    if (op == COMBINE_MAX || op == COMBINE_MIN)
        extreme(dtype, op == COMBINE_MAX, value);
    else if (op == COMBINE_MULTIPLY)
        one(dtype, value);
    if (count > 0)
        repeat_element(into, dtype_size(dtype), value, count);
}
