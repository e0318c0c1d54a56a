/* Tests the file of --model_limits_file, and gates, which count a model's requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/models/model_limits.h"
#include "support/test_group.h"

static struct status read_text(const char *text, struct model_limits_table **out)
{
    char path[] = "/tmp/model_limits_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct status status = model_limits_read_file(path, out);
    unlink(path);
    return status;
}

static struct model_limits_table *table_of(const char *text)
{
    struct model_limits_table *table = NULL;
    assert_string_equal(read_text(text, &table).message, "");
    return table;
}

static const struct row {
    const char *label, *text, *error;
} rows[] = {
    { "no text format", "model {", "Invalid protobuf file: '" },
    { "an unknown limit", "model { name: 'm' max: 1 }", "Invalid protobuf file: '" },
    { "a model without a name", "model { max_requests: 1 }", "a model without a name" },
    { "a model listed twice", "model { name: 'm' } model { name: 'm' }",
      "model 'm' is listed twice" },
    { "a negative limit", "model { name: 'm' max_requests: -1 }",
      "model 'm': max_requests: -1: wants 0 or more" },
    { "a negative limit of others", "others { deadline_ms: -5 }",
      "deadline_ms: -5: wants 0 or more" },
    { "too large a deadline", "model { name: 'm' deadline_ms: 9223372036854775807 }",
      "deadline_ms: 9223372036854775807 is too large" },
};

static void names_its_flag_if_the_file_is_missing(void **state)
{
    (void)state;
    struct model_limits_table *table = NULL;
    struct status status = model_limits_read_file("/nowhere/limits", &table);
    assert_string_equal(status.message, "--model_limits_file: open '/nowhere/limits': No such file "
                                        "or directory");
}

static void is_refused(void **state)
{
    const struct row *row = *state;
    struct model_limits_table *table = NULL;
    struct status status = read_text(row->text, &table);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_null(table);
    if (strstr(status.message, row->error) == NULL)
        fail_msg("%s", status.message);
}

static void each_model_has_its_limits_and_others_theirs(void **state)
{
    struct model_limits_table *table =
        table_of("model { name: 'a' max_requests: 3 max_waiting_requests: 2 "
                 "max_run_memory_bytes: 1000 deadline_ms: 7 } model { name: 'free' } "
                 "others { max_requests: 9 }");
    (void)state;
    struct model_gate *a = model_gate_acquire(table, "a"), *b = model_gate_acquire(table, "b");
    assert_int_equal(a->limits.max_requests, 3);
    assert_int_equal(a->limits.max_waiting_requests, 2);
    assert_int_equal(a->limits.max_run_bytes, 1000);
    assert_int_equal(a->limits.deadline_ns, 7 * NS_PER_MS);
    assert_int_equal(b->limits.max_requests, 9);
    assert_null(model_gate_acquire(table, "free"));
    assert_null(model_gate_acquire(NULL, "a"));
    assert_ptr_equal(model_gate_acquire(table, "a"), a); /* another version */
    model_gate_release(a);
    assert_ptr_equal(model_gate_acquire(table, "a"), a);
    model_gate_release(a);
    model_gate_release(a);
    model_gate_release(b);
    model_limits_destroy(table);
}

static void a_full_gate_refuses_and_names_model_and_limit(void **state)
{
    struct model_limits_table *table =
        table_of("model { name: 'm' max_requests: 2 max_waiting_requests: 1 }");
    struct model_gate *gate = model_gate_acquire(table, "m");
    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(model_gate_enter(gate).code, STATUS_OK);
        assert_int_equal(model_gate_enter(gate).code, STATUS_OK);
        struct status status = model_gate_enter(gate);
        assert_int_equal(status.code, STATUS_RESOURCE_EXHAUSTED);
        assert_string_equal(status.message,
                            "model 'm' has 2 requests in flight, its limit (max_requests in "
                            "--model_limits_file): try again later");
        assert_int_equal(model_gate_wait(gate).code, STATUS_OK);
        status = model_gate_wait(gate);
        assert_int_equal(status.code, STATUS_UNAVAILABLE);
        assert_string_equal(status.message,
                            "model 'm' has 1 requests that wait for a run, its limit "
                            "(max_waiting_requests in --model_limits_file): try again later");
        model_gate_stop_waiting(&gate->waiting);
        model_gate_leave(gate);
        model_gate_leave(gate);
    }
    assert_int_equal(gate->requests, 0);
    assert_int_equal(gate->waiting, 0);
    model_gate_release(gate);
    model_limits_destroy(table);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(each_model_has_its_limits_and_others_theirs),
        cmocka_unit_test(a_full_gate_refuses_and_names_model_and_limit),
        cmocka_unit_test(names_its_flag_if_the_file_is_missing),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, is_refused);
    return test_group_run(&group, "model_limits", NULL, NULL);
}
