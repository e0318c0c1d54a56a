#include "base/json_value.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/text_print.h"
#include "base/utf8.h"

static struct status translate(json_t *from, struct arena *arena, struct json_value *out);

static struct status translate_text(const json_t *from, struct arena *arena, struct json_value *out)
{
    size_t size = json_string_length(from);
    void *text;
    TRY(arena_reserve(arena, size + 1, &text));
    memcpy(text, json_string_value(from), size + 1);
    *out = (struct json_value){ .kind = JSON_VALUE_TEXT, .text = text, .text_size = size };
    return status_ok();
}

static struct status translate_object(json_t *from, struct arena *arena, struct json_value *out)
{
    size_t count = json_object_size(from);
    void *members, *keys;
    const char *key;
    json_t *member;
    int i = 0;
    TRY(arena_reserve(arena, (count + 1) * sizeof *out->members, &members));
    TRY(arena_reserve(arena, (count + 1) * sizeof *out->keys, &keys));
    *out = (struct json_value){
        .kind = JSON_VALUE_OBJECT, .count = (int)count, .members = members, .keys = keys
    };
    json_object_foreach(from, key, member)
    {
        out->keys[i] = arena_strdup(arena, key);
        TRY(translate(member, arena, (struct json_value *)members + i++));
    }
    return status_ok();
}

static struct status translate_list(json_t *from, struct arena *arena, struct json_value *out)
{
    size_t count = json_array_size(from);
    void *members;
    TRY(arena_reserve(arena, (count + 1) * sizeof *out->members, &members));
    *out = (struct json_value){ .kind = JSON_VALUE_LIST, .count = (int)count, .members = members };
    for (size_t i = 0; i < count; i++)
        TRY(translate(json_array_get(from, i), arena, (struct json_value *)members + i));
    return status_ok();
}

/* Recurses as deep as jansson does: 2048 levels. */
static struct status translate(json_t *from, struct arena *arena, struct json_value *out)
{
    switch (json_typeof(from)) {
    case JSON_OBJECT:
        return translate_object(from, arena, out);
    case JSON_ARRAY:
        return translate_list(from, arena, out);
    case JSON_STRING:
        return translate_text(from, arena, out);
    case JSON_INTEGER:
        *out = (struct json_value){ .kind = JSON_VALUE_INT, .integer = json_integer_value(from) };
        break;
    case JSON_REAL:
        *out = (struct json_value){ .kind = JSON_VALUE_REAL, .real = json_real_value(from) };
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = (struct json_value){ .kind = JSON_VALUE_BOOL, .boolean = json_is_true(from) };
        break;
    case JSON_NULL:
        *out = (struct json_value){ .kind = JSON_VALUE_NULL };
        break;
    }
    return status_ok();
}

static struct status read_json(struct bytes json, size_t flags, struct arena *arena,
                               const struct json_value **out)
{
    json_error_t error;
    size_t mark = utf8_mark_size(json);
    json_t *root = json_loadb(json.data + mark, json.size - mark, JSON_DECODE_ANY | flags, &error);
    if (root == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "line %d, column %d: %s", error.line,
                            error.column, error.text);
    struct json_value *value = ARENA_NEW(arena, struct json_value);
    struct status status = translate(root, arena, value);
    json_decref(root);
    *out = value;
    return status;
}

struct status json_value_read(struct bytes json, struct arena *arena, const struct json_value **out)
{
    return read_json(json, JSON_ALLOW_NUL, arena, out);
}

struct status json_value_read_strict(struct bytes json, struct arena *arena,
                                     const struct json_value **out)
{
    return read_json(json, JSON_REJECT_DUPLICATES, arena, out);
}

/* ---- Python's words for numbers, which are not JSON ---- */

/* jansson reads a text in place of each word. Only a text of the same length keeps the columns in
 * errors; NaN has none. */
static const struct number_word {
    const char *word, *replacement; /* in the JSON text */
    const char *text;               /* as read: a NUL and these characters */
    double value;
} number_words[] = {
    { "-Infinity", "\"\\u0000-\"", "-", -INFINITY },
    { "Infinity", "\"\\u0000\"", "", INFINITY },
    { "NaN", "\"\\u0000N\"", "N", NAN },
};

static const struct number_word *word_at(const char *at, const char *end)
{
    for (size_t i = 0; i < COUNT(number_words); i++) {
        size_t size = strlen(number_words[i].word);
        if ((size_t)(end - at) >= size && memcmp(at, number_words[i].word, size) == 0)
            return &number_words[i];
    }
    return NULL;
}

static void replace_words(struct bytes json, struct buffer *out)
{
    const char *end = json.data + json.size;
    bool in_text = false;

    for (const char *at = json.data; at < end; at++) {
        const struct number_word *word = in_text ? NULL : word_at(at, end);
        if (word != NULL) {
            buffer_append_text(out, word->replacement);
            at += strlen(word->word) - 1;
            continue;
        }
        buffer_append_char(out, *at);
        if (in_text && *at == '\\' && at + 1 < end)
            buffer_append_char(out, *++at);
        else if (*at == '"')
            in_text = !in_text;
    }
}

