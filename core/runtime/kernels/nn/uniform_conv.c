/*
 * uniform_conv: UniformQuantizedConvolution, of bytes with bytes, and
 * UniformQuantizedConvolutionHybrid, whose images are floats that get a scale each. Images and
 * filters have any number of spatial dimensions, in any order.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/uniform_conv_size.h"
#include "runtime/kernels/nn/uniform_scale.h"
#include "runtime/kernels/plain/strided.h"

struct uniform_conv_state {
    struct uniform_conv_attrs conv;
    struct uniform_attrs x, filter, out;
};

struct uniform_conv {
    struct uniform_conv_size size;
    int64_t out_strides[SHAPE_RANK_MAX]; /* by place in out_order */
    struct tensor x;                     /* [batch_in, pixels_in, features_in] bytes */
    struct tensor filter;                /* [features, taps, depth] bytes */
    struct tensor offsets;               /* [taps] int64, uniform_conv_offsets */
    struct tensor *out;
    struct uniform_scale filter_scale; /* one, or one for each feature of the output */
    const int32_t *zeros;              /* of x: one, or one for each image */
    bool zero_by_image;
};

static struct status conv_prepare(struct prepare_context *p)
{
    struct uniform_conv_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);
    TRY(uniform_attrs_read(node, "lhs_", &state->x));
    TRY(uniform_attrs_read(node, "rhs_", &state->filter));
    TRY(uniform_attrs_read(node, "output_", &state->out));
    if (state->x.axis != -1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "lhs_quantization_axis Attr must be -1 (per-tensor).");
    return uniform_conv_attrs_read(p, &state->conv);
}

static struct status hybrid_prepare(struct prepare_context *p)
{
    struct uniform_conv_state *state = prepare_state(p, sizeof *state, NULL);
    state->x.axis = state->out.axis = -1;
    TRY(uniform_attrs_read(prepare_node(p), "rhs_", &state->filter));
    return uniform_conv_attrs_read(p, &state->conv);
}

/* ---- operands ---- */

/* A dense copy with the dimensions in that order. */
static struct status reorder(struct kernel_context *k, const struct tensor *x, const int *order,
                             struct tensor *out)
{
    int64_t strides[SHAPE_RANK_MAX];
    struct strided strided = { 0 };
    struct shape flat = shape_of(x->size);
    dense_strides(&x->shape, strides);
    for (int i = 0; i < x->shape.rank; i++)
        strided_append(&strided, x->shape.dims[order[i]], strides[order[i]]);
    TRY(kernel_scratch(k, x->dtype, &flat, out));
    if (x->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    return status_ok();
}

/* The axis with scales must be that of the output's features, or there must be none. */
static struct status check_axis(const struct kernel_context *k, const char *what, int64_t axis,
                                int features)
{
    if (axis == -1 || axis == features)
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "%s_quantization_axis Attr must be -1 (per-tensor) or %d, the dimension of "
                        "the output's features (per-channel), not %lld",
                        what, features, (long long)axis);
}

/* Sizes, the filter's scales (inputs `scales` and the next), and the scratch memory. */
static struct status conv_begin(struct kernel_context *k, int scales, struct uniform_conv *conv)
{
    const struct uniform_conv_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *filter = kernel_input(k, 1);
    TRY(uniform_scale_check(k, scales));
    TRY(uniform_conv_size_find(k, &state->conv, &x->shape, &filter->shape, &conv->size));
    TRY(check_axis(k, "rhs", state->filter.axis, conv->size.filter_order[0]));
    return uniform_scale_read(k, scales, &filter->shape, state->filter.axis, &conv->filter_scale);
}

static struct status conv_allocate(struct kernel_context *k, struct uniform_conv *conv)
{
    const struct uniform_conv_size *size = &conv->size;
    struct shape taps = shape_of(size->taps);
    int64_t strides[SHAPE_RANK_MAX];
    TRY(kernel_output(k, 0, &size->out_shape, &conv->out));
    dense_strides(&size->out_shape, strides);
    for (int i = 0; i < size->out_shape.rank; i++)
        conv->out_strides[i] = strides[size->out_order[i]];
    TRY(kernel_scratch(k, DT_INT64, &taps, &conv->offsets));
    return reorder(k, kernel_input(k, 1), size->filter_order, &conv->filter);
}

static void conv_finish(struct uniform_conv *conv)
{
    tensor_release(&conv->x);
    tensor_release(&conv->filter);
    tensor_release(&conv->offsets);
}

/* ---- sums, which wrap ---- */

static uint32_t dot(const int8_t *x, const int8_t *y, int64_t count, uint32_t x_zero,
                    uint32_t y_zero)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += ((uint32_t)x[i] - x_zero) * ((uint32_t)y[i] - y_zero);
    return sum;
}

