/*
 * special: element-wise ops whose functions are in plain/special.h, and libm's Bessel functions.
 * float and half are computed in double.
 */
#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/special.h"
#include "runtime/kernels/plain/unary.h"

static double bessel_i0(double x)
{
    return special_bessel_i0e(x) * exp(fabs(x));
}

static double bessel_i1(double x)
{
    return special_bessel_i1e(x) * exp(fabs(x));
}

static double bessel_k0(double x)
{
    return special_bessel_k0e(x) * exp(-x);
}

static double bessel_k1(double x)
{
    return special_bessel_k1e(x) * exp(-x);
}

/* libm's, but for TensorFlow's values at infinity and below 0. */
static double bessel_j0(double x)
{
    return isinf(x) ? NAN : j0(x);
}

static double bessel_j1(double x)
{
    return isinf(x) ? NAN : j1(x);
}

static double bessel_y0(double x)
{
    return x < 0 ? -INFINITY : isinf(x) ? NAN : y0(x);
}

static double bessel_y1(double x)
{
    return x < 0 ? -INFINITY : isinf(x) ? NAN : y1(x);
}

/* TensorFlow computes these functions by libm's for floats, while subnormal numbers count as 0.
 * libm's logarithm then takes each of them for 2^-150. */
static double widen_for_log(float x)
{
    uint32_t bits = bits_of_float(x); /* comparisons take the number for 0 */
    bool is_subnormal = (bits & 0x7f800000) == 0 && bits << 1 != 0;
    return is_subnormal ? copysign(0x1p-150, (double)x) : (double)x;
}

/* Functions of one number: X(op, name, function, how a float becomes a double, types). */
#define DTYPES_WIDE (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE))
#define DTYPES_HALF (DTYPES_WIDE | DTYPES(DT_HALF))
#define UNARY_OPS(X)                                                         \
    X("Lgamma", lgamma, special_lgamma, widen_for_log, DTYPES_HALF)          \
    X("Digamma", digamma, special_digamma, (double), DTYPES_HALF)            \
    X("Erfinv", erfinv, special_erfinv, (double), DTYPES_WIDE)               \
    X("Ndtri", ndtri, special_ndtri, (double), DTYPES_WIDE)                  \
    X("BesselI0", i0, bessel_i0, (double), DTYPES_HALF)                      \
    X("BesselI0e", i0e, special_bessel_i0e, (double), DTYPES_HALF)           \
    X("BesselI1", i1, bessel_i1, (double), DTYPES_HALF)                      \
    X("BesselI1e", i1e, special_bessel_i1e, (double), DTYPES_HALF)           \
    X("BesselJ0", j0, bessel_j0, (double), DTYPES_HALF)                      \
    X("BesselJ1", j1, bessel_j1, (double), DTYPES_HALF)                      \
    X("BesselK0", k0, bessel_k0, (double), DTYPES_HALF)                      \
    X("BesselK0e", k0e, special_bessel_k0e, (double), DTYPES_HALF)           \
    X("BesselK1", k1, bessel_k1, (double), DTYPES_HALF)                      \
    X("BesselK1e", k1e, special_bessel_k1e, (double), DTYPES_HALF)           \
    X("BesselY0", y0, bessel_y0, (double), DTYPES_HALF)                      \
    X("BesselY1", y1, bessel_y1, (double), DTYPES_HALF)                      \
    X("Dawsn", dawsn, special_dawsn, (double), DTYPES_WIDE)                  \
    X("Expint", expint, special_expint, widen_for_log, DTYPES_WIDE)          \
    X("FresnelCos", fresnel_cos, special_fresnel_cos, (double), DTYPES_WIDE) \
    X("FresnelSin", fresnel_sin, special_fresnel_sin, (double), DTYPES_WIDE) \
    X("Spence", spence, special_spence, (double), DTYPES_WIDE)

#define UNARY_ROWS(op, name, function, widen, dtypes)                          \
    static void name##_row_f32(const void *x, void *out, int64_t count)        \
    {                                                                          \
        for (int64_t i = 0; i < count; i++)                                    \
            ((float *)out)[i] = (float)function(widen(((const float *)x)[i])); \
    }                                                                          \
    static void name##_row_f64(const void *x, void *out, int64_t count)        \
    {                                                                          \
        for (int64_t i = 0; i < count; i++)                                    \
            ((double *)out)[i] = function(((const double *)x)[i]);             \
    }
UNARY_OPS(UNARY_ROWS)

static const struct special_unary {
    const char *name;
    unary_row *rows[DTYPE_COUNT];
} unary_ops[] = {
#define UNARY_ENTRY(op, name, function, widen, dtypes) { op, { ROWS_FLOAT(name##_row) } },
    UNARY_OPS(UNARY_ENTRY)
};

static struct status unary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, unary_ops);
}

#define ELEMENTS_PER_CHECK 4096 /* of the run's deadline */