static struct status restore_words(struct json_value *value)
{
    for (int i = 0; i < json_value_count(value); i++)
        TRY(restore_words((struct json_value *)(uintptr_t)&value->members[i]));
    if (value->kind != JSON_VALUE_TEXT || strlen(value->text) == value->text_size)
        return status_ok();
    for (size_t i = 0; i < COUNT(number_words); i++)
        if (value->text[0] == '\0' && strcmp(value->text + 1, number_words[i].text) == 0) {
            *value = (struct json_value){ .kind = JSON_VALUE_REAL, .real = number_words[i].value };
            return status_ok();
        }
    return status_error(STATUS_INVALID_ARGUMENT, "a text holds a NUL");
}

struct status json_value_read_python(struct bytes json, struct arena *arena,
                                     const struct json_value **out)
{
    struct buffer replaced = { 0 };

    buffer_reserve(&replaced, json.size + 1);
    replace_words(json, &replaced);
    struct status status = read_json((struct bytes){ replaced.data, replaced.size },
                                     JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, arena, out);
    buffer_finish(&replaced);
    return status_is_ok(status) ? restore_words((struct json_value *)(uintptr_t)*out) : status;
}

struct status json_value_read_reals(struct bytes json, struct arena *arena,
                                    const struct json_value **out)
{
    return read_json(json, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, arena, out);
}

const struct json_value *json_value_get(const struct json_value *object, const char *key)
{
    if (object == NULL || object->kind != JSON_VALUE_OBJECT)
        return NULL;
    for (int i = 0; i < object->count; i++)
        if (strcmp(object->keys[i], key) == 0)
            return &object->members[i];
    return NULL;
}

const char *json_value_get_text(const struct json_value *object, const char *key)
{
    const struct json_value *value = json_value_get(object, key);

    return value != NULL && value->kind == JSON_VALUE_TEXT ? value->text : NULL;
}

bool json_value_is_null(const struct json_value *value)
{
    return value == NULL || value->kind == JSON_VALUE_NULL;
}

bool json_value_number(const struct json_value *value, double *out)
{
    double number;

    if (!json_value_any_number(value, &number) || !isfinite(number))
        return false;
    *out = number;
    return true;
}

bool json_value_any_number(const struct json_value *value, double *out)
{
    if (value == NULL || (value->kind != JSON_VALUE_INT && value->kind != JSON_VALUE_REAL))
        return false;
    *out = value->kind == JSON_VALUE_INT ? (double)value->integer : value->real;
    return true;
}

struct bytes json_value_bytes(const struct json_value *value)
{
    return (struct bytes){ value->text, value->text_size };
}

int json_value_count(const struct json_value *value)
{
    bool has_members =
        value != NULL && (value->kind == JSON_VALUE_LIST || value->kind == JSON_VALUE_OBJECT);
    return has_members ? value->count : 0;
}

static const char *word_of(double value)
{
    return isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity";
}

static void print_real(double value, struct buffer *out)
{
    size_t start = out->size;
    if (!isfinite(value)) {
        buffer_append_text(out, word_of(value));
        return;
    }
    buffer_printf(out, "%.17g", value);
    const char *text = out->data + start;
    size_t size = out->size - start;
    if (memchr(text, '.', size) == NULL && memchr(text, 'e', size) == NULL)
        buffer_append_text(out, ".0");
}

static void print_members(const struct json_value *value, struct buffer *out)
{
    bool is_object = value->kind == JSON_VALUE_OBJECT;
    buffer_append_char(out, is_object ? '{' : '[');
    for (int i = 0; i < value->count; i++) {
        if (i > 0)
            buffer_append_text(out, ", ");
        if (is_object) {
            json_print_string(out, bytes_of(value->keys[i]));
            buffer_append_text(out, ": ");
        }
        json_value_print(&value->members[i], out);
    }
    buffer_append_char(out, is_object ? '}' : ']');
}

void json_value_print(const struct json_value *value, struct buffer *out)
{
    switch (value->kind) {
    case JSON_VALUE_NULL:
        buffer_append_text(out, "null");
        break;
    case JSON_VALUE_BOOL:
        buffer_append_text(out, value->boolean ? "true" : "false");
        break;
    case JSON_VALUE_INT:
        buffer_printf(out, "%lld", (long long)value->integer);
        break;
    case JSON_VALUE_REAL:
        print_real(value->real, out);
        break;
    case JSON_VALUE_TEXT:
        json_print_string(out, json_value_bytes(value));
        break;
    case JSON_VALUE_LIST:
    case JSON_VALUE_OBJECT:
        print_members(value, out);
        break;
    }
}

const char *json_value_show(const struct json_value *value, struct arena *arena)
{
    if (value == NULL)
        return "nothing";
    switch (value->kind) {
    case JSON_VALUE_NULL:
        return "null";
    case JSON_VALUE_BOOL:
        return value->boolean ? "true" : "false";
    case JSON_VALUE_INT:
        return arena_printf(arena, "%lld", (long long)value->integer);
    case JSON_VALUE_REAL:
        return isfinite(value->real) ? arena_printf(arena, "%g", value->real)
                                     : word_of(value->real);
    case JSON_VALUE_TEXT:
        return arena_printf(arena, "'%.100s'", value->text);
    case JSON_VALUE_LIST:
        return arena_printf(arena, "a list of %d", value->count);
    case JSON_VALUE_OBJECT:
        break;
    }
    const char *name = json_value_get_text(value, "class_name");
    const char *function = json_value_get_text(value, "config");
    if (name != NULL && strcmp(name, "function") == 0 && function != NULL) /* as Keras prints it */
        return arena_printf(arena, "the Python function '%.100s'", function);
    return name != NULL ? arena_printf(arena, "an object '%.100s'", name) : "an object";
}
