/* Tests which answers count as different, and what is said about it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "clients/compare.h"
#include "proto/wire.h"
#include "tensor/tensor_wire.h"

enum { OUTPUTS = 1, KEY = 1, VALUE = 2, RESULT = 1 };

static struct buffer expected, got;

static void put_output(struct buffer *out, const char *name, enum dtype dtype, struct shape shape,
                       const void *data)
{
    struct tensor tensor = tensor_borrow(dtype, &shape, data);
    size_t entry = wire_open(out, OUTPUTS);
    wire_put_bytes(out, KEY, bytes_of(name));
    size_t value = wire_open(out, VALUE);
    tensor_wire_put(&tensor, TENSOR_WIRE_VALUES, out);
    wire_close(out, value);
    wire_close(out, entry);
}

/* Compares the two buffers, empties them, and returns what differs; "" if nothing does. */
static const char *difference(enum prediction_kind kind)
{
    static char text[256];
    const struct tolerance tolerance = { .rtol = 1e-3, .atol = 1e-6 };
    struct arena *arena = arena_create(0);
    struct buffer out = { 0 };
    bool different;
    struct status status =
        compare_answers(kind, (struct bytes){ expected.data, expected.size },
                        (struct bytes){ got.data, got.size }, &tolerance, arena, &different, &out);
    assert_int_equal(status.code, STATUS_OK);
    assert_int_equal(different, out.size > 0);
    snprintf(text, sizeof text, "%.*s", (int)out.size, out.data != NULL ? out.data : "");
    buffer_finish(&out);
    buffer_finish(&expected);
    buffer_finish(&got);
    arena_destroy(arena);
    return text;
}

static const char *difference_of(enum dtype dtype, const void *was, const void *is)
{
    put_output(&expected, "y", dtype, shape_of(2, 1), was);
    put_output(&got, "y", dtype, shape_of(2, 1), is);
    return difference(PREDICTION_PREDICT);
}

static void numbers_with_a_fraction_have_a_tolerance(void **state)
{
    (void)state;
    const float was[] = { 1, NAN }, near[] = { 1.0005f, NAN }, far[] = { 1.5f, 2 };
    assert_string_equal(difference_of(DT_FLOAT, was, was), "");
    assert_string_equal(difference_of(DT_FLOAT, was, near), "");
    assert_string_equal(difference_of(DT_FLOAT, was, far),
                        "output 'y'[0,0] is 1.5, was 1 (and 1 more of 2 values)");
    const double small[] = { 0, -1e300 }, other[] = { 5e-7, -1.01e300 };
    assert_string_equal(difference_of(DT_DOUBLE, small, other),
                        "output 'y'[1,0] is -1.01e+300, was -1.0000000000000001e+300");
}

static void whole_numbers_and_strings_have_none(void **state)
{
    (void)state;
    const int64_t was[] = { 1, 1000000 }, is[] = { 1, 1000001 };
    assert_string_equal(difference_of(DT_INT64, was, is),
                        "output 'y'[1,0] is 1000001, was 1000000");
    const struct bytes a[] = { { "ab", 2 }, { "", 0 } }, b[] = { { "ac", 2 }, { "", 0 } };
    assert_string_equal(difference_of(DT_STRING, a, a), "");
    assert_string_equal(difference_of(DT_STRING, a, b), "output 'y'[0,0] is \"ac\", was \"ab\"");
}

static void shapes_dtypes_and_names_count(void **state)
{
    (void)state;
    const float data[] = { 1, 2 };
    put_output(&expected, "y", DT_FLOAT, shape_of(2, 1), data);
    put_output(&got, "y", DT_FLOAT, shape_of(1, 2), data);
    assert_string_equal(difference(PREDICTION_PREDICT),
                        "output 'y' is float [1,2], was float [2,1]");
    put_output(&expected, "y", DT_FLOAT, shape_of(1), data);
    assert_string_equal(difference(PREDICTION_PREDICT), "output 'y' is missing");
    put_output(&got, "z", DT_FLOAT, shape_of(1), data);
    assert_string_equal(difference(PREDICTION_PREDICT), "output 'z' is new");
}

static void the_last_output_of_a_name_counts(void **state)
{
    (void)state;
    const float data[] = { 1, 2 };
    put_output(&expected, "y", DT_FLOAT, shape_of(1), data);
    put_output(&expected, "y", DT_FLOAT, shape_of(2), data);
    put_output(&got, "y", DT_FLOAT, shape_of(2), data);
    assert_string_equal(difference(PREDICTION_PREDICT), "");
}

/* One example with one class; or one value. */
static void put_class(struct buffer *out, uint32_t number, const char *label, float score)
{
    size_t result = wire_open(out, number);
    size_t row = wire_open(out, 1);
    size_t class = wire_open(out, 1);
    wire_put_bytes(out, 1, bytes_of(label));
    wire_put_float(out, 2, score);
    wire_close(out, class);
    wire_close(out, row);
    wire_close(out, result);
}

static void put_value(struct buffer *out, uint32_t number, float value)
{
    size_t result = wire_open(out, number);
    size_t row = wire_open(out, 1);
    wire_put_float(out, 1, value);
    wire_close(out, row);
    wire_close(out, result);
}

static void classes_and_values_are_compared(void **state)
{
    (void)state;
    put_class(&expected, RESULT, "cat", 0.5f);
    put_class(&got, RESULT, "dog", 0.5f);
    assert_string_equal(difference(PREDICTION_CLASSIFY),
                        "example 0, class 0 is 'dog' 0.5, was 'cat' 0.5");
    put_value(&expected, RESULT, 1);
    put_value(&got, RESULT, 2);
    assert_string_equal(difference(PREDICTION_REGRESS), "value 0 is 2, was 1");
}

/* A label could clear the terminal. */
static void control_characters_are_escaped(void **state)
{
    (void)state;
    put_class(&expected, RESULT, "cat", 0.5f);
    put_class(&got, RESULT, "\x1b[2Jdog", 0.5f);
    assert_string_equal(difference(PREDICTION_CLASSIFY),
                        "example 0, class 0 is '\\u001B[2Jdog' 0.5, was 'cat' 0.5");
}

static void put_multi(struct buffer *out, float score, float value)
{
    size_t result = wire_open(out, 1);
    put_class(out, 2, "cat", score);
    wire_close(out, result);
    result = wire_open(out, 1);
    put_value(out, 3, value);
    wire_close(out, result);
}

static void each_result_of_a_multi_inference_is_compared(void **state)
{
    (void)state;
    put_multi(&expected, 0.5f, 1);
    put_multi(&got, 0.5f, 1);
    assert_string_equal(difference(PREDICTION_MULTI_INFERENCE), "");
    put_multi(&expected, 0.5f, 1);
    put_multi(&got, 0.5f, 2);
    assert_string_equal(difference(PREDICTION_MULTI_INFERENCE), "value 0 is 2, was 1");
    put_multi(&expected, 0.5f, 1);
    put_multi(&got, 0.5f, 1);
    put_multi(&got, 0.5f, 1);
    assert_string_equal(difference(PREDICTION_MULTI_INFERENCE), "another number of results");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_with_a_fraction_have_a_tolerance),
        cmocka_unit_test(whole_numbers_and_strings_have_none),
        cmocka_unit_test(shapes_dtypes_and_names_count),
        cmocka_unit_test(the_last_output_of_a_name_counts),
        cmocka_unit_test(classes_and_values_are_compared),
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(each_result_of_a_multi_inference_is_compared),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}
