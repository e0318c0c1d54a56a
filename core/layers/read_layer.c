#include "layers/read_layer.h"

#include <assert.h>
#include <ctype.h>

#include "layers/classes/classes.h"

/* Limit of the layers in one list argument. */
#define INNER_LAYERS_MAX 64

/* Sets the type of a layer's computation; for an InputLayer that of its values. */
static struct status read_layer_dtype(const struct json_value *config, struct arena *arena,
                                      struct layer *out)
{
    const struct json_value *dtype = json_value_get(config, "dtype");
    const struct layer_class *class = out->class;
    enum known_dtypes known = class == &layer_input ? DTYPES_OF_INPUT
                              : class->any_dtype    ? DTYPES_OF_PREPROCESSING
                                                    : DTYPES_OF_FLOAT;
    bool is_argument = false;

    for (int i = 0; i < class->args_count; i++)
        is_argument |= strcmp(class->args[i].name, "dtype") == 0;
    bool has_policy =
        class != &layer_input && !is_argument && !(class->precision & LAYER_REFUSES_16_BITS);
    if (has_policy && !class->any_dtype)
        return policy_read(dtype, arena, &out->dtype);
    if (has_policy && mixed_policy_read(dtype, &out->dtype))
        return status_ok();
    struct status status = dtype_read(dtype, known, arena, &out->dtype);
    if (class->any_dtype && (is_argument || !is_other_float(dtype)))
        return status_ok();
    return status;
}

/* Keras prints it only if it is given, unless the class has an argument of this name. */
#define ACTIVITY_REGULARIZER "activity_regularizer"

/* The keys that the config of any layer may hold. */
static const char *const layer_keys[] = { "name",        "trainable",         "dtype",
                                          "batch_size",  "batch_input_shape", "batch_shape",
                                          "input_shape", "shared_object_id",  ACTIVITY_REGULARIZER,
                                          NULL };

static struct arg_list args_of(const struct layer_class *class)
{
    return (struct arg_list){ class->args, class->args_count, layer_keys };
}

static struct status read_inner_list(const struct json_value *value, int depth, struct arena *arena,
                                     struct arg_value *out)
{
    if (value->kind != JSON_VALUE_LIST || value->count > INNER_LAYERS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "got %s, expected a list of up to %d layers",
                            json_value_show(value, arena), INNER_LAYERS_MAX);
    out->layers.count = value->count;
    out->layers.values = ARENA_ARRAY(arena, struct layer, value->count);
    for (int i = 0; i < value->count; i++)
        TRY(layer_read(&value->members[i], depth, arena, &out->layers.values[i]));
    return status_ok();
}

/* Reads the layers among the arguments, of which args_read only kept the values. */
static struct status read_inner_layers(int depth, struct arena *arena, struct layer *out)
{
    for (int i = 0; i < out->class->args_count; i++) {
        const struct layer_arg *arg = &out->class->args[i];
        const struct json_value *value = out->args[i].value;
        struct status status = status_ok();
        if (arg->kind == ARG_LAYER) {
            out->args[i].layer = ARENA_NEW(arena, struct layer);
            status = layer_read(value, depth, arena, out->args[i].layer);
        } else if (arg->kind == ARG_LAYERS) {
            status = read_inner_list(value, depth, arena, &out->args[i]);
        }
        TRY(status_in(status, "argument '%s'", arg->name));
    }
    return status_ok();
}

/* Reads the penalty of the output of a class that does not declare it. */
static struct status read_activity_regularizer(const struct json_value *config, struct arena *arena,
                                               struct layer *out)
{
    const struct json_value *value = json_value_get(config, ACTIVITY_REGULARIZER);
    const struct arg_list list = args_of(out->class);

    if (json_value_is_null(value) || args_find(&list, out->args, ACTIVITY_REGULARIZER) != NULL)
        return status_ok();
    struct regularizer *regularizer = ARENA_NEW(arena, struct regularizer);
    out->activity_regularizer = regularizer;
    return status_in(regularizer_read(value, arena, regularizer),
                     "argument '" ACTIVITY_REGULARIZER "'");
}

static struct status read_config(const struct json_value *config, int depth, struct arena *arena,
                                 struct layer *out)
{
    const struct json_value *trainable = json_value_get(config, "trainable");

    out->trainable = trainable == NULL || trainable->kind != JSON_VALUE_BOOL || trainable->boolean;
    TRY(read_layer_dtype(config, arena, out));
    const struct arg_list list = args_of(out->class);
    TRY(args_read(&list, config, arena, &out->args));
    TRY(read_activity_regularizer(config, arena, out));
    return read_inner_layers(depth, arena, out);
}

