#include "server/json_text.h"

#include <math.h>
#include <stdlib.h>

#include "server/json_print.h"

static const char *fail(struct json_error *error, const char *reason, const char *at)
{
    *error = (struct json_error){ reason, at };
    return NULL;
}

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The first of the word's letters that differs is where the error is. */
static const char *check_word(const char *at, const char *word, struct json_error *error)
{
    for (; *word != '\0'; word++, at++)
        if (*at != *word)
            return fail(error, "Invalid value.", at);
    return at;
}

static const char *check_special(const char *at, struct json_error *error)
{
    if (*at == 'N')
        return check_word(at, "NaN", error);
    at = check_word(at, "Inf", error);
    return at != NULL && *at == 'i' ? check_word(at, "inity", error) : at;
}

/* Only a literal that may be out of range is converted. */
static const char *check_magnitude(const char *start, const char *end, struct json_error *error)
{
    struct json_number number;
    if (end - start <= 300 && !memchr(start, 'e', (size_t)(end - start)) &&
        !memchr(start, 'E', (size_t)(end - start)))
        return end;
    json_number_read(start, &number);
    if (json_number_is_too_big(&number, json_number_double(&number)))
        return fail(error, "Number too big to be stored in double.", start);
    return end;
}

static const char *check_number(const char *at, struct json_error *error)
{
    const char *start = at;
    at += *at == '-';
    if (*at == 'N' || *at == 'I')
        return check_special(at, error);
    if (!is_digit(*at))
        return fail(error, "Invalid value.", at);
    if (*at++ != '0')
        while (is_digit(*at))
            at++;
    if (*at == '.') {
        if (!is_digit(*++at))
            return fail(error, "Miss fraction part in number.", at);
        while (is_digit(*at))
            at++;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return fail(error, "Miss exponent in number.", at);
        while (is_digit(*at))
            at++;
    }
    return check_magnitude(start, at, error);
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Four hex digits; -1: not four. */
static int hex4(const char *at)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* The escape at `at`, a '\\'. Its code point (a high surrogate takes the low one with it), its end;
 * or NULL. */
static const char *read_escape(const char *at, unsigned *out, struct json_error *error)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = at[1] == '\0' ? NULL : strchr(names, at[1]);
    if (name != NULL) {
        *out = (unsigned char)values[name - names];
        return at + 2;
    }
    if (at[1] != 'u')
        return fail(error, "Invalid escape character in string.", at);
    int high = hex4(at + 2);
    if (high < 0)
        return fail(error, "Incorrect hex digit after \\u escape in string.", at);
    *out = (unsigned)high;
    if (high < 0xD800 || high > 0xDBFF)
        return at + 6;
    if (at[6] != '\\' || at[7] != 'u')
        return fail(error, "The surrogate pair in string is invalid.", at);
    int low = hex4(at + 8);
    if (low < 0)
        return fail(error, "Incorrect hex digit after \\u escape in string.", at);
    if (low < 0xDC00 || low > 0xDFFF)
        return fail(error, "The surrogate pair in string is invalid.", at);
    *out = (((unsigned)high - 0xD800) << 10 | ((unsigned)low - 0xDC00)) + 0x10000;
    return at + 12;
}

/* Bytes that end a stretch of plain ones: the quote, the backslash, control characters. */
static inline const char *skip_plain(const char *at)
{
    for (;;) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        uint64_t quote = eight ^ 0x2222222222222222u, slash = eight ^ 0x5C5C5C5C5C5C5C5Cu;
        uint64_t stop =
            (((eight - 0x2020202020202020u) & ~eight) | ((quote - 0x0101010101010101u) & ~quote) |
             ((slash - 0x0101010101010101u) & ~slash)) &
            0x8080808080808080u;
        if (stop != 0)
            break;
        at += 8;
    }
    while ((unsigned char)*at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    return at;
}

static const char *check_string(const char *at, struct json_error *error)
{
    at++;
    for (;;) {
        at = skip_plain(at);
        if (*at == '"')
            return at + 1;
        if (*at == '\0')
            return fail(error, "Missing a closing quotation mark in string.", at);
        if (*at != '\\')
            return fail(error, "Invalid escape character in string.", at);
        unsigned code;
        at = read_escape(at, &code, error);
        if (at == NULL)
            return NULL;
    }
}

const char *json_string_end(const char *at)
{
    struct json_error error;
    return check_string(at, &error);
}

