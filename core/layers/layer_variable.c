/* layer_variable: the variables of layers, and tables that are read by rows or by keys. */
#include "layers/layer_variable.h"

#include "layers/build_state.h"
#include "layers/classes/lora.h"
#include "layers/classes/spectral.h"

/* Finds the variable of an earlier call of the layer; NULL: none. */
static struct layers_variable *find_variable(const struct layers_graph *graph,
                                             const struct layer *layer, const char *name)
{
    for (int i = 0; i < graph->variables_count; i++)
        if (graph->variables[i].layer == layer && strcmp(graph->variables[i].name, name) == 0)
            return &graph->variables[i];
    return NULL;
}

/* The value that layers compute with. */
static struct endpoint value_of(const struct layers_variable *variable)
{
    int count = variable->divided_count;

    return count > 0 ? variable->divided[count - 1] : variable->value;
}

/* Finds the variable whose value this is, as layer_variable returns it; NULL: none. */
static struct layers_variable *variable_at(struct layers_graph *graph, struct endpoint value)
{
    while (value.node != NULL && strcmp(value.node->op_name, "Cast") == 0)
        value = value.node->inputs[0]; /* the layer computes with a rounded value */
    for (int i = 0; i < graph->variables_count; i++)
        if (graph->variables[i].value.node == value.node ||
            (value.node != NULL && value_of(&graph->variables[i]).node == value.node))
            return &graph->variables[i];
    return NULL;
}

void layer_constrain(struct layer_context *context, const struct layer *layer,
                     struct endpoint value, const char *prefix)
{
    struct layers_variable *variable = variable_at(context->build->out, value);
    const struct arg_value *choice =
        layer_arg(layer, arena_printf(context->arena, "%s_constraint", prefix));

    if (variable == NULL || !variable->trainable || choice->is_null)
        return;
    struct status status =
        constraint_choose(&choice->constraint, variable->shape.rank, &variable->constraint);
    if (!status_is_ok(status))
        layer_fail(context, layer, "argument '%s_constraint': %s", prefix, status.message);
}

void layer_set_ones(struct layer_context *context, struct endpoint value, int64_t begin,
                    int64_t end)
{
    struct layers_variable *variable = variable_at(context->build->out, value);

    if (variable == NULL)
        return;
    variable->initializer.ones_begin = begin;
    variable->initializer.ones_end = end;
}

/* The one value that moves an average as far as two updates one after the other: with momenta p and
 * q, x becomes (xp + (1 - p)a)q + (1 - q)b, which is xpq + (1 - pq)c. */
static struct endpoint join_updates(struct builder *b, struct endpoint first, double p,
                                    struct endpoint second, double q)
{
    if (p * q == 1)
        return second; /* neither moves it */
    double share = (1 - q) / (1 - p * q);
    return build_binary(b, "AddV2", NULL, build_by_number(b, "Mul", first, 1 - share),
                        build_by_number(b, "Mul", second, share));
}

struct average_update {
    struct endpoint variable, value;
    double momentum;
    struct average_update *next;
};

void layer_move_average(struct layer_context *context, struct endpoint variable,
                        struct endpoint update, double momentum)
{
    struct average_update *added = ARENA_NEW(context->arena, struct average_update);
    struct build_state *build = context->build;

    *added = (struct average_update){ .variable = variable, .value = update, .momentum = momentum };
    *(build->averages_end != NULL ? build->averages_end : &build->averages) = added;
    build->averages_end = &added->next;
}

void layers_join_averages(struct layer_context *context)
{
    struct builder *b = &context->builder;

    for (const struct average_update *u = context->build->averages; u != NULL; u = u->next) {
        struct layers_variable *row = variable_at(context->build->out, u->variable);
        if (row == NULL || !status_is_ok(b->status))
            continue;
        bool moved = row->average.node != NULL;
        row->average =
            moved ? join_updates(b, row->average, row->momentum, u->value, u->momentum) : u->value;
        row->momentum = moved ? row->momentum * u->momentum : u->momentum;
    }
}

struct endpoint layer_variable(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape)
{
    return layer_variable_of(context, layer, name, name, shape);
}

/* Is the variable trained? With LoRA, a kernel is not. */
static bool is_trained(const struct layer *layer, const char *prefix)
{
    return layer->trainable && (strcmp(prefix, "bias") == 0 || !layer_has_lora(layer));
}

