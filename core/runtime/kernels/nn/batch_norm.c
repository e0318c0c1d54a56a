/*
 * batch_norm: FusedBatchNorm (V1 to V3) for inference and training, and its gradient. x is seen as
 * [outer, channels, inner]: inner is 1 for NHWC, and the image for NCHW. Sums are in double, so
 * that rounding does not grow with the number of elements.
 */
#include <math.h>

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/float_values.h"
#include "runtime/kernels/kernel_tools.h"

struct norm_state {
    float epsilon, factor; /* factor: the share of the batch in the running average */
    bool training, channels_first;
};

struct norm_size {
    int64_t outer, channels, inner;
};

static struct status norm_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct norm_state *state = prepare_state(p, sizeof *state, NULL);
    struct bytes format;
    TRY(node_attr_float(node, "epsilon", &state->epsilon));
    TRY(node_attr_bool(node, "is_training", &state->training));
    state->factor = 1;
    if (node_attr(node, "exponential_avg_factor") != NULL)
        TRY(node_attr_float(node, "exponential_avg_factor", &state->factor));
    TRY(node_attr_string(node, "data_format", &format));
    state->channels_first = format.size > 2 && memcmp(format.data, "NC", 2) == 0;
    return status_ok();
}

static struct status norm_size(const struct norm_state *state, const struct shape *x,
                               struct norm_size *out)
{
    if (x->rank != 4 && x->rank != 5)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be 4 or 5-dimensional%s",
                            shape_text(x));
    int axis = state->channels_first ? 1 : x->rank - 1;
    *out = (struct norm_size){ shape_outer(x, axis), x->dims[axis], shape_inner(x, axis) };
    if (shape_size(x) == 0) /* no elements, whatever outer is */
        out->outer = out->inner = 0;
    return status_ok();
}

/* A float for each channel. */
static struct status check_channels(struct kernel_context *k, int input, const char *name,
                                    int64_t channels)
{
    const struct tensor *vector = kernel_input(k, input);
    if (vector->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be 1-dimensional%s", name,
                            shape_text(&vector->shape));
    if (vector->dtype != DT_FLOAT)
        return kernel_error(k, STATUS_UNIMPLEMENTED, "%s of dtype %s", name,
                            dtype_name(vector->dtype));
    if (vector->size != channels)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "%s must have the same number of elements as the channels of x, got "
                            "%lld and %lld",
                            name, (long long)vector->size, (long long)channels);
    return status_ok();
}

/* y = (x - mean) · factor + offset, by channel. */
struct normalisation {
    const struct norm_size *size;
    const float *x, *mean, *factor, *offset;
    float *y;
};

static void normalise_rows(void *context, int64_t first, int64_t end)
{
    const struct normalisation *n = context;
    const struct norm_size *size = n->size;
    const float *x = n->x + first * size->channels * size->inner;
    float *y = n->y + first * size->channels * size->inner;
    for (int64_t o = first; o < end; o++)
        for (int64_t c = 0; c < size->channels; c++)
            for (int64_t i = 0; i < size->inner; i++, x++, y++)
                *y = (*x - n->mean[c]) * n->factor[c] + n->offset[c];
}

/* mean [channels] and the biased variance, in two passes. */
static void moments(const struct norm_size *size, const float *x, float *mean, float *variance)
{
    double count = (double)(size->outer * size->inner);
    for (int64_t c = 0; c < size->channels; c++) {
        double sum = 0, squares = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t o = 0; o < size->outer; o++) {
                const float *row = x + (o * size->channels + c) * size->inner;
                for (int64_t i = 0; i < size->inner; i++) {
                    double away = (double)row[i] - sum / count;
                    if (pass == 0)
                        sum += (double)row[i];
                    else
                        squares += away * away;
                }
            }
        mean[c] = (float)(sum / count);
        variance[c] = (float)(squares / count);
    }
}

/* x as floats: itself, or a converted copy. */
/* Outputs 1 to 4: mean and variance as running averages, and in the form that the gradient
 * needs. Also returns the vectors that normalise x. */
