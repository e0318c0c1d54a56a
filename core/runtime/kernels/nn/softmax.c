/*
 * softmax: Softmax and LogSoftmax over the last dimension, and the cross-entropy losses.
 */
#include <math.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/softmax.h"

struct softmax_state {
    bool log;
};

static struct status softmax_prepare(struct prepare_context *p)
{
    struct softmax_state *state = prepare_state(p, sizeof *state, NULL);
    state->log = strcmp(prepare_node(p)->op_name, "LogSoftmax") == 0;
    return status_ok();
}

/* ---- half and bfloat16: TensorFlow rounds after each step ---- */

#define PACKET      8
#define ACCUMULATED (4 * PACKET)

static void add_rounded(enum dtype dtype, float *sums, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] += x[i];
    half_block_round(dtype, sums, n);
}

/* The sum in the order of Eigen's packets: four at a time, then one, then the rest, and long rows
 * by halves. With other orders, two of three results of softmax differ from TensorFlow's. */
static float sum_rounded(enum dtype dtype, const float *x, int64_t n)
{
    int64_t most = PACKET * (dtype == DT_HALF ? 200 : 128);
    if (n > most) {
        int64_t first = ((n + 1) / 2 + PACKET - 1) / PACKET * PACKET;
        return half_round(dtype,
                          sum_rounded(dtype, x, first) + sum_rounded(dtype, x + first, n - first));
    }
    float sums[ACCUMULATED] = { 0 }, rest = 0;
    int64_t i = 0;
    for (; i + ACCUMULATED <= n; i += ACCUMULATED)
        add_rounded(dtype, sums, x + i, ACCUMULATED);
    for (int packet = PACKET; packet < ACCUMULATED; packet += PACKET)
        add_rounded(dtype, sums, sums + packet, PACKET);
    for (; i + PACKET <= n; i += PACKET)
        add_rounded(dtype, sums, x + i, PACKET);
    for (; i < n; i++)
        rest = half_round(dtype, rest + x[i]);
    for (int width = PACKET / 2; width > 0; width /= 2)
        for (int j = 0; j < width; j++)
            sums[j] += sums[j + width];
    return half_round(dtype, rest + half_round(dtype, sums[0]));
}

/* x [n] in place; e [n] is for the exponentials. */
static void softmax_half_row(enum dtype dtype, float *x, float *e, int64_t n, bool log)
{
    float most = softmax_greatest(x, n);
    for (int64_t i = 0; i < n; i++)
        x[i] -= most;
    half_block_round(dtype, x, n);
    softmax_exp(x, 0, e, n);
    half_block_round(dtype, e, n);
    float sum = sum_rounded(dtype, e, n);
    float step = half_round(dtype, log ? logf(sum) : 1 / sum);
    for (int64_t i = 0; i < n; i++)
        x[i] = log ? x[i] - step : e[i] * step;
}

/* A row at a time, in two scratch rows of floats. */
static struct status softmax_half(struct kernel_context *k, const struct tensor *x, void *out,
                                  int64_t rows, int64_t n, bool log)
{
    struct shape shape = shape_of(2, n);
    struct tensor scratch;
    TRY(kernel_scratch(k, DT_FLOAT, &shape, &scratch));
    float *row = scratch.data;
    for (int64_t r = 0; r < rows; r++) {
        half_block_load(x->dtype, (const uint16_t *)x->data + r * n, row, n);
        softmax_half_row(x->dtype, row, row + n, n, log);
        half_block_store(x->dtype, row, (uint16_t *)out + r * n, n);
    }
    tensor_release(&scratch);
    return status_ok();
}

#define SOFTMAX_NS 3 /* an element, about */

struct softmax_run {
    enum dtype dtype;
    const void *x;
    void *out;
    int64_t n;
    bool log;
};

static void softmax_rows(void *context, int64_t first, int64_t end)
{
    const struct softmax_run *run = context;
    size_t bytes = dtype_size(run->dtype);
    const void *x = at_bytes_const(run->x, first * run->n, bytes);
    void *out = at_bytes(run->out, first * run->n, bytes);
    if (run->dtype == DT_FLOAT)
        (run->log ? log_softmax_f32 : softmax_f32)(x, out, end - first, run->n);
    else
        (run->log ? log_softmax_f64 : softmax_f64)(x, out, end - first, run->n);
}