struct endpoint layer_variable_of(struct layer_context *context, const struct layer *layer,
                                  const char *name, const char *prefix, struct shape shape)
{
    const struct arg_value *initializer =
        layer_arg(layer, arena_printf(context->arena, "%s_initializer", prefix));
    const struct arg_value *regularizer =
        layer_arg(layer, arena_printf(context->arena, "%s_regularizer", prefix));

    struct endpoint value = layer_variable_with(
        context, layer, name, shape, &initializer->initializer,
        regularizer->is_null ? NULL : &regularizer->regularizer, is_trained(layer, prefix));
    layer_constrain(context, layer, value, prefix);
    return value;
}

/* 2^48: sizes in bytes, and sums of them, then fit into an int64. */
#define VARIABLE_ELEMENTS_MAX ((int64_t)1 << 48)

static bool is_too_large(const struct shape *shape)
{
    int64_t size = 1;

    for (int i = 0; i < shape->rank; i++) {
        if (shape->dims[i] > VARIABLE_ELEMENTS_MAX / size)
            return true;
        size *= shape->dims[i] > 0 ? shape->dims[i] : 1;
    }
    return false;
}

static struct layers_variable *add_variable(struct layer_context *context)
{
    struct build_state *build = context->build;
    struct layers_graph *out = build->out;

    if (out->variables_count == build->variables_capacity) {
        build->variables_capacity = 2 * build->variables_capacity + 8;
        struct layers_variable *larger =
            ARENA_ARRAY(context->arena, struct layers_variable, build->variables_capacity);
        if (out->variables_count > 0)
            memcpy(larger, out->variables, (size_t)out->variables_count * sizeof *larger);
        out->variables = larger;
    }
    return &out->variables[out->variables_count++];
}

/* Finds the variable "<layer>/<name>" of an earlier call of the layer, or adds one without a
 * value. NULL: failure. */
static struct layers_variable *declare(struct layer_context *context, const struct layer *layer,
                                       const char *name, enum dtype dtype,
                                       const struct shape *shape)
{
    struct layers_graph *out = context->build->out;
    const char *full = arena_printf(context->arena, "%s/%s", layer->name, name);
    struct layers_variable *variable = find_variable(out, layer, full);

    if (!status_is_ok(context->builder.status))
        return NULL;
    if (variable != NULL && shape_equal(&variable->shape, shape))
        return variable;
    if (variable != NULL)
        layer_fail(context, layer,
                   "its variable '%s' has shape %s; another call of the layer wants %s", full,
                   shape_text(&variable->shape), shape_text(shape));
    else if (is_too_large(shape))
        layer_fail(context, layer, "a variable '%s' of shape %s is too large", full,
                   shape_text(shape));
    if (!status_is_ok(context->builder.status))
        return NULL;
    variable = add_variable(context);
    *variable =
        (struct layers_variable){ .name = full, .dtype = dtype, .shape = *shape, .layer = layer };
    return variable;
}

/* Adds the variable's node to the graph, and returns its value. */
static struct endpoint build_variable(struct layer_context *context, const struct layer *layer,
                                      const char *name, const struct layers_variable *variable)
{
    struct builder *b = &context->builder;
    const struct attr handle_attrs[] = { attr_type("dtype", variable->dtype),
                                         attr_shape("shape", &variable->shape),
                                         attr_text("shared_name", variable->name), ATTR_END };
    const struct attr read_attrs[] = { attr_type("dtype", variable->dtype), ATTR_END };

    struct endpoint handle = build(b, "VarHandleOp", name, 0, NULL, handle_attrs);
    if (!status_is_ok(b->status))
        return handle;
    if (strcmp(handle.node->name, variable->name) != 0) {
        layer_fail(context, layer, "the name '%s' is taken", variable->name);
        return handle;
    }
    return build(b, "ReadVariableOp", arena_printf(context->arena, "%s/Read/ReadVariableOp", name),
                 1, &handle, read_attrs);
}

/* Keras would broadcast the variable to an array that is larger. */
static void set_initializer(struct layer_context *context, const struct layer *layer,
                            struct layers_variable *variable, const struct initializer *initializer)
{
    if (!initializer_fits(initializer, &variable->shape))
        layer_fail(context, layer, "an initial value of shape %s for a variable of shape %s",
                   shape_text(&initializer->array.shape), shape_text(&variable->shape));
    variable->initializer = *initializer;
}

/* The value of a variable as the layer's policy has it. Each use is a cast of its own, as in Keras:
 * their gradients are summed as floats. */
static struct endpoint round_variable(struct layer_context *context, struct endpoint value)
{
    struct builder *b = &context->builder;
    const enum dtype type = context->build->rounds_variables;

    if (type == DT_INVALID || value.node == NULL || !status_is_ok(b->status))
        return value;
    const enum dtype before = builder_set_float(b, DT_FLOAT);
    value = build_cast(b, NULL, value, type);
    if (before == DT_INVALID)
        value = build_cast(b, NULL, value, DT_FLOAT);
    builder_set_float(b, before);
    return value;
}

