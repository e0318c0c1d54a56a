/*
 * cast: from any number type to any other, as TensorFlow's CPU kernels do it: C's conversion, and
 * the result of x86's instructions where C leaves it undefined (a float outside of the integer's
 * range, NaN). half, bfloat16 and float8 go through float, quantized integers are plain
 * ones. A complex number gives its real part.
 */
#include <complex.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float8.h"
#include "runtime/kernels/plain/types.h"

typedef void cast_row(const void *from, void *to, int64_t count);

/* As cvttsd2si: the lowest number if the value does not fit. */
static inline int32_t to_i32(double x)
{
    return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static inline int64_t to_i64(double x)
{
    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int64_t)x : INT64_MIN;
}

static inline uint64_t to_u64(double x)
{
    return x >= 9223372036854775808.0 && x < 18446744073709551616.0 ? (uint64_t)x
                                                                    : (uint64_t)to_i64(x);
}

#define FLOAT_TO_f32(x) (float)(x)
#define FLOAT_TO_f64(x) (double)(x)
#define FLOAT_TO_i8(x)  (int8_t) to_i32((double)(x))
#define FLOAT_TO_i16(x) (int16_t) to_i32((double)(x))
#define FLOAT_TO_i32(x) to_i32((double)(x))
#define FLOAT_TO_i64(x) to_i64((double)(x))
#define FLOAT_TO_u8(x)  (uint8_t) to_i32((double)(x))
#define FLOAT_TO_u16(x) (uint16_t) to_i32((double)(x))
#define FLOAT_TO_u32(x) (uint32_t) to_i64((double)(x))
#define FLOAT_TO_u64(x) to_u64((double)(x))

/* A complex number becomes its real part, a real one gets the imaginary part 0. */
#define TO_c64(x)          (float complex)(x)
#define TO_c128(x)         (double complex)(x)
#define COMPLEX_TO_f32(x)  (float)creal(x)
#define COMPLEX_TO_f64(x)  creal(x)
#define COMPLEX_TO_i8(x)   FLOAT_TO_i8(creal(x))
#define COMPLEX_TO_i16(x)  FLOAT_TO_i16(creal(x))
#define COMPLEX_TO_i32(x)  FLOAT_TO_i32(creal(x))
#define COMPLEX_TO_i64(x)  FLOAT_TO_i64(creal(x))
#define COMPLEX_TO_u8(x)   FLOAT_TO_u8(creal(x))
#define COMPLEX_TO_u16(x)  FLOAT_TO_u16(creal(x))
#define COMPLEX_TO_u32(x)  FLOAT_TO_u32(creal(x))
#define COMPLEX_TO_BOOL(x) creal(x) != 0
#define COMPLEX_TO_u64(x)  FLOAT_TO_u64(creal(x))

#define CAST_ROW(f, F, t, T, EXPR)                                    \
    static void f##_to_##t(const void *from, void *to, int64_t count) \
    {                                                                 \
        const F *in = from;                                           \
        T *out = to;                                                  \
        for (int64_t i = 0; i < count; i++)                           \
            out[i] = EXPR(in[i]);                                     \
    }
#define PLAIN_f32(x) (float)(x)
#define PLAIN_f64(x) (double)(x)
#define PLAIN_i8(x)  (int8_t)(x)
#define PLAIN_i16(x) (int16_t)(x)
#define PLAIN_i32(x) (int32_t)(x)
#define PLAIN_i64(x) (int64_t)(x)
#define PLAIN_u8(x)  (uint8_t)(x)
#define PLAIN_u16(x) (uint16_t)(x)
#define PLAIN_u32(x) (uint32_t)(x)
#define PLAIN_u64(x) (uint64_t)(x)
#define TO_BOOL(x)   (x) != 0

/* From each type F to all. */
#define CAST_FROM_FLOAT(f, F, W)                  \
    CAST_ROW(f, F, f32, float, FLOAT_TO_f32)      \
    CAST_ROW(f, F, f64, double, FLOAT_TO_f64)     \
    CAST_ROW(f, F, i8, int8_t, FLOAT_TO_i8)       \
    CAST_ROW(f, F, i16, int16_t, FLOAT_TO_i16)    \
    CAST_ROW(f, F, i32, int32_t, FLOAT_TO_i32)    \
    CAST_ROW(f, F, i64, int64_t, FLOAT_TO_i64)    \
    CAST_ROW(f, F, u8, uint8_t, FLOAT_TO_u8)      \
    CAST_ROW(f, F, u16, uint16_t, FLOAT_TO_u16)   \
    CAST_ROW(f, F, u32, uint32_t, FLOAT_TO_u32)   \
    CAST_ROW(f, F, u64, uint64_t, FLOAT_TO_u64)   \
    CAST_ROW(f, F, c64, float complex, TO_c64)    \
    CAST_ROW(f, F, c128, double complex, TO_c128) \
    CAST_ROW(f, F, b8, bool, TO_BOOL)
