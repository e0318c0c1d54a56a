/*
 * json_text: the grammar of JSON request bodies: checking, skipping, strings, and dumps for error
 * texts.
 *
 * A body is bytes with JSON_PADDING zero bytes behind them; a NUL ends it, as in the parser that
 * TensorFlow Serving uses (RapidJSON), whose deviations from RFC 8259, error texts and offsets
 * these are (serving-api.md §3.1). Nothing recurses. Functions that take checked text rely on
 * json_check having passed over it.
 */
#ifndef SERVER_JSON_TEXT_H
#define SERVER_JSON_TEXT_H

#include "base/arena.h"
#include "base/bytes.h"
#include "server/json_number.h"

struct json_error {
    const char *reason; /* "Invalid value." */
    const char *at;
};

static inline const char *json_space(const char *at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')
        at++;
    return at;
}

/* Checks the value at `at` (white space before it allowed). Returns its end; NULL and *error where
 * it is broken. */
const char *json_check(const char *at, struct json_error *error);

/* "JSON Parse error: Invalid value. at offset: 7" for a body that begins at `text`. */
struct status json_error_status(const char *text, const struct json_error *error);

/* The end of the checked value at `at`. */
const char *json_skip(const char *at);

/* The end of the string at `at`, a '"'; NULL where it is broken. */
const char *json_string_end(const char *at);

/* The bytes of the checked string at `at`: a view of the text, or, where it has escapes, a copy in
 * `arena`. */
struct status json_string(const char *at, struct arena *arena, struct bytes *out);

/* "Null", "False", "True", "Object", "Array", "String" or "Number": the words of error texts. */
const char *json_type_name(const char *at);

/* The checked value written again for an error text, as RapidJSON's PrettyWriter does, and cut at
 * 256 bytes. In `arena`. */
const char *json_dump(const char *at, struct arena *arena);

/*
 * Members and elements of a checked object or list:
 *     for (const char *at = json_first(list); at != NULL; at = json_next(at)) …
 * `at` stands at the element, of an object at the member's name; json_member_value leads from there
 * to the value.
 */
const char *json_first(const char *at);
const char *json_next(const char *element);
const char *json_next_member(const char *name);
const char *json_member_value(const char *name);
size_t json_list_size(const char *list);

/* {"b64": "text"}: exactly one member of that name, a string. *text: where the string stands. */
bool json_is_base64(const char *at, const char **text);

#endif