static struct endpoint float_variable(struct layer_context *context, const struct layer *layer,
                                      const char *name, struct shape shape,
                                      const struct initializer *initializer,
                                      const struct regularizer *regularizer, bool trainable)
{
    if (!shape_is_known(&shape))
        layer_fail(context, layer,
                   "its variable '%s' would have the shape %s, because the input's is open: give "
                   "the InputLayer sizes instead of null",
                   name, shape_text(&shape));
    struct layers_variable *variable = declare(context, layer, name, DT_FLOAT, &shape);

    if (variable == NULL)
        return (struct endpoint){ 0 };
    int number = (int)(variable - context->build->out->variables);
    bool divides = spectral_divides(context, layer, name);
    if (divides && context->build->rounds_variables != DT_INVALID)
        layer_refuse(context, layer, "a policy of 16 bits inside a SpectralNormalization");
    if (variable->value.node != NULL)
        return divides ? spectral_build_divided(context, number) : value_of(variable);
    variable->trainable = trainable;
    set_initializer(context, layer, variable, initializer);
    struct endpoint value = variable->value = build_variable(context, layer, name, variable);
    if (divides) {
        value = spectral_build_divided(context, number);
        variable = &context->build->out->variables[number]; /* the list may have moved */
    }
    /* Keras 2 also adds the constant penalty of a frozen layer to the loss. */
    bool penalised = context->mode != LAYERS_SERVE && (trainable || context->keras2);
    if (penalised && regularizer != NULL && variable->divided_count > 0)
        variable->divided_penalty = regularizer;
    else if (penalised && regularizer != NULL)
        layer_penalise_variable(context, regularizer, value);
    return value;
}

struct endpoint layer_variable_with(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct shape shape,
                                    const struct initializer *initializer,
                                    const struct regularizer *regularizer, bool trainable)
{
    const enum dtype before = builder_set_float(&context->builder, DT_FLOAT);
    struct endpoint value =
        float_variable(context, layer, name, shape, initializer, regularizer, trainable);

    builder_set_float(&context->builder, before);
    return round_variable(context, value);
}

/* ---- tables that are read by rows ---- */

static struct row_lookup *add_lookup(struct layer_context *context)
{
    struct layers_graph *out = context->build->out;

    out->lookups = ARENA_ROOM(context->arena, out->lookups, out->lookups_count);
    return &out->lookups[out->lookups_count++];
}

/* Looks up rows through the trainer, which replaces ids by positions. */
static struct layer_table look_up(struct layer_context *context, struct layers_variable *variable,
                                  const char *name, struct endpoint ids)
{
    struct builder *b = &context->builder;
    struct row_lookup *lookup = add_lookup(context);
    struct shape rows = variable->shape;

    rows.dims[0] = -1;
    if (variable->value.node == NULL)
        variable->value = build_placeholder(b, arena_printf(context->arena, "%s/rows", name),
                                            variable->dtype, rows);
    *lookup = (struct row_lookup){
        .variable = (int)(variable - context->build->out->variables),
        .ids = ids,
        .positions = build_placeholder(b, arena_printf(context->arena, "%s/positions", name),
                                       DT_INT64, *endpoint_shape(ids)),
    };
    return (struct layer_table){ variable->value, lookup->positions };
}

struct layer_table layer_table(struct layer_context *context, const struct layer *layer,
                               const char *name, struct shape shape, struct endpoint ids)
{
    struct arena *arena = context->arena;
    const struct arg_value *initializer =
        layer_arg(layer, arena_printf(arena, "%s_initializer", name));
    bool whole = !layer_arg(layer, arena_printf(arena, "%s_regularizer", name))->is_null ||
                 !layer_arg(layer, arena_printf(arena, "%s_constraint", name))->is_null ||
                 spectral_divides(context, layer, name);

    if (!status_is_ok(context->builder.status))
        return (struct layer_table){ 0 };
    if (context->mode == LAYERS_SERVE || whole ||
        !initializer_is_by_rows(&initializer->initializer))
        return (struct layer_table){ layer_variable(context, layer, name, shape), ids };
    struct layers_variable *variable = declare(context, layer, name, DT_FLOAT, &shape);
    if (variable == NULL)
        return (struct layer_table){ 0 };
    variable->trainable = is_trained(layer, name);
    set_initializer(context, layer, variable, &initializer->initializer);
    variable->by_rows = true;
    struct layer_table table = look_up(context, variable, name, ids);
    table.values = round_variable(context, table.values);
    return table;
}

