#include "base/json_writer.h"

#include <inttypes.h>

/* The letter after the backslash; 0: none has one. */
static char escape_letter(char c)
{
    static const char controls[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *at = c != '\0' ? strchr(controls, c) : NULL;
    if (c == '"' || c == '\\')
        return c;
    return at != NULL ? letters[at - controls] : '\0';
}

void json_put_string(struct buffer *out, struct bytes text)
{
    buffer_append_char(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i], letter = escape_letter(c);
        if (letter != '\0')
            buffer_printf(out, "\\%c", letter);
        else if ((unsigned char)c < 0x20)
            buffer_printf(out, "\\u%04X", (unsigned char)c);
        else
            buffer_append_char(out, c);
    }
    buffer_append_char(out, '"');
}

static void begin_line(struct json_writer *writer)
{
    buffer_printf(writer->out, "\n%*s", 2 * writer->depth, "");
}

static void begin_member(struct json_writer *writer, const char *key)
{
    if (writer->has_members)
        buffer_append_char(writer->out, ',');
    if (writer->depth > 0)
        begin_line(writer);
    if (key != NULL) {
        json_put_string(writer->out, bytes_of(key));
        buffer_append_text(writer->out, ": ");
    }
    writer->has_members = true;
}

void json_open(struct json_writer *writer, const char *key, char bracket)
{
    begin_member(writer, key);
    buffer_append_char(writer->out, bracket);
    writer->depth++;
    writer->has_members = false;
}

void json_close(struct json_writer *writer, char bracket)
{
    writer->depth--;
    if (writer->has_members)
        begin_line(writer);
    buffer_append_char(writer->out, bracket);
    writer->has_members = true;
}

void json_write_text(struct json_writer *writer, const char *key, struct bytes text)
{
    begin_member(writer, key);
    json_put_string(writer->out, text);
}

void json_write_integer(struct json_writer *writer, const char *key, int64_t value)
{
    begin_member(writer, key);
    buffer_printf(writer->out, "%" PRId64, value);
}

void json_write_bool(struct json_writer *writer, const char *key, bool value)
{
    begin_member(writer, key);
    buffer_append_text(writer->out, value ? "true" : "false");
}

void json_write_null(struct json_writer *writer, const char *key)
{
    begin_member(writer, key);
    buffer_append_text(writer->out, "null");
}
