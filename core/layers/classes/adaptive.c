/* adaptive: pooling to an output of a given size. Output i of n along a side of length l is the
 * reduction of the window [floor(i l / n), ceil((i + 1) l / n)), so windows may overlap. */
#include "layers/classes/image.h"

static const struct layer_arg adaptive3d_args[] = {
    { "output_size", ARG_TRIPLE, REQUIRED },
    DATA_FORMAT,
};
static const struct layer_arg adaptive2d_args[] = {
    { "output_size", ARG_PAIR, REQUIRED },
    DATA_FORMAT,
};
static const struct layer_arg adaptive1d_args[] = {
    { "output_size", ARG_SINGLE, REQUIRED },
    DATA_FORMAT,
};

#define OUTPUTS_MAX 1024 /* along a side; each output is three nodes of the graph */

/* Reduces one window along a dimension, to length 1. */
static struct endpoint reduce_window(struct builder *b, struct endpoint x, const char *op, int axis,
                                     int64_t begin, int64_t end)
{
    int32_t begins[SHAPE_RANK_MAX] = { 0 }, sizes[SHAPE_RANK_MAX];
    int rank = endpoint_shape(x)->rank;

    for (int i = 0; i < rank; i++)
        sizes[i] = -1;
    begins[axis] = (int32_t)begin;
    sizes[axis] = (int32_t)(end - begin);
    const struct endpoint reduced[] = { build_slice(b, NULL, x, rank, begins, sizes),
                                        build_const_int(b, axis) };
    const struct attr kept[] = { attr_bool("keep_dims", true), ATTR_END };
    return build(b, op, NULL, 2, reduced, kept);
}

/* A window is the product of its windows along each dimension, so these are reduced one after
 * the other. */
static struct endpoint reduce_along(struct layer_context *context, struct endpoint x,
                                    const char *op, int axis, int64_t outputs)
{
    struct builder *b = &context->builder;
    int64_t length = endpoint_shape(x)->dims[axis];
    struct endpoint *parts = ARENA_ARRAY(context->arena, struct endpoint, outputs + 1);

    if (outputs == length)
        return x;
    for (int64_t i = 0; i < outputs && status_is_ok(b->status); i++)
        parts[i] = reduce_window(b, x, op, axis, i * length / outputs,
                                 ((i + 1) * length + outputs - 1) / outputs);
    if (outputs == 1)
        return parts[0];
    parts[outputs] = build_const_int(b, axis);
    return build(b, "ConcatV2", NULL, (int)outputs + 1, parts, NULL);
}

static struct endpoint adaptive_pooling(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x, int directions, const char *op)
{
    const int64_t *sizes = layer_arg(layer, "output_size")->sides + 3 - directions;

    if (!layer_check_rank(context, layer, x, directions + 2))
        return x;
    for (int d = 0; d < directions; d++) {
        int64_t length = endpoint_shape(x)->dims[1 + d];
        if (sizes[d] > OUTPUTS_MAX || length < 1) {
            layer_fail(context, layer,
                       "argument 'output_size': got %lld of a side of length %lld, expected at "
                       "most %d",
                       (long long)sizes[d], (long long)length, OUTPUTS_MAX);
            return x;
        }
    }
    for (int d = 0; d < directions && status_is_ok(context->builder.status); d++)
        x = reduce_along(context, x, op, 1 + d, sizes[d]);
    return x;
}

/* A class whose function is adaptive_pooling with these parameters. */
#define ADAPTIVE_CLASS(noun, name, list, directions, op)                                          \
    static struct endpoint noun##_build(struct layer_context *context, const struct layer *layer, \
                                        struct endpoint x)                                        \
    {                                                                                             \
        return adaptive_pooling(context, layer, x, directions, op);                               \
    }                                                                                             \
    LAYER_CLASS(noun, name, list, noun##_build)

ADAPTIVE_CLASS(adaptive_average_pooling1d, "AdaptiveAveragePooling1D", adaptive1d_args, 1, "Mean");
ADAPTIVE_CLASS(adaptive_average_pooling2d, "AdaptiveAveragePooling2D", adaptive2d_args, 2, "Mean");
ADAPTIVE_CLASS(adaptive_average_pooling3d, "AdaptiveAveragePooling3D", adaptive3d_args, 3, "Mean");
ADAPTIVE_CLASS(adaptive_max_pooling1d, "AdaptiveMaxPooling1D", adaptive1d_args, 1, "Max");
ADAPTIVE_CLASS(adaptive_max_pooling2d, "AdaptiveMaxPooling2D", adaptive2d_args, 2, "Max");
ADAPTIVE_CLASS(adaptive_max_pooling3d, "AdaptiveMaxPooling3D", adaptive3d_args, 3, "Max");