static const char *check_scalar(const char *at, struct json_error *error)
{
    switch (*at) {
    case '"':
        return check_string(at, error);
    case 't':
        return check_word(at, "true", error);
    case 'f':
        return check_word(at, "false", error);
    case 'n':
        return check_word(at, "null", error);
    default:
        return check_number(at, error);
    }
}

/* What the innermost of many brackets is: a bit each, on the stack until there are many. */
struct nesting {
    uint64_t local[16], *bits;
    size_t depth, capacity;
};

static void nesting_push(struct nesting *nesting, bool object)
{
    if (nesting->depth == nesting->capacity) {
        size_t words = nesting->capacity / 64;
        uint64_t *grown = zalloc(2 * words * sizeof *grown);
        memcpy(grown, nesting->bits, words * sizeof *grown);
        if (nesting->bits != nesting->local)
            free(nesting->bits);
        nesting->bits = grown;
        nesting->capacity *= 2;
    }
    uint64_t bit = (uint64_t)1 << (nesting->depth % 64);
    uint64_t *word = &nesting->bits[nesting->depth++ / 64];
    *word = object ? *word | bit : *word & ~bit;
}

static bool nesting_in_object(const struct nesting *nesting)
{
    size_t top = nesting->depth - 1;
    return nesting->bits[top / 64] >> (top % 64) & 1;
}

/* From behind `{` or `,` in an object to its value. */
static const char *check_name(const char *at, struct json_error *error)
{
    if (*at != '"')
        return fail(error, "Missing a name for object member.", at);
    at = check_string(at, error);
    if (at == NULL)
        return NULL;
    at = json_space(at);
    if (*at != ':')
        return fail(error, "Missing a colon after a name of object member.", at);
    return json_space(at + 1);
}

/* Behind a value: closes what it ends and passes the comma. *done: the outermost value has ended.
 */
static const char *check_after(const char *at, struct nesting *nesting, bool *done,
                               struct json_error *error)
{
    for (;;) {
        if (nesting->depth == 0) {
            *done = true;
            return at;
        }
        bool object = nesting_in_object(nesting);
        at = json_space(at);
        if (*at == ',') {
            at = json_space(at + 1);
            return object ? check_name(at, error) : at;
        }
        if (*at != (object ? '}' : ']'))
            return fail(error,
                        object ? "Missing a comma or '}' after an object member."
                               : "Missing a comma or ']' after an array element.",
                        at);
        nesting->depth--;
        at++;
    }
}

/* Opens the bracket at `at`. *empty: it is closed again; the return stands behind it. */
static const char *check_open(const char *at, struct nesting *nesting, bool *empty,
                              struct json_error *error)
{
    bool object = *at == '{';
    at = json_space(at + 1);
    *empty = *at == (object ? '}' : ']');
    if (*empty)
        return at + 1;
    nesting_push(nesting, object);
    return object ? check_name(at, error) : at;
}

static const char *check_value(const char *at, struct nesting *nesting, struct json_error *error)
{
    bool done = false;
    while (at != NULL && !done) {
        bool ended = true;
        if (*at == '{' || *at == '[')
            at = check_open(at, nesting, &ended, error);
        else
            at = check_scalar(at, error);
        if (at != NULL && ended)
            at = check_after(at, nesting, &done, error);
    }
    return at;
}

const char *json_check(const char *at, struct json_error *error)
{
    struct nesting nesting = { .capacity = 16 * 64 };
    nesting.bits = nesting.local;
    at = json_space(at);
    if (*at == '\0' || *at == ',' || *at == ':' || *at == ']' || *at == '}')
        return fail(error, "The document is empty.", at);
    at = check_value(at, &nesting, error);
    if (nesting.bits != nesting.local)
        free(nesting.bits);
    return at;
}

struct status json_error_status(const char *text, const struct json_error *error)
{
    if (*text == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "JSON Parse error: The document is empty");
    return status_error(STATUS_INVALID_ARGUMENT, "JSON Parse error: %s at offset: %zu",
                        error->reason, (size_t)(error->at - text));
}

static const char *skip_string(const char *at)
{
    for (at = skip_plain(at + 1); *at != '"'; at = skip_plain(at))
        at += at[0] == '\\' ? 2 : 1;
    return at + 1;
}

/* The next byte that means something: a bracket, a quote, a separator. */
static const char *skip_token(const char *at)
{
    while (*at != ',' && *at != ']' && *at != '}' && *at != ':' && *at > ' ')
        at++;
    return at;
}

