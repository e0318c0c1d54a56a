/*
 * conv2d: Conv2D, Conv3D and DepthwiseConv2dNative with their gradients. Those of the input are
 * also the transposed convolutions of decoders.
 */
#include "runtime/kernels/nn/conv2d.h"

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"

static struct status conv_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct window_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    TRY(window_attrs_read(node, false, attrs));
    if (attrs->channels_first)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (%s): The Conv%dD op currently only supports the %s tensor "
                            "format on the CPU. The op was given the format: %s",
                            node->name, node->op_name, attrs->rank - 2,
                            attrs->rank == 4 ? "NHWC" : "NDHWC",
                            attrs->rank == 4 ? "NCHW" : "NCDHW");
    return status_ok();
}

static struct status check_filter(const struct window_attrs *attrs, const struct shape *x,
                                  const struct shape *filter)
{
    if (x->rank != attrs->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be %d-dimensional: %s",
                            attrs->rank == 4 ? "convolution input" : "input", attrs->rank,
                            shape_text(x));
    if (filter->rank != attrs->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be %d-dimensional: %s",
                            attrs->rank == 4 ? "convolution filter" : "filter", attrs->rank,
                            shape_text(filter));
    if (shape_size(filter) == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "filter must not have zero elements (i.e. all dimensions must be "
                            "non-zero)");
    return status_ok();
}

/* Groups of a filter [.., depth, m] over c channels. */
static struct status read_groups(int rank, int64_t depth, struct conv_size *out)
{
    if (out->c % depth != 0 || out->c == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s depth must be evenly divisible by filter depth: %lld vs %lld",
                            rank == 4 ? "input" : "Input", (long long)out->c, (long long)depth);
    out->groups = out->c / depth;
    if (out->m % out->groups != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "output depth must be evenly divisible by number of groups: %lld "
                            "vs %lld",
                            (long long)out->m, (long long)out->groups);
    return status_ok();
}

struct status conv_size_of(const struct window_attrs *attrs, const struct shape *x,
                           const struct shape *filter, bool depthwise, struct conv_size *out)
{
    int last = attrs->rank - 1, first = attrs->rank == 5 ? PLANES : ROWS;
    struct window *windows[] = { &out->planes, &out->rows, &out->columns };
    TRY(check_filter(attrs, x, filter));
    int64_t depth = filter->dims[last - 1];
    *out = (struct conv_size){ .n = x->dims[0],
                               .c = x->dims[last],
                               .m = filter->dims[last],
                               .groups = 1,
                               .planes = ONE_PLANE };
    if (depthwise && depth != out->c)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input and filter must have the same depth: %lld vs %lld",
                            (long long)out->c, (long long)depth);
    if (depthwise)
        out->m *= depth;
    else
        TRY(read_groups(attrs->rank, depth, out));
    for (int i = first; i <= COLUMNS; i++)
        TRY(window_slide(attrs, i, x->dims[1 + i - first], filter->dims[i - first], windows[i]));
    return status_ok();
}

struct shape conv_out_shape(const struct window_attrs *attrs, const struct conv_size *size)
{
    if (attrs->rank == 4)
        return shape_of(size->n, size->rows.out, size->columns.out, size->m);
    return shape_of(size->n, size->planes.out, size->rows.out, size->columns.out, size->m);
}

static struct status scratch_floats(struct kernel_context *k, int64_t count, struct tensor *out)
{
    struct shape shape = shape_of(count);
    return kernel_scratch(k, DT_FLOAT, &shape, out);
}

typedef struct status conv_leaf(struct kernel_context *k, const struct conv_size *size,
                                const struct tensor *a, const struct tensor *b, struct tensor *out);

