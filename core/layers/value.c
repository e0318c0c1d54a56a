#include "layers/value.h"

const struct value *value_get(const struct value *object, const char *key)
{
    if (object == NULL || object->kind != VALUE_OBJECT)
        return NULL;
    for (int i = 0; i < object->count; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->members[i];
    return NULL;
}

const char *value_get_text(const struct value *object, const char *key)
{
    const struct value *value = value_get(object, key);

    return value != NULL && value->kind == VALUE_TEXT ? value->text : NULL;
}

bool value_is_null(const struct value *value)
{
    return value == NULL || value->kind == VALUE_NULL;
}

bool value_number(const struct value *value, double *out)
{
    if (value == NULL || (value->kind != VALUE_INT && value->kind != VALUE_REAL))
        return false;
    *out = value->kind == VALUE_INT ? (double)value->integer : value->real;
    return true;
}

const char *value_show(const struct value *value, struct arena *arena)
{
    if (value == NULL)
        return "nothing";
    switch (value->kind) {
    case VALUE_NULL:
        return "null";
    case VALUE_BOOL:
        return value->boolean ? "true" : "false";
    case VALUE_INT:
        return arena_printf(arena, "%lld", (long long)value->integer);
    case VALUE_REAL:
        return arena_printf(arena, "%g", value->real);
    case VALUE_TEXT:
        return arena_printf(arena, "'%.100s'", value->text);
    case VALUE_LIST:
        return arena_printf(arena, "a list of %d", value->count);
    case VALUE_OBJECT:
        break;
    }
    const char *name = value_get_text(value, "class_name");
    return name != NULL ? arena_printf(arena, "an object '%.100s'", name) : "an object";
}
