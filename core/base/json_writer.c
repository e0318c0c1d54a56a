#include "base/json_writer.h"

#include <inttypes.h>

#include "base/text_print.h"

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
        json_print_string(writer->out, bytes_of(key));
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
    json_print_string(writer->out, text);
}

void json_write_integer(struct json_writer *writer, const char *key, int64_t value)
{
    begin_member(writer, key);
    buffer_printf(writer->out, "%" PRId64, value);
}

void json_write_real(struct json_writer *writer, const char *key, double value)
{
    begin_member(writer, key);
    buffer_printf(writer->out, "%.9g", value);
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
