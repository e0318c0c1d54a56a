/*
 * conv_any_rank: Conv, a convolution of images or volumes with any number of dimensions of batches
 * before them.
 */
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nn/conv2d.h"

struct conv_any_rank {
    struct window_attrs window;
    int64_t batch_dims, groups;
};

static struct status conv_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct conv_any_rank *state = prepare_state(p, sizeof *state, NULL);
    TRY(window_attrs_read(node, false, &state->window));
    TRY(node_attr_int32(node, "batch_dims", &state->batch_dims));
    return node_attr_int32(node, "groups", &state->groups);
}

static struct status check(const struct kernel_context *k, const struct tensor *x,
                           const struct tensor *filter)
{
    const struct conv_any_rank *state = kernel_state(k);
    const struct window_attrs *window = &state->window;
    int64_t spatial = x->shape.rank - state->batch_dims - 1;
    if (state->batch_dims < 0 || spatial != window->rank - 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "An input of shape %s with %lld dimensions of batches has %lld spatial "
                            "dimensions, but the strides are for %d",
                            shape_text(&x->shape), (long long)state->batch_dims, (long long)spatial,
                            window->rank - 2);
    int64_t channels =
        x->shape.dims[window->channels_first ? state->batch_dims : x->shape.rank - 1];
    if (filter->shape.rank == window->rank && state->groups == 1 &&
        filter->shape.dims[filter->shape.rank - 2] != channels)
        return kernel_error(
            k, STATUS_INVALID_ARGUMENT, "Input depth must be equal to filter depth: %lld vs %lld",
            (long long)channels, (long long)filter->shape.dims[filter->shape.rank - 2]);
    if (state->groups != 1)
        return kernel_error(k, STATUS_UNIMPLEMENTED,
                            "Grouped/Depthwise Convolutions are not supported yet.");
    if (window->channels_first)
        return kernel_error(k, STATUS_UNIMPLEMENTED,
                            "The Conv%dD op currently only supports the %s tensor format on the "
                            "CPU. The op was given the format: %s",
                            window->rank - 2, window->rank == 4 ? "NHWC" : "NDHWC",
                            window->rank == 4 ? "NCHW" : "NCDHW");
    return status_ok();
}

static struct status conv_compute(struct kernel_context *k)
{
    const struct conv_any_rank *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0), *filter = kernel_input(k, 1);
    struct shape batch = { 0 }, shape = shape_of(1);
    TRY(check(k, x, filter));
    for (int i = 0; i < state->batch_dims; i++) {
        shape_append(&batch, x->shape.dims[i]);
        if (__builtin_mul_overflow(shape.dims[0], x->shape.dims[i], &shape.dims[0]))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "too many batches: %s",
                                shape_text(&x->shape));
    }
    for (int i = (int)state->batch_dims; i < x->shape.rank; i++)
        shape_append(&shape, x->shape.dims[i]);
    struct tensor images = *x; /* borrowed */
    images.shape = shape;
    return conv_forward_batch(k, &state->window, &batch, &images, filter);
}

static const struct kernel rows[] = {
    { "Conv", DTYPES_FLOATING | DTYPES(DT_INT32), .prepare = conv_prepare, .compute = conv_compute,
      .costly = true },
};
const struct kernel_table kernels_conv_any_rank = { rows, COUNT(rows) };
