/*
 * value: a model description as a tree of our own, so that jansson's types stay in value_json.c.
 */
#ifndef LAYERS_VALUE_H
#define LAYERS_VALUE_H

#include "base/arena.h"
#include "base/bytes.h"

enum value_kind {
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_INT,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST,
    VALUE_OBJECT,
};

struct value {
    enum value_kind kind;
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *text;
    };
    const char **keys;           /* of an object */
    const struct value *members; /* of a list or an object */
    int count;
};

/**
 * Reads JSON (value_json.c). Any value may stand at the top.
 *
 * Owner   *out in `arena`
 * Errors  INVALID_ARGUMENT with line and column: not JSON, not UTF-8, a NUL, two equal keys, more
 *         than 2048 levels
 */
struct status value_read(struct bytes json, struct arena *arena, const struct value **out);

/* A member of an object; NULL: not there, not an object, or `object` is NULL. */
const struct value *value_get(const struct value *object, const char *key);
/* The text of a member, or NULL. */
const char *value_get_text(const struct value *object, const char *key);
/* Is it absent or null? */
bool value_is_null(const struct value *value);
/* A number of either kind; false: it is none. */
bool value_number(const struct value *value, double *out);

/* What is there, for error texts: 'same', 3, null, a list of 2, an object. In `arena`. */
const char *value_show(const struct value *value, struct arena *arena);

#endif