/* Runs a leaf over floats, and converts tensors of other types. */
static struct status in_floats(struct kernel_context *k, conv_leaf *leaf,
                               const struct conv_size *size, const struct tensor *a,
                               const struct tensor *b, struct tensor *out)
{
    struct tensor wide_a = { 0 }, wide_b = { 0 }, wide_out = { 0 };
    struct status status;
    if (!dtype_is_half(out->dtype))
        return leaf(k, size, a, b, out);
    TRY_OR(done, widened(k, a, &wide_a));
    TRY_OR(done, widened(k, b, &wide_b));
    TRY_OR(done, widened_output(k, out, &wide_out));
    TRY_OR(done, leaf(k, size, &wide_a, &wide_b, &wide_out));
    widened_store(&wide_out, out);
done:
    tensor_release(&wide_a);
    tensor_release(&wide_b);
    tensor_release(&wide_out);
    return status;
}

/* Computes, or adds, one row. */
typedef void conv_row(const struct conv_size *size, int64_t row, const void *a, const void *b,
                      void *out);

struct conv_rows {
    const struct conv_size *size;
    conv_row *compute;
    int64_t from;
    const void *x, *filter;
    void *out;
};

static void compute_some_rows(void *context, int64_t first, int64_t end)
{
    const struct conv_rows *some = context;
    for (int64_t row = first; row < end; row++)
        some->compute(some->size, some->from + row, some->x, some->filter, some->out);
}

#define CHECK_NS 50e6 /* of rows between two checks of the deadline */

/* The output of doubles or integers. */
static struct status compute_rows(struct kernel_context *k, const struct conv_size *size,
                                  conv_row *compute, const struct tensor *x,
                                  const struct tensor *filter, struct tensor *out)
{
    struct conv_rows some = { size, compute, 0, x->data, filter->data, out->data };
    int64_t rows = conv_rows_out(size);
    double row_ns = (double)size->columns.out * (double)filter->size + 1;
    int64_t step = row_ns < CHECK_NS ? (int64_t)(CHECK_NS / row_ns) : 1;
    for (; some.from < rows; some.from += step) {
        int64_t count = rows - some.from < step ? rows - some.from : step;
        TRY(kernel_check(k));
        parallel_for(count, (double)count * row_ns, compute_some_rows, &some);
    }
    return status_ok();
}

static struct status conv_leaf_forward(struct kernel_context *k, const struct conv_size *size,
                                       const struct tensor *x, const struct tensor *filter,
                                       struct tensor *out)
{
    struct tensor scratch;
    if (out->dtype == DT_DOUBLE)
        return compute_rows(k, size, conv_row_f64, x, filter, out);
    if (out->dtype == DT_INT32)
        return compute_rows(k, size, conv_row_u32, x, filter, out);
    TRY(scratch_floats(k, conv_scratch_size(size), &scratch));
    conv_f32(size, x->data, filter->data, scratch.data, out->data);
    tensor_release(&scratch);
    return status_ok();
}

struct status conv_forward(struct kernel_context *k, const struct window_attrs *attrs,
                           const struct tensor *x, const struct tensor *filter)
{
    struct shape batch = { 0 };
    if (x->shape.rank > 0)
        shape_append(&batch, x->shape.dims[0]);
    return conv_forward_batch(k, attrs, &batch, x, filter);
}

struct status conv_forward_batch(struct kernel_context *k, const struct window_attrs *attrs,
                                 const struct shape *batch, const struct tensor *x,
                                 const struct tensor *filter)
{
    struct conv_size size;
    struct tensor *out;
    struct shape shape = *batch;
    TRY(conv_size_of(attrs, &x->shape, &filter->shape, false, &size));
    struct shape images = conv_out_shape(attrs, &size);
    for (int i = 1; i < images.rank; i++)
        shape_append(&shape, images.dims[i]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    return out->size == 0 ? status_ok() : in_floats(k, conv_leaf_forward, &size, x, filter, out);
}

static struct status conv_compute(struct kernel_context *k)
{
    return conv_forward(k, kernel_state(k), kernel_input(k, 0), kernel_input(k, 1));
}

/* ---- gradients ---- */

/* The shape of the image or volume. */
static struct status read_shape(struct kernel_context *k, const struct tensor *sizes,
                                struct shape *out)
{
    const struct window_attrs *attrs = kernel_state(k);
    int64_t dims[5];
    if (sizes->dtype != DT_INT32 && sizes->dtype != DT_INT64) {
        *out = sizes->shape; /* Conv3DBackpropInput and Filter take the tensor instead */
        return status_ok();
    }
    if (sizes->shape.rank != 1 || sizes->size != attrs->rank)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "Conv%dDBackpropInput: input_sizes must be a vector of %d, not of shape %s",
            attrs->rank - 2, attrs->rank, shape_text(&sizes->shape));
    for (int i = 0; i < attrs->rank; i++)
        dims[i] = tensor_index(sizes, i);
    return shape_check(attrs->rank, dims, out);
}

