#include "layers/arguments.h"

#include <ctype.h>

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

struct status args_check_dtype(const struct json_value *config, struct arena *arena)
{
    const struct json_value *dtype = json_value_get(config, "dtype");
    enum dtype read;

    return is_other_float(dtype) ? dtype_read(dtype, DTYPES_OF_FLOAT, arena, &read) : status_ok();
}
