/* build_graph: the graph of a model for one mode: its layers, and then the loss, the metrics and
 * the gradients. */
#include "graph/gradient.h"
#include "layers/build_model.h"
#include "layers/build_state.h"
#include "layers/losses/loss.h"
#include "layers/metrics/ranking.h"

/* The scaled loss, of which the gradients are taken. */
static struct endpoint scale_loss(struct layer_context *context,
                                  const struct layers_options *options)
{
    struct layers_graph *out = context->build->out;
    struct builder *b = &context->builder;

    if (options->feeds_loss_scale)
        out->loss_scale = build_placeholder(b, "loss_scale", DT_FLOAT, shape_scalar());
    else if (options->loss_scale == 0)
        return out->loss;
    struct endpoint factor =
        options->feeds_loss_scale ? out->loss_scale : build_const_float(b, options->loss_scale);
    return build_binary(b, "Mul", "scaled_loss", out->loss, factor);
}

/* Lists the values of a trained variable that have gradients: one, or one for each division. */
static int list_trained(struct layers_variable *variable, const struct endpoint **out)
{
    bool is_divided = variable->divided_count > 0;

    *out = is_divided ? variable->divided : &variable->value;
    return !variable->trainable ? 0 : is_divided ? variable->divided_count : 1;
}

static struct endpoint sum_gradients(struct builder *b, int count, const struct endpoint *gradients)
{
    struct endpoint sum = gradients[0];

    for (int i = 1; i < count; i++)
        sum = build_binary(b, "AddV2", NULL, sum, gradients[i]);
    return sum;
}

/* Adds the gradient of the loss for each trainable variable. */
static void build_gradients(struct layer_context *context, const struct layers_options *options)
{
    struct layers_graph *out = context->build->out;
    struct builder *b = &context->builder;
    const struct endpoint *listed;
    int total = 0, count = 0;

    for (int i = 0; i < out->variables_count; i++)
        total += list_trained(&out->variables[i], &listed);
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, total);
    struct endpoint *gradients = ARENA_ARRAY(context->arena, struct endpoint, total);
    for (int i = 0; i < out->variables_count; i++) {
        int own = list_trained(&out->variables[i], &listed);
        memcpy(values + count, listed, (size_t)own * sizeof *values);
        count += own;
    }
    b->scope = "gradients/";
    struct endpoint loss = scale_loss(context, options);
    struct status status = graph_gradients(b, loss, count, values, gradients);
    if (status_is_ok(b->status))
        b->status = status_keep(context->arena, status);
    for (int i = 0, k = 0; i < out->variables_count && status_is_ok(b->status); i++) {
        int own = list_trained(&out->variables[i], &listed);
        if (own > 0)
            out->variables[i].gradient = sum_gradients(b, own, gradients + k);
        k += own;
    }
    b->scope = "";
}

static void build_metrics(struct layer_context *context, const struct layers_model *model)
{
    struct layers_graph *out = context->build->out;
    struct endpoint all = { 0 };

    ranking_build(context, model);
    out->metrics = ARENA_ARRAY(context->arena, struct endpoint, model->metrics_count);
    context->builder.scope = "metrics/";
    for (int i = 0; i < model->metrics_count && status_is_ok(context->builder.status); i++)
        out->metrics[i] =
            metric_build(context, &model->metrics[i], &out->heads[model->metrics[i].output], &all);
    context->builder.scope = "";
}

static struct status check_trained(const struct layers_model *model)
{
    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].loss != NULL)
            return status_ok();
    return status_error(STATUS_FAILED_PRECONDITION,
                        "model '%s' has %d outputs and no loss: compile it with a loss for each "
                        "that is trained",
                        model->name, model->outputs_count);
}

/* Builds the graph of a model that is not made of layers. */
static void build_body(struct layer_context *context, const struct layers_model *model,
                       int64_t batch)
{
    struct layers_graph *out = context->build->out;

    graph_finish(out->graph);
    out->graph = NULL;
    struct status status = model->body->build(model->body, batch, context->arena, out);
    if (out->graph != NULL)
        context->builder = builder_init(out->graph);
    context->builder.status = status_keep(context->arena, status);
}

struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out)
{
    if (options->mode != LAYERS_SERVE)
        TRY(check_trained(model));
    struct layer_context context = layer_context_init(model, options->mode, arena, out);
    struct builder *b = &context.builder;

    context.build->weighted = options->weighted;
    if (model->body != NULL) {
        build_body(&context, model, options->batch);
    } else {
        build_inputs(&context, model, options->batch);
        build_layers(&context, model);
    }
    out->init = layers_build_init(&context);
    if (options->mode != LAYERS_SERVE)
        loss_build(&context, model, options->reduction);
    if (options->mode == LAYERS_EVAL || (options->mode == LAYERS_TRAIN && options->metrics))
        build_metrics(&context, model);
    if (options->mode == LAYERS_TRAIN && status_is_ok(b->status))
        build_gradients(&context, options);
    if (!status_is_ok(b->status)) {
        struct status status = b->status; /* its text is in the arena */
        graph_finish(out->graph);
        *out = (struct layers_graph){ 0 };
        return status;
    }
    return status_ok();
}
