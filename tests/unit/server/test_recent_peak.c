#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/inference/recent_peak.h"

static int rounds_until_reached(struct recent_peak *peak, int now, int rounds_max)
{
    int rounds = 0;
    for (; peak->most != now && rounds < rounds_max; rounds++)
        recent_peak_decay(peak, now);
    return rounds;
}

static void rises_at_once(void **state)
{
    (void)state;
    struct recent_peak peak = { 0 };
    recent_peak_see(&peak, 3);
    recent_peak_see(&peak, 32);
    recent_peak_see(&peak, 5);
    assert_int_equal(peak.most, 32);
}

/* A peak that stayed above what one client sends cost each of its calls another poll. */
static void reaches_the_current_value(void **state)
{
    (void)state;
    struct recent_peak peak = { 32 };
    int rounds = rounds_until_reached(&peak, 1, 1000);
    assert_int_equal(peak.most, 1);
    assert_in_range(rounds, 2, 40); /* a few rounds with fewer calls do not forget it */
    rounds_until_reached(&peak, 0, 1000);
    assert_int_equal(peak.most, 0);
}

static void does_not_decay_below_the_current_value(void **state)
{
    (void)state;
    struct recent_peak peak = { 4 };
    recent_peak_decay(&peak, 4);
    assert_int_equal(peak.most, 4);
    recent_peak_decay(&peak, 7);
    assert_int_equal(peak.most, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rises_at_once),
        cmocka_unit_test(reaches_the_current_value),
        cmocka_unit_test(does_not_decay_below_the_current_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