static struct status check_gradient(struct kernel_context *k, const struct conv_size *size,
                                    const struct shape *dy)
{
    struct shape wanted = conv_out_shape(kernel_state(k), size);
    if (shape_equal(&wanted, dy))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Size of out_backprop doesn't match computed: actual = %s, computed = %s",
                        shape_text(dy), shape_text(&wanted));
}

/* The gradient of the input, or of the filter, of doubles or integers: row by row, because a few
 * rows of a large filter may take long. */
static struct status sum_rows(struct kernel_context *k, const struct conv_size *size,
                              conv_row *add_row, const void *a, const void *b, struct tensor *out)
{
    int64_t rows = conv_rows_out(size);
    memset(out->data, 0, tensor_bytes(out));
    for (int64_t row = 0; row < rows; row++) {
        TRY(kernel_check(k));
        add_row(size, row, a, b, out->data);
    }
    return status_ok();
}

static struct status conv_leaf_input(struct kernel_context *k, const struct conv_size *size,
                                     const struct tensor *filter, const struct tensor *dy,
                                     struct tensor *out)
{
    struct tensor scratch;
    if (out->dtype == DT_DOUBLE)
        return sum_rows(k, size, conv_input_grad_row_f64, dy->data, filter->data, out);
    if (out->dtype == DT_INT32)
        return sum_rows(k, size, conv_input_grad_row_u32, dy->data, filter->data, out);
    TRY(scratch_floats(k, conv_scratch_size(size), &scratch));
    conv_input_grad_f32(size, dy->data, filter->data, scratch.data, out->data);
    tensor_release(&scratch);
    return status_ok();
}

static struct status conv_leaf_filter(struct kernel_context *k, const struct conv_size *size,
                                      const struct tensor *x, const struct tensor *dy,
                                      struct tensor *out)
{
    struct tensor scratch;
    if (out->dtype == DT_DOUBLE)
        return sum_rows(k, size, conv_filter_grad_row_f64, x->data, dy->data, out);
    TRY(scratch_floats(k, conv_scratch_size(size), &scratch));
    conv_filter_grad_f32(size, x->data, dy->data, scratch.data, out->data);
    tensor_release(&scratch);
    return status_ok();
}

/* A depthwise convolution is one with a group for each channel; the filters lie in memory alike. */
static struct conv_size in_groups(const struct conv_size *depthwise)
{
    struct conv_size size = *depthwise;
    size.groups = size.c;
    return size;
}

static struct status depthwise_leaf_input(struct kernel_context *k, const struct conv_size *size,
                                          const struct tensor *filter, const struct tensor *dy,
                                          struct tensor *out)
{
    if (out->dtype == DT_DOUBLE) {
        struct conv_size groups = in_groups(size);
        return sum_rows(k, &groups, conv_input_grad_row_f64, dy->data, filter->data, out);
    }
    depthwise_input_grad_f32(size, dy->data, filter->data, out->data);
    return status_ok();
}

static struct status depthwise_leaf_filter(struct kernel_context *k, const struct conv_size *size,
                                           const struct tensor *x, const struct tensor *dy,
                                           struct tensor *out)
{
    if (out->dtype == DT_DOUBLE) {
        struct conv_size groups = in_groups(size);
        return sum_rows(k, &groups, conv_filter_grad_row_f64, x->data, dy->data, out);
    }
    depthwise_filter_grad_f32(size, x->data, dy->data, out->data);
    return status_ok();
}

