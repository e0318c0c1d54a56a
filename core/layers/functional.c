/*
 * functional: reads how the layers of a Functional model are connected. Each layer has a list of
 * calls ("inbound_nodes"), and each call a list of tensors, named by layer, call of that layer, and
 * output of that call:
 *
 *     Keras 3  {"args": [T or [T, …]], "kwargs": {…}}, T = {"class_name": "__keras_tensor__",
 *              "config": {"keras_history": ["dense", 0, 0], …}}
 *     Keras 2  [["dense", 0, 0, {kwargs}], …]
 */
#include "layers/build_model.h"
#include "layers/layer_classes.h"

/* A call as it stands in the file, before calls are put in order. */
struct file_call {
    int layer;
    const struct json_value *node; /* NULL: an InputLayer */
    int *inputs;                   /* file calls */
    int inputs_count;
    int place; /* in the order of execution; -1: not yet */
};

struct connections {
    struct arena *arena;
    const struct json_value *entries; /* of the layers */
    struct file_call *calls;
    int calls_count, inputs_count;
    int *first_call; /* of each layer */
    int *calls_of;   /* each layer's number of calls */
};

/* ---- the calls ---- */

static const struct json_value *nodes_of(const struct json_value *entry)
{
    const struct json_value *nodes = json_value_get(entry, "inbound_nodes");

    return nodes != NULL && nodes->kind == JSON_VALUE_LIST ? nodes : NULL;
}

static struct status list_calls(struct connections *c, const struct layers_model *model)
{
    size_t total = 0;

    for (int i = 0; i < model->layers_count; i++) {
        const struct json_value *nodes = nodes_of(&c->entries->members[i]);
        total += nodes != NULL && nodes->count > 0 ? (size_t)nodes->count : 1;
    }
    if (total > CALLS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%zu calls of layers; at most %d", total,
                            CALLS_MAX);
    c->calls = ARENA_ARRAY(c->arena, struct file_call, (int)total);
    c->first_call = ARENA_ARRAY(c->arena, int, model->layers_count);
    c->calls_of = ARENA_ARRAY(c->arena, int, model->layers_count);
    for (int i = 0; i < model->layers_count; i++) {
        const struct json_value *nodes = nodes_of(&c->entries->members[i]);
        bool called = nodes != NULL && nodes->count > 0;
        if (!called && model->layers[i].class != &layer_input)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "layer '%s' has no inbound_nodes: it is never called",
                                model->layers[i].name);
        c->first_call[i] = c->calls_count;
        c->calls_of[i] = called ? nodes->count : 1;
        for (int k = 0; k < c->calls_of[i]; k++)
            c->calls[c->calls_count++] = (struct file_call){
                .layer = i, .node = called ? &nodes->members[k] : NULL, .place = -1
            };
    }
    return status_ok();
}

/* ---- what each call takes ---- */

static bool is_history(const struct json_value *value)
{
    return value->kind == JSON_VALUE_LIST && value->count >= 3 && value->count <= 4 &&
           value->members[0].kind == JSON_VALUE_TEXT;
}

/* The file call that a history [layer, call, output] names. */
static struct status find_call(const struct connections *c, const struct json_value *history,
                               int *out)
{
    const char *name = history->members[0].text;
    const struct json_value *call = &history->members[1], *output = &history->members[2];

    for (int i = 0; i < c->entries->count; i++) {
        const char *of = entry_name(&c->entries->members[i]);
        if (of == NULL || strcmp(of, name) != 0)
            continue;
        if (call->kind != JSON_VALUE_INT || call->integer < 0 || call->integer >= c->calls_of[i])
            return status_error(STATUS_INVALID_ARGUMENT, "call %s of layer '%s', which has %d",
                                json_value_show(call, c->arena), name, c->calls_of[i]);
        if (output->kind != JSON_VALUE_INT || output->integer != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "output %s of layer '%s', which has 1",
                                json_value_show(output, c->arena), name);
        *out = c->first_call[i] + (int)call->integer;
        return status_ok();
    }
    return status_error(STATUS_INVALID_ARGUMENT, "layer '%.200s' does not exist", name);
}

