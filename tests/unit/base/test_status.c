#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/poison.h"
#include "base/status.h"

/* The linker (--wrap) redirects the calls in status.c to __wrap_malloc. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
static _Thread_local bool out_of_memory;

void *__wrap_malloc(size_t size)
{
    return out_of_memory ? NULL : __real_malloc(size);
}

static char *long_text(char c, size_t size)
{
    char *text = zalloc(size + 1);
    memset(text, c, size);
    return text;
}

static void a_text_holds_until_four_more_failures(void **state)
{
    (void)state;
    struct status first = status_error(STATUS_NOT_FOUND, "first %d", 1);
    for (int i = 1; i < STATUS_RING; i++)
        assert_int_equal(status_error(STATUS_INTERNAL, "later %d", i).code, STATUS_INTERNAL);
    assert_string_equal(first.message, "first 1");
}

static void after_five_more_the_sanitizer_reports_its_use(void **state)
{
    (void)state;
    if (!POISON_WORKS)
        skip();
    struct status first = status_error(STATUS_NOT_FOUND, "first");
    for (int i = 0; i < STATUS_RING; i++) {
        assert_false(IS_POISONED(first.message));
        assert_int_equal(status_error(STATUS_INTERNAL, "later").code, STATUS_INTERNAL);
    }
    assert_true(IS_POISONED(first.message));
}

static void texts_of_any_length_take_context(void **state)
{
    (void)state;
    for (size_t size = 1; size < 5000; size = size * 3 / 2 + 7) {
        char *text = long_text('x', size);
        struct status status = status_error(STATUS_DATA_LOSS, "%s", text);
        for (int i = 0; i < 12; i++) /* more times than the ring has slots */
            status = status_in(status, "level %d", i);
        assert_int_equal(status.code, STATUS_DATA_LOSS);
        assert_memory_equal(status.message, "level 11: level 10: ", 20);
        assert_string_equal(status.message + strlen(status.message) - size, text);
        free(text);
    }
    assert_true(status_is_ok(status_in(status_ok(), "context of %s", "nothing")));
}

/* An argument may be a text in the ring, even the one in the slot that is overwritten next. */
static void a_failure_may_quote_an_old_one(void **state)
{
    (void)state;
    struct status old = status_error(STATUS_NOT_FOUND, "old");
    for (int i = 0; i < 4; i++)
        old = status_error(STATUS_NOT_FOUND, "%s, quoted", old.message);
    assert_string_equal(status_error(STATUS_NOT_FOUND, "%s!", old.message).message,
                        "old, quoted, quoted, quoted, quoted!");
}

static void without_memory_a_text_ends_early(void **state)
{
    (void)state;
    char *text = long_text('x', 3000);
    for (size_t size = 200; size <= 3000; size += 50) {
        out_of_memory = true;
        struct status status = status_error(STATUS_INTERNAL, "%.*s", (int)size, text);
        struct status named = status_errno(ENOSPC, "write '%.*s'", (int)size, text);
        struct status context = status_in(status, "context");
        out_of_memory = false;
        assert_int_equal(status.code, STATUS_INTERNAL);
        assert_memory_equal(status.message, text, 200);
        assert_int_equal(named.code, STATUS_RESOURCE_EXHAUSTED);
        assert_memory_equal(named.message, "write 'xxx", 10);
        assert_ptr_equal(context.message, status.message); /* drops the context to keep the text */
    }
    free(text);
}

static void *fail_at_length(void *context)
{
    char *text = long_text('y', 2000);
    assert_int_equal(status_error(STATUS_INTERNAL, "%s", text).code, STATUS_INTERNAL);
    free(text);
    return context;
}

/* The asan preset's leak check reports texts that the thread leaves behind. */
static void a_thread_that_ends_gives_its_texts_back(void **state)
{
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, fail_at_length, NULL), 0);
    pthread_join(thread, NULL);
}

static const struct row {
    int error;
    enum status_code code;
} errors[] = {
    { ENOENT, STATUS_NOT_FOUND },
    { EEXIST, STATUS_ALREADY_EXISTS },
    { EACCES, STATUS_PERMISSION_DENIED },
    { EROFS, STATUS_PERMISSION_DENIED },
    { ENOSPC, STATUS_RESOURCE_EXHAUSTED },
    { EFBIG, STATUS_RESOURCE_EXHAUSTED },
    { EMFILE, STATUS_RESOURCE_EXHAUSTED },
    { EISDIR, STATUS_FAILED_PRECONDITION },
    { EADDRINUSE, STATUS_FAILED_PRECONDITION },
    { EINVAL, STATUS_INVALID_ARGUMENT },
    { ECONNREFUSED, STATUS_UNAVAILABLE },
    { EPIPE, STATUS_UNAVAILABLE },
    { ETIMEDOUT, STATUS_DEADLINE_EXCEEDED },
    { EIO, STATUS_DATA_LOSS },
    { ECHILD, STATUS_UNKNOWN },
};

static void an_errno_says_what_the_caller_can_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(errors); i++) {
        char want[200];
        struct status status = status_errno(errors[i].error, "open '%s'", "f");
        snprintf(want, sizeof want, "open 'f': %s", strerror(errors[i].error));
        assert_int_equal(status.code, errors[i].code);
        assert_string_equal(status.message, want);
    }
}

static void codes_have_the_names_and_numbers_of_grpc(void **state)
{
    (void)state;
    enum status_code code;
    assert_true(status_code_parse("DATA_LOSS", &code));
    assert_int_equal(code, 15);
    assert_string_equal(status_code_name(code), "DATA_LOSS");
    assert_false(status_code_parse("data_loss", &code));
    assert_string_equal(status_code_name((enum status_code)99), "UNKNOWN");
    assert_int_equal(status_http(STATUS_UNAUTHENTICATED), 401);
    assert_int_equal(status_http((enum status_code)99), 500);
}

static void a_kept_text_outlives_the_ring(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct status kept = status_keep(arena, status_error(STATUS_ABORTED, "keep me"));
    for (int i = 0; i < 10; i++)
        assert_int_equal(status_error(STATUS_INTERNAL, "later").code, STATUS_INTERNAL);
    assert_string_equal(kept.message, "keep me");
    arena_destroy(arena);
}

static void a_held_failure_outlives_the_ring_and_comes_back(void **state)
{
    (void)state;
    struct status held = status_hold(status_error(STATUS_ABORTED, "hold %s", "me"));
    for (int i = 0; i < 10; i++)
        assert_int_equal(status_error(STATUS_INTERNAL, "later").code, STATUS_INTERNAL);
    struct status status = status_resume(held);
    assert_int_equal(status.code, STATUS_ABORTED);
    assert_string_equal(status.message, "hold me");
    assert_true(status_is_ok(status_resume(status_hold(status_ok()))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_holds_until_four_more_failures),
        cmocka_unit_test(after_five_more_the_sanitizer_reports_its_use),
        cmocka_unit_test(texts_of_any_length_take_context),
        cmocka_unit_test(a_failure_may_quote_an_old_one),
        cmocka_unit_test(without_memory_a_text_ends_early),
        cmocka_unit_test(a_thread_that_ends_gives_its_texts_back),
        cmocka_unit_test(an_errno_says_what_the_caller_can_do),
        cmocka_unit_test(codes_have_the_names_and_numbers_of_grpc),
        cmocka_unit_test(a_kept_text_outlives_the_ring),
        cmocka_unit_test(a_held_failure_outlives_the_ring_and_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
