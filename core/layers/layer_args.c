/* layer_args: reads the config of a layer by its class's table of arguments. */
#include <assert.h>
#include <ctype.h>

#include "layers/classes/classes.h"
#include "layers/read_layer.h"

/* Limit of the layers in one list argument. */
#define INNER_LAYERS_MAX 64

/* The number of common keys that an error lists. */
#define COMMON_SHOWN 3

bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_')
            a++;
        while (*b == '_')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

const char *named_object(const struct json_value *value, const struct json_value **config)
{
    *config = NULL;
    if (value != NULL && value->kind == JSON_VALUE_TEXT)
        return value->text;
    const char *name = json_value_get_text(value, "class_name");
    if (name != NULL)
        *config = json_value_get(value, "config");
    /* Keras prints one of its functions, such as keras.losses.mean_squared_error, by its name. */
    if (name != NULL && strcmp(name, "function") == 0 && *config != NULL &&
        (*config)->kind == JSON_VALUE_TEXT)
        name = (*config)->text;
    if (*config != NULL && (*config)->kind != JSON_VALUE_OBJECT)
        *config = NULL;
    return name;
}

const struct json_value *list_items(const struct json_value *value)
{
    const char *name = json_value_get_text(value, "class_name");

    if (name == NULL || (strcmp(name, "__tuple__") != 0 && strcmp(name, "TensorShape") != 0))
        return value;
    const struct json_value *items = json_value_get(value, "items");
    return items != NULL ? items : value;
}

const struct json_value *array_items(const struct json_value *value)
{
    const char *name = json_value_get_text(value, "class_name");

    if (name == NULL || (strcmp(name, "__tensor__") != 0 && strcmp(name, "__numpy__") != 0))
        return value;
    return json_value_get(json_value_get(value, "config"), "value");
}

/* Reads nested lists into `out`, depth first. Returns false if they are ragged or hold no
 * numbers. */
static bool read_numbers(const struct json_value *value, int depth, struct shape *shape,
                         struct buffer *out)
{
    double number;

    if (value->kind != JSON_VALUE_LIST) {
        if (depth != shape->rank || !json_value_any_number(value, &number))
            return false;
        const float single = (float)number;
        buffer_append(out, &single, sizeof single);
        return true;
    }
    if (depth == shape->rank) {
        if (out->size > 0 || shape->rank == SHAPE_RANK_MAX)
            return false;
        shape_append(shape, value->count);
    }
    for (int i = 0; i < value->count; i++)
        if (!read_numbers(&value->members[i], depth + 1, shape, out))
            return false;
    return shape->dims[depth] == value->count;
}

bool numbers_read(const struct json_value *value, struct arena *arena, struct tensor *out)
{
    struct shape shape = shape_scalar();
    struct buffer numbers = { 0 };

    value = array_items(value);
    bool good = value != NULL && read_numbers(value, 0, &shape, &numbers);
    if (good)
        *out = tensor_borrow(DT_FLOAT, &shape, arena_memdup(arena, numbers.data, numbers.size));
    buffer_finish(&numbers);
    return good;
}

static struct status wants(const struct json_value *value, struct arena *arena, const char *what)
{
    return status_error(STATUS_INVALID_ARGUMENT, "got %s, expected %s",
                        json_value_show(value, arena), what);
}

/* A limit, because dimensions are products of these. */
#define ARG_INT_MAX 0x7fffffff

static bool positive(const struct json_value *value, int64_t *out)
{
    *out = value != NULL && value->kind == JSON_VALUE_INT ? value->integer : 0;
    return *out >= 1 && *out <= ARG_INT_MAX;
}

/* Reads `count` numbers of a list, or one number for all, into the last sides. */
static struct status read_sides(const struct json_value *value, struct arena *arena, int count,
                                int64_t sides[3])
{
    static const char *const wanted[] = {
        "a positive integer, or a list of one",
        "two positive integers, [height, width], or one for both",
        "three positive integers, [depth, height, width], or one for all",
    };
    const struct json_value *list = list_items(value);
    bool listed = list != NULL && list->kind == JSON_VALUE_LIST && list->count == count;

    for (int i = 0; i < 3; i++)
        sides[i] = 1;
    for (int i = 0; i < count; i++)
        if (!positive(listed ? &list->members[i] : list, &sides[3 - count + i]))
            return wants(value, arena, wanted[count - 1]);
    return status_ok();
}

static struct status read_ints(const struct json_value *value, struct arena *arena,
                               struct arg_value *out)
{
    const struct json_value *list = list_items(value);

    if (list == NULL || list->kind != JSON_VALUE_LIST || list->count > SHAPE_RANK_MAX - 1)
        return wants(value, arena, "a list of integers");
    out->ints.count = list->count;
    out->ints.values = ARENA_ARRAY(arena, int64_t, list->count);
    for (int i = 0; i < list->count; i++) {
        const struct json_value *member = &list->members[i];
        if (member->kind != JSON_VALUE_INT || member->integer < -1 || member->integer > ARG_INT_MAX)
            return wants(member, arena, "integers");
        out->ints.values[i] = member->integer;
    }
    return status_ok();
}