struct endpoint layer_gather(struct layer_context *context, struct layer_table table)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { table.values, table.places, build_const_int(b, 0) };

    return build(b, "GatherV2", "GatherV2", 3, inputs, NULL);
}

struct endpoint layer_rows(struct layer_context *context, const struct layer *layer,
                           const char *name, struct shape shape, struct endpoint ids)
{
    return layer_gather(context, layer_table(context, layer, name, shape, ids));
}

/* ---- hash tables ---- */

/* A variable of a served table, whose length is known at export. */
static struct endpoint served_variable(struct layer_context *context, const struct layer *layer,
                                       const char *name, enum dtype dtype, struct shape shape)
{
    struct layers_variable *variable = declare(context, layer, name, dtype, &shape);

    if (variable == NULL)
        return (struct endpoint){ 0 };
    variable->trainable = dtype == DT_FLOAT;
    if (variable->value.node == NULL)
        variable->value = build_variable(context, layer, name, variable);
    return variable->value;
}

/* The table from keys to rows 1, 2, …; all other keys map to row 0. Every call of the layer
 * shares it. */
static struct endpoint places_table(struct layer_context *context, const struct layer *layer,
                                    const char *name, struct endpoint keys)
{
    struct builder *b = &context->builder;
    const char *own = arena_printf(context->arena, "%s/table", name);
    const char *full = arena_printf(context->arena, "%s/%s", layer->name, own);
    const struct attr attrs[] = { attr_type("key_dtype", DT_INT64),
                                  attr_type("value_dtype", DT_INT64),
                                  attr_text("shared_name", full), ATTR_END };
    struct node *earlier = graph_find(b->graph, full);

    if (earlier != NULL)
        return (struct endpoint){ earlier, 0 };
    struct endpoint table = build(b, "HashTableV2", own, 0, NULL, attrs);
    struct endpoint one = build_const_int64(b, 1);
    struct endpoint count =
        build(b, "Size", NULL, 1, &keys,
              (const struct attr[]){ attr_type("out_type", DT_INT64), ATTR_END });
    const struct endpoint range[] = { one, build_binary(b, "AddV2", NULL, count, one), one };
    const struct endpoint filling[] = { table, keys, build(b, "Range", NULL, 3, range, NULL) };
    layers_add_table(context,
                     build_node(b, "InitializeTableV2", "table_init", 3, filling, 0, NULL, NULL));
    return table;
}

static struct layer_table serve_keys(struct layer_context *context, const struct layer *layer,
                                     const char *name, int64_t width, struct endpoint keys)
{
    struct builder *b = &context->builder;
    struct endpoint all = served_variable(
        context, layer, arena_printf(context->arena, "%s/keys", name), DT_INT64, shape_of(-1));
    struct endpoint values =
        served_variable(context, layer, arena_printf(context->arena, "%s/values", name), DT_FLOAT,
                        shape_of(-1, width));

    if (!status_is_ok(b->status))
        return (struct layer_table){ 0 };
    const struct endpoint find[] = { places_table(context, layer, name, all), keys,
                                     build_const_int64(b, 0) };
    return (struct layer_table){ values, build(b, "LookupTableFindV2", NULL, 3, find, NULL) };
}

struct layer_table layer_key_table(struct layer_context *context, const struct layer *layer,
                                   const char *name, int64_t width,
                                   const struct row_keys_spec *rules, struct endpoint keys)
{
    const struct initializer *initializer =
        &layer_arg(layer, arena_printf(context->arena, "%s_initializer", name))->initializer;
    const struct shape shape = shape_of(-1, width);
    struct row_keys_spec spec = *rules;

    if (!status_is_ok(context->builder.status))
        return (struct layer_table){ 0 };
    struct status status = initializer_for_keys(initializer, width, &spec);
    if (!status_is_ok(status))
        layer_refuse(context, layer, "argument '%s_initializer': %s", name, status.message);
    else if (!layer->trainable)
        layer_refuse(context, layer,
                     "'trainable' is false, and a hash table that is not trained has no rows");
    if (!status_is_ok(context->builder.status))
        return (struct layer_table){ 0 };
    if (context->mode == LAYERS_SERVE)
        return serve_keys(context, layer, name, width, keys);
    struct layers_variable *variable = declare(context, layer, name, DT_FLOAT, &shape);
    if (variable == NULL)
        return (struct layer_table){ 0 };
    spec.seed = initializer->seed;
    variable->trainable = true;
    variable->by_keys = true;
    variable->keys = spec;
    variable->has_seed = initializer->has_seed;
    return look_up(context, variable, name, keys);
}
