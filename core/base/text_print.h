/*
 * text_print: untrusted text inside JSON, a header or a line on a terminal.
 */
#ifndef BASE_TEXT_PRINT_H
#define BASE_TEXT_PRINT_H

#include "base/bytes.h"

/* With quotes and the escapes that JSON requires, as TensorFlow Serving prints them. Bytes from
 * 0x7f pass unchanged. */
void json_print_string(struct buffer *out, struct bytes text);

/* The same in printable ASCII, as a header requires. Bytes that are not UTF-8 become \uFFFD. */
void json_print_ascii(struct buffer *out, struct bytes text);

/* The same for a terminal: control characters beyond ASCII are escaped as well. */
void json_print_visible(struct buffer *out, struct bytes text);

/* For a terminal, without quotes: control characters, which could move the cursor or change
 * settings, become \u001B and the like. Bytes that are not UTF-8 stay, except those that some
 * terminals interpret as control characters. */
void text_print_visible(struct buffer *out, struct bytes text);
/* The same for several lines: line feeds stay. */
void text_print_lines(struct buffer *out, struct bytes text);

/* A name inside the text of a status, which a NUL would cut short: each becomes \000. It lives as
 * long as the text of a status (status.h). */
const char *text_print_name(struct bytes name);

/* For readers that require UTF-8: each invalid byte becomes U+FFFD; nothing is escaped. */
void text_print_utf8(struct buffer *out, struct bytes text);

#endif
