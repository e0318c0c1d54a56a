/*
 * xla_conv: XlaConv and XlaConvV2, convolutions over any number of dimensions in any layout. One is
 * a sum of products whose axes are the places of the window, the batch, the groups and the features
 * (math/contract.h); a place and an offset within the window are two axes over one dimension of the
 * image. The image is padded beforehand.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/math/contract.h"
#include "runtime/kernels/plain/strided.h"
#include "runtime/kernels/xla/dimension_numbers.h"
#include "runtime/kernels/xla/padding.h"
#include "runtime/kernels/xla/wide.h"

/* The fields of ConvolutionDimensionNumbers. */
enum {
    FILTER_IN = 3,
    FILTER_OUT = 4,
    FILTER_SPATIAL = 6,
    IMAGE_BATCH = 7,
    IMAGE_FEATURE = 8,
    OUT_BATCH = 9,
    OUT_FEATURE = 10,
    IMAGE_SPATIAL = 11,
    OUT_SPATIAL = 12
};

#define SPATIAL_MAX   (SHAPE_RANK_MAX - 2) /* so that there is room for all axes */
/* Bytes of copied windows: images of a batch are convolved so many at a time. */
#define WINDOWS_BYTES (INT64_C(8) << 20)

struct conv_state {
    struct dimension_numbers numbers;
    int64_t batch_groups;
};

static struct status conv_prepare(struct prepare_context *p)
{
    struct conv_state *state = prepare_state(p, sizeof *state, NULL);
    state->batch_groups = 1;
    if (node_attr(prepare_node(p), "batch_group_count") != NULL)
        TRY(node_attr_int(prepare_node(p), "batch_group_count", &state->batch_groups));
    return dimension_numbers_read(prepare_node(p), &state->numbers);
}

struct conv {
    const struct dimension_numbers *numbers;
    int spatial;                   /* dimensions */
    int64_t groups, batch_groups;  /* one of the two is 1 */
    int64_t steps[SHAPE_RANK_MAX]; /* of the window, by spatial dimension */
    int64_t dilations[SHAPE_RANK_MAX];
    struct xla_padding padding; /* by dimension of the image */
    struct shape image;         /* padded */
    struct shape out;
};

static int place(const struct conv *conv, int field, int i)
{
    return conv->numbers->fields[field].at[i];
}

/* Are two dimensions and a list of them all dimensions of a tensor of that rank? */
static bool covers(const struct dimension_numbers *numbers, int one, int other, int spatial,
                   int rank)
{
    struct dimension_list all = numbers->fields[spatial];
    if (all.count != rank - 2)
        return false;
    all.at[all.count++] = dimension_number(numbers, one);
    all.at[all.count++] = dimension_number(numbers, other);
    return dimensions_fit(&all, rank);
}

static struct status check_dimensions(const struct kernel_context *k, struct conv *conv)
{
    const struct shape *image = &kernel_input(k, 0)->shape, *filter = &kernel_input(k, 1)->shape;
    int rank = image->rank;
    conv->spatial = rank - 2;
    if (rank < 2 || conv->spatial > SPATIAL_MAX || filter->rank != rank ||
        !covers(conv->numbers, IMAGE_BATCH, IMAGE_FEATURE, IMAGE_SPATIAL, rank) ||
        !covers(conv->numbers, FILTER_IN, FILTER_OUT, FILTER_SPATIAL, rank) ||
        !covers(conv->numbers, OUT_BATCH, OUT_FEATURE, OUT_SPATIAL, rank))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "dimension_numbers do not fit operands of shapes %s and %s",
                            shape_text(image), shape_text(filter));
    return status_ok();
}

static struct status read_padding(const struct kernel_context *k, struct conv *conv)
{
    int64_t dilations[SHAPE_RANK_MAX], low[SHAPE_RANK_MAX], high[SHAPE_RANK_MAX];
    TRY(padding_pairs(k, 3, conv->spatial, low, high));
    TRY(dimension_values(k, 4, "lhs_dilation", conv->spatial, 1, dilations));
    for (int i = 0; i < conv->spatial; i++) {
        int d = place(conv, IMAGE_SPATIAL, i);
        conv->padding.low[d] = low[i];
        conv->padding.high[d] = high[i];
        conv->padding.interior[d] = dilations[i] - 1;
    }
    return padding_shape(k, &kernel_input(k, 0)->shape, &conv->padding, &conv->image);
}