/* Names become parts of node names and checkpoint keys, so only TensorFlow's characters are
 * allowed. */
struct status check_layer_name(const char *name)
{
    bool good = isalnum((unsigned char)name[0]) || name[0] == '.';

    for (const char *at = name; good && *at != '\0'; at++)
        good = isalnum((unsigned char)*at) || strchr("_.-/", *at) != NULL;
    if (!good || strlen(name) > 200)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "name '%.200s' may only have letters, digits, '_', '.', '-'", name);
    return status_ok();
}

/* Is it a class that a user wrote? Keras prints its module, or null and a registered name such as
 * "My>Scale". It may have the name of one of Keras' classes. */
static bool is_of_user(const struct json_value *entry)
{
    const struct json_value *module = json_value_get(entry, "module");
    const char *registered = json_value_get_text(entry, "registered_name");

    if (module == NULL)
        return false;
    if (module->kind == JSON_VALUE_TEXT)
        return strncmp(module->text, "keras", 5) != 0 && strncmp(module->text, "tf_keras", 8) != 0;
    return registered != NULL && strchr(registered, '>') != NULL;
}

struct status layer_read(const struct json_value *entry, int depth, struct arena *arena,
                         struct layer *out)
{
    const char *class_name = json_value_get_text(entry, "class_name");
    const char *module = json_value_get_text(entry, "module");
    const struct json_value *config = json_value_get(entry, "config");
    const char *name = json_value_get_text(config, "name");

    if (class_name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "a layer without class_name: %s",
                            json_value_show(entry, arena));
    if (is_model_class(class_name))
        return inner_model_read(entry, depth, arena, out);
    if (is_of_user(entry))
        return status_error(STATUS_UNIMPLEMENTED,
                            "layer '%.100s' (%.100s) is a class of your own, whose code the "
                            "description does not hold: --from_savedmodel trains what "
                            "keras.Model.export writes",
                            name != NULL ? name : "unnamed", class_name);
    out->class = layer_class_find(module, class_name);
    if (out->class == NULL)
        return layer_class_unknown(module, class_name, arena);
    if (name != NULL)
        TRY(check_layer_name(name));
    out->name = name;
    return status_in(read_config(config, depth, arena, out), "layer '%s' (%s)",
                     name != NULL ? name : "unnamed", class_name);
}

static struct status name_inner(const struct layer *layer, struct layer *inner, bool keras2,
                                struct arena *arena)
{
    if (inner->name == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "layer '%s' (%s): the layer inside it has no name", layer->name,
                            layer->class->name);
    inner->name = keras2 && layer->class->hides_inner
                      ? layer->name
                      : arena_printf(arena, "%s/%s", layer->name, inner->name);
    inner->trainable = inner->trainable && layer->trainable;
    return layer_name_inner(inner, keras2, arena);
}

struct layer *layer_inner(const struct layer *layer, int index)
{
    for (int i = 0; i < layer->class->args_count; i++) {
        struct arg_value *value = &layer->args[i];
        enum arg_kind kind = layer->class->args[i].kind;
        int count = kind == ARG_LAYER ? 1 : kind == ARG_LAYERS ? value->layers.count : 0;
        if (index < count)
            return kind == ARG_LAYER ? value->layer : &value->layers.values[index];
        index -= count;
    }
    bool inside = layer->model != NULL && index < layer->model->layers_count;
    return inside ? &layer->model->layers[index] : NULL;
}

struct status layer_name_inner(struct layer *layer, bool keras2, struct arena *arena)
{
    struct layer *inner;

    for (int i = 0; (inner = layer_inner(layer, i)) != NULL; i++)
        TRY(name_inner(layer, inner, keras2, arena));
    return status_ok();
}

const struct arg_value *layer_arg(const struct layer *layer, const char *name)
{
    const struct arg_list list = args_of(layer->class);
    const struct arg_value *value = args_find(&list, layer->args, name);

    assert(value != NULL);
    return value;
}

const struct arg_value *layer_arg_given(const struct layer *layer, const char *name,
                                        enum arg_kind kind)
{
    for (int i = 0; i < layer->class->args_count; i++) {
        const struct layer_arg *arg = &layer->class->args[i];
        if (arg->kind == kind && strcmp(arg->name, name) == 0 && !layer->args[i].is_null)
            return &layer->args[i];
    }
    return NULL;
}

const struct regularizer *layer_activity_regularizer(const struct layer *layer)
{
    const struct arg_value *declared =
        layer_arg_given(layer, ACTIVITY_REGULARIZER, ARG_REGULARIZER);

    return declared != NULL ? &declared->regularizer : layer->activity_regularizer;
}
