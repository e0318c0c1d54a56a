#include "layers/build_model.h"

/* The most variables that a layer has. */
#define VARIABLES_OF_A_LAYER 2

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out)
{
    *out = (struct layers_graph){ .graph = graph_create(arena) };
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

struct endpoint build_layers(struct layer_context *context, const struct layers_model *model,
                             struct endpoint x)
{
    struct builder *b = &context->builder;

    for (int i = 0; i < model->layers_count && status_is_ok(b->status); i++) {
        const struct layer *layer = &model->layers[i];
        b->scope = arena_printf(context->arena, "%s/", layer->name);
        x = layer->class->build(context, layer, x);
        b->scope = "";
        if (!status_is_ok(b->status))
            b->status = status_keep(context->arena,
                                    status_in(b->status, "layer %d of '%s'", i, model->name));
    }
    return x;
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

struct status layers_build(const struct layers_model *model, const struct layers_options *options,
                           struct arena *arena, struct layers_graph *out)
{
    struct layer_context context = layer_context_init(model, options->mode, arena, out);
    struct builder *b = &context.builder;
    struct shape shape = model->input_shape;

    shape.dims[0] = options->batch > 0 ? options->batch : -1;
    out->input = build_placeholder(b, "x", DT_FLOAT, shape);
    out->output = build_layers(&context, model, out->input);
    if (options->mode != LAYERS_SERVE)
        build_loss(&context, model, options->reduction);
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

static struct status check_output(struct layers_model *model, const struct layers_graph *built)
{
    bool softmax =
        built->output.node != NULL && strcmp(built->output.node->op_name, "Softmax") == 0;

    model->output_shape = *endpoint_shape(built->output);
    if (model->loss == LAYERS_LOSS_UNKNOWN)
        model->loss = softmax ? LAYERS_CROSS_ENTROPY : LAYERS_MEAN_SQUARED_ERROR;
    if (model->loss != LAYERS_CROSS_ENTROPY)
        return status_ok();
    if (!softmax && !model->from_logits)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "cross-entropy needs an output that ends in softmax, or from_logits");
    if (model->output_shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "cross-entropy needs an output [batch, classes]; it has shape %s",
                            shape_text(&model->output_shape));
    return status_ok();
}

struct status layers_check(struct layers_model *model)
{
    const struct layers_options options = { .mode = LAYERS_SERVE };
    struct arena *arena = arena_create(0);
    struct layers_graph built;

    struct status status = layers_build(model, &options, arena, &built);
    if (status_is_ok(status)) {
        status = check_output(model, &built);
        graph_finish(built.graph);
    }
    /* The text may be in the arena that is destroyed next. */
    if (!status_is_ok(status))
        status = status_error(status.code, "%s", status.message);
    arena_destroy(arena);
    return status;
}
