/*
 * functional: reads how the layers of a Functional model are connected. Each layer has a list of
 * calls ("inbound_nodes"), and each call a list of tensors, named by layer, call of that layer, and
 * output of that call:
 *
 *     Keras 3  {"args": [T or [T, …]], "kwargs": {…}}, T = {"class_name": "__keras_tensor__",
 *              "config": {"keras_history": ["dense", 0, 0], …}}
 *     Keras 2  [["dense", 0, 0, {kwargs}], …]
 */
#include "layers/functional.h"
#include "layers/classes/classes.h"
#include "layers/read_layer.h"

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

/* ---- the order ---- */

static bool is_ready(const struct connections *c, const struct file_call *call)
{
    for (int i = 0; i < call->inputs_count; i++)
        if (call->inputs[i].call != NO_CALL && c->calls[call->inputs[i].call].place < 0)
            return false;
    return call->place < 0;
}

static void append_call(const struct connections *c, struct file_call *call,
                        struct layers_model *model)
{
    struct layer_call *placed = &model->calls[model->calls_count];

    *placed = (struct layer_call){ .layer = &model->layers[call->layer],
                                   .inputs = call->inputs,
                                   .inputs_count = call->inputs_count,
                                   .constants = call->constants,
                                   .constants_count = call->constants_count };
    for (int i = 0; i < call->inputs_count; i++)
        if (placed->inputs[i].call != NO_CALL)
            placed->inputs[i].call = c->calls[call->inputs[i].call].place;
    call->place = model->calls_count++;
}

/* Orders the calls topologically, keeping the file's order otherwise. */
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

/* Makes a name that no earlier port has: "dense", "dense_1", …, as Keras names outputs. */
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

static struct status add_port(const struct connections *c, const char *name,
                              const struct call_input *value, struct layers_port *ports, int *count)
{
    if (*count == PORTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d inputs or outputs of a model",
                            PORTS_MAX);
    name = port_name(ports, *count, name, c->arena);
    ports[(*count)++] = (struct layers_port){ .name = name,
                                              .call = c->calls[value->call].place,
                                              .output = value->output };
    return status_ok();
}

static struct status read_port(const struct connections *c, const struct json_value *history,
                               const char *key, struct layers_port *ports, int *count)
{
    struct call_input value;

    if (!is_history(history))
        return status_error(STATUS_INVALID_ARGUMENT, "got %s, expected [layer, call, output]",
                            json_value_show(history, c->arena));
    TRY(functional_find_value(c, history, true, &value));
    if (key != NULL)
        TRY(check_layer_name(key));
    return add_port(c, key != NULL ? key : history->members[0].text, &value, ports, count);
}

/* Reads Keras' input_layers or output_layers: [name, 0, 0], or a list or an object of these. */
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

/* Without input_layers and output_layers, calls without inputs are the model's inputs, and calls
 * whose outputs are unused are its outputs. */
static struct status guess_ports(const struct connections *c, const struct layers_model *model,
                                 bool inputs, struct layers_port **ports, int *count)
{
    bool *used = ARENA_ARRAY(c->arena, bool, model->calls_count);

    *ports = ARENA_ARRAY(c->arena, struct layers_port, PORTS_MAX);
    for (int i = 0; i < model->calls_count; i++)
        for (int k = 0; k < model->calls[i].inputs_count; k++)
            if (model->calls[i].inputs[k].call != NO_CALL)
                used[model->calls[i].inputs[k].call] = true;
    for (int i = 0; i < c->calls_count; i++) {
        const struct layer_call *call = &model->calls[c->calls[i].place];
        const struct call_input value = { .call = i };
        if (inputs ? call->inputs_count == 0 : !used[c->calls[i].place])
            TRY(add_port(c, call->layer->name, &value, *ports, count));
    }
    return status_ok();
}

/* Checks that exactly the InputLayers are inputs. */
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
        TRY(status_in(input_port_read(&model->layers[layer],
                                      entry_shape(&c->entries->members[layer]), c->arena, port),
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
    TRY(functional_read_calls(&c, model));
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
    functional_find_turns(model, outputs != NULL && outputs->kind == JSON_VALUE_OBJECT, arena);
    TRY(read_input_shapes(&c, model));
    return input_names_check(model);
}
