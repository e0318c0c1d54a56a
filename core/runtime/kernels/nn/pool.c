/*
 * pool: MaxPool and AvgPool of images and of volumes, with their gradients; MaxPoolWithArgmax.
 */
#include "runtime/kernels/plain/pool.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/nn/pool_places.h"

static struct status pool_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct window_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    TRY(window_attrs_read(node, true, attrs));
    if (attrs->channels_first)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (%s): only the %s tensor format is supported on the CPU",
                            node->name, node->op_name, attrs->rank == 4 ? "NHWC" : "NDHWC");
    return status_ok();
}

/* The table of kernels only checks T, the type of the gradient. */
static struct status max_pool3d_grad_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype dtype, gradient;
    TRY(node_attr_type(node, "TInput", &dtype));
    TRY(node_attr_type(node, "T", &gradient));
    if (dtype != gradient)
        return status_error(STATUS_UNIMPLEMENTED,
                            "node '%s' (%s): TInput is %s, and T is %s; only equal types are "
                            "implemented",
                            node->name, node->op_name, dtype_name(dtype), dtype_name(gradient));
    return pool_prepare(p);
}

/* The attributes; MaxPoolV2 and MaxPoolGradV2 take two of them as their last inputs. */
static struct status pool_attrs(struct kernel_context *k, struct window_attrs *out)
{
    *out = *(const struct window_attrs *)kernel_state(k);
    if (node_attr(kernel_node(k), "ksize") != NULL)
        return status_ok();
    int count = kernel_inputs_count(k);
    TRY(window_attrs_fed(kernel_input(k, count - 2), "ksize", out, out->kernel));
    return window_attrs_fed(kernel_input(k, count - 1), "strides", out, out->stride);
}

static struct status pool_size(struct kernel_context *k, const struct shape *x,
                               struct conv_size *out)
{
    struct window_attrs fed, *attrs = &fed;
    TRY(pool_attrs(k, attrs));
    int last = attrs->rank - 1, first = attrs->rank == 5 ? PLANES : ROWS;
    struct window *windows[] = { &out->planes, &out->rows, &out->columns };
    if (x->rank != attrs->rank)
        return attrs->rank == 5 ? status_error(STATUS_INVALID_ARGUMENT,
                                               "tensor_in must be 5-dimensional: %s", shape_text(x))
                                : status_error(STATUS_INVALID_ARGUMENT,
                                               "tensor_in_shape must have 2 spatial dimensions. "
                                               "%d 0",
                                               x->rank);
    *out = (struct conv_size){
        .n = x->dims[0], .c = x->dims[last], .m = x->dims[last], .groups = 1, .planes = ONE_PLANE
    };
    for (int i = first; i <= COLUMNS; i++)
        TRY(window_slide(attrs, i, x->dims[1 + i - first], attrs->kernel[i], windows[i]));
    return status_ok();
}

typedef void pool_leaf(const struct conv_size *size, const float *x, float *out);

/* A maximum over NaN and -Inf only is the lowest finite number of the narrow type. */
static void raise_to_lowest(enum dtype dtype, float *values, int64_t count)
{
    const float lowest = dtype == DT_HALF ? -65504.0f : -3.38953139e38f;
    for (int64_t i = 0; i < count; i++)
        values[i] = values[i] < lowest ? lowest : values[i];
}

/* half and bfloat16 through floats. */
static struct status pool_half(struct kernel_context *k, pool_leaf *leaf,
                               const struct conv_size *size, const struct tensor *x,
                               struct tensor *out)
{
    struct tensor wide_x = { 0 }, wide_out = { 0 };
    struct status status;
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &x->shape, &wide_x));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &out->shape, &wide_out));
    half_block_load(x->dtype, x->data, wide_x.data, x->size);
    leaf(size, wide_x.data, wide_out.data);
    if (leaf == max_pool_f32)
        raise_to_lowest(x->dtype, wide_out.data, out->size);
    half_block_store(out->dtype, wide_out.data, out->data, out->size);
done:
    tensor_release(&wide_x);
    tensor_release(&wide_out);
    return status;
}

static struct status pool_integers(struct kernel_context *k, const struct conv_size *size,
                                   const struct tensor *x, struct tensor *out)
{
    struct tensor places;
    TRY(pool_places_find(k, size, x, &places));
    pool_places_take(size, &places, x, out);
    tensor_release(&places);
    return status_ok();
}

