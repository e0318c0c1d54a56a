/* parse: reads the structure of a description: Keras 2 and 3, Sequential and Functional models. */
#include <ctype.h>

#include "layers/build_model.h"
#include "layers/classes/classes.h"
#include "layers/read_layer.h"
#include "layers/read_model.h"

#define LAYERS_MAX 1000
#define DEPTH_MAX  16 /* models inside models */

const struct json_value *entry_shape(const struct json_value *entry)
{
    const struct json_value *config = json_value_get(entry, "config");
    const struct json_value *shape = json_value_get(config, "batch_shape");

    return json_value_is_null(shape) ? json_value_get(config, "batch_input_shape") : shape;
}

const char *entry_name(const struct json_value *entry)
{
    const char *name = json_value_get_text(entry, "name");

    return name != NULL ? name : json_value_get_text(json_value_get(entry, "config"), "name");
}

/* Keras' default name of a layer: the class in snake case, numbered from the second on. */
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

static bool is_root_name(const char *class_name)
{
    return class_name != NULL &&
           (strcmp(class_name, "Sequential") == 0 || strcmp(class_name, "Functional") == 0 ||
            strcmp(class_name, "Model") == 0);
}

/* Is it a class that calls its layers one after the other? Keras does not count a Pipeline as a
 * model, but inside a model it computes what a Sequential model does, and its variables have the
 * same names. */
static bool is_chain_name(const char *class_name)
{
    return strcmp(class_name, "Sequential") == 0 || strcmp(class_name, "Pipeline") == 0;
}

bool is_model_class(const char *class_name)
{
    return is_root_name(class_name) || is_chain_name(class_name);
}

static struct status read_structure(const struct json_value *root, int depth, struct arena *arena,
                                    struct layers_model *out);

struct status inner_model_read(const struct json_value *entry, int depth, struct arena *arena,
                               struct layer *out)
{
    const struct json_value *trainable =
        json_value_get(json_value_get(entry, "config"), "trainable");

    if (depth == DEPTH_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "more than %d models inside each other",
                            DEPTH_MAX);
    *out = (struct layer){ .class = &layer_model,
                           .name = entry_name(entry),
                           .dtype = DT_FLOAT,
                           .model = ARENA_NEW(arena, struct layers_model) };
    out->trainable = trainable == NULL || trainable->kind != JSON_VALUE_BOOL || trainable->boolean;
    if (out->name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "a model inside a model without a name");
    TRY(check_layer_name(out->name));
    return status_in(read_structure(entry, depth + 1, arena, out->model), "model '%s'", out->name);
}

static struct status read_layers(const struct json_value *layers, int depth, struct arena *arena,
                                 struct layers_model *out)
{
    if (layers == NULL || layers->kind != JSON_VALUE_LIST || layers->count == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "config.layers is %s, expected a list of layers",
                            json_value_show(layers, arena));
    if (layers->count > LAYERS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%d layers; at most %d", layers->count,
                            LAYERS_MAX);
    out->layers = ARENA_ARRAY(arena, struct layer, layers->count);
    for (int i = 0; i < layers->count; i++) {
        const struct json_value *entry = &layers->members[i];
        TRY(layer_read(entry, depth, arena, &out->layers[i]));
        const struct layer_class *class = out->layers[i].class;
        if (class->build == NULL && class->merge == NULL && class->call == NULL)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "a %s can only be inside another layer, such as RNN", class->name);
        if (out->layers[i].name == NULL)
            out->layers[i].name = default_name(out->layers, i, arena);
        for (int k = 0; k < i; k++)
            if (strcmp(out->layers[k].name, out->layers[i].name) == 0)
                return status_error(STATUS_INVALID_ARGUMENT, "two layers have the name '%s'",
                                    out->layers[i].name);
        if (depth == 0)
            TRY(layer_name_inner(&out->layers[i], out->keras2, arena));
        out->layers_count++;
    }
    return status_ok();
}

static struct layers_port *only_port(struct arena *arena, const char *name, int call)
{
    struct layers_port *port = ARENA_NEW(arena, struct layers_port);

    *port = (struct layers_port){ .name = name, .call = call };
    return port;
}

