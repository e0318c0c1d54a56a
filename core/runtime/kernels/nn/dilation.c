/*
 * dilation: Dilation2D, which takes the greatest sum of a window and a filter, and its gradients,
 * which go to the element that was the greatest.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/sliding_window.h"
#include "runtime/kernels/plain/window_places.h"

/* A list of four ints, whose first and last are 1. */
static struct status read_list(const struct node *node, const char *name, const char *what,
                               const char *unsupported, int64_t out[3])
{
    int64_t list[4];
    int count;
    TRY(node_attr_ints(node, name, 4, list, &count));
    if (count != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must specify 4 dimensions", what);
    if (list[0] != 1 || list[3] != 1)
        return status_error(STATUS_UNIMPLEMENTED, "%s is only supported across spatial dimensions.",
                            unsupported);
    out[ROWS] = list[1];
    out[COLUMNS] = list[2];
    if (list[1] <= 0 || list[2] <= 0 || list[1] > INT32_MAX || list[2] > INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be positive: %lld, %lld", what,
                            (long long)list[1], (long long)list[2]);
    return status_ok();
}

static struct status dilation_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct window_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    struct bytes padding;
    *attrs = (struct window_attrs){ .rank = 4 };
    TRY(read_list(node, "strides", "Sliding window stride field", "Stride", attrs->stride));
    TRY(read_list(node, "rates", "Input stride (atrous rate) field", "Rate", attrs->dilation));
    TRY(node_attr_string(node, "padding", &padding));
    attrs->padding = bytes_equal(padding, bytes_of("SAME")) ? PADDING_SAME : PADDING_VALID;
    return status_ok();
}

static struct status dilation_size(struct kernel_context *k, struct conv_size *out)
{
    const struct shape *x = &kernel_input(k, 0)->shape, *filter = &kernel_input(k, 1)->shape;
    if (x->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(x));
    if (filter->rank != 3)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "filter must be 3-dimensional: %s",
                            shape_text(filter));
    if (x->dims[3] != filter->dims[2])
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "input and filter must have the same depth: %lld vs %lld",
                            (long long)x->dims[3], (long long)filter->dims[2]);
    if (filter->dims[0] <= 0 || filter->dims[1] <= 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "filter must have rows and columns: %s",
                            shape_text(filter));
    *out = (struct conv_size){
        .n = x->dims[0], .c = x->dims[3], .m = x->dims[3], .groups = 1, .planes = ONE_PLANE
    };
    TRY(window_slide(kernel_state(k), ROWS, x->dims[1], filter->dims[0], &out->rows));
    return window_slide(kernel_state(k), COLUMNS, x->dims[2], filter->dims[1], &out->columns);
}

/* The image and the filter, as floats if they are half or bfloat16. */
struct operands {
    struct tensor x, filter;
    dilate_row *dilate;
};

static void operands_release(struct operands *operands)
{
    tensor_release(&operands->x);
    tensor_release(&operands->filter);
}

static struct status operands_make(struct kernel_context *k, struct operands *out)
{
    *out = (struct operands){ 0 };
    TRY(widened(k, kernel_input(k, 0), &out->x));
    struct status status = widened(k, kernel_input(k, 1), &out->filter);
    if (!status_is_ok(status))
        operands_release(out);
    out->dilate = dilate_row_of(out->x.dtype);
    return status;
}

static const void *image_of(const struct operands *operands, const struct conv_size *size,
                            int64_t n)
{
    return at_bytes_const(operands->x.data, n * conv_places_in(size) * size->c,
                          dtype_size(operands->x.dtype));
}

static struct status dilate(struct kernel_context *k, const struct conv_size *size,
                            struct tensor *out)
{
    struct operands operands;
    enum dtype dtype = out->dtype;
    int64_t row = size->columns.out * size->c;
    struct shape line = shape_of(row);
    struct tensor floats = { 0 };
    TRY(operands_make(k, &operands));
    struct status status = kernel_scratch(k, operands.x.dtype, &line, &floats);
    for (int64_t i = 0; i < size->n * size->rows.out && status_is_ok(status); i++) {
        void *to = at_bytes(out->data, i * row, dtype_size(dtype));
        const struct dilated found = { .values = dtype_is_half(dtype) ? floats.data : to };
        operands.dilate(size, dtype, image_of(&operands, size, i / size->rows.out),
                        operands.filter.data, i % size->rows.out, &found);
        if (dtype_is_half(dtype))
            half_block_store(dtype, floats.data, to, row);
        status = kernel_check(k);
    }
    tensor_release(&floats);
    operands_release(&operands);
    return status;
}

