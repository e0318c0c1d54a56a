/* weights: the weights of the examples of a batch. Source: keras/src/losses/loss.py,
 * reduce_weighted_values. */
#include "layers/build_model.h"

/* The weights with as many dimensions as `losses`, so that they broadcast over a row. */
static struct endpoint spread_weights(struct layer_context *context, const struct shape *losses)
{
    struct builder *b = &context->builder;
    int32_t dims[SHAPE_RANK_MAX] = { -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

    if (losses->rank < 2)
        return context->out->weights;
    return build_binary(b, "Reshape", "weights/spread", context->out->weights,
                        build_const_ints(b, "weights/dims", losses->rank, dims));
}

struct endpoint build_weights(struct layer_context *context, struct endpoint losses)
{
    struct builder *b = &context->builder;
    const struct shape *shape = endpoint_shape(losses);

    if (!context->weighted || !status_is_ok(b->status))
        return losses;
    const char *scope = b->scope;
    b->scope = "";
    context->out->weights =
        build_placeholder(b, "sample_weight", DT_FLOAT, shape_of(shape->dims[0]));
    struct endpoint weights = spread_weights(context, shape);
    struct endpoint weighted = build_binary(b, "Mul", "weights/losses", losses, weights);
    b->scope = scope;
    return weighted;
}
