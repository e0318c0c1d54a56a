/* weights: the weights of a batch's examples, and the mask of an output. Source:
 * keras/src/losses/loss.py, reduce_weighted_values and apply_mask. */
#include "layers/losses/weights.h"

#include "layers/build_state.h"
#include "layers/losses/loss.h"

struct shape weights_shape(const struct layers_model *model)
{
    const struct layers_target *target = &model->targets[0];
    struct shape shape = model->outputs[0].shape;

    if (model->outputs_count > 1 || target->loss == NULL || !loss_has_steps(target->loss))
        return shape_of(-1);
    shape.dims[0] = -1;
    shape.rank--;
    return shape;
}

void place_weights(struct layer_context *context, const struct layers_model *model)
{
    struct shape shape = weights_shape(model);

    if (!context->build->weighted || !status_is_ok(context->builder.status))
        return;
    shape.dims[0] = endpoint_shape(context->build->out->heads[0].output)->dims[0];
    for (int i = 1; i < shape.rank; i++)
        shape.dims[i] = -1; /* a row may have one weight */
    context->build->out->weights =
        build_placeholder(&context->builder, "sample_weight", DT_FLOAT, shape);
}

struct endpoint spread_weights(struct layer_context *context, const struct shape *losses)
{
    struct builder *b = &context->builder;
    int32_t dims[SHAPE_RANK_MAX] = { -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    struct endpoint weights = context->build->out->weights;
    int rank = endpoint_shape(weights)->rank;

    if (losses->rank == rank || !status_is_ok(b->status))
        return weights;
    if (rank == 1)
        return build_binary(b, "Reshape", "weights/spread", weights,
                            build_const_ints(b, "weights/dims", losses->rank, dims));
    if (losses->rank < rank)
        b->status = status_keep(
            context->arena,
            status_error(STATUS_UNIMPLEMENTED,
                         "weights of steps, of shape %s, for a metric whose values have %s",
                         shape_text(endpoint_shape(weights)), shape_text(losses)));
    for (; rank < losses->rank; rank++)
        weights = build_expand_dims(b, weights, -1);
    return weights;
}

struct endpoint build_weights(struct layer_context *context, struct endpoint losses)
{
    struct builder *b = &context->builder;
    const struct shape *shape = endpoint_shape(losses);

    if (!context->build->weighted || !status_is_ok(b->status))
        return losses;
    const char *scope = b->scope;
    b->scope = "";
    struct endpoint weights = spread_weights(context, shape);
    struct endpoint weighted = build_binary(b, "Mul", "weights/losses", losses, weights);
    b->scope = scope;
    return weighted;
}

static struct endpoint sum_over(struct builder *b, struct endpoint x)
{
    const int32_t axes[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };

    return build_binary(b, "Sum", NULL, x,
                        build_const_ints(b, NULL, endpoint_shape(x)->rank, axes));
}

static struct endpoint as_float(struct builder *b, struct endpoint x)
{
    return build_cast(b, NULL, x, DT_FLOAT);
}

/* If losses are reduced to their mean, an unmasked step has the weight steps / unmasked steps.
 * If all steps are masked, all weights are 0. */
static struct endpoint mask_weights(struct builder *b, struct endpoint mask, bool mean)
{
    struct endpoint weights = as_float(b, mask);

    if (!mean || !status_is_ok(b->status))
        return weights;
    struct endpoint all = as_float(b, build_unary(b, "Size", NULL, mask));
    struct endpoint factor = build_binary(b, "DivNoNan", NULL, all, sum_over(b, weights));
    return build_binary(b, "Mul", NULL, weights, factor);
}

struct endpoint build_loss_mask(struct layer_context *context, struct endpoint mask,
                                struct endpoint losses, bool by_output, bool mean)
{
    struct builder *b = &context->builder;

    if (mask.node == NULL || !status_is_ok(b->status))
        return losses;
    if (endpoint_shape(mask)->rank != endpoint_shape(losses)->rank - by_output) {
        b->status = status_keep(
            context->arena,
            status_error(STATUS_UNIMPLEMENTED,
                         "the output has a mask of shape %s, its losses have %s",
                         shape_text(endpoint_shape(mask)), shape_text(endpoint_shape(losses))));
        return losses;
    }
    const char *scope = b->scope;
    b->scope = "mask/";
    struct endpoint weights = mask_weights(b, mask, mean);
    if (by_output)
        weights = build_expand_dims(b, weights, -1);
    struct endpoint masked = build_binary(b, "Mul", "losses", losses, weights);
    b->scope = scope;
    return masked;
}
