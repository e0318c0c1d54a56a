#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "trainer/report/loss_plot.h"

/* The drawing, in a static buffer. */
static const char *draw(const struct loss_plot *plot, int columns, bool unicode)
{
    static char text[16384];
    struct buffer out = { 0 };

    loss_plot_draw(plot, columns, unicode, &out);
    assert_true(out.size < sizeof text);
    memcpy(text, out.data != NULL ? out.data : "", out.size);
    text[out.size] = '\0';
    buffer_finish(&out);
    return text;
}

static void a_falling_loss_falls(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };

    for (uint64_t step = 1; step <= 16; step++)
        loss_plot_add(&plot, step, (double)(16 - (step - 1) / 2 * 2));
    assert_string_equal(draw(&plot, 28, false), "            loss by step\n"
                                                "        16 |**\n"
                                                "           |  **\n"
                                                "           |    **\n"
                                                "           |      **\n"
                                                "           |        **\n"
                                                "           |          **\n"
                                                "           |            **\n"
                                                "         2 |              **\n"
                                                "           +----------------\n"
                                                "            1             16\n");
}

static void a_long_fall_is_drawn_by_its_logarithm(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };
    double loss = 1e4;

    for (uint64_t step = 1; step <= 8; step++, loss /= 10)
        loss_plot_add(&plot, step, loss);
    assert_string_equal(draw(&plot, 28, false), "            loss (log scale) by step\n"
                                                "     1e+04 |**\n"
                                                "           |  **\n"
                                                "           |    **\n"
                                                "           |      **\n"
                                                "           |        **\n"
                                                "           |          **\n"
                                                "           |            **\n"
                                                "     0.001 |              **\n"
                                                "           +----------------\n"
                                                "            1              8\n");
}

static void a_steep_line_has_no_gaps(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };

    for (uint64_t step = 1; step <= 16; step++)
        loss_plot_add(&plot, step, step <= 8 ? 2 : 1);
    assert_string_equal(draw(&plot, 28, true), "            loss by step\n"
                                               "         2 |⠉⠉⠉⠉⠉⠉⠉⠉⡆\n"
                                               "           |        ⡇\n"
                                               "           |        ⡇\n"
                                               "           |        ⡇\n"
                                               "           |        ⡇\n"
                                               "           |        ⡇\n"
                                               "           |        ⡇\n"
                                               "         1 |        ⣇⣀⣀⣀⣀⣀⣀⣀\n"
                                               "           +----------------\n"
                                               "            1             16\n");
}

static void any_number_of_steps_fits(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };

    for (uint64_t step = 1000001; step <= 1100000; step++)
        loss_plot_add(&plot, step, step <= 1050000 ? 2 : 1);
    const char *text = draw(&plot, 28, false);
    assert_non_null(strstr(text, "         2 |********\n"));
    assert_non_null(strstr(text, "         1 |        ********\n"));
    assert_non_null(strstr(text, "            1000001  1100000\n"));
    /* no line is wider than the terminal */
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1)
        assert_true(strcspn(at, "\n") <= 28);
}

static void steps_before_a_restart_are_dropped(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };

    for (uint64_t step = 1; step <= 16; step++)
        loss_plot_add(&plot, step, step <= 8 ? 2 : 100);
    for (uint64_t step = 9; step <= 16; step++)
        loss_plot_add(&plot, step, 1);
    assert_non_null(strstr(draw(&plot, 28, false), "         2 |********\n"));
    loss_plot_add(&plot, 1, 7);
    loss_plot_add(&plot, 2, 7);
    loss_plot_add(&plot, 3, 7);
    assert_non_null(strstr(draw(&plot, 28, false), "         7 |****************\n"));
}

static void nothing_is_drawn_of_little(void **state)
{
    (void)state;
    struct loss_plot plot = { 0 };

    assert_string_equal(draw(&plot, 80, false), "");
    loss_plot_add(&plot, 1, 2);
    loss_plot_add(&plot, 2, 1);
    assert_string_equal(draw(&plot, 80, false), "");
    loss_plot_add(&plot, 3, 1);
    assert_string_not_equal(draw(&plot, 80, false), "");
    assert_string_equal(draw(&plot, 27, false), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_falling_loss_falls),
        cmocka_unit_test(a_long_fall_is_drawn_by_its_logarithm),
        cmocka_unit_test(a_steep_line_has_no_gaps),
        cmocka_unit_test(any_number_of_steps_fits),
        cmocka_unit_test(steps_before_a_restart_are_dropped),
        cmocka_unit_test(nothing_is_drawn_of_little),
    };
    return cmocka_run_group_tests_name("loss_plot", tests, NULL, NULL);
}
