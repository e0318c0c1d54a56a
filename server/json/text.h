/*
 * json_text: types and conventions shared by the readers of JSON text.
 *
 * A body is followed by JSON_PADDING zero bytes. A NUL ends it, as in RapidJSON, the parser of
 * TensorFlow Serving, whose deviations from RFC 8259, error texts and offsets these readers
 * replicate. `at` is a position in the text. *Checked* text has passed json_check: functions that
 * take it do not look for errors. base/json_number.h reads the numbers.
 *
 *     string.h    strings and their escapes
 *     check.h     the grammar: says where a document is broken
 *     walk.h      members and elements of checked text
 *     dump.h      checked values in error texts
 *     tensor.h    nested lists to tensors
 */
#ifndef SERVER_JSON_TEXT_H
#define SERVER_JSON_TEXT_H

#include "base/json_number.h"

/* The error in a broken text, and its position. */
struct json_error {
    const char *reason; /* "Invalid value." */
    const char *at;
};

/* Fills in the error; returns NULL, for the caller to return. */
static inline const char *json_fail(struct json_error *error, const char *reason, const char *at)
{
    *error = (struct json_error){ reason, at };
    return NULL;
}

#endif
