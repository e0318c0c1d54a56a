#include "layers/build_model.h"

#include "layers/metric.h"

/* The most variables that a layer has. */
#define VARIABLES_OF_A_LAYER 4

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out)
{
    *out = (struct layers_graph){ .graph = graph_create(arena) };
    out->inputs = ARENA_ARRAY(arena, struct endpoint, model->inputs_count);
    out->heads = ARENA_ARRAY(arena, struct layers_head, model->outputs_count);
    out->variables =
        ARENA_ARRAY(arena, struct layers_variable, model->layers_count * VARIABLES_OF_A_LAYER);
    return (struct layer_context){
        .builder = builder_init(out->graph),
        .arena = arena,
        .mode = mode,
        .keras2 = model->keras2,
        .out = out,
    };
}

/* A row must have a size that fits into an int32, for kernels count in it. */
static void check_size(struct layer_context *context, const struct layer *layer, struct endpoint y)
{
    if (!status_is_ok(context->builder.status))
        return;
    const struct shape *shape = endpoint_shape(y);
    int64_t size = 1;
    for (int i = 1; i < shape->rank && size > 0 && size <= INT32_MAX; i++)
        size = shape->dims[i] > INT32_MAX ? INT64_MAX : size * shape->dims[i];
    if (size > INT32_MAX)
        layer_fail(context, layer, "the output has shape %s, a row of 2^31 numbers or more",
                   shape_text(shape));
}

/* The argument "activity_regularizer", which many layers have. */
static void penalise_output(struct layer_context *context, const struct layer *layer,
                            struct endpoint y)
{
    for (int i = 0; i < layer->class->args_count; i++)
        if (strcmp(layer->class->args[i].name, "activity_regularizer") == 0 &&
            layer->class->args[i].kind == ARG_REGULARIZER && !layer->args[i].is_null)
            layer_penalise_activity(context, &layer->args[i].regularizer, y);
}

static struct endpoint build_call(struct layer_context *context, const struct layer_call *call,
                                  const struct endpoint *values)
{
    struct builder *b = &context->builder;
    const struct layer *layer = call->layer;
    struct endpoint *inputs = ARENA_ARRAY(context->arena, struct endpoint, call->inputs_count);

    for (int i = 0; i < call->inputs_count; i++)
        inputs[i] = values[call->inputs[i]];
    b->scope = arena_printf(context->arena, "%s/", layer->name);
    struct endpoint y = layer->class->merge != NULL
                            ? layer->class->merge(context, layer, call->inputs_count, inputs)
                            : layer->class->build(context, layer, inputs[0]);
    penalise_output(context, layer, y);
    b->scope = "";
    check_size(context, layer, y);
    return y;
}

void build_layers(struct layer_context *context, const struct layers_model *model)
{
    struct builder *b = &context->builder;
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, model->calls_count);

    for (int i = 0; i < model->inputs_count; i++)
        values[model->inputs[i].call] = context->out->inputs[i];
    for (int i = 0; i < model->calls_count && status_is_ok(b->status); i++) {
        if (model->calls[i].inputs_count == 0)
            continue;
        values[i] = build_call(context, &model->calls[i], values);
        if (!status_is_ok(b->status))
            b->status =
                status_keep(context->arena,
                            status_in(b->status, "layer %d of '%s'",
                                      (int)(model->calls[i].layer - model->layers), model->name));
    }
    for (int i = 0; i < model->outputs_count; i++)
        context->out->heads[i].output = values[model->outputs[i].call];
}

/* The gradient of the loss for each trainable variable. */
static void build_gradients(struct layer_context *context)
{
    struct layers_graph *out = context->out;
    struct builder *b = &context->builder;
    struct endpoint *values = ARENA_ARRAY(context->arena, struct endpoint, out->variables_count);
    struct endpoint *gradients = ARENA_ARRAY(context->arena, struct endpoint, out->variables_count);
    int count = 0;

    for (int i = 0; i < out->variables_count; i++)
        if (out->variables[i].trainable)
            values[count++] = out->variables[i].value;
    b->scope = "gradients/";
    struct status status = graph_gradients(b, out->loss, count, values, gradients);
    b->scope = "";
    if (status_is_ok(b->status))
        b->status = status_keep(context->arena, status);
    for (int i = 0, k = 0; i < out->variables_count; i++)
        if (out->variables[i].trainable)
            out->variables[i].gradient = gradients[k++];
}