/* Padding holds the zero as a byte, which is another number if the zero fits none. */
static uint32_t padding_dot(const int8_t *y, int64_t count, int32_t x_zero, uint32_t y_zero)
{
    uint32_t padding = (uint32_t)(int8_t)x_zero - (uint32_t)x_zero, sum = 0;
    for (int64_t i = 0; padding != 0 && i < count; i++)
        sum += (uint32_t)y[i] - y_zero;
    return padding * sum;
}

static int32_t sum_of(const struct uniform_conv *conv, int64_t image, int64_t feature)
{
    const struct uniform_conv_size *size = &conv->size;
    const int64_t *offsets = tensor_int64s(&conv->offsets);
    const int8_t *y = (const int8_t *)conv->filter.data + feature * size->taps * size->depth;
    const int8_t *x = (const int8_t *)conv->x.data + image * size->pixels_in * size->features_in +
                      feature / size->group * size->depth;
    int32_t x_zero = conv->zeros[conv->zero_by_image ? image : 0];
    uint32_t sum = 0;
    uint32_t y_zero =
        (uint32_t)conv->filter_scale.zeros[conv->filter_scale.count == 1 ? 0 : feature];
    for (int64_t t = 0; t < size->taps; t++, y += size->depth)
        sum += offsets[t] < 0 ? padding_dot(y, size->depth, x_zero, y_zero)
                              : dot(x + offsets[t] * size->features_in, y, size->depth,
                                    (uint32_t)x_zero, y_zero);
    return (int32_t)sum;
}

/* Element `at` of the output, from the sum for a feature of an image of x. */
typedef void put_sum(const struct uniform_conv *conv, const void *how, int64_t image,
                     int64_t feature, int32_t sum, int64_t at);

/* The offset in the output of a pixel. */
static int64_t pixel_offset(const struct uniform_conv *conv, int64_t pixel)
{
    int64_t offset = 0;
    for (int i = conv->size.spatial - 1; i >= 0; i--) {
        offset += pixel % conv->size.axes[i].out * conv->out_strides[i + 1];
        pixel /= conv->size.axes[i].out;
    }
    return offset;
}

static struct status convolve(struct kernel_context *k, const struct uniform_conv *conv,
                              put_sum *put, const void *how)
{
    const struct uniform_conv_size *size = &conv->size;
    int64_t feature_stride = conv->out_strides[size->spatial + 1];
    for (int64_t pixel = 0; pixel < size->pixels; pixel++) {
        uniform_conv_offsets(size, pixel, tensor_int64s_mut((struct tensor *)&conv->offsets));
        for (int64_t b = 0; b < size->batch; b++) {
            int64_t at = pixel_offset(conv, pixel) + b * conv->out_strides[0];
            TRY(kernel_check(k));
            for (int64_t f = 0; f < size->features; f++) {
                int64_t image = f / size->batch_group * size->batch + b;
                put(conv, how, image, f, sum_of(conv, image, f), at + f * feature_stride);
            }
        }
    }
    return status_ok();
}

/* ---- UniformQuantizedConvolution ---- */

struct requantizer {
    struct uniform_scale to;
    struct uniform_attrs limits;
    const struct uniform_factor *factors; /* [features] */
};

static void put_integer(const struct uniform_conv *conv, const void *how, int64_t image,
                        int64_t feature, int32_t sum, int64_t at)
{
    const struct requantizer *r = how;
    (void)image;
    uint32_t value = (uint32_t)uniform_multiply(sum, r->factors[feature]);
    value += (uint32_t)r->to.zeros[r->to.count == 1 ? 0 : feature];
    ((int32_t *)conv->out->data)[at] =
        uniform_clamp((int32_t)value, r->limits.least, r->limits.most);
}

/* The factor of each feature, from the scales of the operands to that of the output. */
static struct status find_factors(struct kernel_context *k, const struct uniform_conv *conv,
                                  const struct uniform_scale *to, struct tensor *out)
{
    double x_scale = (double)tensor_floats(kernel_input(k, 2))[0];
    struct shape pairs = shape_of(2, conv->size.features);
    TRY(shape_check(2, pairs.dims, &pairs));
    TRY(kernel_scratch(k, DT_INT32, &pairs, out)); /* a struct of two int32 for each feature */
    _Static_assert(sizeof(struct uniform_factor) == 2 * sizeof(int32_t), "two int32");
    for (int64_t f = 0; f < conv->size.features; f++) {
        double scale =
            x_scale * (double)conv->filter_scale.scales[conv->filter_scale.count == 1 ? 0 : f];
        TRY(uniform_factor_of(k, scale / (double)to->scales[to->count == 1 ? 0 : f],
                              (struct uniform_factor *)out->data + f));
    }
    return status_ok();
}

