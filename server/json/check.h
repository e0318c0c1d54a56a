/*
 * json_check: the grammar of JSON documents. It does not recurse, whatever the depth of the text.
 */
#ifndef SERVER_JSON_CHECK_H
#define SERVER_JSON_CHECK_H

#include "base/status.h"
#include "server/json/text.h"

/* Checks the value at `at`, which white space may precede. Returns its end; NULL and *error if it
 * is broken. */
const char *json_check(const char *at, struct json_error *error);

/* "JSON Parse error: Invalid value. at offset: 7" for a body that begins at `text`. */
struct status json_error_status(const char *text, const struct json_error *error);

#endif
