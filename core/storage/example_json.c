#include "storage/example_json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_value.h"
#include "proto/wire.h"

#define INVALID(...) status_error(STATUS_INVALID_ARGUMENT, "Error while parsing JSON: " __VA_ARGS__)

enum { NUMBER_TEXT_MAX = 64 };

/* The lists of a Feature, by field number. */
enum feature_list { LIST_BYTES = 1, LIST_FLOAT = 2, LIST_INT64 = 3 };
static const char *const list_names[][2] = {
    [LIST_BYTES] = { "bytesList", "bytes_list" },
    [LIST_FLOAT] = { "floatList", "float_list" },
    [LIST_INT64] = { "int64List", "int64_list" },
};

/* ---- one value ---- */

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Appends the bytes of base64 of either alphabet, with or without padding. Returns false if it
 * is not base64. */
static bool put_base64(struct bytes text, struct buffer *out)
{
    size_t size = text.size, padding = 0;
    uint32_t bits = 0;
    while (padding < 2 && size > 0 && text.data[size - 1] == '=') {
        size--;
        padding++;
    }
    if (size % 4 == 1 || (padding > 0 && (size + padding) % 4 != 0))
        return false;
    for (size_t i = 0; i < size; i++) {
        int value = sextet(text.data[i]);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 != 0) /* each but the first of four completes a byte */
            buffer_append_char(out, (char)(bits >> (6 - 2 * (i % 4))));
    }
    return true;
}

