#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "trainer/protocol/wait_log.h"

#define REPEAT_MS 10000

/* Calls wait_log_is_due at time `s`, in seconds. */
static bool due(struct wait_log *log, const char *text, uint64_t step, double s)
{
    return wait_log_is_due(log, text, step, (int64_t)(s * 1e9), REPEAT_MS);
}

static void a_wait_at_the_start_is_told_at_once_and_every_so_often(void **state)
{
    (void)state;
    struct wait_log log = { 0 };

    assert_true(due(&log, "the chief", 0, 1));
    assert_false(due(&log, "the chief", 0, 2));
    assert_false(due(&log, "the chief (last heard from 9 s ago)", 0, 10.9));
    assert_true(due(&log, "the chief (last heard from 10 s ago)", 0, 11.1));
    assert_false(due(&log, "", 0, 12));
    assert_true(due(&log, "the chief", 0, 13));
}

static void a_step_that_goes_on_is_not_worth_a_word(void **state)
{
    (void)state;
    struct wait_log log = { 0 };

    for (int s = 1; s < 20; s++)
        assert_false(due(&log, "worker 1 to push", (uint64_t)s, s));
    assert_false(due(&log, "worker 1 to push", 19, 23));
    assert_true(due(&log, "worker 1 to push", 19, 24.1));
    assert_false(due(&log, "worker 1 to push", 20, 25));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_at_the_start_is_told_at_once_and_every_so_often),
        cmocka_unit_test(a_step_that_goes_on_is_not_worth_a_word),
    };
    return cmocka_run_group_tests_name("wait_log", tests, NULL, NULL);
}
