#include "server/json/string.h"

#include "base/characters.h"

/* Reads four hex digits; -1 if there are fewer. */
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

/* Reads the escape at `at`, a '\\'. A pair of surrogates is one code point. Returns the end; NULL
 * if the escape is broken. */
static const char *read_escape(const char *at, unsigned *out, struct json_error *error)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = at[1] == '\0' ? NULL : strchr(names, at[1]);
    if (name != NULL) {
        *out = (unsigned char)values[name - names];
        return at + 2;
    }
    if (at[1] != 'u')
        return json_fail(error, "Invalid escape character in string.", at);
    int high = hex4(at + 2);
    if (high < 0)
        return json_fail(error, "Incorrect hex digit after \\u escape in string.", at);
    *out = (unsigned)high;
    if (high < 0xD800 || high > 0xDBFF)
        return at + 6;
    if (at[6] != '\\' || at[7] != 'u')
        return json_fail(error, "The surrogate pair in string is invalid.", at);
    int low = hex4(at + 8);
    if (low < 0)
        return json_fail(error, "Incorrect hex digit after \\u escape in string.", at);
    if (low < 0xDC00 || low > 0xDFFF)
        return json_fail(error, "The surrogate pair in string is invalid.", at);
    *out = (((unsigned)high - 0xD800) << 10 | ((unsigned)low - 0xDC00)) + 0x10000;
    return at + 12;
}

/* Moves to the next quote, backslash or control character, eight bytes at a time. */
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

const char *json_string_check(const char *at, struct json_error *error)
{
    at++;
    for (;;) {
        at = skip_plain(at);
        if (*at == '"')
            return at + 1;
        if (*at == '\0')
            return json_fail(error, "Missing a closing quotation mark in string.", at);
        if (*at != '\\')
            return json_fail(error, "Invalid escape character in string.", at);
        unsigned code;
        at = read_escape(at, &code, error);
        if (at == NULL)
            return NULL;
    }
}

const char *json_string_end(const char *at)
{
    struct json_error error;
    return json_string_check(at, &error);
}

const char *json_string_skip(const char *at)
{
    for (at = skip_plain(at + 1); *at != '"'; at = skip_plain(at))
        at += at[0] == '\\' ? 2 : 1;
    return at + 1;
}

const char *json_string_match(const char *at, const char *text)
{
    struct json_error error;
    if (*at++ != '"')
        return NULL;
    for (; *text != '\0'; text++) {
        unsigned code = (unsigned char)*at;
        at = code == '\\' ? read_escape(at, &code, &error) : at + 1;
        if (at == NULL || code != (unsigned char)*text)
            return NULL;
    }
    return *at == '"' ? at + 1 : NULL;
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

struct status json_string_read(const char *at, struct arena *arena, struct bytes *out)
{
    const char *start = at + 1, *plain = skip_plain(start);
    if (*plain == '"') {
        *out = (struct bytes){ start, (size_t)(plain - start) };
        return status_ok();
    }
    char *copy;
    size_t size = 0;
    /* No escape is shorter than the bytes that it represents. */
    TRY(arena_reserve(arena, (size_t)(json_string_skip(at) - start), (void **)&copy));
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
                return status_error(STATUS_INTERNAL, "json_string_read: unchecked text");
            size += encode_utf8(code, copy + size);
        }
    }
    *out = (struct bytes){ copy, size };
    return status_ok();
}
