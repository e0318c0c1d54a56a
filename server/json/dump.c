#include "server/json/dump.h"

#include <math.h>

#include "base/bytes.h"
#include "base/json_number.h"
#include "server/json/print.h"
#include "server/json/string.h"
#include "server/json/walk.h"

const char *json_type_name(const char *at)
{
    switch (*at) {
    case 'n':
        return "Null";
    case 'f':
        return "False";
    case 't':
        return "True";
    case '{':
        return "Object";
    case '[':
        return "Array";
    case '"':
        return "String";
    default:
        return "Number";
    }
}

#define DUMP_MAX  256
#define FLOAT_MAX 3.4028234e38 /* FLT_MAX in RapidJSON's Value::IsFloat */

/* Indentation of RapidJSON's PrettyWriter. */
#define DUMP_INDENT 4

struct dump {
    struct buffer out;
    struct arena *arena;
    int depth;
    bool opened;  /* nothing has followed the last opening bracket */
    bool stopped; /* at a number that JSON cannot express */
};

static void dump_line(struct dump *dump)
{
    buffer_append_char(&dump->out, '\n');
    for (int i = 0; i < dump->depth * DUMP_INDENT; i++)
        buffer_append_char(&dump->out, ' ');
}

/* Called before each element and each name. The first one after a bracket starts a line. */
static void dump_begin(struct dump *dump)
{
    if (dump->opened)
        dump_line(dump);
    dump->opened = false;
}

/* A number inside a list or an object. The writer stops at NaN and at infinity. */
static const char *dump_number(const char *at, struct dump *dump)
{
    struct json_number number;
    int64_t value;
    uint64_t wide;
    const char *end = json_number_read(at, &number);
    if (end == NULL)
        return json_skip_token(at);
    if (number.integer && number.digits == 0 && !number.rounded)
        buffer_append_char(&dump->out, '0');
    else if (json_number_int64(&number, &value) || json_number_uint64(&number, &wide))
        buffer_append(&dump->out, at, (size_t)(end - at));
    else if (isfinite(json_number_double(&number)))
        json_print_shortest(&dump->out, json_number_double(&number));
    else
        dump->stopped = true;
    return end;
}

static const char *dump_string(const char *at, struct dump *dump)
{
    struct bytes text;
    const char *end = json_string_skip(at);
    /* A string never prints as fewer bytes than it has, so no more of them can be shown. */
    if (status_is_ok(json_string_read(at, dump->arena, &text))) {
        text.size = text.size < DUMP_MAX ? text.size : DUMP_MAX;
        json_print_string(&dump->out, text);
    }
    return end;
}

static const char *dump_word(const char *at, struct dump *dump)
{
    size_t size = *at == 'f' ? 5 : 4;
    buffer_append(&dump->out, at, size);
    return at + size;
}

static const char *dump_bracket(const char *at, struct dump *dump)
{
    bool opens = *at == '[' || *at == '{';
    dump->depth += opens ? 1 : -1;
    if (!opens && !dump->opened)
        dump_line(dump);
    dump->opened = opens;
    buffer_append_char(&dump->out, *at);
    return at + 1;
}

static const char *dump_token(const char *at, struct dump *dump)
{
    if (*at == ']' || *at == '}')
        return dump_bracket(at, dump);
    dump_begin(dump);
    switch (*at) {
    case '[':
    case '{':
        return dump_bracket(at, dump);
    case ',':
        buffer_append_char(&dump->out, ',');
        dump_line(dump);
        return at + 1;
    case ':':
        buffer_append_text(&dump->out, ": ");
        return at + 1;
    case '"':
        return dump_string(at, dump);
    case 't':
    case 'f':
    case 'n':
        return dump_word(at, dump);
    default:
        return dump_number(at, dump);
    }
}

/* If the whole value is a decimal number, writes it as in a response: as a float if it fits. */
static bool dump_decimal(const char *at, struct buffer *out)
{
    struct json_number number;
    int64_t value;
    uint64_t wide;
    char text[JSON_NUMBER_MAX];
    if (json_number_read(at, &number) == NULL || json_number_int64(&number, &value) ||
        json_number_uint64(&number, &wide))
        return false;
    double decimal = json_number_double(&number);
    bool fits = fabs(decimal) <= FLOAT_MAX;
    char *end = fits ? json_put_float(text, (float)decimal) : json_put_double(text, decimal);
    buffer_append(out, text, (size_t)(end - text));
    return true;
}

const char *json_dump(const char *at, struct arena *arena)
{
    struct dump dump = { .arena = arena };
    struct buffer *out = &dump.out;
    /* If a number or a word is the whole document, the bytes after it are unchecked. */
    bool one_token = *at != '{' && *at != '[' && *at != '"';
    const char *end = one_token ? at + 1 : json_skip(at);
    if (one_token && strchr("tfn", *at) == NULL && dump_decimal(at, out))
        end = at;
    while (out->size < DUMP_MAX && !dump.stopped && (at = json_space(at)) < end)
        at = dump_token(at, &dump);
    size_t size = out->size < DUMP_MAX ? out->size : DUMP_MAX;
    while (size > 0 && size < out->size && ((unsigned char)out->data[size] & 0xC0) == 0x80)
        size--; /* do not cut a character */
    char *text = arena_memdup(arena, out->data, size);
    buffer_finish(out);
    return text;
}
