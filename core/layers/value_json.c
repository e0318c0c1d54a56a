/* value_json: JSON to values: the edge where jansson's types end. */
#include <jansson.h>

#include "layers/value.h"

static struct value translate(json_t *from, struct arena *arena);

static void translate_object(json_t *from, struct arena *arena, struct value *out)
{
    struct value *members;
    const char *key;
    json_t *member;
    int i = 0;

    out->kind = VALUE_OBJECT;
    out->count = (int)json_object_size(from);
    out->keys = ARENA_ARRAY(arena, const char *, out->count);
    out->members = members = ARENA_ARRAY(arena, struct value, out->count);
    json_object_foreach(from, key, member)
    {
        out->keys[i] = arena_strdup(arena, key);
        members[i++] = translate(member, arena);
    }
}

static void translate_list(json_t *from, struct arena *arena, struct value *out)
{
    struct value *members;

    out->kind = VALUE_LIST;
    out->count = (int)json_array_size(from);
    out->members = members = ARENA_ARRAY(arena, struct value, out->count);
    for (int i = 0; i < out->count; i++)
        members[i] = translate(json_array_get(from, (size_t)i), arena);
}

/* Recursion goes as deep as jansson's own: 2048 levels. */
static struct value translate(json_t *from, struct arena *arena)
{
    struct value out = { 0 };

    switch (json_typeof(from)) {
    case JSON_OBJECT:
        translate_object(from, arena, &out);
        break;
    case JSON_ARRAY:
        translate_list(from, arena, &out);
        break;
    case JSON_STRING:
        out.kind = VALUE_TEXT;
        out.text = arena_strdup(arena, json_string_value(from));
        break;
    case JSON_INTEGER:
        out.kind = VALUE_INT;
        out.integer = json_integer_value(from);
        break;
    case JSON_REAL:
        out.kind = VALUE_REAL;
        out.real = json_real_value(from);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        out.kind = VALUE_BOOL;
        out.boolean = json_is_true(from);
        break;
    case JSON_NULL:
        break;
    }
    return out;
}

struct status value_read(struct bytes json, struct arena *arena, const struct value **out)
{
    json_error_t error;
    json_t *root =
        json_loadb(json.data, json.size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);

    if (root == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "line %d, column %d: %s", error.line,
                            error.column, error.text);

    struct value *value = ARENA_NEW(arena, struct value);
    *value = translate(root, arena);
    json_decref(root);
    *out = value;
    return status_ok();
}
