/*
 * functional_calls: reads the arguments of layer calls. If a class names its call arguments
 * (call_args), each is found by its name however Keras was called: attention(query, value) and
 * attention(query=query, value=value) are the same.
 */
#include "layers/classes/classes.h"
#include "layers/functional.h"

bool is_history(const struct json_value *value)
{
    return value != NULL && value->kind == JSON_VALUE_LIST && value->count >= 3 &&
           value->count <= 4 && value->members[0].kind == JSON_VALUE_TEXT;
}

/* Does a layer with one output lack this output? Other layers are checked when they are built. */
static bool lacks_output(const struct layer_class *class, const struct json_value *output)
{
    int64_t end = class->call != NULL ? LAYER_OUTPUTS_MAX : 1;

    return output->kind != JSON_VALUE_INT || output->integer < 0 || output->integer >= end;
}

/* Does the layer count its calls from 1, because its call 0 is the one that created it? Keras 2
 * counts those of each nested model so, and Keras 3 those of a Functional one, but only in
 * input_layers and output_layers. */
static bool counts_from_one(const struct connections *c, int layer, bool port)
{
    const struct json_value *entry = &c->entries->members[layer],
                            *nodes = json_value_get(entry, "inbound_nodes");
    const char *class_name = json_value_get_text(entry, "class_name");
    bool lists = json_value_count(nodes) > 0 && nodes->kind == JSON_VALUE_LIST &&
                 nodes->members[0].kind == JSON_VALUE_LIST;

    return (lists && c->model->layers[layer].class == &layer_model) ||
           (port && class_name != NULL && strcmp(class_name, "Functional") == 0);
}

struct status functional_find_value(const struct connections *c, const struct json_value *history,
                                    bool port, struct call_input *out)
{
    const char *name = history->members[0].text;
    const struct json_value *call = &history->members[1], *output = &history->members[2];

    for (int i = 0; i < c->entries->count; i++) {
        const char *of = entry_name(&c->entries->members[i]);
        if (of == NULL || strcmp(of, name) != 0)
            continue;
        const struct layer_class *class = c->model->layers[i].class;
        int first = counts_from_one(c, i, port);
        if (call->kind != JSON_VALUE_INT || call->integer < first ||
            call->integer - first >= c->calls_of[i])
            return status_error(STATUS_INVALID_ARGUMENT, "call %s of layer '%s', which has %d",
                                json_value_show(call, c->arena), name, c->calls_of[i]);
        if (lacks_output(class, output))
            return status_error(STATUS_INVALID_ARGUMENT, "output %s of layer '%s', which has %s",
                                json_value_show(output, c->arena), name,
                                class->call != NULL ? "fewer" : "1");
        *out = (struct call_input){ .call = c->first_call[i] + (int)call->integer - first,
                                    .output = (int)output->integer };
        return status_ok();
    }
    return status_error(STATUS_INVALID_ARGUMENT, "layer '%.200s' does not exist", name);
}

