#include "server/json/check.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/characters.h"
#include "base/json_number.h"
#include "server/json/string.h"

/* The error is at the first letter that differs. */
static const char *check_word(const char *at, const char *word, struct json_error *error)
{
    for (; *word != '\0'; word++, at++)
        if (*at != *word)
            return json_fail(error, "Invalid value.", at);
    return at;
}

static const char *check_special(const char *at, struct json_error *error)
{
    if (*at == 'N')
        return check_word(at, "NaN", error);
    at = check_word(at, "Inf", error);
    return at != NULL && *at == 'i' ? check_word(at, "inity", error) : at;
}

/* Converts only literals that may be out of range: long ones, and those with an exponent. */
static const char *check_magnitude(const char *start, const char *end, struct json_error *error)
{
    struct json_number number;
    if (end - start <= 300 && !memchr(start, 'e', (size_t)(end - start)) &&
        !memchr(start, 'E', (size_t)(end - start)))
        return end;
    json_number_read(start, &number);
    if (json_number_is_too_big(&number, json_number_double(&number)))
        return json_fail(error, "Number too big to be stored in double.", start);
    return end;
}

static const char *check_number(const char *at, struct json_error *error)
{
    const char *start = at;
    at += *at == '-';
    if (*at == 'N' || *at == 'I')
        return check_special(at, error);
    if (!is_digit(*at))
        return json_fail(error, "Invalid value.", at);
    if (*at++ != '0')
        while (is_digit(*at))
            at++;
    if (*at == '.') {
        if (!is_digit(*++at))
            return json_fail(error, "Miss fraction part in number.", at);
        while (is_digit(*at))
            at++;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        if (!is_digit(*at))
            return json_fail(error, "Miss exponent in number.", at);
        while (is_digit(*at))
            at++;
    }
    return check_magnitude(start, at, error);
}

static const char *check_scalar(const char *at, struct json_error *error)
{
    switch (*at) {
    case '"':
        return json_string_check(at, error);
    case 't':
        return check_word(at, "true", error);
    case 'f':
        return check_word(at, "false", error);
    case 'n':
        return check_word(at, "null", error);
    default:
        return check_number(at, error);
    }
}

/* The kinds of the open brackets, one bit each; 1 is an object. The first 1024 need no heap memory.
 */
struct nesting {
    uint64_t local[16], *bits;
    size_t depth, capacity;
};

static void nesting_push(struct nesting *nesting, bool object)
{
    if (nesting->depth == nesting->capacity) {
        size_t words = nesting->capacity / 64;
        uint64_t *grown = zalloc(2 * words * sizeof *grown);
        memcpy(grown, nesting->bits, words * sizeof *grown);
        if (nesting->bits != nesting->local)
            free(nesting->bits);
        nesting->bits = grown;
        nesting->capacity *= 2;
    }
    uint64_t bit = (uint64_t)1 << (nesting->depth % 64);
    uint64_t *word = &nesting->bits[nesting->depth++ / 64];
    *word = object ? *word | bit : *word & ~bit;
}

static bool nesting_in_object(const struct nesting *nesting)
{
    size_t top = nesting->depth - 1;
    return nesting->bits[top / 64] >> (top % 64) & 1;
}

/* Checks a member's name and colon. Returns the start of its value. */
static const char *check_name(const char *at, struct json_error *error)
{
    if (*at != '"')
        return json_fail(error, "Missing a name for object member.", at);
    at = json_string_check(at, error);
    if (at == NULL)
        return NULL;
    at = json_space(at);
    if (*at != ':')
        return json_fail(error, "Missing a colon after a name of object member.", at);
    return json_space(at + 1);
}

/* Moves from the end of a value to the next value, past closing brackets and a comma. *done: the
 * outermost value has ended. */
static const char *check_after(const char *at, struct nesting *nesting, bool *done,
                               struct json_error *error)
{
    for (;;) {
        if (nesting->depth == 0) {
            *done = true;
            return at;
        }
        bool object = nesting_in_object(nesting);
        at = json_space(at);
        if (*at == ',') {
            at = json_space(at + 1);
            return object ? check_name(at, error) : at;
        }
        if (*at != (object ? '}' : ']'))
            return json_fail(error,
                             object ? "Missing a comma or '}' after an object member."
                                    : "Missing a comma or ']' after an array element.",
                             at);
        nesting->depth--;
        at++;
    }
}

/* Opens the bracket at `at`. Returns the start of its first value or, if it closes at once
 * (*empty), its end. */
static const char *check_open(const char *at, struct nesting *nesting, bool *empty,
                              struct json_error *error)
{
    bool object = *at == '{';
    at = json_space(at + 1);
    *empty = *at == (object ? '}' : ']');
    if (*empty)
        return at + 1;
    nesting_push(nesting, object);
    return object ? check_name(at, error) : at;
}

static const char *check_value(const char *at, struct nesting *nesting, struct json_error *error)
{
    bool done = false;
    while (at != NULL && !done) {
        bool ended = true;
        if (*at == '{' || *at == '[')
            at = check_open(at, nesting, &ended, error);
        else
            at = check_scalar(at, error);
        if (at != NULL && ended)
            at = check_after(at, nesting, &done, error);
    }
    return at;
}

const char *json_check(const char *at, struct json_error *error)
{
    struct nesting nesting = { .capacity = 16 * 64 };
    nesting.bits = nesting.local;
    at = json_space(at);
    if (*at == '\0' || *at == ',' || *at == ':' || *at == ']' || *at == '}')
        return json_fail(error, "The document is empty.", at);
    at = check_value(at, &nesting, error);
    if (nesting.bits != nesting.local)
        free(nesting.bits);
    return at;
}

struct status json_error_status(const char *text, const struct json_error *error)
{
    if (*text == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "JSON Parse error: The document is empty");
    return status_error(STATUS_INVALID_ARGUMENT, "JSON Parse error: %s at offset: %zu",
                        error->reason, (size_t)(error->at - text));
}
