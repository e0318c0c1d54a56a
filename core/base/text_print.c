#include "base/text_print.h"

#include <string.h>

#define NOT_UTF8 0xFFFD

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

/* The character at the start of `size` bytes, which is not ASCII; NOT_UTF8 with *length 1 if it is
 * none. */
static uint32_t read_utf8(const unsigned char *at, size_t size, size_t *length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t bytes = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : at[0] >= 0xC0 ? 2 : 1;
    uint32_t c = bytes > 1 ? at[0] & (0xFFU >> (bytes + 1)) : 0;
    *length = 1;
    if (bytes == 1 || at[0] >= 0xF8 || bytes > size)
        return NOT_UTF8;
    for (size_t i = 1; i < bytes; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return NOT_UTF8;
        c = c << 6 | (at[i] & 0x3FU);
    }
    if (c < least[bytes] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return NOT_UTF8;
    *length = bytes;
    return c;
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
        uint32_t c = data[i];
        length = 1;
        if (c >= 0x80 && escapes != ESCAPES_JSON)
            c = read_utf8(data + i, text.size - i, &length);
        if (c == NOT_UTF8 && length == 1 && escapes != ESCAPES_ASCII)
            c = data[i];
        if (!is_escaped(c, escapes))
            continue;
        buffer_append(out, text.data + plain, i - plain);
        print_escape(out, c);
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
    const unsigned char *data = (const unsigned char *)text.data;
    size_t plain = 0, length;
    for (size_t i = 0; i < text.size; i += length) {
        length = 1;
        if (data[i] < 0x80 || read_utf8(data + i, text.size - i, &length) != NOT_UTF8 || length > 1)
            continue;
        buffer_append(out, text.data + plain, i - plain);
        buffer_append_text(out, "\xEF\xBF\xBD"); /* NOT_UTF8 */
        plain = i + 1;
    }
    if (plain < text.size)
        buffer_append(out, text.data + plain, text.size - plain);
}
