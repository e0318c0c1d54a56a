#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "support/directory.h"
#include "tensor/input_flag.h"

static struct status read_text(const char *text, size_t max_bytes, struct tensor *out)
{
    struct input_flag input;
    TRY(input_flag_parse(text, arena, &input));
    return input_flag_read(&input, DT_INT32, max_bytes, arena, out);
}

static void json_has_the_dtype_that_is_asked_for(void **state)
{
    struct input_flag input;
    struct tensor tensor;
    (void)state;
    assert_ok(input_flag_parse("x=[1, 2]", arena, &input));
    assert_string_equal(input.name, "x");
    assert_string_equal(input.value, "[1, 2]");
    assert_false(input_flag_is_file(&input));
    assert_ok(input_flag_read(&input, DT_DOUBLE, 0, arena, &tensor));
    assert_int_equal(tensor.dtype, DT_DOUBLE);
    assert_int_equal(tensor.size, 2);
    tensor_release(&tensor);
}

static void the_first_equals_sign_ends_the_name(void **state)
{
    struct input_flag input;
    (void)state;
    assert_ok(input_flag_parse("x=\"a=b\"", arena, &input));
    assert_string_equal(input.name, "x");
    assert_string_equal(input.value, "\"a=b\"");
}

static void a_file_has_a_dtype_of_its_own(void **state)
{
    static const char head[] = "{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }";
    char file[64 + 16 + 8] = "\x93NUMPY\x01";
    const char *text = arena_printf(arena, "x=%s", in("x.npy"));
    struct tensor tensor;
    (void)state;
    file[8] = 70;
    memset(file + 10, ' ', 70);
    memcpy(file + 10, head, strlen(head));
    file[79] = '\n';
    file[80] = 7;
    assert_ok(file_write(in("x.npy"), (struct bytes){ file, sizeof file }));
    assert_ok(read_text(text, 1000, &tensor));
    assert_int_equal(tensor.dtype, DT_INT64);
    assert_int_equal(((const int64_t *)tensor.data)[0], 7);
    tensor_release(&tensor);
    assert_fails_naming(read_text(text, 10, &tensor), STATUS_RESOURCE_EXHAUSTED, "--input x: ");
}

static void refusals_name_the_flag(void **state)
{
    struct tensor tensor;
    (void)state;
    assert_fails_naming(read_text("x", 0, &tensor), STATUS_INVALID_ARGUMENT,
                        "--input 'x': want name=");
    assert_fails_naming(read_text("=[1]", 0, &tensor), STATUS_INVALID_ARGUMENT,
                        "--input '=[1]': want name=");
    assert_fails_naming(read_text("x=[1.5]", 0, &tensor), STATUS_INVALID_ARGUMENT,
                        "--input x: element 0 is not a int32");
    assert_fails_naming(read_text("x=", 0, &tensor), STATUS_INVALID_ARGUMENT,
                        "--input x: not JSON");
    assert_fails_naming(read_text("x=.npy", 0, &tensor), STATUS_INVALID_ARGUMENT, "not JSON");
    assert_fails_naming(read_text("x=none.npy", 0, &tensor), STATUS_NOT_FOUND,
                        "--input x: open 'none.npy'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(json_has_the_dtype_that_is_asked_for),
        TEST_IN_DIRECTORY(the_first_equals_sign_ends_the_name),
        TEST_IN_DIRECTORY(a_file_has_a_dtype_of_its_own),
        TEST_IN_DIRECTORY(refusals_name_the_flag),
    };
    return cmocka_run_group_tests_name("input flag", tests, NULL, NULL);
}
