/*
 * quantized_pool: QuantizedAvgPool and QuantizedMaxPool of bytes, and the activations QuantizedRelu
 * and QuantizedRelu6. All of them pass the range on.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"
#include "runtime/kernels/nn/pool_places.h"
#include "runtime/kernels/quantized_numbers.h"

/* ---- activations ---- */

static struct status activation_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    enum dtype in, out;
    TRY(node_attr_type(node, "Tinput", &in));
    TRY(node_attr_type(node, "out_type", &out));
    if (in == out)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        "op '%s' of node '%s' is not implemented for an input of %s and a result "
                        "of %s",
                        node->op_name, node->name, dtype_name(in), dtype_name(out));
}

static struct status activate(struct kernel_context *k, bool limited)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    float range[2];
    TRY(quantized_read_range(k, 1, range));
    int32_t least = quantized_of_float(x->dtype, 0, range), most = INT32_MAX;
    if (limited)
        most = quantized_of_float(x->dtype, 6, range);
    TRY(kernel_output(k, 0, &x->shape, &out));
    for (int64_t i = 0; i < x->size; i++) {
        int32_t value = quantized_get(x->dtype, x->data, i);
        value = value > least ? value : least;
        quantized_set(x->dtype, out->data, i, value < most ? value : most);
    }
    return quantized_set_range(k, 1, range[0], range[1]);
}

static struct status relu_compute(struct kernel_context *k)
{
    return activate(k, false);
}

static struct status relu6_compute(struct kernel_context *k)
{
    return activate(k, true);
}

/* ---- pooling ---- */

static struct status pool_prepare(struct prepare_context *p)
{
    struct window_attrs *attrs = prepare_state(p, sizeof *attrs, NULL);
    return window_attrs_read_images(prepare_node(p), attrs);
}

/* The size, the range, and the output of the first of three outputs. */
static struct status begin(struct kernel_context *k, struct conv_size *size, struct tensor **out)
{
    const struct window_attrs *attrs = kernel_state(k);
    const struct shape *x = &kernel_input(k, 0)->shape;
    float range[2];
    TRY(quantized_read_range(k, 1, range));
    if (x->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "tensor_in must be 4-dimensional: %s",
                            shape_text(x));
    *size = (struct conv_size){
        .n = x->dims[0], .c = x->dims[3], .m = x->dims[3], .groups = 1, .planes = ONE_PLANE
    };
    TRY(window_slide(attrs, ROWS, x->dims[1], attrs->kernel[ROWS], &size->rows));
    TRY(window_slide(attrs, COLUMNS, x->dims[2], attrs->kernel[COLUMNS], &size->columns));
    struct shape shape = conv_out_shape(attrs, size);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(quantized_set_range(k, 1, range[0], range[1]));
    return kernel_output(k, 0, &shape, out);
}

/* The mean of one channel of one window, rounded towards 0. */
static int32_t mean_of(const struct conv_size *size, const struct tensor *x, int64_t pixel,
                       int64_t channel)
{
    const struct window *rows = &size->rows, *columns = &size->columns;
    int64_t row = pixel / columns->out, image = row / rows->out, sum = 0, count = 0;
    struct window_taps down = window_taps(rows, row % rows->out);
    struct window_taps across = window_taps(columns, pixel % columns->out);
    for (int64_t r = down.first; r < down.end; r++)
        for (int64_t c = across.first; c < across.end; c++, count++) {
            int64_t line = image * rows->in + down.start + r;
            int64_t at = line * columns->in + across.start + c;
            sum += quantized_get(x->dtype, x->data, at * size->c + channel);
        }
    return count == 0 ? 0 : (int32_t)(sum / count);
}

static struct status avg_pool_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct conv_size size;
    struct tensor *out;
    TRY(begin(k, &size, &out));
    for (int64_t i = 0; i < out->size; i++) {
        if (i % size.c == 0)
            TRY(kernel_check(k));
        quantized_set(out->dtype, out->data, i, mean_of(&size, x, i / size.c, i % size.c));
    }
    return status_ok();
}

static struct status max_pool_compute(struct kernel_context *k)
{
    struct tensor plain = *kernel_input(k, 0), places, *out; /* the same bytes, as integers */
    struct conv_size size;
    plain.dtype = plain.dtype == DT_QINT8 ? DT_INT8 : DT_UINT8;
    TRY(begin(k, &size, &out));
    TRY(pool_places_find(k, &size, &plain, &places));
    pool_places_take(&size, &places, &plain, out);
    tensor_release(&places);
    return status_ok();
}

#define BYTES (DTYPES(DT_QUINT8) | DTYPES(DT_QINT8))
static const struct kernel rows[] = {
    { "QuantizedRelu", DTYPES(DT_QUINT8) | DTYPES(DT_QINT32), "Tinput",
      .prepare = activation_prepare, .compute = relu_compute },
    { "QuantizedRelu6", DTYPES(DT_QUINT8) | DTYPES(DT_QINT32), "Tinput",
      .prepare = activation_prepare, .compute = relu6_compute },
    { "QuantizedAvgPool", BYTES, .prepare = pool_prepare, .compute = avg_pool_compute,
      .costly = true },
    { "QuantizedMaxPool", BYTES, .prepare = pool_prepare, .compute = max_pool_compute,
      .costly = true },
};
const struct kernel_table kernels_quantized_pool = { rows, COUNT(rows) };
