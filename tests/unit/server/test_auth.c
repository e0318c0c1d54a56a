/* Tests which tokens are accepted, and that a damaged file changes nothing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "server/inference/auth.h"

static char path[64];

static int make_file(void **state)
{
    (void)state;
    strcpy(path, "/tmp/slipway-tokens-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *text)
{
    assert_int_equal(file_write(path, bytes_of(text)).code, STATUS_OK);
}

static bool knows(struct auth *auth, const char *header)
{
    struct status status = auth_check(auth, header);
    assert_true(status_is_ok(status) || status.code == STATUS_UNAUTHENTICATED);
    return status_is_ok(status);
}

static void each_line_is_a_token(void **state)
{
    struct auth *auth;
    (void)state;
    write_file("# of the gateway\none\r\n\n  two \t\nthree");
    assert_int_equal(auth_create(path, &auth).code, STATUS_OK);
    assert_true(knows(auth, "Bearer one"));
    assert_true(knows(auth, "bearer two"));
    assert_true(knows(auth, "Bearer  three "));
    static const char *const wrong[] = {
        "Bearer on", "Bearer onE", "Bearer one two",          "Bearer ",      "Bearer",
        "one",       "Basic one",  "Bearer # of the gateway", "Bearer one\n", ""
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (knows(auth, wrong[i]))
            fail_msg("'%s' is accepted", wrong[i]);
    assert_false(knows(auth, NULL));
    assert_true(knows(NULL, NULL));
    auth_destroy(auth);
}

static void a_file_without_tokens_is_refused(void **state)
{
    static const struct {
        const char *text, *part;
    } rows[] = { { "", "has no token" },
                 { "# none\n\n", "has no token" },
                 { "one\ntw o\n", "line 2: a token has no spaces" },
                 { "\xc3\xa4\n", "line 1" } };
    struct auth *auth;
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        write_file(rows[i].text);
        struct status status = auth_create(path, &auth);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, rows[i].part));
        assert_non_null(strstr(status.message, path));
    }
    assert_int_equal(auth_create("/none", &auth).code, STATUS_NOT_FOUND);
}

static void a_reload_replaces_all_tokens_or_none(void **state)
{
    struct auth *auth;
    (void)state;
    write_file("one\n");
    assert_int_equal(auth_create(path, &auth).code, STATUS_OK);
    write_file("");
    assert_int_equal(auth_reload(auth).code, STATUS_INVALID_ARGUMENT);
    assert_true(knows(auth, "Bearer one"));
    write_file("two\n");
    assert_int_equal(auth_reload(auth).code, STATUS_OK);
    assert_false(knows(auth, "Bearer one"));
    assert_true(knows(auth, "Bearer two"));
    auth_destroy(auth);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_line_is_a_token),
        TEST(a_file_without_tokens_is_refused),
        TEST(a_reload_replaces_all_tokens_or_none),
    };
    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
