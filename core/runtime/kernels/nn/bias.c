/*
 * bias: BiasAdd and its gradient, for NHWC (the last dimension) and NCHW (the second).
 */
#include <complex.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

struct bias_state {
    bool channels_first;
};

static struct status bias_prepare(struct prepare_context *p)
{
    struct bias_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes format;
    if (node_attr(prepare_node(p), "data_format") == NULL) /* BiasAddV1 */
        return status_ok();
    TRY(node_attr_string(prepare_node(p), "data_format", &format));
    state->channels_first = format.size >= 2 && memcmp(format.data, "NC", 2) == 0;
    return status_ok();
}

SIMD static void add_vector_f32(const float *x, const float *bias, float *out, int64_t rows,
                                int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n, out += n)
        IVDEP for (int64_t i = 0; i < n; i++) out[i] = x[i] + bias[i];
}

#define ADD_BIAS(s, T, W)                                                                 \
    static void add_bias_##s(const void *x_, const void *bias_, void *out_, int64_t rows, \
                             int64_t channels, int64_t inner)                             \
    {                                                                                     \
        const T *x = x_, *bias = bias_;                                                   \
        T *out = out_;                                                                    \
        for (int64_t r = 0; r < rows; r++)                                                \
            for (int64_t c = 0; c < channels; c++)                                        \
                for (int64_t i = 0; i < inner; i++, x++, out++)                           \
                    *out = (T)((W)*x + (W)bias[c]);                                       \
    }
REAL_TYPES(ADD_BIAS)
ADD_BIAS(c64, float complex, float complex)
ADD_BIAS(c128, double complex, double complex)

#define ROWS_NUMBERS(name) \
    ROWS_REAL(name), [DT_COMPLEX64] = name##_c64, [DT_COMPLEX128] = name##_c128

typedef void add_bias(const void *x, const void *bias, void *out, int64_t rows, int64_t channels,
                      int64_t inner);
static add_bias *const add_biases[DTYPE_COUNT] = { ROWS_NUMBERS(add_bias) };

static void add_bias_half(enum dtype dtype, const uint16_t *x, const uint16_t *bias, uint16_t *out,
                          int64_t rows, int64_t channels, int64_t inner)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < inner; i++, x++, out++) {
                float a, b;
                half_block_load(dtype, x, &a, 1);
                half_block_load(dtype, bias + c, &b, 1);
                a += b;
                half_block_store(dtype, &a, out, 1);
            }
}

struct bias_run {
    enum dtype dtype;
    const void *x, *bias;
    void *out;
    int64_t channels, inner;
};

/* Rows [first, end). */
static void add_bias_rows(void *context, int64_t first, int64_t end)
{
    const struct bias_run *run = context;
    size_t bytes = dtype_size(run->dtype);
    int64_t from = first * run->channels * run->inner, rows = end - first;
    const void *x = at_bytes_const(run->x, from, bytes);
    void *out = at_bytes(run->out, from, bytes);
    if (run->dtype == DT_FLOAT && run->inner == 1)
        add_vector_f32(x, run->bias, out, rows, run->channels);
    else if (dtype_is_half(run->dtype))
        add_bias_half(run->dtype, x, run->bias, out, rows, run->channels, run->inner);
    else
        add_biases[run->dtype](x, run->bias, out, rows, run->channels, run->inner);
}

static struct status bias_compute(struct kernel_context *k)
{
    const struct bias_state *state = kernel_state(k);
    const struct tensor x = *kernel_input(k, 0), bias = *kernel_input(k, 1);
    struct tensor *out;
    if (x.shape.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                            shape_text(&x.shape));
    if (bias.shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Biases must be 1D: %s",
                            shape_text(&bias.shape));
    int axis = state->channels_first ? 1 : x.shape.rank - 1;
    int64_t channels = x.shape.dims[axis];
    if (bias.size != channels)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Must provide as many biases as the %s dimension of the input tensor: "
                            "%s vs. %s",
                            state->channels_first ? "channel" : "last", shape_text(&bias.shape),
                            shape_text(&x.shape));
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    int64_t rows = shape_outer(&x.shape, axis), inner = shape_inner(&x.shape, axis);
    struct bias_run run = { x.dtype, x.data, bias.data, out->data, channels, inner };
    if (out->size > 0)
        parallel_for(rows, (double)out->size, add_bias_rows, &run);
    return status_ok();
}

/* ---- the gradient of the bias: sums over all other dimensions ---- */

SIMD static void add_rows_f32(const float *x, float *sum, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; r++, x += n)
        IVDEP for (int64_t i = 0; i < n; i++) sum[i] += x[i];
}

#define SUM_BIAS(s, T, W)                                                                \
    static void sum_bias_##s(const void *x_, void *sum_, int64_t rows, int64_t channels, \
                             int64_t inner)                                              \
    {                                                                                    \
        const T *x = x_;                                                                 \
        T *sum = sum_;                                                                   \
        for (int64_t r = 0; r < rows; r++)                                               \
            for (int64_t c = 0; c < channels; c++)                                       \
                for (int64_t i = 0; i < inner; i++, x++)                                 \
                    sum[c] = (T)((W)sum[c] + (W)*x);                                     \
    }
REAL_TYPES(SUM_BIAS)
SUM_BIAS(c64, float complex, float complex)
SUM_BIAS(c128, double complex, double complex)

typedef void sum_bias(const void *x, void *sum, int64_t rows, int64_t channels, int64_t inner);
static sum_bias *const sum_biases[DTYPE_COUNT] = { ROWS_NUMBERS(sum_bias) };

static void bias_grad(const struct tensor *x, int axis, struct tensor *sum)
{
    int64_t rows = shape_outer(&x->shape, axis), inner = shape_inner(&x->shape, axis);
    if (x->dtype == DT_FLOAT && inner == 1)
        add_rows_f32(x->data, sum->data, rows, sum->size);
    else
        sum_biases[x->dtype](x->data, sum->data, rows, sum->size, inner);
}

/* half and bfloat16 are added up in float. */
static struct status bias_grad_half(struct kernel_context *k, const struct tensor *x, int axis,
                                    struct tensor *out)
{
    struct tensor wide, sums;
    TRY(float_values(k, x, &wide));
    struct status status = float_sums_begin(k, out, &sums);
    if (status_is_ok(status)) {
        bias_grad(&wide, axis, &sums);
        float_sums_end(&sums, out);
    }
    tensor_release(&wide);
    return status;
}

static struct status bias_grad_compute(struct kernel_context *k)
{
    const struct bias_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    if (x->shape.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Input tensor must be at least 2D: %s",
                            shape_text(&x->shape));
    int axis = state->channels_first ? 1 : x->shape.rank - 1;
    struct shape shape = shape_of(x->shape.dims[axis]);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    if (x->size == 0)
        return status_ok();
    if (dtype_is_half(x->dtype))
        return bias_grad_half(k, x, axis, out);
    bias_grad(x, axis, out);
    return status_ok();
}

#define DTYPES_BIAS (DTYPES_REAL | DTYPES_COMPLEX)
static const struct kernel rows[] = {
    { "BiasAdd", DTYPES_BIAS, .prepare = bias_prepare, .compute = bias_compute },
    { "BiasAddV1", DTYPES_BIAS, .prepare = bias_prepare, .compute = bias_compute },
    { "BiasAddGrad", DTYPES_BIAS, .prepare = bias_prepare, .compute = bias_grad_compute },
};
const struct kernel_table kernels_bias = { rows, COUNT(rows) };
