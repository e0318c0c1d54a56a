/* What the tests of the readers of values share: how a row ends. */
#ifndef TESTS_ROW_CHECK_H
#define TESTS_ROW_CHECK_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tensor/value_json.h"

/* want: what a tensor that was read is printed as; it is released. NULL: it was refused with
 * `code`, and with `error` in the text. */
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