static struct status pool(struct kernel_context *k, bool average)
{
    const struct tensor *x = kernel_input(k, 0);
    struct conv_size size;
    struct tensor *out;
    TRY(pool_size(k, &x->shape, &size));
    struct shape shape = conv_out_shape(kernel_state(k), &size);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (x->dtype == DT_FLOAT)
        (average ? avg_pool_f32 : max_pool_f32)(&size, x->data, out->data);
    else if (x->dtype == DT_DOUBLE)
        (average ? avg_pool_f64 : max_pool_f64)(&size, x->data, out->data);
    else if (!dtype_is_half(x->dtype))
        return pool_integers(k, &size, x, out);
    else
        return pool_half(k, average ? avg_pool_f32 : max_pool_f32, &size, x, out);
    return status_ok();
}

static struct status max_pool_compute(struct kernel_context *k)
{
    return pool(k, false);
}

static struct status avg_pool_compute(struct kernel_context *k)
{
    return pool(k, true);
}

static struct status check_gradient(struct kernel_context *k, const struct conv_size *size,
                                    const struct shape *dy)
{
    struct shape wanted = conv_out_shape(kernel_state(k), size);
    if (shape_equal(&wanted, dy))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s",
                        shape_text(&wanted), shape_text(dy));
}

/* dx, by the first of the greatest elements of each window. */
static struct status give_to_places(struct kernel_context *k, const struct conv_size *size,
                                    const struct tensor *x, const struct tensor *dy,
                                    struct tensor *dx)
{
    struct tensor places;
    TRY(pool_places_find(k, size, x, &places));
    memset(dx->data, 0, tensor_bytes(dx));
    pool_places_add(size, &places, dy, dx);
    tensor_release(&places);
    return status_ok();
}

/* Inputs: the image, its pooled form, the gradient of that. */
static struct status max_pool_grad_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *dy = kernel_input(k, 2);
    struct conv_size size;
    struct tensor *out;
    TRY(pool_size(k, &x->shape, &size));
    TRY(check_gradient(k, &size, &dy->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->size > 0 && x->dtype != DT_FLOAT)
        return give_to_places(k, &size, x, dy, out);
    if (out->size > 0)
        max_pool_grad_f32(&size, x->data, dy->data, out->data);
    return status_ok();
}

/* Inputs: the image, its pooled form, and a gradient of the gradient of the image. Each output is
 * the number of that at the place of its window's maximum. */
static struct status max_pool_grad_grad_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    const struct tensor *ddx = kernel_input(k, 2);
    struct conv_size size;
    struct tensor *out, places;
    TRY(pool_size(k, &x->shape, &size));
    TRY(check_gradient(k, &size, &y->shape));
    if (!shape_equal(&ddx->shape, &x->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s",
                            shape_text(&x->shape), shape_text(&ddx->shape));
    TRY(kernel_output(k, 0, &y->shape, &out));
    if (out->size == 0)
        return status_ok();
    TRY(pool_places_find(k, &size, x, &places));
    pool_places_take(&size, &places, ddx, out);
    tensor_release(&places);
    return status_ok();
}

static struct status max_pool3d_grad_floats(struct kernel_context *k, const struct conv_size *size,
                                            struct tensor *out)
{
    struct tensor inputs[3] = { 0 }, sums;
    struct status status;
    for (int i = 0; i < 3; i++)
        TRY_OR(done, float_values(k, kernel_input(k, i), &inputs[i]));
    TRY_OR(done, float_sums_begin(k, out, &sums));
    max_pool_each_grad_f32(size, inputs[0].data, inputs[1].data, inputs[2].data, sums.data);
    float_sums_end(&sums, out);
done:
    for (int i = 0; i < 3; i++)
        tensor_release(&inputs[i]);
    return status;
}

