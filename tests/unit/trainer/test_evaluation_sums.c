#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "trainer/model/evaluation_sums.h"

/* What 0 / 0 gives on x86. */
static double not_a_number(const struct training_metric *metric, const double *totals)
{
    (void)metric;
    (void)totals;
    return copysign((double)NAN, -1);
}

static void a_metric_that_is_not_a_number_has_no_sign(void **state)
{
    (void)state;
    static const struct training_metric metric = { .totals_count = 1, .result = not_a_number };
    static const struct training_graph graph = { .metrics = &metric, .metrics_count = 1 };
    struct evaluation_sums sums;

    evaluation_sums_begin(&sums, &graph);
    const double result = evaluation_sums_result(&sums, &graph).metrics[0];
    evaluation_sums_finish(&sums, &graph);
    assert_true(isnan(result));
    assert_false(signbit(result));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_that_is_not_a_number_has_no_sign),
    };

    return cmocka_run_group_tests_name("evaluation sums", tests, NULL, NULL);
}
