/* build: adds the losses of a model to its graph. */
#include "layers/build_state.h"
#include "layers/classes/sampled_softmax.h"
#include "layers/losses/loss_class.h"
#include "layers/losses/retrieval.h"
#include "layers/losses/weights.h"

#define SAMPLED_LOSS "sparse_categorical_crossentropy" /* of a SampledSoftmax */

static struct endpoint scale(struct builder *b, struct endpoint x, double factor)
{
    return build_binary(b, "Mul", NULL, x, build_const_float(b, (float)factor));
}

/* The numbers of a row; -1: only the batch tells. */
static int64_t outputs_of(const struct loss *loss, struct endpoint losses)
{
    const struct shape *shape = endpoint_shape(losses);

    return loss->class->extent == LOSS_OF_OUTPUT ? shape->dims[shape->rank - 1] : 1;
}

/* The rows of a batch, as a float. */
static struct endpoint count_rows(struct builder *b, struct endpoint x)
{
    const struct endpoint inputs[] = { build_unary(b, "Shape", NULL, x), build_const_int(b, 0),
                                       build_const_int(b, 0) };

    return build_cast(b, NULL, build(b, "GatherV2", NULL, 3, inputs, NULL), DT_FLOAT);
}

static bool has_steps(const struct loss *loss, struct endpoint losses)
{
    return endpoint_shape(losses)->rank - (loss->class->extent == LOSS_OF_OUTPUT) > 1;
}

/* Reduces losses to one number per batch. `of_rows`: a sum is over the rows, whose loss is the
 * mean of its steps; otherwise the loss of a row is the sum of its steps. An evaluation reports the
 * mean over the rows. */
static struct endpoint reduce_losses(struct loss_context *c, enum layers_reduction reduction,
                                     bool of_rows, struct endpoint losses)
{
    struct builder *b = c->builder;
    int64_t outputs = outputs_of(c->loss, losses);

    if (reduction != LAYERS_SUM)
        return loss_reduce(b, "Mean", "reduced", losses);
    if (outputs < 0 || (of_rows && has_steps(c->loss, losses)))
        return build_binary(b, "Mul", "reduced", loss_reduce(b, "Mean", NULL, losses),
                            count_rows(b, losses));
    struct endpoint sum = loss_reduce(c->builder, "Sum", "reduced", losses);
    return outputs == 1 ? sum : scale(c->builder, sum, 1 / (double)outputs);
}

/* Multiplies losses by the weights of their examples, and by the mask of the output. */
static struct endpoint weigh(struct layer_context *context, struct endpoint mask, bool by_output,
                             bool mean, struct endpoint losses)
{
    return build_loss_mask(context, mask, build_weights(context, losses), by_output, mean);
}

/* The sum of the weights, as Keras computes it: one weight for all steps of a row counts once,
 * unless a mask has made it one for each step. */
static struct endpoint sum_weights(struct layer_context *context, struct endpoint mask,
                                   struct endpoint losses)
{
    struct builder *b = &context->builder;
    struct endpoint weights = context->build->out->weights;

    if (mask.node != NULL)
        weights = weigh(context, mask, false, false,
                        build_binary(b, "Fill", NULL, build_unary(b, "Shape", NULL, losses),
                                     build_const_float(b, 1)));
    return status_is_ok(b->status) ? loss_reduce(b, "Sum", NULL, weights) : weights;
}

/* As in Keras, each batch has a mean of its own, and that of an evaluation counts as often as the
 * batch has rows. */
static struct endpoint reduce_by_weights(struct layer_context *context, const struct loss *loss,
                                         struct endpoint mask, struct endpoint losses)
{
    struct builder *b = &context->builder;

    if (loss->class->extent == LOSS_OF_OUTPUT)
        losses = build_binary(b, "Mean", NULL, losses, build_const_int(b, -1));
    struct endpoint divisor = sum_weights(context, mask, losses);
    losses = weigh(context, mask, false, false, losses);
    if (!status_is_ok(b->status)) /* then they have no shape */
        return losses;
    struct endpoint mean =
        build_binary(b, "DivNoNan", "reduced", loss_reduce(b, "Sum", NULL, losses), divisor);
    return context->mode == LAYERS_EVAL ? build_binary(b, "Mul", NULL, mean, count_rows(b, losses))
                                        : mean;
}

/* The same shape without its last dimension. */
static struct shape shape_of_steps(const struct shape *output)
{
    struct shape shape = *output;

    shape.rank--;
    return shape;
}

static struct endpoint place_labels(struct builder *b, enum layers_labels labels, const char *name,
                                    const struct shape *output)
{
    if (labels == LAYERS_VALUES)
        return build_placeholder(b, name, DT_FLOAT, *output);
    if (labels == LAYERS_LISTS)
        return build_placeholder(b, name, DT_INT32, shape_of(output->dims[0], -1));
    if (labels == LAYERS_CLASSES)
        return build_placeholder(b, name, DT_INT32, shape_of_steps(output));
    return build_placeholder(b, name, DT_INT32, shape_of(output->dims[0]));
}

static struct loss_context loss_context_init(struct layer_context *context, const struct loss *loss,
                                             struct endpoint output, struct endpoint labels)
{
    struct loss_context c = {
        .builder = &context->builder, .loss = loss, .output = output, .keras2 = context->keras2
    };

    if (labels.node != NULL && endpoint_dtype(labels) == DT_FLOAT)
        c.labels = labels;
    else
        c.classes = labels;
    return c;
}

struct endpoint loss_values(struct layer_context *context, const struct loss *loss,
                            struct endpoint output, struct endpoint labels,
                            struct endpoint *counted)
{
    struct loss_context c = loss_context_init(context, loss, output, labels);
    struct endpoint losses = loss->class->build(&c);