static struct status read_choice(const struct layer_arg *arg, const struct json_value *value,
                                 struct arena *arena, struct arg_value *out)
{
    size_t length = value->kind == JSON_VALUE_TEXT ? strlen(value->text) : 0;

    for (const char *at = arg->fallback; length > 0 && (at = strstr(at, value->text)); at++)
        if ((at == arg->fallback || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            out->text = value->text;
            return status_ok();
        }
    return wants(value, arena, arena_printf(arena, "one of: %s", arg->fallback));
}

static struct status read_number(const struct json_value *value, struct arena *arena,
                                 struct arg_value *out)
{
    return json_value_number(value, &out->number) ? status_ok()
                                                  : wants(value, arena, "a finite number");
}

static struct status read_value(const struct layer_arg *arg, const struct json_value *value,
                                struct arena *arena, struct arg_value *out)
{
    switch (arg->kind) {
    case ARG_NULL_OR_INT:
        if (value->kind != JSON_VALUE_INT)
            return wants(value, arena, "an integer or null");
        out->integer = value->integer;
        return status_ok();
    case ARG_INT:
        if (positive(value, &out->integer))
            return status_ok();
        return wants(value, arena,
                     out->integer > ARG_INT_MAX ? "an integer up to 2147483647"
                                                : "a positive integer");
    case ARG_NUMBER:
    case ARG_NULL_OR_NUMBER:
        return read_number(value, arena, out);
    case ARG_ANY_NUMBER:
        return json_value_any_number(value, &out->number) ? status_ok()
                                                          : wants(value, arena, "a number");
    case ARG_BOOL:
        out->boolean = value->kind == JSON_VALUE_BOOL && value->boolean;
        return value->kind == JSON_VALUE_BOOL ? status_ok() : wants(value, arena, "true or false");
    case ARG_CHOICE:
        return read_choice(arg, value, arena, out);
    case ARG_TRIPLE:
    case ARG_NULL_OR_TRIPLE:
        return read_sides(value, arena, 3, out->sides);
    case ARG_PAIR:
    case ARG_NULL_OR_PAIR:
        return read_sides(value, arena, 2, out->sides);
    case ARG_SINGLE:
    case ARG_NULL_OR_SINGLE:
        return read_sides(value, arena, 1, out->sides);
    case ARG_INTS:
        return read_ints(value, arena, out);
    case ARG_VALUE:
    case ARG_NULL_OR_VALUE:
        out->value = list_items(value);
        return status_ok();
    case ARG_LAYER:
    case ARG_LAYERS:
        out->value = value; /* until read_inner_layers */
        return status_ok();
    case ARG_ACTIVATION:
        return activation_read(value, arena, &out->activation);
    case ARG_INITIALIZER:
        return initializer_read(value, arena, &out->initializer);
    case ARG_REGULARIZER:
        return regularizer_read(value, arena, &out->regularizer);
    case ARG_CONSTRAINT:
        return constraint_read(value, arena, &out->constraint);
    case ARG_NONE:
        break;
    }
    if (value->kind == JSON_VALUE_BOOL && !value->boolean)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "got %s; only %s is implemented",
                        json_value_show(value, arena), arg->fallback);
}

/* Is null a value of this kind? Otherwise null stands for the default. */
static bool takes_null(enum arg_kind kind)
{
    return kind == ARG_NULL_OR_INT || kind == ARG_NULL_OR_NUMBER || kind == ARG_NULL_OR_PAIR ||
           kind == ARG_NULL_OR_SINGLE || kind == ARG_NULL_OR_TRIPLE || kind == ARG_NULL_OR_VALUE ||
           kind == ARG_NONE;
}

static struct status read_arg(const struct layer_arg *arg, const struct json_value *value,
                              struct arena *arena, struct arg_value *out)
{
    if (value == NULL || (json_value_is_null(value) && !takes_null(arg->kind))) {
        if (arg->fallback == REQUIRED)
            return status_error(STATUS_INVALID_ARGUMENT, "argument '%s' is missing", arg->name);
        if (arg->kind == ARG_CHOICE) {
            out->is_null = value != NULL;
            out->text = arena_memdup(arena, arg->fallback, strcspn(arg->fallback, " "));
            return status_ok();
        }
        TRY(json_value_read_strict(bytes_of(arg->fallback), arena, &value));
    }
    out->is_null = json_value_is_null(value);
    if (out->is_null && takes_null(arg->kind))
        return status_ok();
    return status_in(read_value(arg, value, arena, out), "argument '%s'", arg->name);
}

static bool is_common(const struct arg_list *list, const char *key)
{
    for (const char *const *common = list->common; *common != NULL; common++)
        if (strcmp(key, *common) == 0)
            return true;
    return false;
}

static struct status unknown_argument(const struct arg_list *list, const char *key)
{
    struct buffer names = { 0 };