void build_inputs(struct layer_context *context, const struct layers_model *model, int64_t batch)
{
    for (int i = 0; i < model->inputs_count; i++) {
        struct shape shape = model->inputs[i].shape;
        const char *name = model->inputs_count == 1 ? "x" : model->inputs[i].name;
        shape.dims[0] = batch > 0 ? batch : -1;
        context->out->inputs[i] = build_placeholder(&context->builder, name, DT_FLOAT, shape);
    }
}

static void build_metrics(struct layer_context *context, const struct layers_model *model)
{
    struct layers_head *head = &context->out->heads[0];

    head->metrics = ARENA_ARRAY(context->arena, struct endpoint, model->metrics_count);
    context->builder.scope = "metrics/";
    for (int i = 0; i < model->metrics_count && status_is_ok(context->builder.status); i++)
        head->metrics[i] = metric_build(context, &model->metrics[i], head);
    context->builder.scope = "";
}

struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out)
{
    if (options->mode != LAYERS_SERVE && model->outputs_count > 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "model '%s' has %d outputs; only a model with one can be trained",
                            model->name, model->outputs_count);
    struct layer_context context = layer_context_init(model, options->mode, arena, out);
    struct builder *b = &context.builder;

    context.weighted = options->weighted;
    build_inputs(&context, model, options->batch);
    build_layers(&context, model);
    if (options->mode != LAYERS_SERVE)
        loss_build(&context, model->loss, options->reduction);
    if (options->mode == LAYERS_EVAL)
        build_metrics(&context, model);
    if (options->mode == LAYERS_TRAIN && status_is_ok(b->status))
        build_gradients(&context);
    if (!status_is_ok(b->status)) {
        struct status status = b->status; /* its text is in the arena */
        graph_finish(out->graph);
        *out = (struct layers_graph){ 0 };
        return status;
    }
    return status_ok();
}

/* Chooses the loss of the only output, if the description does not, and checks it. */
static struct status check_loss(struct layers_model *model, struct endpoint output,
                                struct arena *arena)
{
    if (model->loss == NULL) {
        struct loss *loss = ARENA_NEW(arena, struct loss);
        *loss = loss_default(output, arena);
        model->loss = loss;
    }
    model->loss_name = loss_name(model->loss);
    model->labels = loss_labels(model->loss);
    model->kind = loss_kind(model->loss, endpoint_shape(output));
    return loss_check(model->loss, output);
}

/* Chooses the accuracy if the description has no metrics, and checks them. */
static struct status check_metrics(struct layers_model *model, const struct shape *output,
                                   struct arena *arena)
{
    if (model->metrics_count == 0 && model->kind != LAYERS_REGRESSION) {
        struct metric *accuracy = ARENA_NEW(arena, struct metric);
        bool logits = model->kind == LAYERS_BINARY && loss_from_logits(model->loss);
        TRY(metric_read_accuracy(logits, arena, accuracy));
        model->metrics = accuracy;
        model->metrics_count = 1;
    }
    for (int i = 0; i < model->metrics_count; i++)
        TRY(metric_check(&model->metrics[i], model->labels, output));
    return status_ok();
}

static struct status check_outputs(struct layers_model *model, const struct layers_graph *built,
                                   struct arena *arena)
{
    for (int i = 0; i < model->outputs_count; i++)
        model->outputs[i].shape = *endpoint_shape(built->heads[i].output);
    if (model->outputs_count > 1)
        return status_ok();
    TRY(check_loss(model, built->heads[0].output, arena));
    return check_metrics(model, &model->outputs[0].shape, arena);
}

struct status layers_check(struct layers_model *model, struct arena *owner)
{
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct arena *arena = arena_create(0);
    struct layers_graph built;

    struct status status = layers_build(model, &options, arena, &built);
    if (status_is_ok(status)) {
        status = check_outputs(model, &built, owner);
        graph_finish(built.graph);
    }
    /* The text may be in the arena that is destroyed next. */
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message);
    arena_destroy(arena);
    return status;
}
