/*
 * activation: the Relu family and Softplus, and the gradients of activations. A gradient op takes
 * the incoming gradient and the activation's input or output, in the order of TensorFlow's op.
 */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/binary.h"
#include "runtime/kernels/plain/fast_math.h"
#include "runtime/kernels/plain/unary.h"

#define SELU_SCALE       1.0507009873554804934193349852946
#define SELU_SCALE_ALPHA 1.7580993408473768599402175208123

/* x < 0 is false for NaN, which passes through. Adding 0 turns -0 into 0. */
#define RELU(T, W, x)            (x) < 0 ? 0 : (x)
#define RELU6(T, W, x)           (x)<0 ? 0 : (x)> 6 ? 6 : (x)
#define RELU_FLOAT(T, W, x)      (RELU(T, W, x)) + 0
#define RELU6_FLOAT(T, W, x)     (RELU6(T, W, x)) + 0
#define SAME(T, W, x)            (x)
#define AT_MOST_6(T, W, x)       (x) > 6 ? 6 : (x)
#define RELU_ROW(s, T, W)        UNARY_ROW(SIMD_##s, relu_##s, T, W, T, RELU)
#define RELU_FLOAT_ROW(s, T, W)  UNARY_ROW(SIMD_##s, relu_##s, T, W, T, RELU_FLOAT)
#define RELU_UINT_ROW(s, T, W)   UNARY_ROW(SIMD_##s, relu_##s, T, W, T, SAME)
#define RELU6_ROW(s, T, W)       UNARY_ROW(SIMD_##s, relu6_##s, T, W, T, RELU6)
#define RELU6_FLOAT_ROW(s, T, W) UNARY_ROW(SIMD_##s, relu6_##s, T, W, T, RELU6_FLOAT)
#define RELU6_UINT_ROW(s, T, W)  UNARY_ROW(SIMD_##s, relu6_##s, T, W, T, AT_MOST_6)
FLOAT_TYPES(RELU_FLOAT_ROW)
SIGNED_TYPES(RELU_ROW)
UNSIGNED_TYPES(RELU_UINT_ROW)
FLOAT_TYPES(RELU6_FLOAT_ROW)
SIGNED_TYPES(RELU6_ROW)
UNSIGNED_TYPES(RELU6_UINT_ROW)

/* Near 0, exp(x) - 1 loses all digits of a float; expm1 does not. */
#define ELU_F32(T, W, x)  (x) < 0 ? expm1f(x) : (x)
#define ELU_F64(T, W, x)  (x) < 0 ? expm1(x) : (x)
#define SELU_F32(T, W, x) (x) < 0 ? (float)SELU_SCALE_ALPHA *expm1f(x) : (float)SELU_SCALE *(x)
#define SELU_F64(T, W, x) (x) < 0 ? SELU_SCALE_ALPHA *expm1(x) : SELU_SCALE *(x)
UNARY_ROW(, elu_f32, float, float, float, ELU_F32)
UNARY_ROW(, elu_f64, double, double, double, ELU_F64)
UNARY_ROW(, selu_f32, float, float, float, SELU_F32)
UNARY_ROW(, selu_f64, double, double, double, SELU_F64)

/* Far from 0, log(1 + exp(x)) equals x or exp(x) to all digits of the type. */
static double softplus(double x)
{
    double far = -(log(DBL_EPSILON) + 2);
    return x > far ? x : x < -far ? exp(x) : log1p(exp(x));
}
#define SOFTPLUS_F32(T, W, x) fast_softplus(x)
#define SOFTPLUS_F64(T, W, x) softplus(x)
UNARY_ROW(SIMD, softplus_f32, float, float, float, SOFTPLUS_F32)
UNARY_ROW(, softplus_f64, double, double, double, SOFTPLUS_F64)

/* log(1 + e), e being exp(x) rounded: exp(x) · (1 + d). */
static inline float softplus_of(float x, float e)
{
    float d = e / fast_exp(x) - 1;
    return e <= 1 ? fast_log1p(e) : x + (d - d * d / 2) + fast_log1p(1 / e);
}

#define ELU_STEPS(R, x) (x) < 0 ? R(fast_exp(x)) - 1 : (x)
#define SELU_STEPS(R, x) \
    (x) < 0 ? R((float)SELU_SCALE_ALPHA) * R(R(fast_exp(x)) - 1) : R((float)SELU_SCALE) * (x)
HALF_UNARY(elu, ELU_STEPS)
HALF_UNARY(selu, SELU_STEPS)

