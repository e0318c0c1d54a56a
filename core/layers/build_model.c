/* build_model: the calls of a model in order, their masks, and the order of its variables. */
#include "layers/build_model.h"

#include "layers/build_state.h"
#include "layers/classes/spectral.h"
#include "layers/layer_variable.h"

struct layer_context layer_context_init(const struct layers_model *model, enum layers_mode mode,
                                        struct arena *arena, struct layers_graph *out)
{
    *out = (struct layers_graph){ .graph = graph_create(arena) };
    out->inputs = ARENA_ARRAY(arena, struct endpoint, model->inputs_count);
    out->lists = ARENA_ARRAY(arena, struct input_lists, model->inputs_count);
    out->heads = ARENA_ARRAY(arena, struct layers_head, model->outputs_count);
    out->adapting = ARENA_ARRAY(arena, struct layers_adapting, model->calls_total);
    struct build_state *build = ARENA_NEW(arena, struct build_state);
    build->out = out;
    build->lists = ARENA_ARRAY(arena, const struct layer_lists *, model->inputs_count);
    return (struct layer_context){
        .builder = builder_init(out->graph),
        .arena = arena,
        .mode = mode,
        .keras2 = model->keras2,
        .any_width = model->training.any_width,
        .build = build,
    };
}

/* The size of a row must fit into an int32, in which kernels count. */
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

/* The entry of a tensor whose mask a call has taken. NULL: none has. */
static struct endpoint *find_unmasked(const struct layer_context *context, struct endpoint value)
{
    struct build_state *build = context->build;

    for (int i = 0; i < build->unmasked_count; i++)
        if (build->unmasked[i].node == value.node && build->unmasked[i].index == value.index)
            return &build->unmasked[i];
    return NULL;
}

static void add_unmasked(struct layer_context *context, struct endpoint value)
{
    struct build_state *build = context->build;

    if (find_unmasked(context, value) != NULL)
        return;
    build->unmasked = ARENA_ROOM(context->arena, build->unmasked, build->unmasked_count);
    build->unmasked[build->unmasked_count++] = value;
}

void give_mask_back(struct layer_context *context, struct endpoint value)
{
    struct endpoint *taken = find_unmasked(context, value);

    if (taken != NULL)
        *taken = (struct endpoint){ 0 };
}

/* A value with the mask that calls see from now on. */
static struct layer_value with_mask_left(const struct layer_context *context,
                                         struct layer_value value)
{
    if (value.mask.node != NULL && find_unmasked(context, value.value) != NULL)
        value.mask = (struct endpoint){ 0 };
    return value;
}

/* Returns the output that a call takes; it must exist. */
static struct layer_value take_value(struct layer_context *context, const struct layer_call *call,
                                     const struct call_input *input, const struct layer_io *ios)
{
    if (input->call == NO_CALL)
        return (struct layer_value){ 0 };
    if (input->output < ios[input->call].outputs_count)
        return with_mask_left(context, ios[input->call].outputs[input->output]);
    layer_fail(context, call->layer, "it takes output %d of layer '%s', which has %d",
               input->output, ios[input->call].call->layer->name, ios[input->call].outputs_count);
    return ios[input->call].outputs[0];
}

void layers_add_table(struct layer_context *context, struct node *fill)
{
    struct layers_graph *out = context->build->out;

    if (fill == NULL)
        return;
    out->tables = ARENA_ROOM(context->arena, out->tables, out->tables_count);
    out->tables[out->tables_count++] = fill;
}

struct node *layers_build_init(struct layer_context *context)
{
    struct layers_graph *out = context->build->out;

    if (out->tables_count == 0)
        return NULL;
    return build_node(&context->builder, "NoOp", "init_all_tables", 0, NULL, out->tables_count,
                      out->tables, NULL);
}

/* Takes away the masks of a call's inputs: no later call sees them, also not through a layer that
 * passes such a tensor on, or outside of a nested model that gets it. */
static void take_masks(struct layer_context *context, const struct layer_call *call,
                       const struct layer_value *inputs)
{
    if (!status_is_ok(context->builder.status) || context->keras2 ||
        !call->layer->class->takes_masks)
        return;
    for (int i = 0; i < call->inputs_count; i++)
        if (inputs[i].mask.node != NULL)
            add_unmasked(context, inputs[i].value);
}