static struct status check_features(const struct kernel_context *k, const struct conv *conv)
{
    const struct shape *image = &kernel_input(k, 0)->shape, *filter = &kernel_input(k, 1)->shape;
    int64_t in = image->dims[dimension_number(conv->numbers, IMAGE_FEATURE)];
    int64_t batch = image->dims[dimension_number(conv->numbers, IMAGE_BATCH)];
    int64_t out = filter->dims[dimension_number(conv->numbers, FILTER_OUT)];
    if (conv->groups < 1 || conv->batch_groups < 1 ||
        (conv->groups > 1 && conv->batch_groups > 1) || in % conv->groups != 0 ||
        in / conv->groups != filter->dims[dimension_number(conv->numbers, FILTER_IN)] ||
        out % conv->groups != 0 || out % conv->batch_groups != 0 || batch % conv->batch_groups != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "%lld groups and %lld of the batch do not fit operands of shapes %s "
                            "and %s",
                            (long long)conv->groups, (long long)conv->batch_groups,
                            shape_text(image), shape_text(filter));
    return status_ok();
}

static struct status find_out(const struct kernel_context *k, struct conv *conv)
{
    const struct shape *filter = &kernel_input(k, 1)->shape;
    int64_t dims[SHAPE_RANK_MAX];
    dims[dimension_number(conv->numbers, OUT_BATCH)] =
        conv->image.dims[dimension_number(conv->numbers, IMAGE_BATCH)] / conv->batch_groups;
    dims[dimension_number(conv->numbers, OUT_FEATURE)] =
        filter->dims[dimension_number(conv->numbers, FILTER_OUT)];
    for (int i = 0; i < conv->spatial; i++) {
        int64_t size = filter->dims[place(conv, FILTER_SPATIAL, i)], window;
        int64_t room = conv->image.dims[place(conv, IMAGE_SPATIAL, i)];
        if (__builtin_mul_overflow(size > 0 ? size - 1 : 0, conv->dilations[i], &window))
            window = INT64_MAX - 1;
        window += size > 0;
        dims[place(conv, OUT_SPATIAL, i)] =
            room < window ? 0 : (room - window) / conv->steps[i] + 1;
    }
    return shape_check(conv->spatial + 2, dims, &conv->out);
}

static struct status bind(const struct kernel_context *k, struct conv *conv)
{
    const struct conv_state *state = kernel_state(k);
    const struct tensor *groups = kernel_input(k, 6);
    conv->numbers = &state->numbers;
    conv->batch_groups = state->batch_groups;
    if (groups->size != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "feature_group_count must be a scalar, but its shape is %s",
                            shape_text(&groups->shape));
    conv->groups = tensor_index(groups, 0);
    TRY(check_dimensions(k, conv));
    TRY(dimension_values(k, 2, "window_strides", conv->spatial, 1, conv->steps));
    TRY(dimension_values(k, 5, "rhs_dilation", conv->spatial, 1, conv->dilations));
    TRY(check_features(k, conv));
    TRY(read_padding(k, conv));
    return find_out(k, conv);
}

static void add_axis(struct einsum_binding *axes, int64_t dim, int64_t image, int64_t filter,
                     int64_t out)
{
    struct einsum_axis *axis = &axes->at[axes->count++];
    *axis = (struct einsum_axis){ .dim = dim,
                                  .in_output = out != 0,
                                  .in = { image != 0, filter != 0 },
                                  .out_stride = out,
                                  .strides = { image, filter } };
}

