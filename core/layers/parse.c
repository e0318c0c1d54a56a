/* parse: reads the structure of a description: Keras 2 and 3, Sequential models and functional
 * models that are a chain. */
#include <ctype.h>

#include "layers/build_model.h"

/* The entries of the layers in order, and the shape of the input. */
struct chain {
    const struct json_value **entries;
    int count;
    const struct json_value *input_shape; /* NULL: not given */
};

#define LAYERS_MAX 1000

static const struct json_value *shape_of_entry(const struct json_value *entry)
{
    const struct json_value *config = json_value_get(entry, "config");
    const struct json_value *shape = json_value_get(config, "batch_shape");

    return json_value_is_null(shape) ? json_value_get(config, "batch_input_shape") : shape;
}

/* The name of the layer from which the entry gets its only input; NULL: it has no input. Keras 3
 * writes {args: [T], kwargs}, with keras_history in T; Keras 2 [[[layer, node, tensor, …]]]. */
static struct status inbound(const struct json_value *entry, const char **out)
{
    const struct json_value *nodes = json_value_get(entry, "inbound_nodes");

    *out = NULL;
    if (nodes == NULL || nodes->kind != JSON_VALUE_LIST || nodes->count == 0)
        return status_ok();
    const struct json_value *node = &nodes->members[0];
    const struct json_value *tensors =
        node->kind == JSON_VALUE_OBJECT ? json_value_get(node, "args") : node;
    if (nodes->count != 1 || tensors == NULL || tensors->kind != JSON_VALUE_LIST ||
        tensors->count != 1)
        return status_error(STATUS_UNIMPLEMENTED,
                            "a layer with several inputs or uses; only chains are implemented");
    const struct json_value *tensor = &tensors->members[0];
    const struct json_value *history =
        tensor->kind == JSON_VALUE_OBJECT
            ? json_value_get(json_value_get(tensor, "config"), "keras_history")
            : tensor;
    if (history == NULL || history->kind != JSON_VALUE_LIST || history->count == 0 ||
        history->members[0].kind != JSON_VALUE_TEXT)
        return status_error(STATUS_UNIMPLEMENTED,
                            "a layer with several inputs; only chains are implemented");
    *out = history->members[0].text;
    return status_ok();
}

static const char *entry_name(const struct json_value *entry)
{
    const char *name = json_value_get_text(entry, "name");

    return name != NULL ? name : json_value_get_text(json_value_get(entry, "config"), "name");
}

/* The entry whose input is the layer `name` (NULL: the entry without input). At most one may
 * exist. */
static struct status next_entry(const struct json_value *layers, const char *name,
                                const struct json_value **out)
{
    *out = NULL;
    for (int i = 0; i < layers->count; i++) {
        const char *from;
        TRY(status_in(inbound(&layers->members[i], &from), "layer %d", i));
        bool follows = name == NULL ? from == NULL : from != NULL && strcmp(from, name) == 0;
        if (follows && *out != NULL)
            return status_error(STATUS_UNIMPLEMENTED,
                                name == NULL
                                    ? "several inputs; only chains are implemented"
                                    : "two layers follow '%s'; only chains are implemented",
                                name);
        if (follows)
            *out = &layers->members[i];
    }
    return status_ok();
}

static struct status order_functional(const struct json_value *layers, struct chain *chain)
{
    const char *name = NULL;

    for (chain->count = 0; chain->count < layers->count;) {
        const struct json_value *entry;
        TRY(next_entry(layers, name, &entry));
        if (entry == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the chain of %d layers ends after %d, at '%s'", layers->count,
                                chain->count, name != NULL ? name : "its beginning");
        chain->entries[chain->count++] = entry;
        name = entry_name(entry);
        if (name == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "a layer without a name");
    }
    return status_ok();
}

/* The layer of the output: [name, node, tensor], or a list of such. NULL: it does not name one
 * layer. */
static const char *output_name(const struct json_value *outputs)
{
    const struct json_value *first = outputs;

    if (outputs->kind == JSON_VALUE_LIST && outputs->count == 1)
        first = &outputs->members[0];
    return first->kind == JSON_VALUE_LIST && first->count > 0 &&
                   first->members[0].kind == JSON_VALUE_TEXT
               ? first->members[0].text
               : NULL;
}

static struct status check_output_layers(const struct json_value *outputs, const char *last,
                                         struct arena *arena)
{
    if (json_value_is_null(outputs))
        return status_ok();
    const char *name = output_name(outputs);
    if (name != NULL && strcmp(name, last) == 0)
        return status_ok();
    return status_error(
        STATUS_UNIMPLEMENTED,
        "output_layers is %s; only the last layer's output is implemented, that of '%s'",
        name != NULL ? arena_printf(arena, "'%s'", name) : json_value_show(outputs, arena), last);
}

static struct status order(const struct json_value *root, const char *class_name,
                           struct arena *arena, struct chain *chain)
{
    const struct json_value *config = json_value_get(root, "config");
    const struct json_value *layers = config != NULL && config->kind == JSON_VALUE_LIST
                                          ? config
                                          : json_value_get(config, "layers");