#define CAST_FROM_INTEGER(f, F, W)                \
    CAST_ROW(f, F, f32, float, PLAIN_f32)         \
    CAST_ROW(f, F, f64, double, PLAIN_f64)        \
    CAST_ROW(f, F, i8, int8_t, PLAIN_i8)          \
    CAST_ROW(f, F, i16, int16_t, PLAIN_i16)       \
    CAST_ROW(f, F, i32, int32_t, PLAIN_i32)       \
    CAST_ROW(f, F, i64, int64_t, PLAIN_i64)       \
    CAST_ROW(f, F, u8, uint8_t, PLAIN_u8)         \
    CAST_ROW(f, F, u16, uint16_t, PLAIN_u16)      \
    CAST_ROW(f, F, u32, uint32_t, PLAIN_u32)      \
    CAST_ROW(f, F, u64, uint64_t, PLAIN_u64)      \
    CAST_ROW(f, F, c64, float complex, TO_c64)    \
    CAST_ROW(f, F, c128, double complex, TO_c128) \
    CAST_ROW(f, F, b8, bool, TO_BOOL)

#define CAST_FROM_COMPLEX(f, F)                   \
    CAST_ROW(f, F, f32, float, COMPLEX_TO_f32)    \
    CAST_ROW(f, F, f64, double, COMPLEX_TO_f64)   \
    CAST_ROW(f, F, i8, int8_t, COMPLEX_TO_i8)     \
    CAST_ROW(f, F, i16, int16_t, COMPLEX_TO_i16)  \
    CAST_ROW(f, F, i32, int32_t, COMPLEX_TO_i32)  \
    CAST_ROW(f, F, i64, int64_t, COMPLEX_TO_i64)  \
    CAST_ROW(f, F, u8, uint8_t, COMPLEX_TO_u8)    \
    CAST_ROW(f, F, u16, uint16_t, COMPLEX_TO_u16) \
    CAST_ROW(f, F, u32, uint32_t, COMPLEX_TO_u32) \
    CAST_ROW(f, F, u64, uint64_t, COMPLEX_TO_u64) \
    CAST_ROW(f, F, c64, float complex, TO_c64)    \
    CAST_ROW(f, F, c128, double complex, TO_c128) \
    CAST_ROW(f, F, b8, bool, COMPLEX_TO_BOOL)

FLOAT_TYPES(CAST_FROM_FLOAT)
CAST_FROM_COMPLEX(c64, float complex)
CAST_FROM_COMPLEX(c128, double complex)
INTEGER_TYPES(CAST_FROM_INTEGER)
CAST_FROM_INTEGER(b8, bool, )

#define CASTS_FROM(f)                                                                 \
    {                                                                                 \
        [DT_FLOAT] = f##_to_f32, [DT_DOUBLE] = f##_to_f64, [DT_INT8] = f##_to_i8,     \
        [DT_INT16] = f##_to_i16, [DT_INT32] = f##_to_i32, [DT_INT64] = f##_to_i64,    \
        [DT_UINT8] = f##_to_u8, [DT_UINT16] = f##_to_u16, [DT_UINT32] = f##_to_u32,   \
        [DT_UINT64] = f##_to_u64, [DT_BOOL] = f##_to_b8, [DT_COMPLEX64] = f##_to_c64, \
        [DT_COMPLEX128] = f##_to_c128                                                 \
    }
static cast_row *const casts[DTYPE_COUNT][DTYPE_COUNT] = {
    [DT_FLOAT] = CASTS_FROM(f32),       [DT_DOUBLE] = CASTS_FROM(f64),
    [DT_INT8] = CASTS_FROM(i8),         [DT_INT16] = CASTS_FROM(i16),
    [DT_INT32] = CASTS_FROM(i32),       [DT_INT64] = CASTS_FROM(i64),
    [DT_UINT8] = CASTS_FROM(u8),        [DT_UINT16] = CASTS_FROM(u16),
    [DT_UINT32] = CASTS_FROM(u32),      [DT_UINT64] = CASTS_FROM(u64),
    [DT_BOOL] = CASTS_FROM(b8),         [DT_COMPLEX64] = CASTS_FROM(c64),
    [DT_COMPLEX128] = CASTS_FROM(c128),
};

struct cast_state {
    enum dtype from, to;
    uint64_t keep; /* Truncate: the bits of a float or double that `to` can hold */
};

static enum dtype through(enum dtype dtype)
{
    switch (dtype) {
    case DT_HALF:
    case DT_BFLOAT16:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E5M2:
        return DT_FLOAT;
    case DT_QINT8:
        return DT_INT8;
    case DT_QUINT8:
        return DT_UINT8;
    case DT_QINT16:
        return DT_INT16;
    case DT_QUINT16:
        return DT_UINT16;
    case DT_QINT32:
        return DT_INT32;
    default:
        return dtype;
    }
}