static struct status norm_statistics(struct kernel_context *k, const struct norm_state *state,
                                     const struct norm_size *size, const float *x, float **mean,
                                     float **variance)
{
    struct shape shape = shape_of(size->channels);
    struct tensor *out[4];
    for (int i = 0; i < 4; i++)
        TRY(kernel_output(k, 1 + i, &shape, &out[i]));
    *mean = tensor_floats_mut(out[2]);
    *variance = tensor_floats_mut(out[3]);
    if (size->outer * size->inner == 0) { /* the mean of no elements */
        for (int i = 0; i < 4; i++)
            for (int64_t c = 0; c < size->channels; c++)
                tensor_floats_mut(out[i])[c] = NAN;
        return status_ok();
    }
    if (!state->training) {
        for (int i = 0; i < 4 && size->channels > 0; i++)
            memcpy(out[i]->data, kernel_input(k, 3 + i % 2)->data, tensor_bytes(out[i]));
        return status_ok();
    }
    moments(size, x, *mean, *variance);
    float count = (float)(size->outer * size->inner),
          unbiased = count > 1 ? count / (count - 1) : 1;
    const float f = state->factor;
    for (int64_t c = 0; c < size->channels; c++) {
        float average = (*mean)[c], deviation = (*variance)[c] * unbiased;
        if (f != 1) {
            average = (1 - f) * tensor_floats(kernel_input(k, 3))[c] + f * average;
            deviation = (1 - f) * tensor_floats(kernel_input(k, 4))[c] + f * deviation;
        }
        tensor_floats_mut(out[0])[c] = average;
        tensor_floats_mut(out[1])[c] = deviation;
    }
    return status_ok();
}

static struct status norm_check(struct kernel_context *k, const struct norm_state *state,
                                struct norm_size *size)
{
    TRY(norm_size(state, &kernel_input(k, 0)->shape, size));
    TRY(check_channels(k, 1, "scale", size->channels));
    TRY(check_channels(k, 2, "offset", size->channels));
    if (state->training && state->factor == 1)
        return status_ok(); /* the old averages are not read, and may be empty */
    TRY(check_channels(k, 3, "mean", size->channels));
    return check_channels(k, 4, "variance", size->channels);
}

static struct status norm_run(struct kernel_context *k, const struct norm_size *size,
                              const struct tensor *x, struct tensor *out)
{
    const struct norm_state *state = kernel_state(k);
    struct shape channels = shape_of(size->channels);
    struct tensor wide = { 0 }, factor = { 0 };
    float *mean, *variance;
    struct status status;
    TRY_OR(done, norm_statistics(k, state, size, x->data, &mean, &variance));
    TRY_OR(done, widened_output(k, out, &wide));
    TRY_OR(done, kernel_scratch(k, DT_FLOAT, &channels, &factor));
    for (int64_t c = 0; c < size->channels; c++)
        tensor_floats_mut(&factor)[c] =
            tensor_floats(kernel_input(k, 1))[c] / sqrtf(variance[c] + state->epsilon);
    struct normalisation run = { size,     x->data, mean, factor.data, kernel_input(k, 2)->data,
                                 wide.data };
    parallel_for(size->outer, (double)x->size, normalise_rows, &run);
    widened_store(&wide, out);
done:
    tensor_release(&wide);
    tensor_release(&factor);
    return status;
}

static struct status norm_compute(struct kernel_context *k)
{
    const struct norm_state *state = kernel_state(k);
    struct norm_size size = { 0 };
    struct tensor x, *out;
    TRY(norm_check(k, state, &size));
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    if (kernel_outputs_count(k) > 5) { /* V3's third reserved output is unused on a CPU */
        struct shape scalar = shape_scalar();
        struct tensor *third;
        TRY(kernel_output(k, 5, &scalar, &third));
        memset(third->data, 0, tensor_bytes(third));
    }
    TRY(widened(k, kernel_input(k, 0), &x));
    struct status status = norm_run(k, &size, &x, out);
    tensor_release(&x);
    return status;
}

/* ---- the gradient ---- */

struct norm_grad {
    const float *dy, *x, *scale, *mean, *variance;
    float *dx, *dscale, *doffset;
};

