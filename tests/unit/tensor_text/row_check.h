/* Checks the outcome of a row in the tests of the value readers. */
#ifndef TESTS_ROW_CHECK_H
#define TESTS_ROW_CHECK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/value_json.h"

/* Expects the tensor to print as `want`, and releases it. If want is NULL, expects an error with
 * `code` whose text contains `error`. */
static inline void check_row(struct status status, struct tensor *tensor, const char *want,
                             enum status_code code, const char *error)
{
    struct buffer out = { 0 };
    if (want == NULL) {
        assert_int_equal(status.code, code);
        if (strstr(status.message, error) == NULL)
            fail_msg("'%s' does not contain '%s'", status.message, error);
        return;
    }
    assert_int_equal(status.code, STATUS_OK);
    value_to_text(tensor, &out);
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, want);
    buffer_finish(&out);
    tensor_release(tensor);
}

#endif
