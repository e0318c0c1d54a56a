/* loss: labels, loss and the count of right answers. Cross-entropy is computed from the logits
 * by one op, which takes no logarithm of a probability that has become 0. */
#include "layers/build_model.h"

static struct endpoint reduce(struct builder *b, const char *op, const char *name,
                              struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
    int rank = endpoint_shape(x)->rank;

    return build_binary(b, op, name, x, build_const_ints(b, NULL, rank > 0 ? rank : 0, axes));
}

static struct endpoint logits_of(const struct layers_model *model, struct endpoint output)
{
    return model->from_logits ? output : output.node->inputs[0];
}

static struct endpoint cross_entropy(struct layer_context *context,
                                     const struct layers_model *model,
                                     enum layers_reduction reduction)
{
    struct builder *b = &context->builder;
    struct layers_head *head = &context->out->heads[0];
    struct endpoint logits = logits_of(model, head->output);
    struct shape rows = shape_of(endpoint_shape(logits)->dims[0]);

    head->labels = build_placeholder(b, "labels", DT_INT32, rows);
    struct endpoint losses = build(b, "SparseSoftmaxCrossEntropyWithLogits", "loss/cross_entropy",
                                   2, (const struct endpoint[]){ logits, head->labels }, NULL);
    if (context->mode == LAYERS_EVAL) {
        struct endpoint axis = build_const_int(b, "metrics/axis", -1);
        struct endpoint best =
            build(b, "ArgMax", "metrics/answer", 2, (const struct endpoint[]){ logits, axis },
                  (const struct attr[]){ attr_type("output_type", DT_INT32), ATTR_END });
        struct endpoint right = build_binary(b, "Equal", "metrics/right", best, head->labels);
        struct endpoint ones =
            build(b, "Cast", "metrics/ones", 1, &right,
                  (const struct attr[]){ attr_type("DstT", DT_INT32), ATTR_END });
        head->correct = reduce(b, "Sum", "metrics/correct", ones);
    }
    return reduce(b, reduction == LAYERS_SUM ? "Sum" : "Mean", "loss/reduced", losses);
}

/* The mean over the outputs of an example, then the sum or mean over the batch. */
static struct endpoint mean_squared_error(struct layer_context *context,
                                          enum layers_reduction reduction)
{
    struct builder *b = &context->builder;
    struct layers_head *head = &context->out->heads[0];
    struct shape shape = *endpoint_shape(head->output);
    int64_t outputs = 1;

    head->labels = build_placeholder(b, "labels", DT_FLOAT, shape);
    struct endpoint squares =
        build_binary(b, "SquaredDifference", "loss/squares", head->output, head->labels);
    if (reduction == LAYERS_MEAN)
        return reduce(b, "Mean", "loss/reduced", squares);
    for (int i = 1; i < shape.rank; i++)
        outputs *= shape.dims[i];
    struct endpoint sum = reduce(b, "Sum", "loss/reduced", squares);
    if (outputs == 1)
        return sum;
    return build_binary(b, "Mul", "loss/mean", sum,
                        build_const_float(b, "loss/share", 1 / (float)outputs));
}

void build_loss(struct layer_context *context, const struct layers_model *model,
                enum layers_reduction reduction)
{
    struct builder *b = &context->builder;

    if (!status_is_ok(b->status))
        return;
    struct endpoint loss = model->loss == LAYERS_CROSS_ENTROPY
                               ? cross_entropy(context, model, reduction)
                               : mean_squared_error(context, reduction);
    if (context->penalty.node != NULL)
        loss = build_binary(b, "AddV2", "loss/total", loss, context->penalty);
    context->out->loss = loss;
}
