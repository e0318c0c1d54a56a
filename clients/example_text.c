#include "clients/example_text.h"

#include "base/base64.h"
#include "base/json_value.h"
#include "proto/wire.h"

/* Example, Features and its entries, Feature (one list per kind), a list. */
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUE = 1 };
enum list_kind { NO_KIND = 0, BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

/* The text of {"b64": TEXT}; NULL: it is another value. */
static const struct json_value *base64_text(const struct json_value *value)
{
    const struct json_value *text = json_value_get(value, "b64");
    bool is_text = text != NULL && text->kind == JSON_VALUE_TEXT;
    return is_text && json_value_count(value) == 1 ? text : NULL;
}

static enum list_kind kind_of(const struct json_value *value)
{
    switch (value->kind) {
    case JSON_VALUE_TEXT:
        return BYTES_LIST;
    case JSON_VALUE_REAL:
        return FLOAT_LIST;
    case JSON_VALUE_INT:
    case JSON_VALUE_BOOL:
        return INT64_LIST;
    default:
        return base64_text(value) != NULL ? BYTES_LIST : NO_KIND;
    }
}

static struct status put_base64(const struct json_value *text, struct buffer *out)
{
    struct arena *arena = arena_create(0);
    struct bytes bytes;
    struct status status = base64_decode(json_value_bytes(text), arena, &bytes);
    if (status_is_ok(status))
        wire_put_bytes(out, LIST_VALUE, bytes);
    arena_destroy(arena);
    return status;
}

/* A field with the value zero may be left out of a message, and the list would be one short. In a
 * packed field it is always present. */
static struct status put_value(const struct json_value *value, struct buffer *out)
{
    char number[VARINT_MAX];
    float real;
    size_t size;
    switch (value->kind) {
    case JSON_VALUE_TEXT:
        wire_put_bytes(out, LIST_VALUE, json_value_bytes(value));
        return status_ok();
    case JSON_VALUE_REAL:
        real = (float)value->real;
        wire_put_bytes(out, LIST_VALUE, (struct bytes){ (char *)&real, sizeof real });
        return status_ok();
    case JSON_VALUE_INT:
    case JSON_VALUE_BOOL:
        size = varint_put(number, value->kind == JSON_VALUE_INT ? (uint64_t)value->integer
                                                                : (uint64_t)value->boolean);
        wire_put_bytes(out, LIST_VALUE, (struct bytes){ number, size });
        return status_ok();
    default:
        return put_base64(base64_text(value), out);
    }
}

static struct status put_feature(const char *key, const struct json_value *value,
                                 struct buffer *out)
{
    bool is_list = value->kind == JSON_VALUE_LIST;
    const struct json_value *elements = is_list ? value->members : value;
    int count = is_list ? value->count : 1;
    enum list_kind kind = count > 0 ? kind_of(&elements[0]) : NO_KIND;
    if (count == 0)
        return status_ok();
    if (kind == NO_KIND)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "feature '%s' is neither a string, a number, a boolean, nor a list of "
                            "these",
                            key);
    size_t list = wire_open(out, kind);
    for (int i = 0; i < count; i++) {
        if (kind_of(&elements[i]) != kind)
            return status_error(STATUS_INVALID_ARGUMENT, "feature '%s' mixes kinds at element %d",
                                key, i);
        TRY(status_in(put_value(&elements[i], out), "feature '%s'", key));
    }
    wire_close(out, list);
    return status_ok();
}

static struct status put_example(const struct json_value *object, uint32_t number,
                                 struct buffer *out)
{
    if (object->kind != JSON_VALUE_OBJECT)
        return status_error(STATUS_INVALID_ARGUMENT, "an example is a JSON object");
    size_t example = wire_open(out, number);
    size_t features = wire_open(out, EXAMPLE_FEATURES);
    for (int i = 0; i < object->count; i++) {
        size_t entry = wire_open(out, FEATURES_ENTRY);
        wire_put_bytes(out, ENTRY_KEY, bytes_of(object->keys[i]));
        size_t feature = wire_open(out, ENTRY_VALUE);
        TRY(put_feature(object->keys[i], &object->members[i], out));
        wire_close(out, feature);
        wire_close(out, entry);
    }
    wire_close(out, features);
    wire_close(out, example);
    return status_ok();
}

static struct status put_examples(const struct json_value *list, uint32_t number,
                                  struct buffer *out)
{
    if (list->kind != JSON_VALUE_LIST)
        return status_error(STATUS_INVALID_ARGUMENT, "a list of examples is expected");
    for (int i = 0; i < list->count; i++)
        TRY(status_in(put_example(&list->members[i], number, out), "example %d", i));
    return status_ok();
}

typedef struct status put_function(const struct json_value *value, uint32_t number,
                                   struct buffer *out);

static struct status put_json(const char *text, put_function *put, uint32_t number,
                              struct buffer *out)
{
    struct arena *arena = arena_create(0);
    const struct json_value *value;
    struct status status = json_value_read(bytes_of(text), arena, &value);
    status = status_is_ok(status) ? put(value, number, out) : status_in(status, "not JSON");
    arena_destroy(arena);
    return status;
}

struct status examples_from_json(const char *text, uint32_t number, struct buffer *out)
{
    return put_json(text, put_examples, number, out);
}

struct status example_from_json(const char *text, uint32_t number, struct buffer *out)
{
    return put_json(text, put_example, number, out);
}