/* Connects each layer to the one before it. The first call is the input. */
static void connect_chain(struct arena *arena, struct layers_model *out)
{
    int begin = out->layers[0].class == &layer_input ? 0 : 1; /* 1: there is no InputLayer */

    out->calls_count = begin + out->layers_count;
    out->calls = ARENA_ARRAY(arena, struct layer_call, out->calls_count);
    for (int i = 1; i < out->calls_count; i++) {
        const struct layer *layer = &out->layers[i - begin];
        struct call_input *input = ARENA_NEW(arena, struct call_input);
        input->call = i - 1;
        input->argument = layer->class->call_args != NULL ? layer->class->call_args[0] : NULL;
        out->calls[i] = (struct layer_call){ .layer = layer, .inputs = input, .inputs_count = 1 };
    }
    out->inputs = only_port(arena, begin == 0 ? out->layers[0].name : "x", 0);
    out->outputs = only_port(arena, out->layers[out->layers_count - 1].name, out->calls_count - 1);
    out->inputs_count = out->outputs_count = 1;
}

static struct status read_sequence(const struct json_value *root, const struct json_value *layers,
                                   int depth, struct arena *arena, struct layers_model *out)
{
    const struct json_value *shape = entry_shape(&layers->members[0]);

    if (json_value_is_null(shape))
        shape = json_value_get(json_value_get(root, "config"), "build_input_shape");
    if (json_value_is_null(shape))
        shape = json_value_get(json_value_get(root, "build_config"), "input_shape");
    connect_chain(arena, out);
    bool has_input = out->layers[0].class == &layer_input;
    if (json_value_is_null(shape) && depth > 0 && !has_input)
        return status_ok(); /* its input has one when it is called */
    return input_port_read(has_input ? &out->layers[0] : NULL, shape, arena, &out->inputs[0]);
}

/* The calls of the models inside a layer. */
static int inner_calls(const struct layer *layer)
{
    const struct layer *inner;
    int count = 0;

    if (layer->model != NULL)
        return layer->model->calls_total;
    for (int i = 0; (inner = layer_inner(layer, i)) != NULL; i++)
        count += inner_calls(inner);
    return count;
}

/* Counts a model's layer calls, including nested models. */
static struct status count_calls(struct layers_model *model)
{
    for (int i = 0; i < model->calls_count; i++) {
        const struct layer_call *call = &model->calls[i];
        model->calls_total += 1 + (call->inputs_count > 0 ? inner_calls(call->layer) : 0);
        if (model->calls_total > CALLS_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED,
                                "more than %d calls of layers, with those of models inside the "
                                "model",
                                CALLS_MAX);
    }
    return status_ok();
}

/* Reads the layers and their connections. */
static struct status read_structure(const struct json_value *root, int depth, struct arena *arena,
                                    struct layers_model *out)
{
    const char *class_name = json_value_get_text(root, "class_name");
    const struct json_value *config = json_value_get(root, "config");
    const char *name = json_value_get_text(config, "name");

    if (!is_root_name(class_name) && depth == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "class_name is %s; known: Sequential, Functional, Model",
                            json_value_show(json_value_get(root, "class_name"), arena));
    out->name = name != NULL ? name : "model";
    TRY(policy_read(json_value_get(config, "dtype"), arena, &out->policy));
    /* Up to Keras 2.2, the config of a Sequential model is the list of its layers. */
    const struct json_value *layers = config != NULL && config->kind == JSON_VALUE_LIST
                                          ? config
                                          : json_value_get(config, "layers");
    TRY(read_layers(layers, depth, arena, out));
    if (is_chain_name(class_name))
        TRY(read_sequence(root, layers, depth, arena, out));
    else
        TRY(functional_read(config, layers, arena, out));
    return count_calls(out);
}

/* Parses the arguments of Keras' compile. */
static struct status read_compile_config(struct bytes json, struct arena *arena,
                                         const struct json_value **out)
{
    TRY(status_in(json_value_read_python(json, arena, out), "compile_config"));
    if ((*out)->kind == JSON_VALUE_OBJECT)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "compile_config: expected an object, not %s",
                        json_value_show(*out, arena));
}

/* An object with the members of `over`, and those of `base` that `over` does not have. */
static struct json_value merge(const struct json_value *base, const struct json_value *over,
                               struct arena *arena)
{
    const struct json_value *objects[] = { base, over };
    int most = json_value_count(base) + json_value_count(over);
    struct json_value *members = ARENA_ARRAY(arena, struct json_value, most + 1);
    struct json_value merged = { .kind = JSON_VALUE_OBJECT };

    merged.keys = ARENA_ARRAY(arena, const char *, most + 1);
    merged.members = members;
    for (size_t o = 0; o < COUNT(objects); o++) {
        bool is_object = objects[o] != NULL && objects[o]->kind == JSON_VALUE_OBJECT;
        for (int i = 0; is_object && i < objects[o]->count; i++) {
            if (objects[o] == base && json_value_get(over, base->keys[i]) != NULL)
                continue;
            merged.keys[merged.count] = objects[o]->keys[i];
            members[merged.count++] = objects[o]->members[i];
        }
    }
    return merged;
}

