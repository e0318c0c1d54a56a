/*
 * unary: element-wise ops of one operand whose result has its type, and tests of floats.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/fast_math.h"
#include "runtime/kernels/plain/unary.h"

#define NEGATE(T, W, x)        (T)(0 - (W)(x))
#define NEGATE_FLOAT(T, W, x)  -(x)
#define ABSOLUTE(T, W, x)      (T)((x) < 0 ? 0 - (W)(x) : (W)(x))
#define SAME(T, W, x)          (x)
#define SIGN(T, W, x)          (T)(((x) > 0) - ((x) < 0))
#define SIGN_FLOAT(T, W, x)    (x) > 0 ? 1 : (x) < 0 ? -1 : (x) + 0 /* 0 for -0, NaN for NaN */
#define UNSIGNED_SIGN(T, W, x) (x) > 0
#define SQUARE(T, W, x)        (T)((W)(x) * (W)(x))
#define RECIPROCAL(T, W, x)    1 / (x)
#define LOGICAL_NOT(T, W, x)   !(x)

#define SIGN_ROW(s, T, W)       UNARY_ROW(SIMD_##s, sign_##s, T, W, T, SIGN)
#define SIGN_FLOAT_ROW(s, T, W) UNARY_ROW(SIMD_##s, sign_##s, T, W, T, SIGN_FLOAT)
#define SIGN_UINT_ROW(s, T, W)  UNARY_ROW(SIMD_##s, sign_##s, T, W, T, UNSIGNED_SIGN)
#define NEG_ROW(s, T, W)        UNARY_ROW(SIMD_##s, neg_##s, T, W, T, NEGATE)
#define NEG_FLOAT_ROW(s, T, W)  UNARY_ROW(SIMD_##s, neg_##s, T, W, T, NEGATE_FLOAT)
#define ABS_ROW(s, T, W)        UNARY_ROW(SIMD_##s, abs_##s, T, W, T, ABSOLUTE)
#define SAME_ROW(s, T, W)       UNARY_ROW(SIMD_##s, same_##s, T, W, T, SAME)
#define SQUARE_ROW(s, T, W)     UNARY_ROW(SIMD_##s, square_##s, T, W, T, SQUARE)
#define RECIPROCAL_ROW(s, T, W) UNARY_ROW(SIMD_##s, reciprocal_##s, T, W, T, RECIPROCAL)

FLOAT_TYPES(SIGN_FLOAT_ROW)
SIGNED_TYPES(SIGN_ROW)
UNSIGNED_TYPES(SIGN_UINT_ROW)
FLOAT_TYPES(NEG_FLOAT_ROW)
INTEGER_TYPES(NEG_ROW)
SIGNED_TYPES(ABS_ROW)
INTEGER_TYPES(SAME_ROW)
REAL_TYPES(SQUARE_ROW)
FLOAT_TYPES(RECIPROCAL_ROW)
UNARY_ROW(, logical_not, bool, bool, bool, LOGICAL_NOT)

