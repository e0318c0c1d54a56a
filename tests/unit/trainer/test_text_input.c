#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/deflated.h"
#include "support/memory_file.h"
#include "trainer/records/text_input.h"

static void the_window_moves_over_the_whole_file(void **state)
{
    (void)state;
    const char text[] = "one\ntwo\nthree\nfour\nfive\nsix\nseven";
    struct memory_file file = memory_file_make(text, strlen(text));
    struct text_input input;
    struct buffer got = { 0 };
    bool grown = true;

    assert_int_equal(text_input_open(file.path, 16, &input).code, STATUS_OK);
    while (grown) {
        assert_int_equal(input.data[input.size], '\n'); /* the guard */
        buffer_append(&got, input.data + input.at, input.size - input.at);
        input.at = input.size;
        assert_int_equal(text_input_more(&input, &grown).code, STATUS_OK);
    }
    assert_int_equal(input.capacity, 16);
    buffer_append_char(&got, '\0');
    assert_string_equal(got.data, "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    buffer_finish(&got);
    text_input_close(&input);
    memory_file_close(&file);
}

static void the_window_grows_for_what_was_not_read(void **state)
{
    (void)state;
    const char text[] = "a text that is longer than the first window";
    struct memory_file file = memory_file_make(text, strlen(text));
    struct text_input input;
    bool grown = true;

    assert_int_equal(text_input_open(file.path, 16, &input).code, STATUS_OK);
    while (grown)
        assert_int_equal(text_input_more(&input, &grown).code, STATUS_OK);
    assert_int_equal(input.size, strlen(text) + 1);
    assert_memory_equal(input.data, text, strlen(text));
    text_input_close(&input);
    memory_file_close(&file);
}

static void a_file_that_becomes_shorter_is_an_error(void **state)
{
    (void)state;
    const char text[] = "a text that is longer than the first window";
    struct memory_file file = memory_file_make(text, strlen(text));
    struct text_input input;
    bool grown = true;

    assert_int_equal(text_input_open(file.path, 16, &input).code, STATUS_OK);
    assert_int_equal(ftruncate(file.fd, 20), 0);
    struct status status = status_ok();
    while (status_is_ok(status) && grown)
        status = text_input_more(&input, &grown);
    assert_int_equal(status.code, STATUS_OUT_OF_RANGE);
    text_input_close(&input);
    memory_file_close(&file);
}

/* The end of a compressed file is known only after a read that finds nothing. */
static void the_last_line_of_a_compressed_file_may_fill_the_window(void **state)
{
    (void)state;
    const char text[] = "0123456789abcdefghijklmnopqrstuvwxyz";

    for (size_t size = 1; size < sizeof text; size++) {
        struct buffer packed = { 0 };
        struct text_input input;
        const char *end;
        deflate_bytes((struct bytes){ text, size }, WINDOW_GZIP, &packed);
        struct memory_file file = memory_file_make(packed.data, packed.size);
        assert_int_equal(text_input_open(file.path, 16, &input).code, STATUS_OK);
        assert_int_equal(text_input_line(&input, &end).code, STATUS_OK);
        assert_non_null(end);
        assert_int_equal(end - (input.data + input.at), size);
        text_input_close(&input);
        memory_file_close(&file);
        buffer_finish(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_window_moves_over_the_whole_file),
        cmocka_unit_test(the_window_grows_for_what_was_not_read),
        cmocka_unit_test(a_file_that_becomes_shorter_is_an_error),
        cmocka_unit_test(the_last_line_of_a_compressed_file_may_fill_the_window),
    };
    return cmocka_run_group_tests_name("text_input", tests, NULL, NULL);
}
