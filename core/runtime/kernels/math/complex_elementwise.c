/*
 * complex_elementwise: the element-wise ops of complex64 and complex128 that real types have as
 * well (unary.c, binary.c). Some of them compute whole vectors by plain/complex_packets.h, and the
 * elements that are left by C's arithmetic, as TensorFlow does: infinities and NaN tell them apart.
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/complex_packets.h"
#include "runtime/kernels/plain/unary.h"

/* ---- one operand ---- */

/* e^(a + bi) - 1, without cancellation near 0 */
static double complex complex_expm1(double complex x)
{
    double half_sine = sin(cimag(x) / 2), less = expm1(creal(x)), e = less + 1;
    return CMPLX(less - 2 * e * (half_sine * half_sine), e * sin(cimag(x)));
}

/* ln(1 + x): x · ln(u) / (u - 1) with u = 1 + x, whose rounding cancels */
static double complex complex_log1p(double complex x)
{
    double complex u = 1 + x, logarithm = clog(u);
    return u == 1 || u == logarithm ? x : x * (logarithm / (u - 1));
}

/* e^x / (1 + e^x), with a 1 that has an imaginary part */
static double complex complex_sigmoid(double complex x)
{
    double complex e = cexp(x);
    return isinf(creal(e)) || isinf(cimag(e)) ? 1 : e / (CMPLX(1, 0) + e);
}

static double complex complex_sign(double complex x)
{
    return x == 0 ? 0 : x / cabs(x);
}

#define NEG(T, W, x)               -(x)
#define SQUARE(T, W, x)            (x) * (x)
#define SQUARE_PACKET(T, W, x)     packet_times(x, x)
#define RECIPROCAL(T, W, x)        (T)1 / (x)
#define RECIPROCAL_PACKET(T, W, x) packet_over((T)1, x)
#define RSQRT(T, W, x)             complex_inverse_root(x)
#define SIGMOID(T, W, x)           (T) complex_sigmoid(x)
#define SIGN(T, W, x)              (T) complex_sign(x)
#define EXPM1(T, W, x)             (T) complex_expm1(x)
#define LOG1P(T, W, x)             (T) complex_log1p(x)
#define SQRT(T, W, x)              complex_root(x)
#define SQRT_PACKET(T, W, x)       packet_root(x)
#define EXP(T, W, x)               (T) cexp(x)
#define LOG(T, W, x)               (T) clog(x)
#define SIN(T, W, x)               (T) csin(x)
#define COS(T, W, x)               (T) ccos(x)
#define TAN(T, W, x)               (T) ctan(x)
#define SINH(T, W, x)              (T) csinh(x)
#define COSH(T, W, x)              (T) ccosh(x)
#define TANH(T, W, x)              (T) ctanh(x)
#define ASIN(T, W, x)              (T) casin(x)
#define ACOS(T, W, x)              (T) cacos(x)
#define ATAN(T, W, x)              (T) catan(x)
#define ASINH(T, W, x)             (T) casinh(x)
#define ACOSH(T, W, x)             (T) cacosh(x)
#define ATANH(T, W, x)             (T) catanh(x)

/* The ops, with the expression of each: X(op, name, EXPR). complex64 is computed in double. */
#define UNARY_OPS(X)                       \
    X("Neg", neg, NEG)                     \
    X("Rsqrt", rsqrt, RSQRT)               \
    X("Exp", exponential, EXP)             \
    X("Expm1", exponential_less_1, EXPM1)  \
    X("Log", logarithm, LOG)               \
    X("Log1p", logarithm_of_1_plus, LOG1P) \
    X("Sign", sign, SIGN)                  \
    X("Sigmoid", sigmoid, SIGMOID)         \
    X("Sin", sine, SIN)                    \
    X("Cos", cosine, COS)                  \
    X("Tan", tangent, TAN)                 \
    X("Sinh", sinh, SINH)                  \
    X("Cosh", cosh, COSH)                  \
    X("Tanh", tanh, TANH)                  \
    X("Asin", arc_sine, ASIN)              \
    X("Acos", arc_cosine, ACOS)            \
    X("Atan", arc_tangent, ATAN)           \
    X("Asinh", asinh, ASINH)               \
    X("Acosh", acosh, ACOSH)               \
    X("Atanh", atanh, ATANH)
/* Those with another expression for whole vectors: X(op, name, EXPR, PACKET) */
#define UNARY_PACKET_OPS(X)                                    \
    X("Square", square, SQUARE, SQUARE_PACKET)                 \
    X("Reciprocal", reciprocal, RECIPROCAL, RECIPROCAL_PACKET) \
    X("Inv", inverse, RECIPROCAL, RECIPROCAL_PACKET)           \
    X("Sqrt", square_root, SQRT, SQRT_PACKET)

