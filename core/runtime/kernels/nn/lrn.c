/*
 * lrn: local response normalization, which divides each channel of a pixel by a power of the sum of
 * squares of the channels around it, and its gradient.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"

#define CHECK_EVERY 1000000 /* squares between two checks of the deadline */

struct lrn_state {
    int64_t radius;
    float bias, alpha, beta;
};

static struct status lrn_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct lrn_state *state = prepare_state(p, sizeof *state, NULL);
    TRY(node_attr_int(node, "depth_radius", &state->radius));
    TRY(node_attr_float(node, "bias", &state->bias));
    TRY(node_attr_float(node, "alpha", &state->alpha));
    TRY(node_attr_float(node, "beta", &state->beta));
    if (state->radius < 0 || state->radius >= INT32_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "depth_radius = %lld larger than int max",
                            (long long)state->radius);
    return status_ok();
}

static float power_of(float norm, float beta)
{
    if (beta == 1)
        return 1 / norm;
    return beta == 0.5f ? 1 / sqrtf(norm) : expf(-beta * logf(norm));
}

/* Channel `c` of a pixel. Adds the number of squares to *work. */
static float normalized(const struct lrn_state *state, const float *x, int64_t c, int64_t channels,
                        int64_t *work)
{
    int64_t from = c > state->radius ? c - state->radius : 0;
    int64_t to = channels - c > state->radius ? c + state->radius + 1 : channels;
    float sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += x[i] * x[i];
    *work += to - from;
    return x[c] * power_of(state->bias + state->alpha * sum, state->beta);
}

static struct status normalize(struct kernel_context *k, const struct tensor *x, float *out)
{
    int64_t channels = x->shape.dims[3], work = 0;
    for (int64_t at = 0; at < x->size; at += channels)
        for (int64_t c = 0; c < channels; c++) {
            out[at + c] = normalized(kernel_state(k), tensor_floats(x) + at, c, channels, &work);
            if (work > CHECK_EVERY) {
                TRY(kernel_check(k));
                work = 0;
            }
        }
    return status_ok();
}

static struct status lrn_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out, floats = { 0 }, wide = { 0 };
    struct status status;
    if (x->shape.rank != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "in must be 4-dimensional");
    TRY(kernel_output(k, 0, &x->shape, &out));
    if (x->dtype == DT_FLOAT)
        return normalize(k, x, tensor_floats_mut(out));
    TRY_OR(done, float_values(k, x, &floats));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &x->shape, &wide));
    TRY_OR(done, normalize(k, &floats, tensor_floats_mut(&wide)));
    half_block_store(out->dtype, wide.data, out->data, out->size);
done:
    tensor_release(&floats);
    tensor_release(&wide);
    return status;
}

/* ---- the gradient ---- */

/* A pixel of the gradient, the image, the normalized image and the result. */
struct lrn_pixel {
    const float *dy, *x, *y;
    float *dx;
    int64_t channels;
};

/* Adds what channel `c` of dy gives to the channels around it, and their number to *work. */
static void add_gradient(const struct lrn_state *state, const struct lrn_pixel *pixel, int64_t c,
                         int64_t *work)
{
    int64_t from = c > state->radius ? c - state->radius : 0;
    int64_t to = pixel->channels - c > state->radius ? c + state->radius + 1 : pixel->channels;
    float sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += pixel->x[i] * pixel->x[i];
    float norm = state->alpha * sum + state->bias, twice = -2 * state->alpha * state->beta;
    for (int64_t i = from; i < to; i++) {
        float slope = twice * pixel->x[i] * pixel->y[c] / norm;
        if (i == c)
            slope += powf(norm, -state->beta);
        pixel->dx[i] += slope * pixel->dy[c];
    }
    *work += to - from;
}

static struct status lrn_gradients(struct kernel_context *k, const struct tensor inputs[3],
                                   float *dx)
{
    int64_t channels = inputs[0].shape.dims[3], work = 0;
    for (int64_t at = 0; at < inputs[0].size; at += channels) {
        const struct lrn_pixel pixel = { tensor_floats(&inputs[0]) + at,
                                         tensor_floats(&inputs[1]) + at,
                                         tensor_floats(&inputs[2]) + at, dx + at, channels };
        for (int64_t c = 0; c < channels; c++) {
            add_gradient(kernel_state(k), &pixel, c, &work);
            if (work > CHECK_EVERY) {
                TRY(kernel_check(k));
                work = 0;
            }
        }
    }
    return status_ok();
}

static struct status check_lrn_shapes(struct kernel_context *k)
{
    const struct shape *shape = &kernel_input(k, 0)->shape;
    for (int i = 0; i < 3; i++)
        if (kernel_input(k, i)->shape.rank != 4)
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "inputs must be 4-dimensional");
    for (int i = 1; i < 3; i++)
        if (!shape_equal(shape, &kernel_input(k, i)->shape))
            return kernel_error(
                k, STATUS_INVALID_ARGUMENT,
                "input_grads, input_image, and out_image should have the same shape");
    return status_ok();
}

/* Inputs: the gradient, the image, the normalized image. */
static struct status lrn_grad_compute(struct kernel_context *k)
{
    struct tensor *out, inputs[3] = { { 0 } }, sums;
    struct status status;
    TRY(check_lrn_shapes(k));
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    TRY(float_sums_begin(k, out, &sums));
    for (int i = 0; i < 3; i++)
        TRY_OR(done, float_values(k, kernel_input(k, i), &inputs[i]));
    status = lrn_gradients(k, inputs, tensor_floats_mut(&sums));
done:
    tensors_release(3, inputs);
    float_sums_end(&sums, out);
    return status;
}

static const struct kernel rows[] = {
    { "LRN", DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .prepare = lrn_prepare, .compute = lrn_compute,
      .costly = true },
    { "LRNGrad", DTYPES(DT_FLOAT) | DTYPES(DT_HALF), .prepare = lrn_prepare,
      .compute = lrn_grad_compute, .costly = true },
};
const struct kernel_table kernels_lrn = { rows, COUNT(rows) };