static int fraction_bits(enum dtype dtype)
{
    switch (dtype) {
    case DT_DOUBLE:
        return 52;
    case DT_FLOAT:
        return 23;
    case DT_HALF:
        return 10;
    default:
        return 7; /* DT_BFLOAT16 */
    }
}

/* Truncation applies from float or double to a narrower floating type. TensorFlow does not
 * truncate from double to bfloat16. */
static uint64_t kept_bits(const struct cast_state *state)
{
    if ((state->from != DT_FLOAT && state->from != DT_DOUBLE) || !dtype_is_floating(state->to) ||
        (state->from == DT_DOUBLE && state->to == DT_BFLOAT16))
        return UINT64_MAX;
    int lost = fraction_bits(state->from) - fraction_bits(state->to);
    return lost > 0 ? UINT64_MAX << lost : UINT64_MAX;
}

static bool is_narrow(enum dtype dtype)
{
    return dtype_is_half(dtype) || dtype_is_float8(dtype);
}

static void load_narrow(enum dtype dtype, const void *from, float *to, int64_t count)
{
    if (dtype_is_float8(dtype))
        float8_load(dtype, from, to, count);
    else
        half_block_load(dtype, from, to, count);
}

static void store_narrow(enum dtype dtype, const float *from, void *to, int64_t count)
{
    if (dtype_is_float8(dtype))
        float8_store(dtype, from, to, count);
    else
        half_block_store(dtype, from, to, count);
}

/* TensorFlow has no float8 of integers and complex numbers. Truncate means other bits. */
static bool has_rows(const struct cast_state *state, bool truncate)
{
    bool is_floating =
        is_narrow(state->from) || state->from == DT_FLOAT || state->from == DT_DOUBLE;
    if (dtype_is_float8(state->to) && (!is_floating || truncate))
        return false;
    return state->from == state->to || casts[through(state->from)][through(state->to)] != NULL;
}

static struct status cast_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct cast_state *state = prepare_state(p, sizeof *state, NULL);
    bool truncate = false;
    TRY(node_attr_type(node, "SrcT", &state->from));
    TRY(node_attr_type(node, "DstT", &state->to));
    if (node_attr(node, "Truncate") != NULL)
        TRY(node_attr_bool(node, "Truncate", &truncate));
    state->keep = truncate ? kept_bits(state) : UINT64_MAX;
    if (!has_rows(state, truncate))
        return status_error(STATUS_UNIMPLEMENTED, "Cast %s to %s is not supported",
                            dtype_name(state->from), dtype_name(state->to));
    return status_ok();
}

#define CAST_BLOCK 512

/* x with only the kept bits: float or double, as `from` says. */
static void cut_bits(const struct cast_state *state, const void *x, double *room, int64_t count)
{
    if (state->from == DT_FLOAT)
        for (int64_t i = 0; i < count; i++)
            ((uint32_t *)room)[i] = ((const uint32_t *)x)[i] & (uint32_t)state->keep;
    else
        for (int64_t i = 0; i < count; i++)
            ((uint64_t *)room)[i] = ((const uint64_t *)x)[i] & state->keep;
}

static void cast_block(const struct cast_state *state, const void *from, void *to, int64_t count)
{
    float in[CAST_BLOCK], out[CAST_BLOCK];
    double cut[CAST_BLOCK];
    const void *source = from;
    if (state->from == DT_DOUBLE && dtype_is_float8(state->to)) {
        float8_store_doubles(state->to, from, to, count);
        return;
    }
    if (is_narrow(state->from)) {
        load_narrow(state->from, from, in, count);
        source = in;
    } else if (state->keep != UINT64_MAX) {
        cut_bits(state, from, cut, count);
        source = cut;
    }
    bool narrow = is_narrow(state->to);
    casts[through(state->from)][through(state->to)](source, narrow ? out : to, count);
    if (narrow)
        store_narrow(state->to, out, to, count);
}

static struct status cast_compute(struct kernel_context *k)
{
    const struct cast_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    if (state->from == state->to) {
        kernel_output_set(k, 0, kernel_take_input(k, 0));
        return status_ok();
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (!is_narrow(state->from) && !is_narrow(state->to) && state->keep == UINT64_MAX) {
        casts[through(state->from)][through(state->to)](x->data, out->data, x->size);
        return status_ok();
    }
    for (int64_t start = 0; start < x->size; start += CAST_BLOCK) {
        int64_t count = x->size - start < CAST_BLOCK ? x->size - start : CAST_BLOCK;
        cast_block(state, at_bytes_const(x->data, start, dtype_size(state->from)),
                   at_bytes(out->data, start, dtype_size(state->to)), count);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Cast", DTYPES_ALL, "DstT", .prepare = cast_prepare, .compute = cast_compute,
      .any_rank = true },
};
const struct kernel_table kernels_cast = { rows, COUNT(rows) };
