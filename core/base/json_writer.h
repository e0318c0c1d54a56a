/*
 * json_writer: writes JSON, indented by two spaces a level, each member on a line of its own.
 *
 *     struct json_writer writer = { .out = &buffer };
 *     json_open(&writer, NULL, '{');
 *     json_write_text(&writer, "name", bytes_of("x"));
 *     json_open(&writer, "shape", '[');
 *     json_write_integer(&writer, NULL, 3);
 *     json_close(&writer, ']');
 *     json_close(&writer, '}');
 *
 * The key is NULL for an element of a list and for the whole document. text_print.h prints a string
 * alone.
 */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct json_writer {
    struct buffer *out;
    int depth;
    bool has_members; /* the innermost list or object already has a member */
};

void json_open(struct json_writer *writer, const char *key, char bracket);
void json_close(struct json_writer *writer, char bracket);
void json_write_text(struct json_writer *writer, const char *key, struct bytes text);
void json_write_integer(struct json_writer *writer, const char *key, int64_t value);
void json_write_real(struct json_writer *writer, const char *key, double value); /* finite */
void json_write_bool(struct json_writer *writer, const char *key, bool value);
void json_write_null(struct json_writer *writer, const char *key);

#endif