static struct status add_input(struct connections *c, struct file_call *call,
                               const struct json_value *history)
{
    int input;

    if (++c->inputs_count > INPUTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d inputs of layers", INPUTS_MAX);
    TRY(find_call(c, history, &input));
    call->inputs[call->inputs_count++] = input;
    return status_ok();
}

/* Arguments of a call other than its inputs may only be null. (training=False, say, would turn
 * dropout off for good.) */
static struct status check_keywords(const struct json_value *keywords, struct arena *arena)
{
    for (int i = 0; keywords != NULL && keywords->kind == JSON_VALUE_OBJECT && i < keywords->count;
         i++) {
        const struct json_value *value = &keywords->members[i];
        if (!json_value_is_null(value))
            return status_error(STATUS_UNIMPLEMENTED,
                                "argument '%.100s' of a call is %s, which is not implemented",
                                keywords->keys[i], json_value_show(value, arena));
    }
    return status_ok();
}

static struct status read_history(struct connections *c, struct file_call *call,
                                  const struct json_value *history)
{
    if (history == NULL || !is_history(history))
        return status_error(STATUS_UNIMPLEMENTED,
                            "an argument of a call is %s; only tensors are implemented",
                            json_value_show(history, c->arena));
    if (history->count == 4)
        TRY(check_keywords(&history->members[3], c->arena));
    return add_input(c, call, history);
}

/* Keras 3's arguments: tensors, and lists of tensors. */
static struct status read_args(struct connections *c, struct file_call *call,
                               const struct json_value *args)
{
    for (int i = 0; i < args->count; i++) {
        const struct json_value *arg = &args->members[i];
        bool list = arg->kind == JSON_VALUE_LIST;
        for (int k = 0; k < (list ? arg->count : 1); k++) {
            const struct json_value *tensor = list ? &arg->members[k] : arg;
            TRY(read_history(c, call,
                             json_value_get(json_value_get(tensor, "config"), "keras_history")));
        }
    }
    return status_ok();
}

static struct status read_node(struct connections *c, struct file_call *call)
{
    const struct json_value *node = call->node, *args = node;

    if (node->kind == JSON_VALUE_OBJECT) {
        args = json_value_get(node, "args");
        TRY(check_keywords(json_value_get(node, "kwargs"), c->arena));
    }
    if (args == NULL || args->kind != JSON_VALUE_LIST)
        return status_error(STATUS_INVALID_ARGUMENT, "inbound_nodes has %s, expected a list",
                            json_value_show(node, c->arena));
    int room = 0;
    for (int i = 0; i < args->count; i++)
        room += args->members[i].kind == JSON_VALUE_LIST ? args->members[i].count : 1;
    call->inputs = ARENA_ARRAY(c->arena, int, room);
    if (node->kind == JSON_VALUE_OBJECT)
        return read_args(c, call, args);
    for (int i = 0; i < args->count; i++)
        TRY(read_history(c, call, &args->members[i]));
    return status_ok();
}

static struct status read_calls(struct connections *c, const struct layers_model *model)
{
    for (int i = 0; i < c->calls_count; i++) {
        struct file_call *call = &c->calls[i];
        const struct layer *layer = &model->layers[call->layer];
        if (call->node == NULL)
            continue;
        TRY(status_in(read_node(c, call), "layer '%s' (%s)", layer->name, layer->class->name));
        if (call->inputs_count == 0 || (layer->class->merge == NULL && call->inputs_count != 1))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "layer '%s' (%s) has %d inputs, expected %s", layer->name,
                                layer->class->name, call->inputs_count,
                                layer->class->merge == NULL ? "1" : "at least 1");
    }
    return status_ok();
}

/* ---- the order ---- */

static bool is_ready(const struct connections *c, const struct file_call *call)
{
    for (int i = 0; i < call->inputs_count; i++)
        if (c->calls[call->inputs[i]].place < 0)
            return false;
    return call->place < 0;
}

static void append_call(const struct connections *c, struct file_call *call,
                        struct layers_model *model)
{
    struct layer_call *placed = &model->calls[model->calls_count];

    *placed =
        (struct layer_call){ &model->layers[call->layer],
                             ARENA_ARRAY(c->arena, int, call->inputs_count), call->inputs_count };
    for (int i = 0; i < call->inputs_count; i++)
        placed->inputs[i] = c->calls[call->inputs[i]].place;
    call->place = model->calls_count++;
}

/* Puts the calls after those whose values they take, otherwise in the order of the file. */
static struct status order_calls(struct connections *c, struct layers_model *model)
{
    model->calls = ARENA_ARRAY(c->arena, struct layer_call, c->calls_count);
    for (int before = -1; before != model->calls_count;) {
        before = model->calls_count;
        for (int i = 0; i < c->calls_count; i++)
            if (is_ready(c, &c->calls[i]))
                append_call(c, &c->calls[i], model);
    }
    for (int i = 0; i < c->calls_count; i++)
        if (c->calls[i].place < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "layer '%s' needs its own output",
                                model->layers[c->calls[i].layer].name);
    return status_ok();
}

/* ---- inputs and outputs ---- */

/* A name that no port before it has: "dense", "dense_1", …, as Keras names outputs. */
static const char *port_name(const struct layers_port *ports, int count, const char *wanted,
                             struct arena *arena)
{
    const char *name = wanted;

    for (int i = 0, suffix = 1; i < count;) {
        if (strcmp(ports[i++].name, name) != 0)
            continue;
        name = arena_printf(arena, "%s_%d", wanted, suffix++);
        i = 0;
    }
    return name;
}

