/*
 * json_value: a JSON text as a tree. jansson's types stay in json_value.c.
 */
#ifndef BASE_JSON_VALUE_H
#define BASE_JSON_VALUE_H

#include "base/arena.h"
#include "base/bytes.h"

enum json_value_kind {
    JSON_VALUE_NULL,
    JSON_VALUE_BOOL,
    JSON_VALUE_INT,
    JSON_VALUE_REAL,
    JSON_VALUE_TEXT,
    JSON_VALUE_LIST,
    JSON_VALUE_OBJECT,
};

struct json_value {
    enum json_value_kind kind;
    int count; /* number of members of a list or an object */
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *text; /* ends with a NUL after text_size bytes */
            size_t text_size;
        };
        struct {
            const struct json_value *members; /* of a list or an object */
            const char **keys;                /* of an object, in the order of the text */
        };
    };
};

/**
 * Parses JSON. Any value may be at the top level.
 *
 * Owner   *out in `arena`
 * Errors  INVALID_ARGUMENT with line and column: not JSON, not UTF-8, more than 2048 levels;
 *         RESOURCE_EXHAUSTED over the arena's limit
 */
struct status json_value_read(struct bytes json, struct arena *arena,
                              const struct json_value **out);
/* The same, and INVALID_ARGUMENT if a text holds a NUL or an object has two equal keys. Otherwise
 * the last of equal keys counts. */
struct status json_value_read_strict(struct bytes json, struct arena *arena,
                                     const struct json_value **out);

/* The same as json_value_read_strict, but takes NaN, Infinity and -Infinity too, which Python's
 * json module writes. */
struct status json_value_read_python(struct bytes json, struct arena *arena,
                                     const struct json_value **out);

/* The same as json_value_read, but every number is a JSON_VALUE_REAL. -0 keeps its sign, and an
 * integer may be beyond int64. */
struct status json_value_read_reals(struct bytes json, struct arena *arena,
                                    const struct json_value **out);

/* A member of an object; NULL: missing, not an object, or `object` is NULL. */
const struct json_value *json_value_get(const struct json_value *object, const char *key);
/* The text of a member, or NULL. */
const char *json_value_get_text(const struct json_value *object, const char *key);
/* Is it absent or null? */
bool json_value_is_null(const struct json_value *value);
/* Is it an integer or a finite real number? Sets *out if it is. */
bool json_value_number(const struct json_value *value, double *out);
/* The same, but NaN and the infinities are numbers too. */
bool json_value_any_number(const struct json_value *value, double *out);
/* The text of a JSON_VALUE_TEXT. */
struct bytes json_value_bytes(const struct json_value *value);
/* The number of members of a list or an object; 0 for any other value or NULL. */
int json_value_count(const struct json_value *value);

/* Appends the value as JSON on one line. Numbers keep their bits and their kind; those that are not
 * finite become Python's words. */
void json_value_print(const struct json_value *value, struct buffer *out);

/* Describes a value for an error text: 'same', 3, null, a list of 2, an object. In `arena`. */
const char *json_value_show(const struct json_value *value, struct arena *arena);

#endif