#define EXP_F32(T, W, x) fast_exp(x)
UNARY_ROW(SIMD, exp_f32, float, float, float, EXP_F32)

/* Softplus of a block; e holds exp(x), rounded. */
SIMD static void softplus_of_block(const float *x, const float *e, float *out, int64_t count,
                                   float far)
{
    IVDEP for (int64_t i = 0; i < count; i++) out[i] = x[i] > far    ? x[i]
                                                       : x[i] < -far ? e[i]
                                                                     : softplus_of(x[i], e[i]);
}

static void softplus_steps(enum dtype dtype, const void *x, void *out, int64_t count, float far)
{
    float e[HALF_BLOCK];
    exp_f32(x, e, count);
    half_block_round(dtype, e, count);
    softplus_of_block(x, e, out, count, far);
}

static void softplus_half(const void *x, void *out, int64_t count)
{
    softplus_steps(DT_HALF, x, out, count, 7.0078125f);
}

static void softplus_bfloat16(const void *x, void *out, int64_t count)
{
    softplus_steps(DT_BFLOAT16, x, out, count, 2.84375f);
}

/* x · sigmoid(x), as in its two ops. Made by plans only (plan/fuse_swish.c). */
#define SWISH_F32(T, W, x) (x) * fast_sigmoid(x)
UNARY_ROW(SIMD, swish_f32, float, float, float, SWISH_F32)

/* 0.5 · x · erfc(-x · sqrt(0.5)), as in its ops. Made by plans only (plan/fuse_gelu.c). */
#define GELU_F32(T, W, x) (0.5f * (x)) * fast_erfc(-(x)*0.70710678f)
UNARY_ROW(SIMD, gelu_f32, float, float, float, GELU_F32)

struct activation_rows {
    const char *name;
    unary_row *rows[DTYPE_COUNT];
};
static const struct activation_rows activations[] = {
    { "Relu", { ROWS_REAL(relu) } },
    { "Relu6", { ROWS_REAL(relu6) } },
    { "Elu", { ROWS_FLOAT(elu), ROWS_HALF(elu) } },
    { "Selu", { ROWS_FLOAT(selu), ROWS_HALF(selu) } },
    { "Softplus", { ROWS_FLOAT(softplus), ROWS_HALF(softplus) } },
    { "_Swish", { [DT_FLOAT] = swish_f32 } },
    { "_Gelu", { [DT_FLOAT] = gelu_f32 } },
};

unary_row *activation_find_row(const char *op)
{
    const struct activation_rows *row = OP_ROW(activations, op);
    return row != NULL ? row->rows[DT_FLOAT] : NULL;
}

static struct status activation_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, activations);
}