static struct status add_port(const struct connections *c, const char *name, int call,
                              struct layers_port *ports, int *count)
{
    if (*count == PORTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d inputs or outputs of a model",
                            PORTS_MAX);
    name = port_name(ports, *count, name, c->arena);
    ports[(*count)++] = (struct layers_port){ .name = name, .call = call };
    return status_ok();
}

static struct status read_port(const struct connections *c, const struct json_value *history,
                               const char *key, struct layers_port *ports, int *count)
{
    int call;

    if (!is_history(history))
        return status_error(STATUS_INVALID_ARGUMENT, "got %s, expected [layer, call, output]",
                            json_value_show(history, c->arena));
    TRY(find_call(c, history, &call));
    if (key != NULL)
        TRY(check_layer_name(key));
    return add_port(c, key != NULL ? key : history->members[0].text, c->calls[call].place, ports,
                    count);
}

/* Keras' input_layers and output_layers: [name, 0, 0], a list or an object of such. */
static struct status read_ports(const struct connections *c, const struct json_value *list,
                                struct layers_port **ports, int *count)
{
    bool object = list->kind == JSON_VALUE_OBJECT;

    *ports = ARENA_ARRAY(c->arena, struct layers_port, PORTS_MAX);
    if ((!object && list->kind != JSON_VALUE_LIST) || list->count == 0 || is_history(list))
        return read_port(c, list, NULL, *ports, count);
    for (int i = 0; i < list->count; i++)
        TRY(read_port(c, &list->members[i], object ? list->keys[i] : NULL, *ports, count));
    return status_ok();
}

/* Without input_layers and output_layers, calls without inputs are the model's inputs, and those
 * whose values no other call takes are its outputs. */
static struct status guess_ports(const struct connections *c, const struct layers_model *model,
                                 bool inputs, struct layers_port **ports, int *count)
{
    bool *used = ARENA_ARRAY(c->arena, bool, model->calls_count);

    *ports = ARENA_ARRAY(c->arena, struct layers_port, PORTS_MAX);
    for (int i = 0; i < model->calls_count; i++)
        for (int k = 0; k < model->calls[i].inputs_count; k++)
            used[model->calls[i].inputs[k]] = true;
    for (int i = 0; i < model->calls_count; i++)
        if (inputs ? model->calls[i].inputs_count == 0 : !used[i])
            TRY(add_port(c, model->calls[i].layer->name, i, *ports, count));
    return status_ok();
}

/* Every InputLayer is one of the inputs, and no other layer is. */
static struct status check_inputs(const struct connections *c, const struct layers_model *model)
{
    bool *given = ARENA_ARRAY(c->arena, bool, model->calls_count);

    for (int i = 0; i < model->inputs_count; i++) {
        const struct layers_port *port = &model->inputs[i];
        if (model->calls[port->call].inputs_count > 0 || given[port->call])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "input_layers: '%s' is not an InputLayer, or stands there twice",
                                port->name);
        given[port->call] = true;
    }
    for (int i = 0; i < model->calls_count; i++)
        if (model->calls[i].inputs_count == 0 && !given[i])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "InputLayer '%s' is not among the input_layers",
                                model->calls[i].layer->name);
    return status_ok();
}

static struct status read_input_shapes(const struct connections *c, struct layers_model *model)
{
    for (int i = 0; i < model->inputs_count; i++) {
        struct layers_port *port = &model->inputs[i];
        int layer = (int)(model->calls[port->call].layer - model->layers);
        TRY(status_in(
            input_shape_read(entry_shape(&c->entries->members[layer]), c->arena, &port->shape),
            "layer '%s'", model->layers[layer].name));
    }
    return status_ok();
}

struct status functional_read(const struct json_value *config, const struct json_value *layers,
                              struct arena *arena, struct layers_model *model)
{
    struct connections c = { .arena = arena, .entries = layers };
    const struct json_value *inputs = json_value_get(config, "input_layers");
    const struct json_value *outputs = json_value_get(config, "output_layers");

    TRY(list_calls(&c, model));
    TRY(read_calls(&c, model));
    TRY(order_calls(&c, model));
    if (json_value_is_null(inputs))
        TRY(guess_ports(&c, model, true, &model->inputs, &model->inputs_count));
    else
        TRY(status_in(read_ports(&c, inputs, &model->inputs, &model->inputs_count),
                      "input_layers"));
    if (json_value_is_null(outputs))
        TRY(guess_ports(&c, model, false, &model->outputs, &model->outputs_count));
    else
        TRY(status_in(read_ports(&c, outputs, &model->outputs, &model->outputs_count),
                      "output_layers"));
    if (model->inputs_count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "the model has no InputLayer");
    TRY(check_inputs(&c, model));
    return read_input_shapes(&c, model);
}
