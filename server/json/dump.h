/*
 * json_dump: checked JSON values as error texts show them.
 */
#ifndef SERVER_JSON_DUMP_H
#define SERVER_JSON_DUMP_H

#include "base/arena.h"

/* "Null", "False", "True", "Object", "Array", "String" or "Number": RapidJSON's names of types. */
const char *json_type_name(const char *at);

/* The value as RapidJSON's PrettyWriter writes it, cut at 256 bytes. In `arena`. */
const char *json_dump(const char *at, struct arena *arena);

#endif
