/*
 * json_walk: the members of objects and the elements of lists, in checked text.
 *
 *     for (const char *at = json_first(list); at != NULL; at = json_next(at)) …
 *     for (const char *at = json_first(object); at != NULL; at = json_next_member(at)) …
 *
 * In a list, `at` points to the element. In an object it points to the member's name, and
 * json_member_value returns the value.
 */
#ifndef SERVER_JSON_WALK_H
#define SERVER_JSON_WALK_H

#include <stddef.h>

#include "server/json/text.h"

/* The end of the value at `at`. */
const char *json_skip(const char *at);
/* The end of a number or a word (true, false, null). */
const char *json_skip_token(const char *at);

const char *json_first(const char *at);         /* NULL: the list or the object is empty */
const char *json_next(const char *element);     /* NULL: it is the last */
const char *json_next_member(const char *name); /* NULL: it is the last */
const char *json_member_value(const char *name);
size_t json_list_size(const char *list);

/* Is the value {"b64": "text"}, an object with exactly that member? *text: its string. */
bool json_is_base64(const char *at, const char **text);

#endif