static void build_call(struct layer_context *context, const struct layer_call *call,
                       const struct layer_io *ios, struct layer_io *io)
{
    struct layer_value *inputs =
        ARENA_ARRAY(context->arena, struct layer_value, call->inputs_count);

    for (int i = 0; i < call->inputs_count; i++)
        inputs[i] = take_value(context, call, &call->inputs[i], ios);
    layer_run_call(context, call, inputs, io);
    take_masks(context, call, inputs);
    for (int i = 0; i < io->outputs_count; i++)
        check_size(context, call->layer, io->outputs[i].value);
}

struct layer_value output_of(struct layer_context *context, const struct layers_model *model,
                             const struct layers_port *port, const struct layer_io *ios)
{
    const struct layer_io *io = &ios[port->call];

    if (port->output < io->outputs_count)
        return with_mask_left(context, io->outputs[port->output]);
    layer_fail(context, model->calls[port->call].layer,
               "the model's output '%s' is its output %d, it has %d", port->name, port->output,
               io->outputs_count);
    return io->outputs[0];
}

static void place_outputs(struct layer_context *context, const struct layers_model *model,
                          const struct layer_io *ios)
{
    for (int i = 0; i < model->outputs_count; i++) {
        struct layer_value value = output_of(context, model, &model->outputs[i], ios);
        context->build->out->heads[i].output = value.value;
        context->build->out->heads[i].mask = value.mask;
    }
}

/* The variables that a call created: those of its layer, unless an earlier call created them. */
struct created {
    int begin, end;
};

/* Moves the variables of the list from `begin` on to other places: to[i] is the new one of i. */
static void move_variables(struct layer_context *context, int begin, const int *to)
{
    struct layers_graph *out = context->build->out;
    int count = out->variables_count;
    struct layers_variable *moved = ARENA_ARRAY(context->arena, struct layers_variable, count);

    for (int i = begin; i < count; i++)
        moved[to[i]] = out->variables[i];
    memcpy(&out->variables[begin], &moved[begin], (size_t)(count - begin) * sizeof *moved);
    for (int i = 0; i < out->lookups_count; i++)
        if (out->lookups[i].variable >= begin)
            out->lookups[i].variable = to[out->lookups[i].variable];
}

/* Lists the variables from `begin` on in the order of the description's layers, as Keras does. */
static void order_variables(struct layer_context *context, const struct layers_model *model,
                            const struct created *created, int begin)
{
    struct created *of_layer = ARENA_ARRAY(context->arena, struct created, model->layers_count);
    int count = context->build->out->variables_count, next = begin;
    int *to = ARENA_ARRAY(context->arena, int, count + 1);

    for (int i = 0; i < model->calls_count; i++)
        if (created[i].end > created[i].begin)
            of_layer[model->calls[i].layer - model->layers] = created[i];
    for (int i = 0; i < model->layers_count; i++)
        for (int v = of_layer[i].begin; v < of_layer[i].end; v++)
            to[v] = next++;
    if (next > begin)
        move_variables(context, begin, to);
}

/* Calls run in Keras' order, which decides what masks they see and which of several calls moves an
 * average first. */
void build_calls(struct layer_context *context, const struct layers_model *model,
                 struct layer_io *ios)
{
    struct builder *b = &context->builder;
    struct created *created = ARENA_ARRAY(context->arena, struct created, model->calls_count);
    int begin = context->build->out->variables_count;

    for (int i = 0; i < model->calls_count && status_is_ok(b->status); i++) {
        int at = model->turns != NULL ? model->turns[i] : i;
        const struct layer_call *call = &model->calls[at];
        if (call->inputs_count == 0)
            continue;
        created[at].begin = context->build->out->variables_count;
        build_call(context, call, ios, &ios[at]);
        created[at].end = context->build->out->variables_count;
        if (!status_is_ok(b->status))
            b->status = status_keep(context->arena,
                                    status_in(b->status, "layer %d of '%s'",
                                              (int)(call->layer - model->layers), model->name));
    }
    if (model->turns != NULL && status_is_ok(b->status))
        order_variables(context, model, created, begin);
}

void place_input(struct layer_io *ios, const struct layers_port *port, struct layer_value value)
{
    ios[port->call].outputs[0] = value;
    ios[port->call].outputs_count = 1;
}

void build_layers(struct layer_context *context, const struct layers_model *model)
{
    struct layer_io *ios = ARENA_ARRAY(context->arena, struct layer_io, model->calls_count);

    for (int i = 0; i < model->inputs_count; i++)
        place_input(ios, &model->inputs[i],
                    (struct layer_value){ .value = context->build->out->inputs[i],
                                          .lists = context->build->lists[i] });
    build_calls(context, model, ios);
    spectral_penalise(context);
    layers_join_averages(context);
    if (status_is_ok(context->builder.status))
        place_outputs(context, model, ios);
}
