/*
 * status: asserts that a call succeeds, or how it fails. A test that fails names its own line, the
 * code and the text.
 *
 * Include <cmocka.h> first.
 */
#ifndef SUPPORT_STATUS_H
#define SUPPORT_STATUS_H

#include <string.h>

#include "base/status.h"

#define assert_ok(expression) assert_ok_at((expression), __FILE__, __LINE__)

static inline void assert_ok_at(struct status status, const char *file, int line)
{
    if (status_is_ok(status))
        return;
    print_error("ERROR: %s: %s\n", status_code_name(status.code), status.message);
    _fail(file, line);
}

#define assert_fails(expression, code, text) \
    assert_fails_at((expression), (code), (text), __FILE__, __LINE__)

static inline void assert_fails_at(struct status status, enum status_code code, const char *text,
                                   const char *file, int line)
{
    _assert_string_equal(status.message, text, file, line);
    _assert_int_equal(status.code, code, file, line);
}

/* The text contains `part`. */
#define assert_fails_naming(expression, code, part) \
    assert_fails_naming_at((expression), (code), (part), __FILE__, __LINE__)

static inline void assert_fails_naming_at(struct status status, enum status_code code,
                                          const char *part, const char *file, int line)
{
    if (status.code == code && strstr(status.message, part) != NULL)
        return;
    print_error("ERROR: %s: '%s', expected %s with the text '%s'\n", status_code_name(status.code),
                status.message, status_code_name(code), part);
    _fail(file, line);
}

#endif