/* Does it have a layer of the policy mixed_float16, also in a model inside it? */
static bool has_mixed_float16(const struct layers_model *model)
{
    for (int i = 0; i < model->layers_count; i++) {
        const struct layer *layer = &model->layers[i];
        if (layer->dtype == DT_HALF || (layer->model != NULL && has_mixed_float16(layer->model)))
            return true;
    }
    return false;
}

/* Is its policy mixed_float16? Keras does not print that of a Functional model, which is most often
 * the one of its layers. */
static bool is_mixed_float16(const struct layers_model *model, const struct json_value *config)
{
    return json_value_is_null(json_value_get(config, "dtype")) ? has_mixed_float16(model)
                                                               : model->policy == DT_HALF;
}

/* Does Keras scale the loss? It does unless "auto_scale_loss" is false. */
static bool scales_loss(const struct layers_model *model, const struct json_value *root)
{
    const struct json_value *wanted =
        json_value_get(json_value_get(root, "compile_config"), "auto_scale_loss");
    bool is_off = wanted != NULL && wanted->kind == JSON_VALUE_BOOL && !wanted->boolean;

    return !is_off && is_mixed_float16(model, json_value_get(root, "config"));
}

static struct status parse_root(const struct json_value *root,
                                const struct json_value *compile_config, struct arena *arena,
                                struct layers_model *out)
{
    static const char *key = "compile_config";
    const char *version = json_value_get_text(root, "keras_version");

    out->keras2 = version != NULL && version[0] == '2';
    TRY(read_structure(root, 0, arena, out));
    if (compile_config->count > 0) {
        const struct json_value compiled = merge(json_value_get(root, key), compile_config, arena);
        const struct json_value settings = {
            .kind = JSON_VALUE_OBJECT, .count = 1, .members = &compiled, .keys = &key
        };
        const struct json_value whole = merge(root, &settings, arena);
        TRY(training_read(&whole, arena, out));
        out->training.scales_loss = scales_loss(out, &whole);
    } else {
        TRY(training_read(root, arena, out));
        out->training.scales_loss = scales_loss(out, root);
    }
    return layers_check(out, arena);
}

static struct status wrap(const struct layers_body *body, struct bytes compile_config,
                          struct arena *arena, struct layers_model *out)
{
    struct json_value root = { .kind = JSON_VALUE_OBJECT, .count = 1 };
    struct json_value *member = ARENA_NEW(arena, struct json_value);
    const char **keys = ARENA_ARRAY(arena, const char *, 1);
    const struct json_value *read;

    TRY(read_compile_config(compile_config, arena, &read));
    *member = *read;
    keys[0] = "compile_config";
    root.keys = keys;
    root.members = member;
    *out =
        (struct layers_model){ .name = body->name,
                               .body = body,
                               .flags = body->has_flags ? read : NULL,
                               .inputs_count = body->inputs_count,
                               .inputs = ARENA_ARRAY(arena, struct layers_port, body->inputs_count),
                               .outputs =
                                   ARENA_ARRAY(arena, struct layers_port, body->outputs_count),
                               .outputs_count = body->outputs_count };
    for (int i = 0; i < body->outputs_count; i++)
        out->outputs[i] = (struct layers_port){ .name = body->outputs[i] };
    memcpy(out->inputs, body->inputs, (size_t)body->inputs_count * sizeof *out->inputs);
    return training_read(&root, arena, out);
}

struct status layers_wrap(const struct layers_body *body, struct bytes compile_config,
                          struct arena *arena, struct layers_model **out)
{
    struct layers_model *model = ARENA_NEW(arena, struct layers_model);

    TRY(wrap(body, compile_config, arena, model));
    TRY(layers_check(model, arena));
    *out = model;
    return status_ok();
}

struct status layers_parse_compiled(struct bytes json, struct bytes compile_config, bool has_flags,
                                    struct arena *arena, struct layers_model **out)
{
    struct layers_model *model = ARENA_NEW(arena, struct layers_model);
    const struct json_value *root, *config;

    model->arena = arena;
    TRY(read_compile_config(compile_config, arena, &config));
    model->flags = has_flags ? config : NULL;
    TRY(status_in(json_value_read_python(json, arena, &root), "model description"));
    TRY(status_in(parse_root(root, config, arena, model), "model description"));
    *out = model;
    return status_ok();
}

struct status layers_parse(struct bytes json, struct arena *arena, struct layers_model **out)
{
    return layers_parse_compiled(json, bytes_of("{}"), false, arena, out);
}