    if (layers == NULL || layers->kind != JSON_VALUE_LIST || layers->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "config.layers is %s, expected a list of layers",
                            json_value_show(layers, arena));
    if (layers->count > LAYERS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%d layers; at most %d", layers->count,
                            LAYERS_MAX);
    chain->entries = ARENA_ARRAY(arena, const struct json_value *, layers->count);
    chain->count = layers->count;
    for (int i = 0; i < layers->count; i++)
        chain->entries[i] = &layers->members[i];
    if (strcmp(class_name, "Sequential") != 0) {
        TRY(order_functional(layers, chain));
        TRY(check_output_layers(json_value_get(config, "output_layers"),
                                entry_name(chain->entries[chain->count - 1]), arena));
    }
    chain->input_shape = shape_of_entry(chain->entries[0]);
    if (json_value_is_null(chain->input_shape))
        chain->input_shape = json_value_get(config, "build_input_shape");
    if (json_value_is_null(chain->input_shape))
        chain->input_shape = json_value_get(json_value_get(root, "build_config"), "input_shape");
    return status_ok();
}

/* [null, 784]: the batch, then the known dimensions. */
static struct status read_input_shape(const struct json_value *value, struct arena *arena,
                                      struct shape *out)
{
    const struct json_value *items = json_value_get(value, "items"); /* a "__tuple__" */
    const struct json_value *list = items != NULL ? items : value;

    if (json_value_is_null(list))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the input's shape is not given: begin with an "
                            "InputLayer, or build the model before printing it");
    if (list->kind != JSON_VALUE_LIST || list->count < 1 || list->count > SHAPE_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "the input's shape is %s",
                            json_value_show(value, arena));
    *out = (struct shape){ .rank = list->count };
    out->dims[0] = -1;
    int64_t size = 1;
    for (int i = 1; i < list->count; i++) {
        const struct json_value *dim = &list->members[i];
        if (dim->kind != JSON_VALUE_INT || dim->integer < 1 || dim->integer > INT32_MAX ||
            (size *= dim->integer) > INT32_MAX)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "dimension %d of the input's shape is %s; it must be known, and the "
                "whole less than 2^31",
                i, json_value_show(dim, arena));
        out->dims[i] = dim->integer;
    }
    return status_ok();
}

/* Keras' name for a layer without one: the class in snake case, numbered from the second on. */
static const char *default_name(const struct layer *layers, int index, struct arena *arena)
{
    const char *class = layers[index].class->name;
    char snake[64];
    size_t size = 0;
    int same = 0;

    for (size_t i = 0; class[i] != '\0' && size + 2 < sizeof snake; i++) {
        bool starts =
            isupper((unsigned char)class[i]) && i > 0 &&
            (islower((unsigned char)class[i - 1]) || islower((unsigned char)class[i + 1]));
        if (starts)
            snake[size++] = '_';
        snake[size++] = (char)tolower((unsigned char)class[i]);
    }
    for (int i = 0; i < index; i++)
        same += layers[i].class == layers[index].class;
    return same == 0 ? arena_memdup(arena, snake, size)
                     : arena_printf(arena, "%.*s_%d", (int)size, snake, same);
}

static struct status read_layers(const struct chain *chain, struct arena *arena,
                                 struct layers_model *out)
{
    out->layers = ARENA_ARRAY(arena, struct layer, chain->count);
    for (int i = 0; i < chain->count; i++) {
        TRY(layer_read(chain->entries[i], arena, &out->layers[i]));
        if (out->layers[i].name == NULL)
            out->layers[i].name = default_name(out->layers, i, arena);
        for (int k = 0; k < i; k++)
            if (strcmp(out->layers[k].name, out->layers[i].name) == 0)
                return status_error(STATUS_INVALID_ARGUMENT, "two layers have the name '%s'",
                                    out->layers[i].name);
        out->layers_count++;
    }
    return status_ok();
}

static struct status parse_root(const struct json_value *root, struct arena *arena,
                                struct layers_model *out)
{
    const char *class_name = json_value_get_text(root, "class_name");
    const char *version = json_value_get_text(root, "keras_version");
    const char *name = json_value_get_text(json_value_get(root, "config"), "name");
    struct chain chain = { 0 };

    if (class_name == NULL ||
        (strcmp(class_name, "Sequential") != 0 && strcmp(class_name, "Functional") != 0 &&
         strcmp(class_name, "Model") != 0))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "class_name is %s; known: Sequential, Functional, Model",
                            json_value_show(json_value_get(root, "class_name"), arena));
    out->keras2 = version != NULL && version[0] == '2';
    out->name = name != NULL ? name : "model";
    TRY(order(root, class_name, arena, &chain));
    TRY(read_layers(&chain, arena, out));
    TRY(read_input_shape(chain.input_shape, arena, &out->input_shape));
    TRY(training_read(root, arena, out));
    return layers_check(out);
}

struct status layers_parse(struct bytes json, struct arena *arena, struct layers_model **out)
{
    struct layers_model *model = ARENA_NEW(arena, struct layers_model);
    const struct json_value *root;

    TRY(status_in(json_value_read_strict(json, arena, &root), "model description"));
    TRY(status_in(parse_root(root, arena, model), "model description"));
    *out = model;
    return status_ok();
}