/* A number in a text, in strtod's syntax. Returns false if it is not one. */
static bool read_text(struct bytes text, double *out)
{
    char copy[NUMBER_TEXT_MAX], *end;
    if (text.size == 0 || text.size >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *out = strtod(copy, &end);
    return end == copy + text.size;
}

static bool read_float(const struct json_value *value, float *out)
{
    double number = 0;
    bool text = value->kind == JSON_VALUE_TEXT;
    if (value->kind != JSON_VALUE_NULL &&
        !(text ? read_text(json_value_bytes(value), &number) : json_value_number(value, &number)))
        return false;
    *out = (float)number;
    return isinf(*out) == isinf(number);
}

/* An integer in a text: of digits alone, or a number such as 6.0. */
static bool read_int64_text(struct bytes text, int64_t *out, double *number)
{
    char *end;
    bool digit = text.size > 0 && text.data[text.data[0] == '-' ? 1 : 0] >= '0' &&
                 text.data[text.data[0] == '-' ? 1 : 0] <= '9';
    errno = 0;
    *out = digit ? strtoll(text.data, &end, 10) : 0; /* a JSON text ends with a NUL */
    if (digit && end == text.data + text.size)
        return errno == 0;
    return digit && read_text(text, number);
}

static bool read_int64(const struct json_value *value, int64_t *out)
{
    double number = NAN;
    if (value->kind == JSON_VALUE_INT)
        *out = value->integer;
    else if (value->kind == JSON_VALUE_NULL)
        *out = 0;
    else if (value->kind == JSON_VALUE_TEXT &&
             !read_int64_text(json_value_bytes(value), out, &number))
        return false;
    else if (value->kind == JSON_VALUE_REAL)
        number = value->real;
    else if (value->kind != JSON_VALUE_TEXT)
        return false;
    if (isnan(number))
        return true;
    if (!(number >= -0x1p63 && number < 0x1p63) || number != floor(number))
        return false;
    *out = (int64_t)number;
    return true;
}

static struct status put_value(enum feature_list list, const struct json_value *value,
                               struct buffer *out)
{
    char tag_and_value[1 + VARINT_MAX];
    float number;
    int64_t integer = 0;
    if (list == LIST_BYTES) {
        size_t opened = wire_open(out, 1);
        if (value->kind != JSON_VALUE_NULL &&
            (value->kind != JSON_VALUE_TEXT || !put_base64(json_value_bytes(value), out)))
            return INVALID("a value of bytesList is not base64");
        wire_close(out, opened);
        return status_ok();
    }
    if (list == LIST_FLOAT) {
        if (!read_float(value, &number))
            return INVALID("a value of floatList is not a float");
        tag_and_value[0] = 1 << 3 | WIRE_FIXED32;
        memcpy(tag_and_value + 1, &number, sizeof number);
        buffer_append(out, tag_and_value, 1 + sizeof number);
        return status_ok();
    }
    if (!read_int64(value, &integer))
        return INVALID("a value of int64List is not an int64");
    tag_and_value[0] = 1 << 3 | WIRE_VARINT;
    buffer_append(out, tag_and_value, 1 + varint_put(tag_and_value + 1, (uint64_t)integer));
    return status_ok();
}

/* ---- messages ---- */

static struct status check_object(const struct json_value *value, const char *message)
{
    if (value->kind == JSON_VALUE_OBJECT)
        return status_ok();
    return INVALID("a value of the message tensorflow.%s is not an object", message);
}

static struct status no_such_field(const char *key)
{
    return INVALID("no such field: '%s'", key);
}

/* A value, or the values of a list; lists in it do not count. */
static struct status put_values(enum feature_list list, const struct json_value *value,
                                struct buffer *out)
{
    if (value->kind != JSON_VALUE_LIST)
        return put_value(list, value, out);
    for (int i = 0; i < value->count; i++)
        TRY(put_values(list, &value->members[i], out));
    return status_ok();
}

static struct status put_list(enum feature_list list, const struct json_value *value,
                              struct buffer *out)
{
    TRY(check_object(value, "Feature"));
    size_t opened = wire_open(out, list);
    for (int i = 0; i < value->count; i++) {
        const struct json_value *held = &value->members[i];
        if (strcmp(value->keys[i], "value") != 0)
            return no_such_field(value->keys[i]);
        if (held->kind != JSON_VALUE_NULL)
            TRY(put_values(list, held, out));
    }
    wire_close(out, opened);
    return status_ok();
}

static enum feature_list list_of(const char *key)
{
    for (int list = LIST_BYTES; list <= LIST_INT64; list++)
        if (strcmp(key, list_names[list][0]) == 0 || strcmp(key, list_names[list][1]) == 0)
            return (enum feature_list)list;
    return 0;
}

static struct status put_feature(const struct json_value *value, struct buffer *out)
{
    bool has_list = false;
    TRY(check_object(value, "Feature"));
    size_t opened = wire_open(out, 2);
    for (int i = 0; i < value->count; i++) {
        enum feature_list list = list_of(value->keys[i]);
        if (list == 0)
            return no_such_field(value->keys[i]);
        if (value->members[i].kind == JSON_VALUE_NULL)
            continue;
        if (has_list)
            return INVALID("a Feature has more than one list");
        has_list = true;
        TRY(put_list(list, &value->members[i], out));
    }
    wire_close(out, opened);
    return status_ok();
}

static struct status put_entries(const struct json_value *value, struct buffer *out)
{
    TRY(check_object(value, "Features.FeatureEntry"));
    for (int i = 0; i < value->count; i++) {
        size_t opened = wire_open(out, 1);
        wire_put_bytes(out, 1, bytes_of(value->keys[i]));
        if (value->members[i].kind != JSON_VALUE_NULL)
            TRY(put_feature(&value->members[i], out));
        wire_close(out, opened);
    }
    return status_ok();
}

static struct status put_features(const struct json_value *value, struct buffer *out)
{
    TRY(check_object(value, "Features"));
    size_t opened = wire_open(out, 1);
    for (int i = 0; i < value->count; i++) {
        if (strcmp(value->keys[i], "feature") != 0)
            return no_such_field(value->keys[i]);
        if (value->members[i].kind != JSON_VALUE_NULL)
            TRY(put_entries(&value->members[i], out));
    }
    wire_close(out, opened);
    return status_ok();
}

struct status example_from_json(struct bytes json, struct arena *arena, struct buffer *out)
{
    const struct json_value *value;
    struct status status = json_value_read_strict(json, arena, &value);
    if (!status_is_ok(status))
        return status_in(status, "Error while parsing JSON");
    TRY(check_object(value, "Example"));
    for (int i = 0; i < value->count; i++) {
        if (strcmp(value->keys[i], "features") != 0)
            return no_such_field(value->keys[i]);
        if (value->members[i].kind != JSON_VALUE_NULL)
            TRY(put_features(&value->members[i], out));
    }
    return status_ok();
}