static struct status read_out_scale(struct kernel_context *k, const struct uniform_conv *conv,
                                    struct uniform_scale *out)
{
    const struct uniform_conv_state *state = kernel_state(k);
    const struct uniform_conv_size *size = &conv->size;
    TRY(check_axis(k, "output", state->out.axis, size->out_order[size->spatial + 1]));
    TRY(uniform_scale_read(k, 6, &size->out_shape, state->out.axis, out));
    if (state->filter.axis == -1 && state->out.axis != -1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "If rhs is per-tensor quantized, output must be also per-tensor "
                            "quantized.");
    return status_ok();
}

static struct status conv_compute(struct kernel_context *k)
{
    const struct uniform_conv_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct uniform_conv conv = { 0 };
    struct uniform_scale x_scale;
    struct requantizer requantizer = { .limits = state->out };
    struct tensor factors = { 0 };
    struct status status;
    TRY(uniform_scale_check(k, 2));
    TRY(uniform_scale_check(k, 6));
    TRY(conv_begin(k, 4, &conv));
    TRY(uniform_scale_read(k, 2, &x->shape, -1, &x_scale));
    TRY(read_out_scale(k, &conv, &requantizer.to));
    conv.zeros = x_scale.zeros;
    TRY_OR(done, conv_allocate(k, &conv));
    TRY_OR(done, reorder(k, x, conv.size.x_order, &conv.x));
    TRY_OR(done, find_factors(k, &conv, &requantizer.to, &factors));
    requantizer.factors = factors.data;
    status = convolve(k, &conv, put_integer, &requantizer);
done:
    conv_finish(&conv);
    tensor_release(&factors);
    return status;
}

/* ---- UniformQuantizedConvolutionHybrid ---- */

static void put_float(const struct uniform_conv *conv, const void *how, int64_t image,
                      int64_t feature, int32_t sum, int64_t at)
{
    const float *scales = how; /* [batch_in] */
    const struct uniform_scale *filter = &conv->filter_scale;
    tensor_floats_mut(conv->out)[at] =
        (float)sum * scales[image] * filter->scales[filter->count == 1 ? 0 : feature];
}

/* The images as bytes, with a scale and a zero for each. */
static struct status quantize_images(struct kernel_context *k, struct uniform_conv *conv,
                                     struct tensor *scales, struct tensor *zeros)
{
    const struct uniform_conv_size *size = &conv->size;
    const struct tensor *x = kernel_input(k, 0);
    struct shape images = shape_of(size->batch_in), flat = shape_of(x->size);
    struct tensor floats = { 0 };
    struct status status;
    int64_t image = size->pixels_in * size->features_in;
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &images, scales));
    TRY_OR(done, kernel_scratch(k, DT_INT32, &images, zeros));
    TRY_OR(done, kernel_scratch(k, DT_INT8, &flat, &conv->x));
    TRY_OR(done, reorder(k, x, size->x_order, &floats));
    for (int64_t b = 0; b < size->batch_in && size->pixels > 0; b++) {
        TRY_OR(done, kernel_check(k));
        uniform_quantize_run(tensor_floats(&floats) + b * image, image,
                             (int8_t *)conv->x.data + b * image, tensor_floats_mut(scales) + b,
                             tensor_int32s_mut(zeros) + b);
    }
    conv->zeros = tensor_int32s(zeros);
    conv->zero_by_image = true;
done:
    tensor_release(&floats);
    return status;
}

static struct status hybrid_compute(struct kernel_context *k)
{
    struct uniform_conv conv = { 0 };
    struct tensor scales = { 0 }, zeros = { 0 };
    struct status status;
    TRY(conv_begin(k, 2, &conv));
    TRY_OR(done, conv_allocate(k, &conv));
    TRY_OR(done, quantize_images(k, &conv, &scales, &zeros));
    status = convolve(k, &conv, put_float, scales.data);
done:
    conv_finish(&conv);
    tensor_release(&scales);
    tensor_release(&zeros);
    return status;
}

static const struct kernel rows[] = {
    { "UniformQuantizedConvolution", DTYPES(DT_QINT8), "Tin", .prepare = conv_prepare,
      .compute = conv_compute, .costly = true },
    { "UniformQuantizedConvolutionHybrid", DTYPES(DT_QINT8), "Trhs", .prepare = hybrid_prepare,
      .compute = hybrid_compute, .costly = true },
};
const struct kernel_table kernels_uniform_conv = { rows, COUNT(rows) };
