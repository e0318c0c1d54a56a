#include "layers/layer.h"

#include "layers/layer_classes.h"

/* docs/adding.md explains how to add one. */
static const struct layer_class *const classes[] = {
    &layer_input,
    &layer_dense,
    &layer_conv2d,
    &layer_max_pooling,
    &layer_average_pooling,
    &layer_global_max_pooling,
    &layer_global_average_pooling,
    &layer_zero_padding,
    &layer_flatten,
    &layer_reshape,
    &layer_dropout,
    &layer_rescaling,
    &layer_activation,
    &layer_relu,
    &layer_leaky_relu,
    &layer_softmax,
    &layer_add,
    &layer_subtract,
    &layer_multiply,
    &layer_average,
    &layer_maximum,
    &layer_minimum,
    &layer_concatenate,
    &layer_dot,
};

const struct layer_class *layer_class_find(const char *name)
{
    for (size_t i = 0; i < COUNT(classes); i++)
        if (strcmp(classes[i]->name, name) == 0)
            return classes[i];
    return NULL;
}

const char *layer_class_names(struct arena *arena)
{
    const char *names = classes[0]->name;

    for (size_t i = 1; i < COUNT(classes); i++)
        names = arena_printf(arena, "%s, %s", names, classes[i]->name);
    return names;
}

void layer_fail(struct layer_context *context, const struct layer *layer, const char *format, ...)
{
    struct builder *builder = &context->builder;
    va_list arguments;

    if (!status_is_ok(builder->status))
        return;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_INVALID_ARGUMENT, format, arguments);
    va_end(arguments);
    builder->status = status_keep(
        context->arena, status_in(status, "layer '%s' (%s)", layer->name, layer->class->name));
}

bool layer_wants_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank)
{
    if (!status_is_ok(context->builder.status))
        return false;
    const struct shape *shape = endpoint_shape(x);
    bool known = shape->rank == rank;
    for (int i = 1; known && i < rank; i++)
        known = shape->dims[i] >= 0;
    if (!known)
        layer_fail(context, layer, "the input has shape %s, expected rank %d", shape_text(shape),
                   rank);
    return known;
}

/* Adds λ1 Σ|w| + λ2 Σw² to the penalty. */
static void penalise(struct layer_context *context, const struct regularizer *regularizer,
                     struct endpoint w)
{
    struct builder *b = &context->builder;
    const struct {
        const char *op;
        double factor;
    } terms[] = { { "Abs", regularizer->l1 }, { "Square", regularizer->l2 } };
    int32_t axes[SHAPE_RANK_MAX];

    for (size_t i = 0; i < COUNT(terms); i++) {
        if (terms[i].factor == 0 || !status_is_ok(b->status))
            continue;
        int rank = endpoint_shape(w)->rank;
        for (int k = 0; k < rank; k++)
            axes[k] = k;
        struct endpoint all = build_const_ints(b, NULL, rank, axes);
        struct endpoint sum =
            build_binary(b, "Sum", NULL, build_unary(b, terms[i].op, NULL, w), all);
        struct endpoint term =
            build_binary(b, "Mul", NULL, sum, build_const_float(b, NULL, (float)terms[i].factor));
        context->penalty = context->penalty.node == NULL
                               ? term
                               : build_binary(b, "AddV2", NULL, context->penalty, term);
    }
}

/* The variable of an earlier call of the layer; NULL: none. */
static const struct layers_variable *find_variable(const struct layers_graph *graph,
                                                   const struct layer *layer, const char *name)
{
    for (int i = 0; i < graph->variables_count; i++)
        if (graph->variables[i].layer == layer && strcmp(graph->variables[i].name, name) == 0)
            return &graph->variables[i];
    return NULL;
}

struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape)
{
    struct builder *b = &context->builder;
    struct layers_graph *out = context->out;
    char *full = arena_printf(context->arena, "%s/%s", layer->name, name);
    const struct layers_variable *earlier = find_variable(out, layer, full);
    if (earlier != NULL) {
        if (!shape_equal(&earlier->shape, &shape))
            layer_fail(context, layer,
                       "its variable '%s' has shape %s; another call of the layer wants %s", full,
                       shape_text(&earlier->shape), shape_text(&shape));
        return earlier->value;
    }
    const struct attr handle_attrs[] = { attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape),
                                         attr_text("shared_name", full), ATTR_END };
    const struct attr read_attrs[] = { attr_type("dtype", DT_FLOAT), ATTR_END };

    struct endpoint handle = build(b, "VarHandleOp", name, 0, NULL, handle_attrs);
    if (!status_is_ok(b->status))
        return handle;
    if (strcmp(handle.node->name, full) != 0) {
        layer_fail(context, layer, "the name '%s' is taken", full);
        return handle;
    }
    struct endpoint value =
        build(b, "ReadVariableOp", arena_printf(context->arena, "%s/Read/ReadVariableOp", name), 1,
              &handle, read_attrs);
    out->variables[out->variables_count++] = (struct layers_variable){
        .name = full,
        .dtype = DT_FLOAT,
        .shape = shape,
        .trainable = layer->trainable,
        .initializer =
            layer_arg(layer, arena_printf(context->arena, "%s_initializer", name))->initializer,
        .value = value,
        .layer = layer,
    };
    const struct arg_value *regularizer =
        layer_arg(layer, arena_printf(context->arena, "%s_regularizer", name));
    /* Keras 2 also adds the constant penalty of a frozen layer to the loss. */
    bool penalised = context->mode != LAYERS_SERVE && (layer->trainable || context->keras2);
    if (penalised && !regularizer->is_null)
        penalise(context, &regularizer->regularizer, value);
    return value;
}