/* `history` NULL: a null in a list. */
static struct status add_input(struct connections *c, struct file_call *call, const char *argument,
                               const struct json_value *history)
{
    if (++c->inputs_count > INPUTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d inputs of layers", INPUTS_MAX);
    if (call->inputs_count == call->inputs_capacity) {
        call->inputs_capacity = 2 * call->inputs_capacity + 2;
        struct call_input *larger = ARENA_ARRAY(c->arena, struct call_input, call->inputs_capacity);
        if (call->inputs_count > 0)
            memcpy(larger, call->inputs, (size_t)call->inputs_count * sizeof *larger);
        call->inputs = larger;
    }
    struct call_input *input = &call->inputs[call->inputs_count];
    *input = (struct call_input){ .call = NO_CALL };
    if (history != NULL)
        TRY(functional_find_value(c, history, false, input));
    input->argument = argument;
    call->inputs_count++;
    return status_ok();
}

/* The tensor that a value refers to: {"config": {"keras_history": …}}, or a history; NULL: not a
 * tensor. */
static const struct json_value *tensor_of(const struct json_value *value)
{
    const struct json_value *history =
        json_value_get(json_value_get(value, "config"), "keras_history");

    if (is_history(value))
        return value;
    return is_history(history) ? history : NULL;
}

static struct status add_constant(struct connections *c, struct file_call *call,
                                  const char *argument, const struct json_value *value)
{
    if (call->constants_count == call->constants_capacity) {
        call->constants_capacity = 2 * call->constants_capacity + 2;
        struct call_constant *larger =
            ARENA_ARRAY(c->arena, struct call_constant, call->constants_capacity);
        if (call->constants_count > 0)
            memcpy(larger, call->constants, (size_t)call->constants_count * sizeof *larger);
        call->constants = larger;
    }
    call->constants[call->constants_count++] = (struct call_constant){ argument, value };
    return status_ok();
}

/* Does a list hold a tensor? Keys such as x[:, 0] and lists of numbers do not. */
static bool holds_tensor(const struct json_value *list)
{
    for (int i = 0; i < list->count; i++)
        if (tensor_of(&list->members[i]) != NULL)
            return true;
    return false;
}

/* Reads an argument: a tensor, a list of tensors, or a constant. */
static struct status read_argument(struct connections *c, struct file_call *call,
                                   const char *argument, const struct json_value *value)
{
    const struct json_value *tensor = tensor_of(value);

    if (json_value_is_null(value))
        return status_ok();
    if (tensor != NULL)
        return add_input(c, call, argument, tensor);
    if (value->kind != JSON_VALUE_LIST || (argument != NULL && !holds_tensor(value))) {
        if (argument != NULL)
            return add_constant(c, call, argument, value);
        return status_error(STATUS_UNIMPLEMENTED,
                            "an argument of a call is %s; only tensors are implemented",
                            json_value_show(value, c->arena));
    }
    for (int i = 0; i < value->count; i++) {
        tensor = tensor_of(&value->members[i]);
        bool is_null = json_value_is_null(&value->members[i]) && argument != NULL && i > 0;
        if (tensor == NULL && !is_null)
            return status_error(STATUS_UNIMPLEMENTED,
                                "an argument of a call is %s; only tensors are implemented",
                                json_value_show(&value->members[i], c->arena));
        TRY(add_input(c, call, argument, tensor));
    }
    return status_ok();
}

/* The name of a call argument as the class spells it; NULL: no such argument. */
static const char *argument_name(const struct layer_class *class, const char *name)
{
    for (const char *const *known = class->call_args; known != NULL && *known != NULL; known++)
        if (strcmp(*known, name) == 0)
            return *known;
    return NULL;
}

/* Is it null or [null, null], as for the masks of a nested model whose inputs have none? */
static bool is_nothing(const struct json_value *value)
{
    bool nothing =
        json_value_is_null(value) || (value->kind == JSON_VALUE_LIST && value->count > 0);

    for (int i = 0; nothing && value->kind == JSON_VALUE_LIST && i < value->count; i++)
        nothing = json_value_is_null(&value->members[i]);
    return nothing;
}

/* Keras 3 ignores the call argument 'training', because fit, evaluate and predict override it.
 * In Keras 2, whose nodes are lists, training=False turns dropout off for good. */
static struct status read_keyword(struct connections *c, struct file_call *call, const char *key,
                                  const struct json_value *value)
{
    const struct layer_class *class = c->model->layers[call->layer].class;
    const char *argument = argument_name(class, key);
    bool is_tensor = tensor_of(value) != NULL;

    if (is_nothing(value))
        return status_ok();
    if (strcmp(key, "training") == 0 && value->kind == JSON_VALUE_BOOL &&
        call->node->kind == JSON_VALUE_OBJECT)
        return status_ok();
    if (argument == NULL && strcmp(key, "mask") == 0 && is_tensor && class->mask != NULL)
        argument = "mask";
    if (argument == NULL && class->more_call_args)
        argument = key;
    if (argument == NULL && !(strcmp(key, "inputs") == 0 && class->call_args == NULL))
        return status_error(STATUS_UNIMPLEMENTED,
                            "argument '%.100s' of a call is %s, which is not implemented", key,
                            is_tensor ? "a tensor" : json_value_show(value, c->arena));
    int before = call->inputs_count;
    TRY(read_argument(c, call, argument, value));
    for (int i = before; i < call->inputs_count; i++)
        call->inputs[i].keyword = key;
    return status_ok();
}

static struct status read_keywords(struct connections *c, struct file_call *call,
                                   const struct json_value *keywords)
{
    if (keywords == NULL || keywords->kind != JSON_VALUE_OBJECT)
        return status_ok();
    for (int i = 0; i < keywords->count; i++)
        TRY(read_keyword(c, call, keywords->keys[i], &keywords->members[i]));
    return status_ok();
}

/* Reads Keras 3's positional arguments. */
static struct status read_args(struct connections *c, struct file_call *call,
                               const struct json_value *args)
{
    const char *const *names = c->model->layers[call->layer].class->call_args;

    for (int i = 0; i < args->count; i++) {
        const char *argument = names != NULL ? *names : NULL;
        if (names != NULL && argument == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "a call has %d arguments, expected %d",
                                args->count, i);
        TRY(read_argument(c, call, argument, &args->members[i]));
        names += names != NULL;
    }
    return status_ok();
}

/* Reads Keras 2's list of histories: the first argument, with the other arguments as keywords of
 * the first history. */
static struct status read_histories(struct connections *c, struct file_call *call,
                                    const struct json_value *node)
{
    const char *const *names = c->model->layers[call->layer].class->call_args;

    for (int i = 0; i < node->count; i++) {
        const struct json_value *history = &node->members[i];
        if (!is_history(history))
            return status_error(STATUS_UNIMPLEMENTED,
                                "an argument of a call is %s; only tensors are implemented",
                                json_value_show(history, c->arena));
        TRY(add_input(c, call, names != NULL ? names[0] : NULL, history));
        if (history->count == 4)
            TRY(read_keywords(c, call, &history->members[3]));
    }
    return status_ok();
}

static struct status read_node(struct connections *c, struct file_call *call)
{
    const struct json_value *node = call->node;
    bool keras3 = node->kind == JSON_VALUE_OBJECT;
    const struct json_value *args = keras3 ? json_value_get(node, "args") : node;

    if (args == NULL || args->kind != JSON_VALUE_LIST)
        return status_error(STATUS_INVALID_ARGUMENT, "inbound_nodes has %s, expected a list",
                            json_value_show(node, c->arena));
    if (!keras3)
        return read_histories(c, call, args);
    TRY(read_args(c, call, args));
    return read_keywords(c, call, json_value_get(node, "kwargs"));
}

/* The number of tensors that are not named arguments. */
static int positional_count(const struct file_call *call)
{
    int count = 0;

    for (int i = 0; i < call->inputs_count; i++)
        count += call->inputs[i].argument == NULL;
    return count;
}

static struct status check_inputs_count(const struct layer *layer, const struct file_call *call)
{
    const struct layer_class *class = layer->class;
    bool named = class->call_args != NULL;
    bool several = named || class->merge != NULL || class == &layer_model;
    int count = named ? call->inputs_count : positional_count(call);

    if (count > 0 && (several || count == 1))
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "layer '%s' (%s) has %d inputs, expected %s",
                        layer->name, class->name, count, several ? "at least 1" : "1");
}

struct status functional_read_calls(struct connections *c, const struct layers_model *model)
{
    c->model = model;
    for (int i = 0; i < c->calls_count; i++) {
        struct file_call *call = &c->calls[i];
        const struct layer *layer = &model->layers[call->layer];
        if (call->node == NULL)
            continue;
        TRY(status_in(read_node(c, call), "layer '%s' (%s)", layer->name, layer->class->name));
        TRY(check_inputs_count(layer, call));
    }
    return status_ok();
}
