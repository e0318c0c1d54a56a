#include "base/text_print.h"

#include <string.h>

#include "base/utf8.h"

#define UTF8_REPLACEMENT 0xFFFD
#define MALFORMED        (-1) /* of utf8_read */

/* Which characters are escaped, besides the control characters of ASCII. */
enum escapes {
    ESCAPES_JSON,    /* quotes and backslashes */
    ESCAPES_ASCII,   /* those, and all from 0x7f */
    ESCAPES_VISIBLE, /* those of JSON, and control characters from 0x7f */
    ESCAPES_BARE,    /* control characters only */
};

static void print_unit(struct buffer *out, unsigned unit)
{
    buffer_printf(out, "\\u%04X", unit);
}

static void print_escape(struct buffer *out, uint32_t c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c == 0 || c >= 0x80 ? NULL : strchr(from, (int)c);
    if (found != NULL) {
        buffer_append_char(out, '\\');
        buffer_append_char(out, to[found - from]);
    } else if (c >= 0x10000) {
        print_unit(out, 0xD800 + ((c - 0x10000) >> 10));
        print_unit(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
        print_unit(out, c);
    }
}

/* A byte that belongs to no character counts as a character. */
static size_t read_character(struct bytes text, size_t at, int32_t *c)
{
    size_t length = utf8_read(text.data + at, text.size - at, c);
    return *c == MALFORMED ? 1 : length;
}

static bool is_escaped(uint32_t c, enum escapes escapes)
{
    if (c < 0x20)
        return true;
    if (c < 0x7F)
        return escapes != ESCAPES_BARE && (c == '"' || c == '\\');
    return escapes == ESCAPES_ASCII || (escapes != ESCAPES_JSON && c < 0xA0);
}

static void print(struct buffer *out, struct bytes text, enum escapes escapes)
{
    const unsigned char *data = (const unsigned char *)text.data;
    size_t plain = 0, length = 1;
    for (size_t i = 0; i < text.size; i += length) {
        int32_t c = data[i];
        length = 1;
        if (c >= 0x80 && escapes != ESCAPES_JSON)
            length = read_character(text, i, &c);
        if (c == MALFORMED)
            c = escapes == ESCAPES_ASCII ? UTF8_REPLACEMENT : data[i];
        if (!is_escaped((uint32_t)c, escapes))
            continue;
        buffer_append(out, text.data + plain, i - plain);
        print_escape(out, (uint32_t)c);
        plain = i + length;
    }
    if (plain < text.size)
        buffer_append(out, text.data + plain, text.size - plain);
}

static void print_quoted(struct buffer *out, struct bytes text, enum escapes escapes)
{
    buffer_append_char(out, '"');
    print(out, text, escapes);
    buffer_append_char(out, '"');
}

void json_print_string(struct buffer *out, struct bytes text)
{
    print_quoted(out, text, ESCAPES_JSON);
}

void json_print_ascii(struct buffer *out, struct bytes text)
{
    print_quoted(out, text, ESCAPES_ASCII);
}

void json_print_visible(struct buffer *out, struct bytes text)
{
    print_quoted(out, text, ESCAPES_VISIBLE);
}

void text_print_visible(struct buffer *out, struct bytes text)
{
    print(out, text, ESCAPES_BARE);
}

void text_print_lines(struct buffer *out, struct bytes text)
{
    for (size_t at = 0, size; at < text.size; at += size + 1) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        size = end != NULL ? (size_t)(end - text.data) - at : text.size - at;
        print(out, (struct bytes){ text.data + at, size }, ESCAPES_BARE);
        if (end != NULL)
            buffer_append_char(out, '\n');
    }
}

void text_print_utf8(struct buffer *out, struct bytes text)
{
    size_t plain = 0, length;
    int32_t c;
    for (size_t i = 0; i < text.size; i += length) {
        length = read_character(text, i, &c);
        if (c != MALFORMED)
            continue;
        buffer_append(out, text.data + plain, i - plain);
        buffer_append_text(out, "\xEF\xBF\xBD"); /* UTF8_REPLACEMENT */
        plain = i + 1;
    }
    if (plain < text.size)
        buffer_append(out, text.data + plain, text.size - plain);
}

const char *text_print_name(struct bytes name)
{
    struct buffer text = { 0 };
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] != '\0')
            buffer_append_char(&text, name.data[i]);
        else
            buffer_append_text(&text, "\\000");
    }
    const char *kept = status_text("%.*s", (int)text.size, text.size > 0 ? text.data : "");
    buffer_finish(&text);
    return kept;
}