    *counted = c.counted;
    return losses;
}

/* Combines the mask of the output with that of the loss. */
static struct endpoint join_masks(struct builder *b, struct endpoint mask, struct endpoint counted)
{
    if (mask.node == NULL || counted.node == NULL)
        return mask.node != NULL ? mask : counted;
    return build_binary(b, "LogicalAnd", NULL, mask, counted);
}

/* A graph that is not made of layers may return half, bfloat16 or double. As in Keras, losses
 * and metrics are computed in float, and after a softmax from the probabilities instead of the
 * logits. */
static struct endpoint as_float(struct builder *b, struct endpoint x)
{
    bool is_other = status_is_ok(b->status) && endpoint_dtype(x) != DT_FLOAT &&
                    dtype_is_floating(endpoint_dtype(x));

    return is_other ? build_cast(b, NULL, x, DT_FLOAT) : x;
}

/* Sets both sides of an output's comparison, and enters the scope of its loss. */
static void compare_output(struct layer_context *context, const struct layers_model *model,
                           int output)
{
    struct builder *b = &context->builder;
    struct layers_head *head = &context->build->out->heads[output];
    const struct loss *loss = model->targets[output].loss;
    const char *name = model->outputs[output].name;
    bool several = model->outputs_count > 1, labelled = loss->class->labels != LAYERS_NO_LABELS;

    if (labelled)
        head->labels =
            place_labels(b, model->targets[output].labels,
                         several ? arena_printf(context->arena, "labels/%s", name) : "labels",
                         endpoint_shape(head->output));
    b->scope = several ? arena_printf(context->arena, "loss/%s/", name) : "loss/";
    if (labelled) {
        head->predictions = as_float(b, head->output);
        head->truths = head->labels;
    } else {
        retrieval_compare(context, model, output);
        head->mask = (struct endpoint){ 0 }; /* a vector has no steps */
    }
}

/* The losses of a head per example or per output; of the sample, if its layer drew one. */
static struct endpoint build_losses(struct layer_context *context, struct loss_context *c,
                                    const struct layers_head *head)
{
    const struct sampled_output *sampled = sampled_find(context, head->output);

    if (sampled == NULL)
        return c->loss->class->build(c);
    if (strcmp(c->loss->class->name, SAMPLED_LOSS) != 0) {
        layer_refuse(context, sampled->layer,
                     "its loss is %s; only " SAMPLED_LOSS " is implemented", c->loss->class->name);
        return (struct endpoint){ 0 };
    }
    return sampled_losses(context, sampled, head->labels);
}

/* The loss of one output. */
static struct endpoint build_target(struct layer_context *context, const struct layers_model *model,
                                    int output, enum layers_reduction reduction)
{
    struct builder *b = &context->builder;
    struct layers_head *head = &context->build->out->heads[output];
    const struct loss *loss = model->targets[output].loss;

    if (!status_is_ok(b->status))
        return (struct endpoint){ 0 };
    bool evaluates = context->mode == LAYERS_EVAL;
    enum layers_reduction own = model->targets[output].reduction;
    if (reduction == LAYERS_EACH || (evaluates && own == LAYERS_WEIGHTED_MEAN))
        reduction = own;
    compare_output(context, model, output);
    struct loss_context c = loss_context_init(context, loss, head->predictions, head->truths);
    struct endpoint losses = build_losses(context, &c, head), reduced;
    struct endpoint mask = join_masks(b, head->mask, c.counted);
    if (reduction == LAYERS_WEIGHTED_MEAN && (context->build->weighted || mask.node != NULL)) {
        reduced = reduce_by_weights(context, loss, mask, losses);
    } else {
        losses = weigh(context, mask, loss->class->extent == LOSS_OF_OUTPUT,
                       reduction != LAYERS_SUM || (evaluates && own != LAYERS_SUM), losses);
        if (!status_is_ok(b->status)) /* then the losses have no shape */
            return losses;
        bool sums = evaluates && reduction == LAYERS_WEIGHTED_MEAN;
        reduced = reduce_losses(&c, sums ? LAYERS_SUM : reduction, evaluates && own != LAYERS_SUM,
                                losses);
    }
    if (model->targets[output].weight != 1)
        reduced = scale(b, reduced, model->targets[output].weight);
    return reduced;
}

/* An evaluation sums over many batches, so the penalty is added per row. The mean then does not
 * depend on the batch size. */
static struct endpoint penalty_of(struct layer_context *context, enum layers_reduction reduction,
                                  struct endpoint output)
{
    struct builder *b = &context->builder;

    if (context->mode != LAYERS_EVAL ||
        (reduction != LAYERS_SUM && reduction != LAYERS_WEIGHTED_MEAN) || !status_is_ok(b->status))
        return context->build->penalty;
    return build_binary(b, "Mul", "penalty_of_rows", context->build->penalty,
                        count_rows(b, output));
}

void loss_build(struct layer_context *context, const struct layers_model *model,
                enum layers_reduction reduction)
{
    struct builder *b = &context->builder;
    struct endpoint total = { 0 };

    sampled_check(context);
    place_weights(context, model);
    for (int i = 0; i < model->outputs_count; i++) {
        if (model->targets[i].loss == NULL)
            continue;
        struct endpoint loss = build_target(context, model, i, reduction);
        total = total.node == NULL ? loss : build_binary(b, "AddV2", NULL, total, loss);
    }
    b->scope = "loss/";
    if (context->build->penalty.node != NULL)
        total = build_binary(b, "AddV2", "total", total,
                             penalty_of(context, reduction, context->build->out->heads[0].output));
    b->scope = "";
    context->build->out->loss = total;
}
