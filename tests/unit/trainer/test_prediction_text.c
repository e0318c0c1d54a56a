#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "trainer/predict/prediction_text.h"

static const char *print(enum prediction_format format, const struct prediction_column *columns,
                         int count, int64_t rows)
{
    static char kept[1024];
    struct buffer text = { 0 };

    prediction_print_header(format, columns, count, &text);
    for (int64_t i = 0; i < rows; i++)
        prediction_print_row(format, columns, count, i, &text);
    buffer_append_char(&text, '\0');
    snprintf(kept, sizeof kept, "%s", text.data);
    buffer_finish(&text);
    return kept;
}

static void prints_both_formats(void **state)
{
    const struct bytes texts[] = { { "a,\"b\"\n", 6 }, { "", 0 } };
    const float pairs[] = { 0.1f, (float)NAN, -INFINITY, 3 };
    const int64_t numbers[] = { INT64_MIN, 7 };
    const bool truths[] = { true, false };
    const struct shape two = shape_of(2), two_by_two = shape_of(2, 2), column = shape_of(2, 1);
    const struct tensor id = tensor_borrow(DT_STRING, &column, texts),
                        pair = tensor_borrow(DT_FLOAT, &two_by_two, pairs),
                        number = tensor_borrow(DT_INT64, &two, numbers),
                        truth = tensor_borrow(DT_BOOL, &two, truths);
    const struct prediction_column columns[] = {
        { "id", &id }, { "p", &pair }, { "n,1", &number }, { "t", &truth }
    };

    (void)state;
    assert_true(status_is_ok(prediction_check(columns, 4, 2)));
    assert_string_equal(print(PREDICTION_JSONL, columns, 4, 2),
                        "{\"id\": [\"a,\\\"b\\\"\\n\"], \"p\": [0.100000001, NaN], "
                        "\"n,1\": -9223372036854775808, \"t\": true}\n"
                        "{\"id\": [\"\"], \"p\": [-Infinity, 3], \"n,1\": 7, \"t\": false}\n");
    assert_string_equal(print(PREDICTION_CSV, columns, 4, 2),
                        "id,p_0,p_1,\"n,1\",t\n"
                        "\"a,\"\"b\"\"\n\",0.100000001,NaN,-9223372036854775808,true\n"
                        ",-Infinity,3,7,false\n");
}

static void refuses_what_is_not_a_value_for_each_row(void **state)
{
    const float values[3] = { 0 };
    const struct shape scalar = shape_scalar(), three = shape_of(3);
    const struct tensor one = tensor_borrow(DT_FLOAT, &scalar, values),
                        other = tensor_borrow(DT_FLOAT, &three, values),
                        complex_one = tensor_borrow(DT_COMPLEX64, &three, values);
    const struct prediction_column a = { "a", &one }, b = { "b", &other },
                                   c = { "c", &complex_one };

    (void)state;
    assert_string_equal(prediction_check(&a, 1, 1).message,
                        "output 'a' has shape [] for 1 rows: it is not one value, or list of "
                        "values, for each row");
    assert_int_equal(prediction_check(&b, 1, 2).code, STATUS_INVALID_ARGUMENT);
    assert_true(status_is_ok(prediction_check(&b, 1, 3)));
    assert_int_equal(prediction_check(&c, 1, 3).code, STATUS_UNIMPLEMENTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_both_formats),
        cmocka_unit_test(refuses_what_is_not_a_value_for_each_row),
    };
    return cmocka_run_group_tests_name("prediction text", tests, NULL, NULL);
}