    for (int i = 0; i < COMMON_SHOWN && list->common[i] != NULL; i++)
        buffer_printf(&names, "%s%s", i == 0 ? "" : ", ", list->common[i]);
    for (int i = 0; i < list->count; i++)
        buffer_printf(&names, ", %s", list->args[i].name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "unknown argument '%.100s'; known: %.*s", key,
                     (int)names.size, names.size > 0 ? names.data : "");
    buffer_finish(&names);
    return status;
}

/* Checks the keys. An unknown argument that is null passes: a newer Keras has it, and the model
 * does not use it. */
static struct status check_keys(const struct arg_list *list, const struct json_value *config,
                                struct arena *arena)
{
    if (!json_value_is_null(config) && config->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "config is %s, expected an object",
                            json_value_show(config, arena));
    for (int i = 0; config != NULL && i < config->count; i++) {
        const char *key = config->keys[i];
        bool known = is_common(list, key) || json_value_is_null(&config->members[i]);
        for (int k = 0; !known && k < list->count; k++)
            known = strcmp(list->args[k].name, key) == 0;
        if (!known)
            return unknown_argument(list, key);
    }
    return status_ok();
}

struct status args_read(const struct arg_list *list, const struct json_value *config,
                        struct arena *arena, struct arg_value **out)
{
    TRY(check_keys(list, config, arena));
    *out = ARENA_ARRAY(arena, struct arg_value, list->count);
    for (int i = 0; i < list->count; i++) {
        const struct layer_arg *arg = &list->args[i];
        TRY(read_arg(arg, json_value_get(config, arg->name), arena, &(*out)[i]));
    }
    return status_ok();
}

const struct arg_value *args_find(const struct arg_list *list, const struct arg_value *values,
                                  const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->args[i].name, name) == 0)
            return &values[i];
    return NULL;
}

#define PREPROCESSING_DTYPES 4 /* the first of input_dtypes */

static const struct {
    const char *name;
    enum dtype dtype;
} input_dtypes[] = {
    { "float32", DT_FLOAT }, { "int32", DT_INT32 }, { "int64", DT_INT64 },
    { "string", DT_STRING }, { "bool", DT_BOOL },   { "int8", DT_INT8 },
    { "int16", DT_INT16 },   { "uint8", DT_UINT8 }, { "uint16", DT_UINT16 },
};

/* The name of a type, or of the policy that the value is; NULL: it is neither. */
static const char *dtype_text(const struct json_value *dtype)
{
    const char *name = json_value_get_text(json_value_get(dtype, "config"), "name");

    return name == NULL && dtype != NULL && dtype->kind == JSON_VALUE_TEXT ? dtype->text : name;
}

/* Reads one of the first `count` types, or a policy object around it. */
static struct status read_dtype(const struct json_value *dtype, size_t count, struct arena *arena,
                                enum dtype *out)
{
    const char *name = dtype_text(dtype);

    *out = DT_FLOAT;
    if (json_value_is_null(dtype))
        return status_ok();
    for (size_t i = 0; name != NULL && i < count; i++)
        if (strcmp(name, input_dtypes[i].name) == 0) {
            *out = input_dtypes[i].dtype;
            return status_ok();
        }
    return status_error(
        STATUS_UNIMPLEMENTED, "dtype %s; only %s implemented",
        name != NULL ? arena_printf(arena, "'%.100s'", name) : json_value_show(dtype, arena),
        count > 1 ? "'float32', 'string', 'bool' and integers are" : "'float32' is");
}

/* A policy such as "mixed_float16", "float64" or "int8_from_bfloat16". */
static bool is_other_float(const char *dtype)
{
    return dtype != NULL && strstr(dtype, "float") != NULL && strcmp(dtype, "float32") != 0;
}

struct status args_check_dtype(const struct json_value *config, struct arena *arena)
{
    const struct json_value *dtype = json_value_get(config, "dtype");
    enum dtype read;

    return is_other_float(dtype_text(dtype)) ? read_dtype(dtype, 1, arena, &read) : status_ok();
}

/* Sets the type of a layer's computation; for an InputLayer that of its values. */
static struct status read_layer_dtype(const struct json_value *config, struct arena *arena,
                                      struct layer *out)
{
    const struct json_value *dtype = json_value_get(config, "dtype");
    const struct layer_class *class = out->class;
    size_t count = class == &layer_input ? COUNT(input_dtypes)
                   : class->any_dtype    ? PREPROCESSING_DTYPES
                                         : 1;
    bool is_argument = false;

    for (int i = 0; i < class->args_count; i++)
        is_argument |= strcmp(class->args[i].name, "dtype") == 0;
    struct status status = read_dtype(dtype, count, arena, &out->dtype);
    if (class->any_dtype && (is_argument || !is_other_float(dtype_text(dtype))))
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
        return wants(value, arena,
                     arena_printf(arena, "a list of up to %d layers", INNER_LAYERS_MAX));
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