/* Axis 0 is the batch. */
static void find_axes(const struct conv *conv, const struct shape *filter,
                      struct einsum_binding *axes)
{
    const struct dimension_numbers *numbers = conv->numbers;
    int64_t x[SHAPE_RANK_MAX], w[SHAPE_RANK_MAX], y[SHAPE_RANK_MAX];
    int feature = dimension_number(numbers, IMAGE_FEATURE);
    int batch = dimension_number(numbers, IMAGE_BATCH);
    int out_feature = dimension_number(numbers, OUT_FEATURE);
    int out_batch = dimension_number(numbers, OUT_BATCH);
    int filter_in = dimension_number(numbers, FILTER_IN);
    int filter_out = dimension_number(numbers, FILTER_OUT);
    int64_t groups = conv->groups * conv->batch_groups; /* one of them is 1 */
    int64_t columns = filter->dims[filter_out] / groups, rows = conv->out.dims[out_batch];
    dense_strides(&conv->image, x);
    dense_strides(filter, w);
    dense_strides(&conv->out, y);
    *axes = (struct einsum_binding){ 0 };
    add_axis(axes, rows, x[batch], 0, y[out_batch]);
    add_axis(axes, groups,
             conv->batch_groups > 1 ? rows * x[batch] : filter->dims[filter_in] * x[feature],
             columns * w[filter_out], columns * y[out_feature]);
    add_axis(axes, columns, 0, w[filter_out], y[out_feature]);
    add_axis(axes, filter->dims[filter_in], x[feature], w[filter_in], 0);
    for (int i = 0; i < conv->spatial; i++) {
        int d = place(conv, IMAGE_SPATIAL, i), at = place(conv, OUT_SPATIAL, i);
        int f = place(conv, FILTER_SPATIAL, i);
        add_axis(axes, conv->out.dims[at], stride_of_steps(x[d], conv->steps[i]), 0, y[at]);
        add_axis(axes, filter->dims[f], stride_of_steps(x[d], conv->dilations[i]), w[f], 0);
    }
}

/* The number of images whose windows fit into WINDOWS_BYTES; at least 1. */
static int64_t images_at_once(const struct einsum_binding *axes, enum dtype dtype)
{
    double bytes = (double)dtype_size(dtype);
    for (int i = 1; i < axes->count; i++)
        if (axes->at[i].in[0])
            bytes *= (double)axes->at[i].dim;
    double count = (double)WINDOWS_BYTES / bytes;
    return count < 1 ? 1 : count > 65536 ? 65536 : (int64_t)count;
}

static struct status convolve(struct kernel_context *k, const struct conv *conv,
                              const struct tensor *image, const struct tensor *filter,
                              struct tensor *out)
{
    struct einsum_binding axes;
    find_axes(conv, &filter->shape, &axes);
    size_t bytes = dtype_size(out->dtype);
    int64_t count = axes.at[0].dim, most = images_at_once(&axes, out->dtype);
    for (int i = 0; i < axes.count; i++)
        if (axes.at[i].dim == 0) { /* nothing is summed */
            memset(out->data, 0, tensor_bytes(out));
            return status_ok();
        }
    for (int64_t i = 0; i < count; i += most) {
        const void *data[] = { at_bytes_const(image->data, i * axes.at[0].strides[0], bytes),
                               filter->data };
        axes.at[0].dim = count - i < most ? count - i : most;
        TRY(kernel_check(k));
        TRY(contract(k, out->dtype, &axes, 2, data,
                     at_bytes(out->data, i * axes.at[0].out_stride, bytes)));
    }
    return status_ok();
}

static struct status pad_image(struct kernel_context *k, const struct conv *conv,
                               struct tensor *image)
{
    static const double zero[2];
    struct tensor padded;
    if (!padding_changes(&conv->padding, image->shape.rank))
        return status_ok();
    TRY(kernel_scratch(k, image->dtype, &conv->image, &padded));
    padding_apply(image, zero, &conv->padding, &padded);
    tensor_release(image);
    *image = padded;
    return status_ok();
}

static struct status conv_compute(struct kernel_context *k)
{
    struct conv conv = { 0 };
    struct tensor *out, operands[2] = { 0 }, wide = { 0 };
    TRY(bind(k, &conv));
    TRY(kernel_output(k, 0, &conv.out, &out));
    struct status status = wide_operand(k, kernel_input(k, 0), out->dtype, &operands[0]);
    if (status_is_ok(status))
        status = wide_operand(k, kernel_input(k, 1), out->dtype, &operands[1]);
    if (status_is_ok(status))
        status = pad_image(k, &conv, &operands[0]);
    if (status_is_ok(status))
        status = wide_result(k, out, &wide);
    if (status_is_ok(status)) {
        status = convolve(k, &conv, &operands[0], &operands[1], &wide);
        wide_store(&wide, out);
    }
    tensors_release(2, operands);
    return status;
}

static const struct kernel rows[] = {
    { "XlaConv", DTYPES_PRODUCT, .prepare = conv_prepare, .compute = conv_compute, .costly = true },
    { "XlaConvV2", DTYPES_PRODUCT, "preferred_element_type", .prepare = conv_prepare,
      .compute = conv_compute, .costly = true },
};
const struct kernel_table kernels_xla_conv = { rows, COUNT(rows) };