static void norm_grad(const struct norm_state *state, const struct norm_size *size,
                      const struct norm_grad *g)
{
    double count = (double)(size->outer * size->inner);
    for (int64_t c = 0; c < size->channels; c++) {
        double sum = 0, product = 0, mean = (double)g->mean[c];
        double inverse = 1 / sqrt((double)g->variance[c] + (double)state->epsilon);
        for (int64_t o = 0; o < size->outer; o++)
            for (int64_t i = 0; i < size->inner; i++) {
                int64_t at = (o * size->channels + c) * size->inner + i;
                sum += (double)g->dy[at];
                product += (double)g->dy[at] * ((double)g->x[at] - mean);
            }
        g->dscale[c] = (float)(product * inverse);
        g->doffset[c] = (float)sum;
        double factor = (double)g->scale[c] * inverse, slope = product / count * inverse * inverse;
        for (int64_t o = 0; o < size->outer; o++)
            for (int64_t i = 0; i < size->inner; i++) {
                int64_t at = (o * size->channels + c) * size->inner + i;
                double centred = state->training ? (double)g->dy[at] - sum / count -
                                                       ((double)g->x[at] - mean) * slope
                                                 : (double)g->dy[at];
                g->dx[at] = (float)(factor * centred);
            }
    }
}

static struct status norm_grad_compute(struct kernel_context *k)
{
    const struct norm_state *state = kernel_state(k);
    const struct tensor *dy = kernel_input(k, 0), *x = kernel_input(k, 1);
    struct norm_size size = { 0 };
    struct tensor *dx, *dscale, *doffset, *rest;
    TRY(norm_size(state, &x->shape, &size));
    if (!shape_equal(&dy->shape, &x->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "x and y_backprop must have same shape, but x has shape %s and "
                            "y_backprop has shape %s",
                            shape_text(&x->shape), shape_text(&dy->shape));
    TRY(check_channels(k, 2, "scale", size.channels));
    TRY(check_channels(k, 3, "saved mean", size.channels));
    TRY(check_channels(k, 4, "saved variance", size.channels));
    struct shape channels = shape_of(size.channels), nothing = shape_of(0);
    TRY(kernel_output(k, 0, &x->shape, &dx));
    TRY(kernel_output(k, 1, &channels, &dscale));
    TRY(kernel_output(k, 2, &channels, &doffset));
    for (int i = 3; i < kernel_outputs_count(k); i++)
        TRY(kernel_output(k, i, &nothing, &rest));
    struct tensor wide_dy = { 0 }, wide_x = { 0 }, wide_dx = { 0 };
    struct status status;
    TRY_OR(done, widened(k, kernel_input(k, 0), &wide_dy));
    TRY_OR(done, widened(k, kernel_input(k, 1), &wide_x));
    TRY_OR(done, widened_output(k, dx, &wide_dx));
    struct norm_grad g = { wide_dy.data,
                           wide_x.data,
                           kernel_input(k, 2)->data,
                           kernel_input(k, 3)->data,
                           kernel_input(k, 4)->data,
                           wide_dx.data,
                           dscale->data,
                           doffset->data };
    norm_grad(state, &size, &g);
    widened_store(&wide_dx, dx);
done:
    tensor_release(&wide_dy);
    tensor_release(&wide_x);
    tensor_release(&wide_dx);
    return status;
}

#define DTYPES_NARROW (DTYPES(DT_FLOAT) | DTYPES(DT_HALF) | DTYPES(DT_BFLOAT16))
static const struct kernel rows[] = {
    { "FusedBatchNorm", DTYPES(DT_FLOAT), "T", .prepare = norm_prepare, .compute = norm_compute },
    { "FusedBatchNormV2", DTYPES_NARROW, "T", .prepare = norm_prepare, .compute = norm_compute },
    { "FusedBatchNormV3", DTYPES_NARROW, "T", .prepare = norm_prepare, .compute = norm_compute },
    { "FusedBatchNormGrad", DTYPES(DT_FLOAT), "T", .prepare = norm_prepare,
      .compute = norm_grad_compute },
    { "FusedBatchNormGradV2", DTYPES_NARROW, "T", .prepare = norm_prepare,
      .compute = norm_grad_compute },
    { "FusedBatchNormGradV3", DTYPES_NARROW, "T", .prepare = norm_prepare,
      .compute = norm_grad_compute },
};
const struct kernel_table kernels_batch_norm = { rows, COUNT(rows) };