/* One expression for float, vectorised, and one for double. */
#define LIBM(name, f32, f64)                              \
    UNARY_ROW(SIMD, name##_f32, float, float, float, f32) \
    UNARY_ROW(, name##_f64, double, double, double, f64)

#define EXP_F32(T, W, x)     fast_exp(x)
#define EXP_F64(T, W, x)     exp(x)
#define TANH_F32(T, W, x)    fast_tanh(x)
#define TANH_F64(T, W, x)    tanh(x)
#define SIGMOID_F32(T, W, x) fast_sigmoid(x)
#define SIGMOID_F64(T, W, x) 1 / (1 + exp(-(x)))
#define SQRT_F32(T, W, x)    sqrtf(x)
#define SQRT_F64(T, W, x)    sqrt(x)
#define RSQRT_F32(T, W, x)   1 / sqrtf(x)
#define RSQRT_F64(T, W, x)   1 / sqrt(x)
#define ABS_F32(T, W, x)     fabsf(x)
#define ABS_F64(T, W, x)     fabs(x)
#define ERF_F32(T, W, x)     fast_erf(x)
#define ERF_F64(T, W, x)     erf(x)
#define ERFC_F32(T, W, x)    fast_erfc(x)
#define ERFC_F64(T, W, x)    erfc(x)
LIBM(exp, EXP_F32, EXP_F64)
LIBM(tanh, TANH_F32, TANH_F64)
LIBM(sigmoid, SIGMOID_F32, SIGMOID_F64)
LIBM(sqrt, SQRT_F32, SQRT_F64)
LIBM(rsqrt, RSQRT_F32, RSQRT_F64)
LIBM(abs, ABS_F32, ABS_F64)
LIBM(erf, ERF_F32, ERF_F64)
LIBM(erfc, ERFC_F32, ERFC_F64)

static double softsign(double x)
{
    return x / (1 + fabs(x));
}

#define BY_DOUBLE(name, f)                                               \
    static void name##_f32(const void *x, void *out, int64_t count)      \
    {                                                                    \
        for (int64_t i = 0; i < count; i++)                              \
            ((float *)out)[i] = (float)f((double)((const float *)x)[i]); \
    }                                                                    \
    static void name##_f64(const void *x, void *out, int64_t count)      \
    {                                                                    \
        for (int64_t i = 0; i < count; i++)                              \
            ((double *)out)[i] = f(((const double *)x)[i]);              \
    }
#define BY_LIBM(name, function)                                     \
    static void name##_f32(const void *x, void *out, int64_t count) \
    {                                                               \
        for (int64_t i = 0; i < count; i++)                         \
            ((float *)out)[i] = function##f(((const float *)x)[i]); \
    }                                                               \
    static void name##_f64(const void *x, void *out, int64_t count) \
    {                                                               \
        for (int64_t i = 0; i < count; i++)                         \
            ((double *)out)[i] = function(((const double *)x)[i]);  \
    }
#define LOG_F32(T, W, x) logf(x)
#define LOG_F64(T, W, x) (x) == 0 ? -INFINITY : log(x) /* subnormal numbers count as 0 */
LIBM(log, LOG_F32, LOG_F64)
BY_LIBM(log1p, log1p)
BY_LIBM(expm1, expm1)
BY_LIBM(floor, floor)
BY_LIBM(ceil, ceil)
BY_LIBM(rint, rint) /* to even, as TensorFlow's Round */
BY_LIBM(sin, sin)
BY_LIBM(cos, cos)
BY_LIBM(tan, tan)
BY_LIBM(asin, asin)
BY_LIBM(acos, acos)
BY_LIBM(atan, atan)
BY_LIBM(sinh, sinh)
BY_LIBM(cosh, cosh)
BY_LIBM(asinh, asinh)
BY_LIBM(acosh, acosh)
BY_LIBM(atanh, atanh)
BY_DOUBLE(softsign, softsign)

#define SOFTSIGN_STEPS(R, x) (x) / R(1 + fabsf(x))
HALF_UNARY(softsign, SOFTSIGN_STEPS)

/* e^x / (1 + e^x) of a block: frequent, hence with vector code between the steps. */
static void sigmoid_steps(enum dtype dtype, const void *x, float *out, int64_t count)
{
    float sums[HALF_BLOCK];
    exp_f32(x, out, count);
    half_block_round(dtype, out, count);
    for (int64_t i = 0; i < count; i++)
        sums[i] = 1 + out[i];
    half_block_round(dtype, sums, count);
    for (int64_t i = 0; i < count; i++)
        out[i] = out[i] == INFINITY ? 1 : out[i] / sums[i];
}

static void sigmoid_half(const void *x, void *out, int64_t count)
{
    sigmoid_steps(DT_HALF, x, out, count);
}

static void sigmoid_bfloat16(const void *x, void *out, int64_t count)
{
    sigmoid_steps(DT_BFLOAT16, x, out, count);
}

struct unary_op {
    const char *name;
    unary_row *rows[DTYPE_COUNT];
};

static const struct unary_op ops[] = {
    { "Neg", { ROWS_REAL(neg) } },
    { "Abs", { ROWS_FLOAT(abs), ROWS_SIGNED(abs), ROWS_UNSIGNED(same) } },
    { "Sign", { ROWS_REAL(sign) } },
    { "Square", { ROWS_REAL(square) } },
    { "Sqrt", { ROWS_FLOAT(sqrt) } },
    { "Rsqrt", { ROWS_FLOAT(rsqrt) } },
    { "Exp", { ROWS_FLOAT(exp) } },
    { "Expm1", { ROWS_FLOAT(expm1) } },
    { "Log", { ROWS_FLOAT(log) } },
    { "Log1p", { ROWS_FLOAT(log1p) } },
    { "Floor", { ROWS_FLOAT(floor), ROWS_INTEGER(same) } },
    { "Ceil", { ROWS_FLOAT(ceil), ROWS_INTEGER(same) } },
    { "Round", { ROWS_FLOAT(rint), ROWS_INTEGER(same) } },
    { "Rint", { ROWS_FLOAT(rint) } },
    { "Reciprocal", { ROWS_FLOAT(reciprocal) } },
    { "Inv", { ROWS_FLOAT(reciprocal) } },
    { "Sin", { ROWS_FLOAT(sin) } },
    { "Cos", { ROWS_FLOAT(cos) } },
    { "Tan", { ROWS_FLOAT(tan) } },
    { "Asin", { ROWS_FLOAT(asin) } },
    { "Acos", { ROWS_FLOAT(acos) } },
    { "Atan", { ROWS_FLOAT(atan) } },
    { "Sinh", { ROWS_FLOAT(sinh) } },
    { "Cosh", { ROWS_FLOAT(cosh) } },
    { "Tanh", { ROWS_FLOAT(tanh) } },
    { "Asinh", { ROWS_FLOAT(asinh) } },
    { "Acosh", { ROWS_FLOAT(acosh) } },
    { "Atanh", { ROWS_FLOAT(atanh) } },
    { "Erf", { ROWS_FLOAT(erf) } },
    { "Erfc", { ROWS_FLOAT(erfc) } },
    { "Sigmoid", { ROWS_FLOAT(sigmoid), ROWS_HALF(sigmoid) } },
    { "Softsign", { ROWS_FLOAT(softsign), ROWS_HALF(softsign) } },
    { "LogicalNot", { [DT_BOOL] = logical_not } },
};

unary_row *unary_find_row(const char *op)
{
    const struct unary_op *row = OP_ROW(ops, op);
    return row != NULL ? row->rows[DT_FLOAT] : NULL;
}

static struct status unary_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, ops);
}