#define UNARY_ROWS(op, name, EXPR)                                \
    UNARY_ROW(, name##_c64, float complex, , float complex, EXPR) \
    UNARY_ROW(, name##_c128, double complex, , double complex, EXPR)
UNARY_OPS(UNARY_ROWS)
#define UNARY_PACKET_ROWS(op, name, EXPR, PACKET) \
    UNARY_ROWS(op, name, EXPR)                    \
    UNARY_ROWS(op, packet_##name, PACKET)
UNARY_PACKET_OPS(UNARY_PACKET_ROWS)

#define COMPLEX_ROWS(name)                                         \
    {                                                              \
        [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128 \
    }
static const struct complex_unary {
    const char *name;
    unary_row *rows[DTYPE_COUNT], *packets[DTYPE_COUNT]; /* packets may be NULL */
} unary_ops[] = {
#define UNARY_ENTRY(op, name, EXPR) { op, COMPLEX_ROWS(name), { NULL } },
#define UNARY_PACKET_ENTRY(op, name, EXPR, PACKET) \
    { op, COMPLEX_ROWS(name), COMPLEX_ROWS(packet_##name) },
    UNARY_OPS(UNARY_ENTRY) UNARY_PACKET_OPS(UNARY_PACKET_ENTRY)
};

/* The number of elements in whole vectors. */
static int64_t whole_packets(const struct tensor *x)
{
    return x->size - x->size % (int64_t)(COMPLEX_PACKET_BYTES / dtype_size(x->dtype));
}

static struct status unary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, unary_ops);
}

static struct status unary_compute(struct kernel_context *k)
{
    const struct complex_unary *op = kernel_row(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    size_t bytes = dtype_size(x.dtype);
    int64_t whole = op->packets[x.dtype] != NULL ? whole_packets(&x) : 0;
    if (whole > 0)
        op->packets[x.dtype](x.data, out->data, whole);
    op->rows[x.dtype](at_bytes_const(x.data, whole, bytes), at_bytes(out->data, whole, bytes),
                      x.size - whole);
    return status_ok();
}

/* ---- two operands ---- */

#define POWER_OF(x) _Generic((x), float complex : cpowf, double complex : cpow)

#define ADD(T, W, x, y)               (x) + (y)
#define SUB(T, W, x, y)               (x) - (y)
#define POW(T, W, x, y)               POWER_OF(x)(x, y)
#define XLOG1PY(T, W, x, y)           (x) == 0 ? 0 : (x) * (T)complex_log1p(y)
#define MUL(T, W, x, y)               (x) * (y)
#define MUL_PACKET(T, W, x, y)        packet_times(x, y)
#define DIV(T, W, x, y)               (x) / (y)
#define DIV_PACKET(T, W, x, y)        packet_over(x, y)
#define MUL_NO_NAN(T, W, x, y)        (y) == 0 ? 0 : (x) * (y)
#define MUL_NO_NAN_PACKET(T, W, x, y) (y) == 0 ? 0 : packet_times(x, y)
#define DIV_NO_NAN(T, W, x, y)        (y) == 0 ? 0 : (x) / (y)
#define DIV_NO_NAN_PACKET(T, W, x, y) (y) == 0 ? 0 : packet_over(x, y)
#define SQDIFF(T, W, x, y)            ((x) - (y)) * (T)conj((x) - (y))
#define SQDIFF_PACKET(T, W, x, y)     packet_times((x) - (y), (T)conj((x) - (y)))
#define XDIVY(T, W, x, y)             (x) == 0 ? 0 : (x) / (y)
#define XDIVY_PACKET(T, W, x, y)      (x) == 0 ? (x) : packet_over(x, y)
#define XLOGY(T, W, x, y)             (x) == 0 ? 0 : (x) * (T)clog(y)
#define XLOGY_PACKET(T, W, x, y)      (x) == 0 ? (x) : packet_times(x, (T)clog(y))

#define BINARY_OPS(X)       \
    X("Add", add, ADD)      \
    X("AddV2", add_v2, ADD) \
    X("Sub", subtract, SUB) \
    X("Pow", power, POW)    \
    X("Xlog1py", xlog1py, XLOG1PY)
#define BINARY_PACKET_OPS(X)                                          \
    X("Mul", multiply, MUL, MUL_PACKET)                               \
    X("Div", divide, DIV, DIV_PACKET)                                 \
    X("RealDiv", divide_real, DIV, DIV_PACKET)                        \
    X("MulNoNan", mul_no_nan, MUL_NO_NAN, MUL_NO_NAN_PACKET)          \
    X("DivNoNan", div_no_nan, DIV_NO_NAN, DIV_NO_NAN_PACKET)          \
    X("SquaredDifference", squared_difference, SQDIFF, SQDIFF_PACKET) \
    X("Xdivy", xdivy, XDIVY, XDIVY_PACKET)                            \
    X("Xlogy", xlogy, XLOGY, XLOGY_PACKET)

#define BINARY_ROWS(op, name, EXPR)                                \
    BINARY_ROW(, name##_c64, float complex, , float complex, EXPR) \
    BINARY_ROW(, name##_c128, double complex, , double complex, EXPR)
BINARY_OPS(BINARY_ROWS)
#define BINARY_PACKET_ROWS(op, name, EXPR, PACKET) \
    BINARY_ROWS(op, name, EXPR)                    \
    BINARY_ROWS(op, packet_##name, PACKET)
BINARY_PACKET_OPS(BINARY_PACKET_ROWS)

static const struct complex_binary {
    const char *name;
    binary_row *rows[DTYPE_COUNT], *packets[DTYPE_COUNT];
} binary_ops[] = {
#define BINARY_ENTRY(op, name, EXPR) { op, COMPLEX_ROWS(name), { NULL } },
#define BINARY_PACKET_ENTRY(op, name, EXPR, PACKET) \
    { op, COMPLEX_ROWS(name), COMPLEX_ROWS(packet_##name) },
    BINARY_OPS(BINARY_ENTRY) BINARY_PACKET_OPS(BINARY_PACKET_ENTRY)
};

static struct status binary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, binary_ops);
}

/* The element of an operand that goes with element `at` of a result of this shape. */
static int64_t operand_place(const struct shape *out, const struct shape *operand, int64_t at)
{
    int64_t place = 0, stride = 1;
    for (int d = operand->rank - 1, i = out->rank - 1; d >= 0; d--, i--) {
        if (operand->dims[d] != 1)
            place += at % out->dims[i] * stride;
        stride *= operand->dims[d];
        at /= out->dims[i];
    }
    return place;
}

/* Computes the elements after the last whole vector, before the result overwrites an operand.
 * Packed shapes (of many dimensions) have no such elements. */
static int compute_rest(const struct kernel_context *k, const struct complex_binary *op,
                        const struct shape *shape, char rest[COMPLEX_PACKET_BYTES])
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    size_t bytes = dtype_size(x->dtype);
    if (shape->rank == SHAPE_PACKED || op->packets[x->dtype] == NULL)
        return 0;
    int64_t size = shape_size(shape);
    int count = (int)(size % (int64_t)(COMPLEX_PACKET_BYTES / bytes));
    for (int i = 0; i < count; i++)
        op->rows[x->dtype](
            at_bytes_const(x->data, operand_place(shape, &x->shape, size - count + i), bytes),
            at_bytes_const(y->data, operand_place(shape, &y->shape, size - count + i), bytes),
            at_bytes(rest, i, bytes), 1, 1, 1);
    return count;
}

static struct status binary_compute(struct kernel_context *k)
{
    const struct complex_binary *op = kernel_row(k);
    enum dtype dtype = kernel_input(k, 0)->dtype;
    char rest[COMPLEX_PACKET_BYTES] __attribute__((aligned(16)));
    struct shape shape;
    struct tensor *out;
    TRY(shape_broadcast(&kernel_input(k, 0)->shape, &kernel_input(k, 1)->shape, &shape));
    int count = compute_rest(k, op, &shape, rest);
    TRY(binary_compute_to(k, op->packets[dtype] != NULL ? op->packets : op->rows, &out));
    memcpy(at_bytes(out->data, out->size - count, dtype_size(dtype)), rest,
           (size_t)count * dtype_size(dtype));
    return status_ok();
}

/* ---- the table ---- */

#define UNARY_KERNEL(op, name, EXPR) \
    {                                \
        op,                          \
        DTYPES_COMPLEX,              \
        "T",                         \
        .prepare = unary_prepare,    \
        .compute = unary_compute,    \
        .any_rank = true             \
    },
#define BINARY_KERNEL(op, name, EXPR) \
    { op,                             \
      DTYPES_COMPLEX,                 \
      "T",                            \
      .prepare = binary_prepare,      \
      .compute = binary_compute,      \
      .any_rank = true },
#define UNARY_PACKET_KERNEL(op, name, EXPR, PACKET)  UNARY_KERNEL(op, name, EXPR)
#define BINARY_PACKET_KERNEL(op, name, EXPR, PACKET) BINARY_KERNEL(op, name, EXPR)
static const struct kernel rows[] = { UNARY_OPS(UNARY_KERNEL) UNARY_PACKET_OPS(
    UNARY_PACKET_KERNEL) BINARY_OPS(BINARY_KERNEL) BINARY_PACKET_OPS(BINARY_PACKET_KERNEL) };
const struct kernel_table kernels_complex_elementwise = { rows, COUNT(rows) };