static struct status activation_compute(struct kernel_context *k)
{
    const struct activation_rows *op = kernel_row(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    unary_apply(op->rows, x.dtype, x.data, out->data, x.size);
    return status_ok();
}

/* ---- gradients ---- */

/* x is the incoming gradient, y the features or the activation, which have the same sign. A
 * product, as in TensorFlow: a gradient that is NaN or infinite stays visible. */
#define RELU_GRAD(T, W, x, y)     (T)((x) * ((y) > 0 ? (T)1 : (T)0))
#define RELU6_GRAD(T, W, x, y)    (T)((x) * ((y) > 0 && (y) < 6 ? (T)1 : (T)0))
#define ELU_GRAD(T, W, x, y)      (y) < 0 ? (x) * ((y) + 1) : (x)
#define SELU_GRAD(T, W, x, y)     (y) < 0 ? (x) * ((y) + (T)SELU_SCALE_ALPHA) : (x) * (T)SELU_SCALE
#define SOFTSIGN_GRAD(T, W, x, y) (x) / ((1 + (T)fabs((double)(y))) * (1 + (T)fabs((double)(y))))
/* x is the activation's output, y the incoming gradient. For Sqrt and its kind a gradient of 0
 * gives 0. */
#define SIGMOID_GRAD(T, W, x, y)  (y) * ((x) * (1 - (x)))
#define TANH_GRAD(T, W, x, y)     (y) * (1 - (x) * (x))
#define SQRT_GRAD(T, W, x, y)     (y) == 0 ? 0 : (y) * (T)0.5 / (x)
#define RSQRT_GRAD(T, W, x, y)    (y) == 0 ? 0 : (y) * ((T)-0.5 * (x)) * ((x) * (x))
#define INV_GRAD(T, W, x, y)      (y) == 0 ? 0 : -(y) * ((x) * (x))

#define GRAD_ROW(s, T, W, op, EXPR) SAME_SHAPE_ROW(SIMD_##s, op##_##s, T, W, T, EXPR)
#define RELU_GRAD_ROW(s, T, W)      GRAD_ROW(s, T, W, relu_grad, RELU_GRAD)
#define RELU6_GRAD_ROW(s, T, W)     GRAD_ROW(s, T, W, relu6_grad, RELU6_GRAD)
#define ELU_GRAD_ROW(s, T, W)       GRAD_ROW(s, T, W, elu_grad, ELU_GRAD)
#define SELU_GRAD_ROW(s, T, W)      GRAD_ROW(s, T, W, selu_grad, SELU_GRAD)
#define SOFTSIGN_GRAD_ROW(s, T, W)  SAME_SHAPE_ROW(, softsign_grad_##s, T, W, T, SOFTSIGN_GRAD)
#define SIGMOID_GRAD_ROW(s, T, W)   GRAD_ROW(s, T, W, sigmoid_grad, SIGMOID_GRAD)
#define TANH_GRAD_ROW(s, T, W)      GRAD_ROW(s, T, W, tanh_grad, TANH_GRAD)
#define SQRT_GRAD_ROW(s, T, W)      GRAD_ROW(s, T, W, sqrt_grad, SQRT_GRAD)
#define RSQRT_GRAD_ROW(s, T, W)     GRAD_ROW(s, T, W, rsqrt_grad, RSQRT_GRAD)
#define INV_GRAD_ROW(s, T, W)       GRAD_ROW(s, T, W, inv_grad, INV_GRAD)
REAL_TYPES(RELU_GRAD_ROW)
REAL_TYPES(RELU6_GRAD_ROW)
FLOAT_TYPES(ELU_GRAD_ROW)
FLOAT_TYPES(SELU_GRAD_ROW)

#define SOFTPLUS_GRAD_F32(T, W, x, y) (x) / (fast_exp(-(y)) + 1)
#define SOFTPLUS_GRAD_F64(T, W, x, y) (x) / (exp(-(y)) + 1)
SAME_SHAPE_ROW(SIMD, softplus_grad_f32, float, float, float, SOFTPLUS_GRAD_F32)
SAME_SHAPE_ROW(, softplus_grad_f64, double, double, double, SOFTPLUS_GRAD_F64)

FLOAT_TYPES(SOFTSIGN_GRAD_ROW)
FLOAT_TYPES(SIGMOID_GRAD_ROW)
FLOAT_TYPES(TANH_GRAD_ROW)
FLOAT_TYPES(SQRT_GRAD_ROW)
FLOAT_TYPES(RSQRT_GRAD_ROW)
FLOAT_TYPES(INV_GRAD_ROW)

#define SOFTPLUS_GRAD_STEPS(R, x, y) (x) / R(R(fast_exp(-(y))) + 1)
#define SOFTSIGN_GRAD_STEPS(R, x, y) (x) / R(R(1 + fabsf(y)) * R(1 + fabsf(y)))
#define ELU_GRAD_STEPS(R, x, y)      (y) < 0 ? R((y) + 1) * (x) : (x)
#define SELU_GRAD_STEPS(R, x, y) \
    (y) < 0 ? R((y) + R((float)SELU_SCALE_ALPHA)) * (x) : (x)*R((float)SELU_SCALE)
#define SIGMOID_GRAD_STEPS(R, x, y) (y) * R((x)*R(1 - (x)))
#define TANH_GRAD_STEPS(R, x, y)    (y) * R(1 - R((x) * (x)))
#define SQRT_GRAD_STEPS(R, x, y)    (y) == 0 ? 0 : (y)*R(0.5f / (x))
#define RSQRT_GRAD_STEPS(R, x, y) \
    (y) == 0 || R((x) * (y)) == 0 ? 0 : R((x) * (y)) * R(-0.5f * R((x) * (x)))
#define INV_GRAD_STEPS(R, x, y) (y) == 0 ? 0 : -(y)*R((x) * (x))
HALF_BINARY(softplus_grad, SOFTPLUS_GRAD_STEPS)
HALF_BINARY(softsign_grad, SOFTSIGN_GRAD_STEPS)
HALF_BINARY(elu_grad, ELU_GRAD_STEPS)
HALF_BINARY(selu_grad, SELU_GRAD_STEPS)
HALF_BINARY(sigmoid_grad, SIGMOID_GRAD_STEPS)
HALF_BINARY(tanh_grad, TANH_GRAD_STEPS)
HALF_BINARY(sqrt_grad, SQRT_GRAD_STEPS)
HALF_BINARY(rsqrt_grad, RSQRT_GRAD_STEPS)
HALF_BINARY(inv_grad, INV_GRAD_STEPS)

/* The gradients of complex numbers. As in TensorFlow, the last three conjugate x; for the first
 * two, the graph does. */
#define BAR(T, x)                     (T) conj(x)
#define SQRT_GRAD_COMPLEX(T, W, x, y) (y) == 0 ? 0 : (T)0.5 * (y) / BAR(T, x)
#define RSQRT_GRAD_COMPLEX(T, W, x, y) \
    (y) == 0 ? 0 : (y) * ((T)-0.5 * BAR(T, x)) * (BAR(T, x) * BAR(T, x))
#define INV_GRAD_COMPLEX(T, W, x, y) (y) == 0 ? 0 : -(y) * (BAR(T, x) * BAR(T, x))
#define COMPLEX_GRAD(name, EXPR)                                       \
    SAME_SHAPE_ROW(, name##_c64, float complex, , float complex, EXPR) \
    SAME_SHAPE_ROW(, name##_c128, double complex, , double complex, EXPR)
COMPLEX_GRAD(sigmoid_grad, SIGMOID_GRAD)
COMPLEX_GRAD(tanh_grad, TANH_GRAD)
COMPLEX_GRAD(sqrt_grad, SQRT_GRAD_COMPLEX)
COMPLEX_GRAD(rsqrt_grad, RSQRT_GRAD_COMPLEX)
COMPLEX_GRAD(inv_grad, INV_GRAD_COMPLEX)

#define ROWS_FLOAT_AND_COMPLEX(name) \
    ROWS_FLOAT(name), [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128

struct gradient {
    const char *name;
    binary_row *rows[DTYPE_COUNT];
};
static const struct gradient gradients[] = {
    { "ReluGrad", { ROWS_REAL(relu_grad) } },
    { "Relu6Grad", { ROWS_REAL(relu6_grad) } },
    { "EluGrad", { ROWS_FLOAT(elu_grad), ROWS_HALF(elu_grad) } },
    { "SeluGrad", { ROWS_FLOAT(selu_grad), ROWS_HALF(selu_grad) } },
    { "SoftplusGrad", { ROWS_FLOAT(softplus_grad), ROWS_HALF(softplus_grad) } },
    { "SoftsignGrad", { ROWS_FLOAT(softsign_grad), ROWS_HALF(softsign_grad) } },
    { "SigmoidGrad", { ROWS_FLOAT_AND_COMPLEX(sigmoid_grad), ROWS_HALF(sigmoid_grad) } },
    { "TanhGrad", { ROWS_FLOAT_AND_COMPLEX(tanh_grad), ROWS_HALF(tanh_grad) } },
    { "SqrtGrad", { ROWS_FLOAT_AND_COMPLEX(sqrt_grad), ROWS_HALF(sqrt_grad) } },
    { "RsqrtGrad", { ROWS_FLOAT_AND_COMPLEX(rsqrt_grad), ROWS_HALF(rsqrt_grad) } },
    { "ReciprocalGrad", { ROWS_FLOAT_AND_COMPLEX(inv_grad), ROWS_HALF(inv_grad) } },
    { "InvGrad", { ROWS_FLOAT_AND_COMPLEX(inv_grad), ROWS_HALF(inv_grad) } },
};

static struct status gradient_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, gradients);
}

static struct status same_shapes(struct kernel_context *k)
{
    const struct shape *x = &kernel_input(k, 0)->shape, *y = &kernel_input(k, 1)->shape;
    if (shape_equal(x, y))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT, "inputs must have the same shape: %s vs. %s",
                        shape_text(x), shape_text(y));
}

static struct status gradient_compute(struct kernel_context *k)
{
    const struct gradient *op = kernel_row(k);
    TRY(same_shapes(k));
    return binary_compute_rows(k, op->rows);
}

/* ---- LeakyRelu, which has a number of its own ---- */

SIMD static void leaky_relu_f32(const float *x, float *out, int64_t count, float alpha)
{
    IVDEP for (int64_t i = 0; i < count; i++) out[i] = x[i] > 0 ? x[i] : x[i] * alpha;
}

static void leaky_relu_any(const struct tensor *x, void *out, float alpha)
{
    if (x->dtype == DT_FLOAT) {
        leaky_relu_f32(x->data, out, x->size, alpha);
        return;
    }
    for (int64_t i = 0; i < x->size; i++) {
        if (x->dtype == DT_DOUBLE) {
            double value = tensor_doubles(x)[i];
            ((double *)out)[i] = value > 0 ? value : value * (double)alpha;
        } else {
            float value;
            half_block_load(x->dtype, (const uint16_t *)x->data + i, &value, 1);
            value = value > 0 ? value : value * alpha;
            half_block_store(x->dtype, &value, (uint16_t *)out + i, 1);
        }
    }
}

static struct status leaky_relu_prepare(struct prepare_context *p)
{
    float *alpha = prepare_state(p, sizeof *alpha, NULL);
    TRY(node_attr_float(prepare_node(p), "alpha", alpha));
    enum dtype dtype = prepare_node(p)->outputs[0].dtype;
    if (dtype_is_half(dtype))
        *alpha = half_round(dtype, *alpha);
    return status_ok();
}

static struct status leaky_relu_compute(struct kernel_context *k)
{
    const float *alpha = kernel_state(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    leaky_relu_any(&x, out->data, *alpha);
    return status_ok();
}

static void leaky_relu_grad_at(const struct tensor *gradient, const struct tensor *features,
                               struct tensor *out, int64_t i, float alpha)
{
    double factor = floating_element(features, i) > 0 ? 1 : (double)alpha;
    if (out->dtype == DT_FLOAT)
        tensor_floats_mut(out)[i] = tensor_floats(gradient)[i] * (float)factor;
    else if (out->dtype == DT_DOUBLE)
        tensor_doubles_mut(out)[i] = tensor_doubles(gradient)[i] * factor;
    else {
        float product = (float)floating_element(gradient, i) * (float)factor;
        half_block_store(out->dtype, &product, at_bytes(out->data, i, sizeof(uint16_t)), 1);
    }
}

static struct status leaky_relu_grad_compute(struct kernel_context *k)
{
    const float alpha = *(const float *)kernel_state(k);
    const struct tensor gradient = *kernel_input(k, 0), features = *kernel_input(k, 1);
    struct tensor *out;
    TRY(same_shapes(k));
    TRY(kernel_output_forward(k, 0, 0, &gradient.shape, &out));
    for (int64_t i = 0; i < out->size; i++)
        leaky_relu_grad_at(&gradient, &features, out, i, alpha);
    return status_ok();
}

#define ACTIVATION(op, dtypes)                                                                     \
    {                                                                                              \
        op, dtypes, .prepare = activation_prepare, .compute = activation_compute, .any_rank = true \
    }
#define GRADIENT(op, dtypes)                                                 \
    {                                                                        \
        op, dtypes, .prepare = gradient_prepare, .compute = gradient_compute \
    }
static const struct kernel rows[] = {
    ACTIVATION("Relu", DTYPES_REAL),
    ACTIVATION("Relu6", DTYPES_REAL),
    ACTIVATION("Elu", DTYPES_FLOATING),
    ACTIVATION("Selu", DTYPES_FLOATING),
    ACTIVATION("Softplus", DTYPES_FLOATING),
    ACTIVATION("_Swish", DTYPES(DT_FLOAT)),
    ACTIVATION("_Gelu", DTYPES(DT_FLOAT)),
    { "LeakyRelu", DTYPES_FLOATING, .prepare = leaky_relu_prepare, .compute = leaky_relu_compute,
      .any_rank = true },
    GRADIENT("ReluGrad", DTYPES_REAL),
    GRADIENT("Relu6Grad", DTYPES_REAL),
    GRADIENT("EluGrad", DTYPES_FLOATING),
    GRADIENT("SeluGrad", DTYPES_FLOATING),
    GRADIENT("SoftplusGrad", DTYPES_FLOATING),
    GRADIENT("SoftsignGrad", DTYPES_FLOATING),
    GRADIENT("SigmoidGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    GRADIENT("TanhGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    GRADIENT("SqrtGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    GRADIENT("RsqrtGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    GRADIENT("ReciprocalGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    GRADIENT("InvGrad", DTYPES_FLOATING | DTYPES_COMPLEX),
    { "LeakyReluGrad", DTYPES_FLOATING, .prepare = leaky_relu_prepare,
      .compute = leaky_relu_grad_compute },
};
const struct kernel_table kernels_activation = { rows, COUNT(rows) };