static struct status unary_compute(struct kernel_context *k)
{
    const struct unary_op *op = kernel_row(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    unary_apply(op->rows, x.dtype, x.data, out->data, x.size);
    return status_ok();
}

/* ---- tests of floats ---- */

static bool test_float(char which, double x)
{
    return which == 'n' ? isnan(x) : which == 'i' ? isinf(x) : isfinite(x);
}

static struct status test_compute(struct kernel_context *k)
{
    const char *name = kernel_node(k)->op_name; /* IsNan, IsInf, IsFinite */
    char which = strcmp(name, "IsNan") == 0 ? 'n' : strcmp(name, "IsInf") == 0 ? 'i' : 'f';
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        tensor_bools_mut(out)[i] = test_float(which, floating_element(x, i));
    }
    return status_ok();
}

#define UNARY(op, dtypes)                                                                \
    {                                                                                    \
        op, dtypes, .prepare = unary_prepare, .compute = unary_compute, .any_rank = true \
    }
static const struct kernel rows[] = {
    UNARY("Neg", DTYPES_REAL),
    UNARY("Abs", DTYPES_REAL),
    UNARY("Sign", DTYPES_REAL),
    UNARY("Square", DTYPES_REAL),
    UNARY("Sqrt", DTYPES_FLOATING),
    UNARY("Rsqrt", DTYPES_FLOATING),
    UNARY("Exp", DTYPES_FLOATING),
    UNARY("Expm1", DTYPES_FLOATING),
    UNARY("Log", DTYPES_FLOATING),
    UNARY("Log1p", DTYPES_FLOATING),
    UNARY("Floor", DTYPES_REAL),
    UNARY("Ceil", DTYPES_REAL),
    UNARY("Round", DTYPES_REAL),
    UNARY("Rint", DTYPES_FLOATING),
    UNARY("Reciprocal", DTYPES_FLOATING),
    UNARY("Inv", DTYPES_FLOATING),
    UNARY("Sin", DTYPES_FLOATING),
    UNARY("Cos", DTYPES_FLOATING),
    UNARY("Tan", DTYPES_FLOATING),
    UNARY("Asin", DTYPES_FLOATING),
    UNARY("Acos", DTYPES_FLOATING),
    UNARY("Atan", DTYPES_FLOATING),
    UNARY("Sinh", DTYPES_FLOATING),
    UNARY("Cosh", DTYPES_FLOATING),
    UNARY("Tanh", DTYPES_FLOATING),
    UNARY("Asinh", DTYPES_FLOATING),
    UNARY("Acosh", DTYPES_FLOATING),
    UNARY("Atanh", DTYPES_FLOATING),
    UNARY("Erf", DTYPES_FLOATING),
    UNARY("Erfc", DTYPES_FLOATING),
    UNARY("Sigmoid", DTYPES_FLOATING),
    UNARY("Softsign", DTYPES_FLOATING),
    UNARY("LogicalNot", DTYPES_ALL),
    { "IsNan", DTYPES_FLOATING, .compute = test_compute, .any_rank = true },
    { "IsInf", DTYPES_FLOATING, .compute = test_compute, .any_rank = true },
    { "IsFinite", DTYPES_FLOATING, .compute = test_compute, .any_rank = true },
};
const struct kernel_table kernels_unary = { rows, COUNT(rows) };