/* The same of volumes, where each element that equals the maximum gets the whole gradient. */
static struct status max_pool3d_grad_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    const struct tensor *dy = kernel_input(k, 2);
    struct conv_size size;
    struct tensor *out;
    TRY(pool_size(k, &x->shape, &size));
    TRY(check_gradient(k, &size, &y->shape));
    TRY(check_gradient(k, &size, &dy->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    return out->size > 0 ? max_pool3d_grad_floats(k, &size, out) : status_ok();
}

/* The place of the first element of each window of volumes that equals its output. */
static struct status find_equal(struct kernel_context *k, const struct conv_size *size,
                                const struct tensor *x, const struct tensor *y, int64_t *places)
{
    int64_t in = conv_places_in(size) * size->c, out = conv_places_out(size) * size->c;
    for (int64_t n = 0; n < size->n; n++) {
        TRY(kernel_check(k));
        max_pool_equal_places_f32(size, tensor_floats(x) + n * in, tensor_floats(y) + n * out,
                                  places + n * out);
    }
    return status_ok();
}

/* The inputs as floats, and room for the places. */
struct equal_search {
    struct tensor x, y, places;
};

static struct status search_equal(struct kernel_context *k, const struct conv_size *size,
                                  struct equal_search *search)
{
    TRY(float_values(k, kernel_input(k, 0), &search->x));
    TRY(float_values(k, kernel_input(k, 1), &search->y));
    TRY(kernel_scratch(k, DT_INT64, &search->y.shape, &search->places));
    return find_equal(k, size, &search->x, &search->y, tensor_int64s_mut(&search->places));
}

/* Like max_pool_grad_grad_compute, for volumes. TensorFlow searches the element that equals the
 * output: the first one counts, and 0 if there is none. */
static struct status max_pool3d_grad_grad_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *y = kernel_input(k, 1);
    const struct tensor *ddx = kernel_input(k, 2);
    struct equal_search search = { 0 };
    struct conv_size size;
    struct tensor *out;
    TRY(pool_size(k, &x->shape, &size));
    struct shape wanted = conv_out_shape(kernel_state(k), &size);
    if (!shape_equal(&wanted, &y->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected orig_output shape to be %s, but got %s", shape_text(&wanted),
                            shape_text(&y->shape));
    if (!shape_equal(&ddx->shape, &x->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Expected grad shape to be %s, but got %s",
                            shape_text(&x->shape), shape_text(&ddx->shape));
    if (x->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "received empty tensor tensor_in: Tensor<type: %s shape: %s values: >",
                            dtype_name(x->dtype), shape_text(&x->shape));
    TRY(kernel_output(k, 0, &y->shape, &out));
    struct status status = search_equal(k, &size, &search);
    if (status_is_ok(status))
        pool_places_take(&size, &search.places, ddx, out);
    tensor_release(&search.x);
    tensor_release(&search.y);
    tensor_release(&search.places);
    return status;
}

/* half and bfloat16 through floats. */
static struct status avg_pool_grad_floats(struct kernel_context *k, const struct conv_size *size,
                                          const struct tensor *dy, struct tensor *out)
{
    struct tensor wide, sums;
    TRY(float_values(k, dy, &wide));
    struct status status = float_sums_begin(k, out, &sums);
    if (status_is_ok(status)) {
        avg_pool_grad_f32(size, wide.data, sums.data);
        float_sums_end(&sums, out);
    }
    tensor_release(&wide);
    return status;
}

/* Inputs: the shape of the image, the gradient. */
static struct status avg_pool_grad_compute(struct kernel_context *k)
{
    const struct tensor *sizes = kernel_input(k, 0), *dy = kernel_input(k, 1);
    const struct window_attrs *attrs = kernel_state(k);
    struct conv_size size;
    struct shape shape;
    struct tensor *out;
    int64_t dims[5];
    if (sizes->shape.rank != 1 || sizes->size != attrs->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "out_backprop must be 1-dimensional and %d elements", attrs->rank);
    for (int i = 0; i < attrs->rank; i++)
        dims[i] = tensor_index(sizes, i);
    TRY(shape_check(attrs->rank, dims, &shape));
    TRY(pool_size(k, &shape, &size));
    TRY(check_gradient(k, &size, &dy->shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    if (out->dtype == DT_DOUBLE)
        avg_pool_grad_f64(&size, dy->data, out->data);
    else
        return avg_pool_grad_floats(k, &size, dy, out);
    return status_ok();
}

/* ---- MaxPoolWithArgmax ---- */

struct argmax_state {
    struct window_attrs attrs; /* first: kernel_state is read as one */
    bool of_batch;             /* do indices count from the first image? */
};

static struct status argmax_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct argmax_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_bool(node, "include_batch_in_index", &state->of_batch));
    return window_attrs_read_images(node, &state->attrs);
}

/* The first element of image `i / count`, for indices that count within the image. */
static int64_t image_start(const struct argmax_state *state, int64_t i, int64_t count, int64_t area)
{
    return state->of_batch ? 0 : i / count * area;
}

static struct status max_pool_with_argmax_compute(struct kernel_context *k)
{
    const struct argmax_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct conv_size size;
    struct tensor *out, *indices, places;
    TRY(pool_size(k, &x->shape, &size));
    if (x->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "tensor_in must not be empty (2)");
    struct shape shape = conv_out_shape(&state->attrs, &size);
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(kernel_output(k, 1, &shape, &indices));
    TRY(pool_places_find(k, &size, x, &places));
    pool_places_take(&size, &places, x, out);
    int64_t count = conv_places_out(&size) * size.c, area = conv_places_in(&size) * size.c;
    for (int64_t i = 0; i < out->size; i++)
        tensor_set_index(indices, i,
                         pool_places_index(&size, &places, i) - image_start(state, i, count, area));
    tensor_release(&places);
    return status_ok();
}

/* Inputs: the image, the gradient, the indices of MaxPoolWithArgmax. */
static struct status max_pool_grad_with_argmax_compute(struct kernel_context *k)
{
    const struct argmax_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *dy = kernel_input(k, 1);
    const struct tensor *indices = kernel_input(k, 2);
    struct conv_size size;
    struct tensor *out;
    TRY(pool_size(k, &x->shape, &size));
    TRY(check_gradient(k, &size, &dy->shape));
    if (!shape_equal(&dy->shape, &indices->shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Expected argmax shape to be %s, but got %s", shape_text(&dy->shape),
                            shape_text(&indices->shape));
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    int64_t count = conv_places_out(&size) * size.c, area = conv_places_in(&size) * size.c;
    size_t bytes = dtype_size(dy->dtype);
    for (int64_t i = 0; i < dy->size; i++) {
        int64_t index = tensor_index(indices, i), start = image_start(state, i, count, area);
        if (index < 0 || index >= out->size - start)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "Invalid output gradient index: %lld",
                                (long long)index);
        add_elements(dy->dtype, at_bytes_const(dy->data, i, bytes),
                     at_bytes(out->data, start + index, bytes), 1);
    }
    return status_ok();
}

#define DTYPES_VOLUMES (DTYPES(DT_FLOAT) | DTYPES(DT_BFLOAT16))
#define POOL(op, dtypes, function)                                               \
    {                                                                            \
        op, dtypes, .prepare = pool_prepare, .compute = function, .costly = true \
    }
static const struct kernel rows[] = {
    POOL("MaxPool", DTYPES_REAL, max_pool_compute),
    POOL("MaxPoolV2", DTYPES_REAL, max_pool_compute),
    POOL("MaxPoolGradV2", DTYPES_REAL, max_pool_grad_compute),
    POOL("MaxPoolGradGrad", DTYPES_REAL, max_pool_grad_grad_compute),
    POOL("MaxPoolGradGradV2", DTYPES_REAL, max_pool_grad_grad_compute),
    { "MaxPoolWithArgmax", DTYPES_REAL, .prepare = argmax_prepare,
      .compute = max_pool_with_argmax_compute, .costly = true },
    { "MaxPoolGradWithArgmax", DTYPES_REAL, .prepare = argmax_prepare,
      .compute = max_pool_grad_with_argmax_compute, .costly = true },
    POOL("AvgPool", DTYPES_FLOATING, avg_pool_compute),
    POOL("MaxPoolGrad", DTYPES_REAL, max_pool_grad_compute),
    POOL("AvgPoolGrad", DTYPES_FLOATING, avg_pool_grad_compute),
    POOL("MaxPool3D", DTYPES_VOLUMES, max_pool_compute),
    POOL("AvgPool3D", DTYPES_VOLUMES, avg_pool_compute),
    { "MaxPool3DGrad", DTYPES_VOLUMES, .prepare = max_pool3d_grad_prepare,
      .compute = max_pool3d_grad_compute, .costly = true },
    POOL("MaxPool3DGradGrad", DTYPES_VOLUMES, max_pool3d_grad_grad_compute),
    POOL("AvgPool3DGrad", DTYPES_VOLUMES, avg_pool_grad_compute),
};
const struct kernel_table kernels_pool = { rows, COUNT(rows) };