static struct status softmax_compute(struct kernel_context *k)
{
    const struct softmax_state *state = kernel_state(k);
    const struct tensor x = *kernel_input(k, 0);
    struct tensor *out;
    if (x.shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "logits must have >= 1 dimension, got []");
    TRY(kernel_output_forward(k, 0, 0, &x.shape, &out));
    if (out->size == 0)
        return status_ok();
    int64_t n = x.shape.dims[x.shape.rank - 1], rows = x.size / n;
    if (dtype_is_half(x.dtype))
        return softmax_half(k, &x, out->data, rows, n, state->log);
    struct softmax_run run = { x.dtype, x.data, out->data, n, state->log };
    parallel_for(rows, (double)x.size * SOFTMAX_NS, softmax_rows, &run);
    return status_ok();
}

/* ---- losses: loss [rows] and backprop [rows, n] ---- */

static struct status loss_outputs(struct kernel_context *k, int64_t rows,
                                  const struct shape *logits, struct tensor **loss,
                                  struct tensor **backprop)
{
    struct shape shape = shape_of(rows);
    TRY(kernel_output(k, 0, &shape, loss));
    return kernel_output(k, 1, logits, backprop);
}

/* double stays double; the others become floats. */
static enum dtype loss_dtype(enum dtype dtype)
{
    return dtype == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
}

/* The elements of x, repeated to a matrix of `shape`, in the type to compute in. The caller
 * releases it. */
static struct status loss_operand(struct kernel_context *k, const struct tensor *x,
                                  const struct shape *shape, struct tensor *out)
{
    enum dtype dtype = loss_dtype(x->dtype);
    if (x->dtype == dtype && shape_equal(&x->shape, shape)) {
        *out = tensor_acquire(x);
        return status_ok();
    }
    TRY(kernel_scratch(k, dtype, shape, out));
    int rank = x->shape.rank;
    int64_t width = rank > 0 ? x->shape.dims[rank - 1] : 1, n = shape->dims[1];
    bool has_rows = rank == 2 && x->shape.dims[0] > 1;
    for (int64_t i = 0; i < out->size; i++) {
        int64_t at = (has_rows ? i / n * width : 0) + (width > 1 ? i % n : 0);
        if (dtype == DT_DOUBLE)
            tensor_doubles_mut(out)[i] = tensor_doubles(x)[at];
        else
            tensor_floats_mut(out)[i] = (float)floating_element(x, at);
    }
    return status_ok();
}

static struct status cross_entropy_compute(struct kernel_context *k)
{
    const struct tensor *logits = kernel_input(k, 0), *labels = kernel_input(k, 1);
    struct tensor *loss, *backprop, x = { 0 }, y = { 0 }, sums = { 0 }, slopes = { 0 };
    struct shape shape;
    struct status status;
    if (!status_is_ok(shape_broadcast(&logits->shape, &labels->shape, &shape)))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "logits and labels must be broadcastable: logits_size=%s "
                            "labels_size=%s",
                            shape_text(&logits->shape), shape_text(&labels->shape));
    if (shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "logits and labels must be either 2-dimensional, or broadcasted to be "
                            "2-dimensional");
    TRY(shape_check(2, shape.dims, &shape));
    TRY(loss_outputs(k, shape.dims[0], &shape, &loss, &backprop));
    TRY_OR(done, loss_operand(k, logits, &shape, &x));
    TRY_OR(done, loss_operand(k, labels, &shape, &y));
    TRY_OR(done, widened_output(k, loss, &sums));
    TRY_OR(done, widened_output(k, backprop, &slopes));
    if (x.dtype == DT_DOUBLE)
        cross_entropy_f64(x.data, y.data, sums.data, slopes.data, shape.dims[0], shape.dims[1]);
    else
        cross_entropy_f32(x.data, y.data, sums.data, slopes.data, shape.dims[0], shape.dims[1]);
    widened_store(&sums, loss);
    widened_store(&slopes, backprop);
