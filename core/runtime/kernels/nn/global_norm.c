/*
 * global_norm: BatchNormWithGlobalNormalization, by which graphs of 2015 normalise, and its
 * gradient. All vectors have an element for each channel, the last dimension. half goes through
 * float.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

#define TENSORS_MAX 5

struct global_norm {
    float epsilon;
    bool scale; /* multiply by gamma */
};

static struct status global_prepare(struct prepare_context *p)
{
    struct global_norm *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_float(prepare_node(p), "variance_epsilon", &state->epsilon));
    return node_attr_bool(prepare_node(p), "scale_after_normalization", &state->scale);
}

/* Data of inputs and outputs in the order of the op. */
struct norm_data {
    const struct global_norm *state;
    int64_t rows, channels;
    const void *in[TENSORS_MAX];
    void *out[TENSORS_MAX];
};

#define LOOPS(s, T, W)                                                                         \
    static void forward_##s(const struct norm_data *n)                                         \
    {                                                                                          \
        const T *x = n->in[0], *m = n->in[1], *v = n->in[2], *b = n->in[3], *g = n->in[4];     \
        T *y = n->out[0];                                                                      \
        for (int64_t r = 0; r < n->rows; r++, x += n->channels, y += n->channels)              \
            for (int64_t c = 0; c < n->channels; c++) {                                        \
                T factor = 1 / (T)sqrt((double)(v[c] + (T)n->state->epsilon));                 \
                y[c] = (x[c] - m[c]) * (n->state->scale ? factor * g[c] : factor) + b[c];      \
            }                                                                                  \
    }                                                                                          \
    static void backward_##s(const struct norm_data *n)                                        \
    {                                                                                          \
        const T *x = n->in[0], *m = n->in[1], *v = n->in[2], *g = n->in[3], *dy = n->in[4];    \
        T *dx = n->out[0], *dm = n->out[1], *dv = n->out[2], *db = n->out[3], *dg = n->out[4]; \
        for (int64_t c = 0; c < n->channels; c++) {                                            \
            double sum = 0, product = 0, gamma = n->state->scale ? (double)g[c] : 1;           \
            double factor = 1 / sqrt((double)(v[c] + (T)n->state->epsilon));                   \
            for (int64_t at = c; at < n->rows * n->channels; at += n->channels) {              \
                sum += (double)dy[at];                                                         \
                product += (double)dy[at] * (double)(x[at] - m[c]);                            \
                dx[at] = (T)((double)dy[at] * factor * gamma);                                 \
            }                                                                                  \
            dm[c] = (T)(-sum * factor * gamma);                                                \
            dv[c] = (T)(-product * factor * factor * factor * gamma / 2);                      \
            db[c] = (T)sum;                                                                    \
            dg[c] = n->state->scale ? (T)(product * factor) : 0;                               \
        }                                                                                      \
    }
FLOAT_TYPES(LOOPS)

typedef void norm_loop(const struct norm_data *data);

static void run_loop(enum dtype dtype, bool backward, const struct norm_data *data)
{
    static norm_loop *const loops[2][DTYPE_COUNT] = { { ROWS_FLOAT(forward) },
                                                      { ROWS_FLOAT(backward) } };
    loops[backward][dtype](data);
}

/* The same with copies of half numbers as floats. */
static struct status run_wide(struct kernel_context *k, bool backward, struct norm_data *data,
                              struct tensor *const *out)
{
    struct tensor copies[2 * TENSORS_MAX] = { 0 };
    int inputs = kernel_inputs_count(k), outputs = kernel_outputs_count(k);
    struct status status = status_ok();
    for (int i = 0; i < inputs + outputs && status_is_ok(status); i++) {
        const struct tensor *narrow = i < inputs ? kernel_input(k, i) : out[i - inputs];
        status = kernel_scratch(k, DT_FLOAT, &narrow->shape, &copies[i]);
        if (!status_is_ok(status))
            break;
        if (i < inputs)
            half_block_load(narrow->dtype, narrow->data, copies[i].data, narrow->size);
        if (i < inputs)
            data->in[i] = copies[i].data;
        else
            data->out[i - inputs] = copies[i].data;
    }
    if (status_is_ok(status)) {
        run_loop(DT_FLOAT, backward, data);
        for (int i = 0; i < outputs; i++)
            half_block_store(out[i]->dtype, copies[inputs + i].data, out[i]->data, out[i]->size);
    }
    tensors_release(COUNT(copies), copies);
    return status;
}

static struct status check_vectors(const struct kernel_context *k, bool backward)
{
    static const char *const names[2][TENSORS_MAX] = { { "input", "mean", "var", "beta", "gamma" },
                                                       { "input", "mean", "var", "gamma",
                                                         "out_backprop" } };
    const struct shape *x = &kernel_input(k, 0)->shape;
    if (x->rank != 4)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "input must be 4-dimensional%s",
                            shape_text(x));
    for (int i = 1; i < TENSORS_MAX; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        bool is_image = backward && i == TENSORS_MAX - 1;
        if (shape->rank != (is_image ? 4 : 1))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "%s must be %d-dimensional%s",
                                names[backward][i], is_image ? 4 : 1, shape_text(shape));
        if (is_image ? !shape_equal(shape, x) : shape->dims[0] != x->dims[3])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "%s of shape %s does not fit an input of shape %s",
                                names[backward][i], shape_text(shape), shape_text(x));
    }
    return status_ok();
}

static struct status normalise(struct kernel_context *k, bool backward)
{
    const struct tensor *x = kernel_input(k, 0);
    struct norm_data data = { .state = kernel_state(k) };
    struct tensor *out[TENSORS_MAX];
    TRY(check_vectors(k, backward));
    data.channels = x->shape.dims[3];
    data.rows = data.channels == 0 ? 0 : x->size / data.channels;
    for (int i = 0; i < kernel_inputs_count(k); i++)
        data.in[i] = kernel_input(k, i)->data;
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        struct shape vector = shape_of(data.channels);
        TRY(kernel_output(k, i, i == 0 ? &x->shape : &vector, &out[i]));
        data.out[i] = out[i]->data;
    }
    if (x->dtype == DT_HALF)
        return run_wide(k, backward, &data, out);
    run_loop(x->dtype, backward, &data);
    return status_ok();
}

static struct status forward_compute(struct kernel_context *k)
{
    return normalise(k, false);
}

static struct status backward_compute(struct kernel_context *k)
{
    return normalise(k, true);
}

#define DTYPES_NORM (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
static const struct kernel rows[] = {
    { "BatchNormWithGlobalNormalization", DTYPES_NORM, .prepare = global_prepare,
      .compute = forward_compute },
    { "BatchNormWithGlobalNormalizationGrad", DTYPES_NORM, .prepare = global_prepare,
      .compute = backward_compute },
};
const struct kernel_table kernels_global_norm = { rows, COUNT(rows) };
