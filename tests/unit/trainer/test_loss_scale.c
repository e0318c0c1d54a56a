#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>

#include "trainer/optimizers/loss_scale.h"

static void halves_and_doubles(void **state)
{
    (void)state;
    struct loss_scale scale = { .scale = 8, .growth_steps = 3 };

    for (int i = 0; i < 2; i++)
        loss_scale_count(&scale, 0, 1);
    assert_true(scale.scale == 8 && scale.finite_steps == 2);
    loss_scale_count(&scale, 0, 1);
    assert_true(scale.scale == 16 && scale.finite_steps == 0 && scale.skipped == 0);
    loss_scale_count(&scale, 0, 1);
    loss_scale_count(&scale, 16, 1);
    assert_true(scale.scale == 8 && scale.finite_steps == 0 && scale.skipped == 1);
    loss_scale_count(&scale, 8, 1);
    assert_true(scale.scale == 4 && scale.skipped == 2);
}

static void an_overflow_of_a_larger_scale_does_not_halve_again(void **state)
{
    (void)state;
    struct loss_scale scale = { .scale = 8, .growth_steps = 3 };

    loss_scale_count(&scale, 8, 1);
    loss_scale_count(&scale, 0, 1);
    loss_scale_count(&scale, 8, 1);
    assert_true(scale.scale == 4 && scale.finite_steps == 0 && scale.skipped == 2);
    loss_scale_count(&scale, 2, 1); /* the scale has grown since */
    assert_true(scale.scale == 2);
}

static void never_becomes_infinite(void **state)
{
    (void)state;
    struct loss_scale scale = { .scale = FLT_MAX / 4, .growth_steps = 1 };

    loss_scale_count(&scale, 0, 1);
    assert_true(scale.scale == FLT_MAX / 2);
    for (int i = 0; i < 3; i++)
        loss_scale_count(&scale, 0, 1);
    assert_true(scale.scale == FLT_MAX);
    assert_int_equal(scale.finite_steps, 0);
}

static void counts_the_batches_of_a_step(void **state)
{
    (void)state;
    struct loss_scale scale = { .scale = 8, .growth_steps = 3 };

    loss_scale_count(&scale, 0, 2);
    assert_true(scale.scale == 8 && scale.finite_steps == 2);
    loss_scale_count(&scale, 0, 2);
    assert_true(scale.scale == 16 && scale.finite_steps == 1);
    loss_scale_count(&scale, 0, 6);
    assert_true(scale.scale == 64 && scale.finite_steps == 1);
    loss_scale_count(&scale, 64, 6);
    assert_true(scale.scale == 32 && scale.finite_steps == 0 && scale.skipped == 1);
    scale.finite_steps = 10; /* of a checkpoint whose job doubled it later */
    loss_scale_count(&scale, 0, 2);
    assert_true(scale.scale == 64 && scale.finite_steps == 1);
    loss_scale_count(&scale, 0, UINT64_MAX); /* not by counting to it */
    assert_true(scale.scale == 0x1p127f && scale.finite_steps == 1);
}

static void a_job_without_a_scale_skips_nothing(void **state)
{
    (void)state;
    struct loss_scale none = { 0 };

    assert_int_equal(loss_scale_check(&none).code, STATUS_OK);
    loss_scale_count(&none, 0, 1);
    loss_scale_count(&none, 4, 1);
    assert_true(none.scale == 0 && none.skipped == 0 && none.finite_steps == 0);
}

static void what_is_no_scale_is_refused(void **state)
{
    (void)state;
    const struct loss_scale bad[] = { { .scale = -1, .growth_steps = 1 },
                                      { .scale = NAN, .growth_steps = 1 },
                                      { .scale = INFINITY, .growth_steps = 1 },
                                      { .scale = 1 } };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(loss_scale_check(&bad[i]).code, STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_and_doubles),
        cmocka_unit_test(an_overflow_of_a_larger_scale_does_not_halve_again),
        cmocka_unit_test(never_becomes_infinite),
        cmocka_unit_test(counts_the_batches_of_a_step),
        cmocka_unit_test(a_job_without_a_scale_skips_nothing),
        cmocka_unit_test(what_is_no_scale_is_refused),
    };

    return cmocka_run_group_tests_name("loss_scale", tests, NULL, NULL);
}