/* Inputs: sizes of the image, filter, dy. */
static struct status input_grad(struct kernel_context *k, bool depthwise, conv_leaf *leaf)
{
    const struct tensor *filter = kernel_input(k, 1), *dy = kernel_input(k, 2);
    struct conv_size size;
    struct shape shape;
    struct tensor *out;
    TRY(read_shape(k, kernel_input(k, 0), &shape));
    TRY(conv_size_of(kernel_state(k), &shape, &filter->shape, depthwise, &size));
    TRY(check_gradient(k, &size, &dy->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (dy->size == 0 && out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    return dy->size == 0 || out->size == 0 ? status_ok()
                                           : in_floats(k, leaf, &size, filter, dy, out);
}

/* Inputs: image, sizes of the filter, dy. */
static struct status filter_grad(struct kernel_context *k, bool depthwise, conv_leaf *leaf)
{
    const struct tensor *x = kernel_input(k, 0), *dy = kernel_input(k, 2);
    struct conv_size size;
    struct shape shape;
    struct tensor *out;
    TRY(read_shape(k, kernel_input(k, 1), &shape));
    TRY(conv_size_of(kernel_state(k), &x->shape, &shape, depthwise, &size));
    TRY(check_gradient(k, &size, &dy->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (dy->size == 0)
        memset(out->data, 0, tensor_bytes(out));
    return dy->size == 0 ? status_ok() : in_floats(k, leaf, &size, x, dy, out);
}

static struct status conv_input_grad_compute(struct kernel_context *k)
{
    return input_grad(k, false, conv_leaf_input);
}

static struct status conv_filter_grad_compute(struct kernel_context *k)
{
    return filter_grad(k, false, conv_leaf_filter);
}

static struct status depthwise_input_grad_compute(struct kernel_context *k)
{
    return input_grad(k, true, depthwise_leaf_input);
}

static struct status depthwise_filter_grad_compute(struct kernel_context *k)
{
    return filter_grad(k, true, depthwise_leaf_filter);
}

static struct status depthwise_leaf_forward(struct kernel_context *k, const struct conv_size *size,
                                            const struct tensor *x, const struct tensor *filter,
                                            struct tensor *out)
{
    if (out->dtype == DT_DOUBLE) {
        struct conv_size groups = in_groups(size);
        return compute_rows(k, &groups, conv_row_f64, x, filter, out);
    }
    depthwise_f32(size, x->data, filter->data, out->data);
    return status_ok();
}

static struct status depthwise_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *filter = kernel_input(k, 1);
    struct conv_size size;
    struct tensor *out;
    TRY(conv_size_of(kernel_state(k), &x->shape, &filter->shape, true, &size));
    struct shape shape = conv_out_shape(kernel_state(k), &size);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    return out->size == 0 ? status_ok()
                          : in_floats(k, depthwise_leaf_forward, &size, x, filter, out);
}

#define CONV(op, dtypes, function)                                               \
    {                                                                            \
        op, dtypes, .prepare = conv_prepare, .compute = function, .costly = true \
    }
static const struct kernel rows[] = {
    CONV("Conv2D", DTYPES_FLOATING | DTYPES(DT_INT32), conv_compute),
    CONV("Conv2DBackpropInput", DTYPES_FLOATING | DTYPES(DT_INT32), conv_input_grad_compute),
    CONV("Conv2DBackpropFilter", DTYPES_FLOATING, conv_filter_grad_compute),
    CONV("Conv3D", DTYPES_FLOATING, conv_compute),
    CONV("Conv3DBackpropInputV2", DTYPES_FLOATING, conv_input_grad_compute),
    CONV("Conv3DBackpropFilterV2", DTYPES_FLOATING, conv_filter_grad_compute),
    CONV("Conv3DBackpropInput", DTYPES_FLOATING, conv_input_grad_compute),
    CONV("Conv3DBackpropFilter", DTYPES_FLOATING, conv_filter_grad_compute),
    CONV("DepthwiseConv2dNative", DTYPES_FLOATING, depthwise_compute),
    CONV("DepthwiseConv2dNativeBackpropInput", DTYPES_FLOATING, depthwise_input_grad_compute),
    CONV("DepthwiseConv2dNativeBackpropFilter", DTYPES_FLOATING, depthwise_filter_grad_compute),
};
const struct kernel_table kernels_conv2d = { rows, COUNT(rows) };