done:
    tensor_release(&x);
    tensor_release(&y);
    tensor_release(&sums);
    tensor_release(&slopes);
    return status;
}

static struct status sparse_check(const struct tensor *logits, const struct tensor *labels)
{
    if (logits->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT, "logits must be 2-D, but got shape %s",
                            shape_text(&logits->shape));
    if (labels->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "labels must be 1-D, but got shape %s",
                            shape_text(&labels->shape));
    if (logits->shape.dims[0] != labels->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "logits and labels must have the same first dimension, got logits "
                            "shape %s and labels shape %s",
                            shape_text(&logits->shape), shape_text(&labels->shape));
    if (logits->shape.dims[1] == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Must have at least one class, but got logits shape %s",
                            shape_text(&logits->shape));
    return status_ok();
}

static void sparse_cross_entropy_row(const struct tensor *x, int64_t label, int64_t row,
                                     struct tensor *loss, struct tensor *backprop)
{
    int64_t n = x->shape.dims[1];
    if (x->dtype == DT_DOUBLE)
        sparse_cross_entropy_f64(tensor_doubles(x) + row * n, label, tensor_doubles_mut(loss) + row,
                                 tensor_doubles_mut(backprop) + row * n, n);
    else
        sparse_cross_entropy_f32(tensor_floats(x) + row * n, label, tensor_floats_mut(loss) + row,
                                 tensor_floats_mut(backprop) + row * n, n);
}

/* A longer text does not fit the trailers of an answer by gRPC. */
#define LABELS_TEXT_MAX 4096

/* The error lists all labels. */
static struct status check_labels(const struct tensor *labels, int64_t classes)
{
    int64_t i = 0;
    while (i < labels->size && tensor_index(labels, i) >= 0 && tensor_index(labels, i) < classes)
        i++;
    if (i == labels->size)
        return status_ok();
    struct buffer list = { 0 };
    for (int64_t j = 0; j < labels->size && list.size < LABELS_TEXT_MAX; j++)
        buffer_printf(&list, j > 0 ? " %lld" : "%lld", (long long)tensor_index(labels, j));
    buffer_append_char(&list, '\0');
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "Received a label value of %lld which is outside the valid range of [0, "
                     "%lld).  Label values: %s",
                     (long long)tensor_index(labels, i), (long long)classes, list.data);
    buffer_finish(&list);
    return status;
}

static struct status sparse_cross_entropy_compute(struct kernel_context *k)
{
    const struct tensor *logits = kernel_input(k, 0), *labels = kernel_input(k, 1);
    struct tensor *loss, *backprop;
    TRY(sparse_check(logits, labels));
    int64_t rows = logits->shape.dims[0], n = logits->shape.dims[1];
    TRY(check_labels(labels, n));
    TRY(loss_outputs(k, rows, &logits->shape, &loss, &backprop));
    struct tensor x = { 0 }, sums = { 0 }, slopes = { 0 };
    struct status status;
    TRY_OR(done, loss_operand(k, logits, &logits->shape, &x));
    TRY_OR(done, widened_output(k, loss, &sums));
    TRY_OR(done, widened_output(k, backprop, &slopes));
    for (int64_t i = 0; i < rows; i++)
        sparse_cross_entropy_row(&x, tensor_index(labels, i), i, &sums, &slopes);
    widened_store(&sums, loss);
    widened_store(&slopes, backprop);
done:
    tensor_release(&x);
    tensor_release(&sums);
    tensor_release(&slopes);
    return status;
}

static const struct kernel rows[] = {
    { "Softmax", DTYPES_FLOATING, .prepare = softmax_prepare, .compute = softmax_compute },
    { "LogSoftmax", DTYPES_FLOATING, .prepare = softmax_prepare, .compute = softmax_compute },
    { "SoftmaxCrossEntropyWithLogits", DTYPES_FLOATING, .compute = cross_entropy_compute },
    { "SparseSoftmaxCrossEntropyWithLogits", DTYPES_FLOATING, "T",
      .compute = sparse_cross_entropy_compute },
};
const struct kernel_table kernels_softmax = { rows, COUNT(rows) };
