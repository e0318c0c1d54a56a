/*
 * complex_elementwise: the element-wise ops of complex64 and complex128 that real types have as
 * well (unary.c, binary.c).
 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/unary.h"

/* ---- one operand ---- */

/* e^(a + bi) - 1, without cancellation near 0 */
static double complex complex_expm1(double complex x)
{
    double half_sine = sin(cimag(x) / 2), e = expm1(creal(x));
    return CMPLX(e * cos(cimag(x)) - 2 * half_sine * half_sine, (e + 1) * sin(cimag(x)));
}

/* ln(1 + x): x · ln(u) / (u - 1) with u = 1 + x, whose rounding cancels */
static double complex complex_log1p(double complex x)
{
    double complex u = 1 + x;
    if (u == 1)
        return x;
    return isinf(creal(u)) || isinf(cimag(u)) ? clog(u) : x * (clog(u) / (u - 1));
}

static double complex complex_sign(double complex x)
{
    return x == 0 ? 0 : x / cabs(x);
}

#define NEG(T, W, x)        -(x)
#define SQUARE(T, W, x)     (x) * (x)
#define RECIPROCAL(T, W, x) 1 / (x)
#define RSQRT(T, W, x)      (T)(1 / csqrt(x))
#define SIGMOID(T, W, x)    (T)(1 / (1 + cexp(-(x))))
#define SIGN(T, W, x)       (T) complex_sign(x)
#define EXPM1(T, W, x)      (T) complex_expm1(x)
#define LOG1P(T, W, x)      (T) complex_log1p(x)
#define SQRT(T, W, x)       (T) csqrt(x)
#define EXP(T, W, x)        (T) cexp(x)
#define LOG(T, W, x)        (T) clog(x)
#define SIN(T, W, x)        (T) csin(x)
#define COS(T, W, x)        (T) ccos(x)
#define TAN(T, W, x)        (T) ctan(x)
#define SINH(T, W, x)       (T) csinh(x)
#define COSH(T, W, x)       (T) ccosh(x)
#define TANH(T, W, x)       (T) ctanh(x)
#define ASIN(T, W, x)       (T) casin(x)
#define ACOS(T, W, x)       (T) cacos(x)
#define ATAN(T, W, x)       (T) catan(x)
#define ASINH(T, W, x)      (T) casinh(x)
#define ACOSH(T, W, x)      (T) cacosh(x)
#define ATANH(T, W, x)      (T) catanh(x)

/* The ops, with the expression of each: X(op, name, EXPR). complex64 is computed in double. */
#define UNARY_OPS(X)                        \
    X("Neg", neg, NEG)                      \
    X("Square", square, SQUARE)             \
    X("Reciprocal", reciprocal, RECIPROCAL) \
    X("Inv", inverse, RECIPROCAL)           \
    X("Sqrt", square_root, SQRT)            \
    X("Rsqrt", rsqrt, RSQRT)                \
    X("Exp", exponential, EXP)              \
    X("Expm1", exponential_less_1, EXPM1)   \
    X("Log", logarithm, LOG)                \
    X("Log1p", logarithm_of_1_plus, LOG1P)  \
    X("Sign", sign, SIGN)                   \
    X("Sigmoid", sigmoid, SIGMOID)          \
    X("Sin", sine, SIN)                     \
    X("Cos", cosine, COS)                   \
    X("Tan", tangent, TAN)                  \
    X("Sinh", sinh, SINH)                   \
    X("Cosh", cosh, COSH)                   \
    X("Tanh", tanh, TANH)                   \
    X("Asin", arc_sine, ASIN)               \
    X("Acos", arc_cosine, ACOS)             \
    X("Atan", arc_tangent, ATAN)            \
    X("Asinh", asinh, ASINH)                \
    X("Acosh", acosh, ACOSH)                \
    X("Atanh", atanh, ATANH)

#define UNARY_ROWS(op, name, EXPR)                                \
    UNARY_ROW(, name##_c64, float complex, , float complex, EXPR) \
    UNARY_ROW(, name##_c128, double complex, , double complex, EXPR)
UNARY_OPS(UNARY_ROWS)

#define COMPLEX_ROWS(name)                                         \
    {                                                              \
        [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128 \
    }
static const struct complex_unary {
    const char *name;
    unary_row *rows[DTYPE_COUNT];
} unary_ops[] = {
#define UNARY_ENTRY(op, name, EXPR) { op, COMPLEX_ROWS(name) },
    UNARY_OPS(UNARY_ENTRY)
};

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
    op->rows[x.dtype](x.data, out->data, x.size);
    return status_ok();
}

/* ---- two operands ---- */

#define ADD(T, W, x, y)        (x) + (y)
#define SUB(T, W, x, y)        (x) - (y)
#define MUL(T, W, x, y)        (x) * (y)
#define DIV(T, W, x, y)        (x) / (y)
#define MUL_NO_NAN(T, W, x, y) (y) == 0 ? 0 : (x) * (y)
#define DIV_NO_NAN(T, W, x, y) (y) == 0 ? 0 : (x) / (y)
#define SQDIFF(T, W, x, y)     ((x) - (y)) * (T)conj((x) - (y))
#define POW(T, W, x, y)        (T) cpow(x, y)
#define XDIVY(T, W, x, y)      (x) == 0 ? 0 : (x) / (y)
#define XLOGY(T, W, x, y)      (x) == 0 ? 0 : (x) * (T)clog(y)
#define XLOG1PY(T, W, x, y)    (x) == 0 ? 0 : (x) * (T)complex_log1p(y)

#define BINARY_OPS(X)                                  \
    X("Add", add, ADD)                                 \
    X("AddV2", add_v2, ADD)                            \
    X("Sub", subtract, SUB)                            \
    X("Mul", multiply, MUL)                            \
    X("Div", divide, DIV)                              \
    X("RealDiv", divide_real, DIV)                     \
    X("MulNoNan", mul_no_nan, MUL_NO_NAN)              \
    X("DivNoNan", div_no_nan, DIV_NO_NAN)              \
    X("SquaredDifference", squared_difference, SQDIFF) \
    X("Pow", power, POW)                               \
    X("Xdivy", xdivy, XDIVY)                           \
    X("Xlogy", xlogy, XLOGY)                           \
    X("Xlog1py", xlog1py, XLOG1PY)

#define BINARY_ROWS(op, name, EXPR)                                \
    BINARY_ROW(, name##_c64, float complex, , float complex, EXPR) \
    BINARY_ROW(, name##_c128, double complex, , double complex, EXPR)
BINARY_OPS(BINARY_ROWS)

static const struct complex_binary {
    const char *name;
    binary_row *rows[DTYPE_COUNT];
} binary_ops[] = {
#define BINARY_ENTRY(op, name, EXPR) { op, COMPLEX_ROWS(name) },
    BINARY_OPS(BINARY_ENTRY)
};

static struct status binary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, binary_ops);
}

static struct status binary_compute(struct kernel_context *k)
{
    const struct complex_binary *op = kernel_row(k);
    return binary_compute_rows(k, op->rows);
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
static const struct kernel rows[] = { UNARY_OPS(UNARY_KERNEL) BINARY_OPS(BINARY_KERNEL) };
const struct kernel_table kernels_complex_elementwise = { rows, COUNT(rows) };