const char *json_skip(const char *at)
{
    size_t depth = 0;
    do {
        at = json_space(at);
        switch (*at) {
        case '[':
        case '{':
            depth++;
            at++;
            break;
        case ']':
        case '}':
            depth--;
            at++;
            break;
        case ',':
        case ':':
            at++;
            break;
        case '"':
            at = skip_string(at);
            break;
        case '\0':
            return at; /* not checked text; no further than its end */
        default:
            at = skip_token(at);
        }
    } while (depth > 0);
    return at;
}

static size_t encode_utf8(unsigned code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = { 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = more; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(lead[more] | code);
    return more + 1;
}

struct status json_string(const char *at, struct arena *arena, struct bytes *out)
{
    const char *start = at + 1, *plain = skip_plain(start);
    if (*plain == '"') {
        *out = (struct bytes){ start, (size_t)(plain - start) };
        return status_ok();
    }
    char *copy;
    size_t size = 0;
    /* An escape is never shorter than what it stands for. */
    TRY(arena_reserve(arena, (size_t)(skip_string(at) - start), (void **)&copy));
    for (at = start; *at != '"';) {
        plain = skip_plain(at);
        memcpy(copy + size, at, (size_t)(plain - at));
        size += (size_t)(plain - at);
        at = plain;
        if (*at == '\\') {
            unsigned code = 0;
            struct json_error error;
            at = read_escape(at, &code, &error);
            if (at == NULL)
                return status_error(STATUS_INTERNAL, "json_string: unchecked text");
            size += encode_utf8(code, copy + size);
        }
    }
    *out = (struct bytes){ copy, size };
    return status_ok();
}

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
#define FLOAT_MAX 3.4028234e38 /* RapidJSON's bound in Value::IsFloat */

/* In what form numbers, strings and brackets are written: that of RapidJSON's PrettyWriter. */
#define DUMP_INDENT 4

struct dump {
    struct buffer out;
    struct arena *arena;
    int depth;
    bool opened;  /* nothing has followed the last opening bracket yet */
    bool stopped; /* at a number that has no JSON form */
};

static void dump_line(struct dump *dump)
{
    buffer_append_char(&dump->out, '\n');
    for (int i = 0; i < dump->depth * DUMP_INDENT; i++)
        buffer_append_char(&dump->out, ' ');
}

/* Before each element and each name: a list's and an object's first one opens a line. */
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
        return skip_token(at);
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
    const char *end = skip_string(at);
    /* Nothing prints as fewer bytes than it has, so these fill what is shown. */
    if (status_is_ok(json_string(at, dump->arena, &text))) {
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

/* A value that is a decimal number is written as an answer is: as a float if it fits one. */
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
    /* Behind a number or a word that is the whole document stands what nobody has checked. */
    bool one_token = *at != '{' && *at != '[' && *at != '"';
    const char *end = one_token ? at + 1 : json_skip(at);
    if (one_token && strchr("tfn", *at) == NULL && dump_decimal(at, out))
        end = at;
    while (out->size < DUMP_MAX && !dump.stopped && (at = json_space(at)) < end)
        at = dump_token(at, &dump);
    size_t size = out->size < DUMP_MAX ? out->size : DUMP_MAX;
    while (size > 0 && size < out->size && ((unsigned char)out->data[size] & 0xC0) == 0x80)
        size--; /* not inside a character */
    char *text = arena_memdup(arena, out->data, size);
    buffer_finish(out);
    return text;
}

const char *json_first(const char *at)
{
    at = json_space(at + 1);
    return *at == ']' || *at == '}' ? NULL : at;
}

const char *json_next(const char *element)
{
    const char *at = json_space(json_skip(element));
    return *at == ',' ? json_space(at + 1) : NULL;
}

const char *json_member_value(const char *name)
{
    return json_space(json_space(skip_string(name)) + 1);
}

const char *json_next_member(const char *name)
{
    return json_next(json_member_value(name));
}

size_t json_list_size(const char *list)
{
    size_t size = 0;
    for (const char *at = json_first(list); at != NULL; at = json_next(at))
        size++;
    return size;
}

bool json_is_base64(const char *at, const char **text)
{
    if (*at != '{')
        return false;
    const char *name = json_first(at);
    if (name == NULL || strncmp(name, "\"b64\"", 5) != 0)
        return false;
    const char *value = json_member_value(name);
    *text = value;
    return *value == '"' && json_next(value) == NULL;
}
