#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "trainer/report/report.h"

/* All digits that are shown are right, whatever the size. */
static void shows_a_loss_of_any_size(void **state)
{
    (void)state;
    static const struct {
        double loss;
        const char *text;
    } cases[] = {
        { 0, "0.0000" },
        { .5, "0.5000" },
        { -3.25, "-3.2500" },
        { 1.5e-5, "1.500e-05" },
        { 9999999, "9999999.0000" },
        { 12345678, "1.234568e+07" },
        { 3e38, "3e+38" },
        { -1e300, "-1e+300" },
        { INFINITY, "inf" },
        { NAN, "unknown" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[LOSS_TEXT_MAX];
        assert_string_equal(report_loss(cases[i].loss, text), cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_a_loss_of_any_size),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
