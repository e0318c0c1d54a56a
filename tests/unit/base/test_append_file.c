#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>

#include "base/append_file.h"
#include "support/directory.h"

static void assert_content(const char *path, const char *wanted)
{
    struct buffer buffer = { 0 };

    assert_ok(file_read(path, 0, &buffer));
    buffer_append_char(&buffer, '\0');
    assert_string_equal(buffer.data, wanted);
    buffer_finish(&buffer);
}

static void adds_to_what_is_there(void **state)
{
    (void)state;
    struct append_file file;

    for (int i = 0; i < 2; i++) {
        assert_ok(append_file_open(in("a"), &file));
        assert_ok(append_file_add(&file, bytes_of("one\n")));
        assert_ok(append_file_close(&file));
    }
    assert_content(in("a"), "one\none\n");
}

static void shows_pieces_when_flushed(void **state)
{
    (void)state;
    struct append_file file;

    assert_ok(append_file_create(in("a"), &file));
    assert_ok(append_file_add(&file, bytes_of("one\n")));
    assert_ok(append_file_add(&file, bytes_of("two\n")));
    assert_content(in("a"), "");
    assert_ok(append_file_flush(&file));
    assert_content(in("a"), "one\ntwo\n");
    assert_ok(append_file_close(&file));
    assert_ok(append_file_close(&file)); /* a second time: nothing is open */
}

static void bounds_what_it_holds_back(void **state)
{
    (void)state;
    struct append_file file;
    struct stat found;
    static char large[100000];

    assert_ok(append_file_create(in("a"), &file));
    assert_ok(append_file_add(&file, (struct bytes){ large, sizeof large }));
    assert_int_equal(stat(in("a"), &found), 0);
    assert_int_equal(found.st_size, sizeof large);
    assert_ok(append_file_close(&file));
}

static void create_refuses_a_file_that_is_there(void **state)
{
    (void)state;
    struct append_file file;

    assert_ok(file_write(in("a"), bytes_of("x")));
    assert_fails_naming(append_file_create(in("a"), &file), STATUS_ALREADY_EXISTS, in("a"));
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    struct append_file file;

    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    assert_false(status_is_ok(append_file_open(in("fifo"), &file)));
    assert_fails_naming(append_file_open("/dev/null", &file), STATUS_FAILED_PRECONDITION,
                        "/dev/null");
    assert_false(status_is_ok(append_file_open(directory, &file)));
    assert_fails_naming(append_file_open(in("no/a"), &file), STATUS_NOT_FOUND, in("no/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_IN_DIRECTORY(adds_to_what_is_there),
        TEST_IN_DIRECTORY(shows_pieces_when_flushed),
        TEST_IN_DIRECTORY(bounds_what_it_holds_back),
        TEST_IN_DIRECTORY(create_refuses_a_file_that_is_there),
        TEST_IN_DIRECTORY(refuses_what_is_no_file),
    };
    return cmocka_run_group_tests_name("append_file", tests, NULL, NULL);
}