static struct status unary_compute(struct kernel_context *k)
{
    const struct special_unary *op = kernel_row(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    size_t size = dtype_size(x.dtype);
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    for (int64_t at = 0; at < out->size; at += ELEMENTS_PER_CHECK) {
        int64_t left = out->size - at;
        TRY(kernel_check(k));
        unary_apply(op->rows, x.dtype, at_bytes_const(x.data, at, size),
                    at_bytes(out->data, at, size),
                    left < ELEMENTS_PER_CHECK ? left : ELEMENTS_PER_CHECK);
    }
    return status_ok();
}

/* ---- two numbers ---- */

#define BY_DOUBLE(T, function, x, y) (T) function((double)(x), (double)(y))
#define ZETA(T, W, x, y)             BY_DOUBLE(T, special_zeta, x, y)
#define POLYGAMMA(T, W, x, y)        BY_DOUBLE(T, special_polygamma, x, y)
#define IGAMMA(T, W, x, y)           BY_DOUBLE(T, special_igamma, x, y)
#define IGAMMAC(T, W, x, y)          BY_DOUBLE(T, special_igammac, x, y)
#define IGAMMA_SLOPE(T, W, x, y)     BY_DOUBLE(T, special_igamma_slope, x, y)
#define LOG_F32                      88.7228391 /* of the greatest float, and double */
#define LOG_F64                      709.782712893384
#define SAMPLE_F32(T, W, x, y)       (T) special_gamma_sample_slope((double)x, (double)y, LOG_F32)
#define SAMPLE_F64(T, W, x, y)       special_gamma_sample_slope(x, y, LOG_F64)
#define NEXT_F32(T, W, x, y)         nextafterf(x, y)
#define NEXT_F64(T, W, x, y)         nextafter(x, y)
#define BOTH(name, f32, f64)                           \
    BINARY_ROW(, name##_f32, float, float, float, f32) \
    BINARY_ROW(, name##_f64, double, double, double, f64)
BOTH(zeta, ZETA, ZETA)
BOTH(polygamma, POLYGAMMA, POLYGAMMA)
BOTH(igamma, IGAMMA, IGAMMA)
BOTH(igammac, IGAMMAC, IGAMMAC)
BOTH(igamma_slope, IGAMMA_SLOPE, IGAMMA_SLOPE)
BOTH(sample_slope, SAMPLE_F32, SAMPLE_F64)
BOTH(next_after, NEXT_F32, NEXT_F64)

static const struct special_binary {
    const char *name;
    binary_row *rows[DTYPE_COUNT];
} binary_ops[] = {
    { "Zeta", { ROWS_FLOAT(zeta) } },
    { "Polygamma", { ROWS_FLOAT(polygamma) } },
    { "Igamma", { ROWS_FLOAT(igamma) } },
    { "Igammac", { ROWS_FLOAT(igammac) } },
    { "IgammaGradA", { ROWS_FLOAT(igamma_slope) } },
    { "RandomGammaGrad", { ROWS_FLOAT(sample_slope) } },
    { "NextAfter", { ROWS_FLOAT(next_after) } },
};

static struct status binary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, binary_ops);
}

static struct status binary_compute(struct kernel_context *k)
{
    const struct special_binary *op = kernel_row(k);
    return binary_compute_rows(k, op->rows);
}

/* ---- Betainc: three tensors of one shape, or scalars ---- */

static struct status betainc_compute(struct kernel_context *k)
{
    struct shape shape = shape_scalar();
    struct tensor *out;
    for (int i = 0; i < 3; i++)
        if (kernel_input(k, i)->shape.rank != 0)
            shape = kernel_input(k, i)->shape;
    for (int i = 0; i < 3; i++) {
        const struct shape *own = &kernel_input(k, i)->shape;
        if (own->rank != 0 && !shape_equal(own, &shape))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Shapes of a, b and x are inconsistent: %s and %s", shape_text(own),
                                shape_text(&shape));
    }
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t at = 0; at < out->size; at++) {
        double values[3];
        if (at % ELEMENTS_PER_CHECK == 0)
            TRY(kernel_check(k));
        for (int i = 0; i < 3; i++)
            values[i] =
                floating_element(kernel_input(k, i), kernel_input(k, i)->shape.rank == 0 ? 0 : at);
        floating_store(out, at, special_betainc(values[0], values[1], values[2]));
    }
    return status_ok();
}

/* ---- the table ---- */

#define UNARY_KERNEL(op, name, function, widen, dtypes) \
    { op, dtypes, "T", .prepare = unary_prepare, .compute = unary_compute, .any_rank = true },
#define BINARY_KERNEL(op)                                                           \
    {                                                                               \
        op, DTYPES_WIDE, "T", .prepare = binary_prepare, .compute = binary_compute, \
                              .any_rank = true                                      \
    }
static const struct kernel rows[] = {
    UNARY_OPS(UNARY_KERNEL) BINARY_KERNEL("Zeta"),
    BINARY_KERNEL("Polygamma"),
    BINARY_KERNEL("Igamma"),
    BINARY_KERNEL("Igammac"),
    BINARY_KERNEL("IgammaGradA"),
    BINARY_KERNEL("RandomGammaGrad"),
    BINARY_KERNEL("NextAfter"),
    { "Betainc", DTYPES_WIDE, .compute = betainc_compute },
};
const struct kernel_table kernels_special = { rows, COUNT(rows) };
