#include "clients/example_text.h"

#include <jansson.h>

#include "base/base64.h"
#include "proto/wire.h"

/* Example, Features and its entries, Feature (one list per kind), a list. */
enum { EXAMPLE_FEATURES = 1, FEATURES_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUE = 1 };
enum kind { NO_KIND = 0, BYTES_LIST = 1, FLOAT_LIST = 2, INT64_LIST = 3 };

/* The text of {"b64": TEXT}; NULL: it is not that. */
static const json_t *coded(const json_t *value)
{
    const json_t *text = json_object_size(value) == 1 ? json_object_get(value, "b64") : NULL;
    return json_is_string(text) ? text : NULL;
}

static enum kind kind_of(const json_t *value)
{
    if (json_is_string(value) || coded(value) != NULL)
        return BYTES_LIST;
    if (json_is_real(value))
        return FLOAT_LIST;
    return json_is_integer(value) || json_is_boolean(value) ? INT64_LIST : NO_KIND;
}

static struct bytes text_of(const json_t *string)
{
    return (struct bytes){ json_string_value(string), json_string_length(string) };
}

static struct status put_coded(const json_t *text, struct buffer *out)
{
    struct arena *arena = arena_create(0);
    struct bytes bytes;
    struct status status = base64_decode(text_of(text), arena, &bytes);
    if (status_is_ok(status))
        wire_put_bytes(out, LIST_VALUE, bytes);
    arena_destroy(arena);
    return status;
}

/* A number that is left out would be one value less: zeros are written packed. */
static struct status put_value(const json_t *value, struct buffer *out)
{
    char number[VARINT_MAX];
    if (coded(value) != NULL)
        return put_coded(coded(value), out);
    if (json_is_string(value)) {
        wire_put_bytes(out, LIST_VALUE, text_of(value));
    } else if (json_is_real(value)) {
        float real = (float)json_real_value(value);
        wire_put_bytes(out, LIST_VALUE, (struct bytes){ (char *)&real, sizeof real });
    } else {
        int64_t integer = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
        size_t size = varint_put(number, (uint64_t)integer);
        wire_put_bytes(out, LIST_VALUE, (struct bytes){ number, size });
    }
    return status_ok();
}

static struct status put_feature(const char *key, const json_t *value, struct buffer *out)
{
    bool is_list = json_is_array(value);
    size_t count = is_list ? json_array_size(value) : 1;
    enum kind kind = count == 0 ? NO_KIND : kind_of(is_list ? json_array_get(value, 0) : value);
    if (count > 0 && kind == NO_KIND)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "feature '%s' is neither a string, a number, a boolean, nor a list of "
                            "these",
                            key);
    size_t list = kind != NO_KIND ? wire_open(out, kind) : 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *element = is_list ? json_array_get(value, i) : value;
        if (kind_of(element) != kind)
            return status_error(STATUS_INVALID_ARGUMENT, "feature '%s' mixes kinds at element %zu",
                                key, i);
        TRY(status_in(put_value(element, out), "feature '%s'", key));
    }
    if (kind != NO_KIND)
        wire_close(out, list);
    return status_ok();
}

static struct status put_example(json_t *object, uint32_t number, struct buffer *out)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return status_error(STATUS_INVALID_ARGUMENT, "an example is a JSON object");
    size_t example = wire_open(out, number);
    size_t features = wire_open(out, EXAMPLE_FEATURES);
    json_object_foreach(object, key, value)
    {
        size_t entry = wire_open(out, FEATURES_ENTRY);
        wire_put_bytes(out, ENTRY_KEY, bytes_of(key));
        size_t feature = wire_open(out, ENTRY_VALUE);
        TRY(put_feature(key, value, out));
        wire_close(out, feature);
        wire_close(out, entry);
    }
    wire_close(out, features);
    wire_close(out, example);
    return status_ok();
}

static struct status parse(const char *text, json_t **out)
{
    json_error_t error;
    *out = json_loads(text, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "not JSON: %s at column %d", error.text,
                            error.column);
    return status_ok();
}

struct status examples_from_json(const char *text, uint32_t number, struct buffer *out)
{
    json_t *list;
    TRY(parse(text, &list));
    struct status status =
        json_is_array(list) ? status_ok()
                            : status_error(STATUS_INVALID_ARGUMENT, "a list of examples is wanted");
    for (size_t i = 0; status_is_ok(status) && i < json_array_size(list); i++)
        status = status_in(put_example(json_array_get(list, i), number, out), "example %zu", i);
    json_decref(list);
    return status;
}

struct status example_from_json(const char *text, uint32_t number, struct buffer *out)
{
    json_t *object;
    TRY(parse(text, &object));
    struct status status = put_example(object, number, out);
    json_decref(object);
    return status;
}