static struct status dilation_compute(struct kernel_context *k)
{
    struct conv_size size;
    struct tensor *out;
    TRY(dilation_size(k, &size));
    struct shape shape = shape_of(size.n, size.rows.out, size.columns.out, size.c);
    TRY(shape_check(4, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    return out->size == 0 ? status_ok() : dilate(k, &size, out);
}

/* ---- gradients ---- */

/* Adds a row of dy to the greatest elements: of the image, or of the filter. */
static void add_row(const struct conv_size *size, const struct tensor *dy, int64_t row,
                    const int64_t *places, struct tensor *out, int64_t start)
{
    size_t bytes = dtype_size(dy->dtype);
    int64_t count = size->columns.out * size->c;
    for (int64_t i = 0; i < count; i++)
        if (places[i] >= 0)
            add_elements(dy->dtype, at_bytes_const(dy->data, row * count + i, bytes),
                         at_bytes(out->data, start + places[i] * size->c + i % size->c, bytes), 1);
}

static struct status add_rows(struct kernel_context *k, const struct conv_size *size,
                              bool of_filter, int64_t *places, struct tensor *out)
{
    const struct tensor *dy = kernel_input(k, 2);
    struct operands operands;
    int64_t count = size->columns.out * size->c, image = conv_places_in(size) * size->c;
    const struct dilated found = { .pixels = places, .taps = places + count };
    struct status status = status_ok();
    TRY(operands_make(k, &operands));
    for (int64_t i = 0; i < size->n * size->rows.out && status_is_ok(status); i++) {
        int64_t n = i / size->rows.out;
        operands.dilate(size, dy->dtype, image_of(&operands, size, n), operands.filter.data,
                        i % size->rows.out, &found);
        if (of_filter)
            add_row(size, dy, i, found.taps, out, 0);
        else
            add_row(size, dy, i, found.pixels, out, n * image);
        status = kernel_check(k);
    }
    operands_release(&operands);
    return status;
}

static struct status dilation_grad(struct kernel_context *k, bool of_filter)
{
    const struct shape *dy = &kernel_input(k, 2)->shape;
    struct conv_size size;
    struct tensor *out, places;
    TRY(dilation_size(k, &size));
    if (dy->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "out_backprop must be 4-dimensional%s",
                            shape_text(dy));
    struct shape wanted = shape_of(size.n, size.rows.out, size.columns.out, size.c);
    if (!shape_equal(dy, &wanted))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "out_backprop has incompatible size.");
    TRY(kernel_output(k, 0, &kernel_input(k, of_filter)->shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    if (kernel_input(k, 2)->size == 0) /* any number of rows without columns */
        return status_ok();
    struct shape line = shape_of(2, size.columns.out, size.c);
    TRY(shape_check(3, line.dims, &line));
    TRY(kernel_scratch(k, DT_INT64, &line, &places));
    struct status status = add_rows(k, &size, of_filter, tensor_int64s_mut(&places), out);
    tensor_release(&places);
    return status;
}

static struct status input_grad_compute(struct kernel_context *k)
{
    return dilation_grad(k, false);
}

static struct status filter_grad_compute(struct kernel_context *k)
{
    return dilation_grad(k, true);
}

#define DILATION(op, function)                                                            \
    {                                                                                     \
        op, DTYPES_REAL, .prepare = dilation_prepare, .compute = function, .costly = true \
    }
static const struct kernel rows[] = {
    DILATION("Dilation2D", dilation_compute),
    DILATION("Dilation2DBackpropInput", input_grad_compute),
    DILATION("Dilation2DBackpropFilter", filter_grad_compute),
};
const struct kernel_table kernels_dilation = { rows, COUNT(rows) };
