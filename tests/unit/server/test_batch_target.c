/* Tests the batch size that is chosen from measured costs, within --target_p99_ms or without. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/clock.h"
#include "server/inference/batch_target.h"
#include "support/test_group.h"

#define SHAPE 7

static const struct row {
    const char *label;
    int64_t cost_ms[COST_ROWS_COUNT]; /* of 1, 2, 4, … rows; 0: not measured */
    int64_t target_ms, rows_max;
    bool explores;
} cases[] = {
    { "nothing was measured", { 0 }, 100, 1, false },
    { "a size that was not measured is tried", { 4 }, 100, 2, false },
    { "but not if half of it does not fit", { 50 }, 100, 1, false },
    { "sizes that no call has, after a run with one row of zeros",
      { 4, 0, 0, 12 },
      100,
      16,
      false },
    { "the largest size was measured when calls were late",
      { 4, 0, 0, 12, 0, 0, 30 },
      100,
      64,
      false },
    { "a size between one that fits and one that does not",
      { 4, 0, 0, 12, 0, 0, 41 },
      100,
      16,
      false },
    { "only calls of several rows", { 0, 0, 0, 12, 20, 41 }, 100, 16, false },
    { "one size more is explored", { 4, 5, 6, 8, 12, 20, 41 }, 100, 64, true },
    { "cheap in batches", { 4, 5, 6, 8, 12, 20, 36 }, 100, 64, false },
    { "two runs fit into four fifths", { 4, 5, 6, 8, 12, 20, 41 }, 100, 32, false },
    { "exactly", { 4, 5, 6, 8, 12, 21, 40 }, 100, 64, false },
    { "not cheaper in batches", { 10, 20, 40, 80 }, 100, 1, false },
    { "not cheaper in larger batches", { 10, 15, 22, 43, 87 }, 300, 4, false },
    { "hardly cheaper in larger batches, but much in the largest",
      { 50, 99, 197, 393, 785, 1550, 3000 },
      25000,
      64,
      false },
    { "no cheaper in small batches, but in large ones", { 4, 8, 16, 20, 24 }, 100, 32, false },
    { "an unmeasured size, if the one below saved nothing", { 10, 20 }, 100, 1, false },
    { "it is only explored", { 10, 20 }, 100, 4, true },
    { "sizes that saved nothing are explored", { 1, 2, 4, 8, 16, 32, 64 }, 1000, 64, true },
    { "not cheaper in batches of runs that take seconds",
      { 1000, 2000, 4000, 8000, 16000, 32000, 64000 },
      1000000,
      1,
      false },
    { "too slow for a target of seconds", { 4000, 5000, 6000, 9000, 12000 }, 20000, 4, false },
    { "no target can be met: calls run alone", { 90 }, 100, 1, false },
};

static void chooses(void **state)
{
    const struct row *row = *state;
    struct cost_table costs = { 0 };
    for (int i = 0; i < COST_ROWS_COUNT; i++)
        if (row->cost_ms[i] > 0)
            cost_add(&costs, (struct cost_key){ 1 << i, SHAPE }, row->cost_ms[i] * NS_PER_MS);
    struct batch_target choice = batch_target_choose(&costs, (struct cost_key){ 1, SHAPE },
                                                     row->target_ms * NS_PER_MS, row->explores);
    assert_int_equal(choice.rows_max, row->rows_max);
}

/* Runs of 33 rows fit twice into the target; runs of 64 do not, and none was measured yet. */
static void a_class_is_not_judged_by_its_smallest_runs(void **state)
{
    struct cost_table costs = { 0 };
    (void)state;
    for (int64_t rows = 1; rows <= 32; rows *= 2)
        cost_add(&costs, (struct cost_key){ rows, SHAPE }, (16 + rows) * NS_PER_MS / 2);
    cost_add(&costs, (struct cost_key){ 33, SHAPE }, 33 * NS_PER_MS);
    struct batch_target choice =
        batch_target_choose(&costs, (struct cost_key){ 1, SHAPE }, 100 * NS_PER_MS, false);
    assert_int_equal(choice.rows_max, 32);
}

/* Rows of 20 us cost the same in any run, but fewer runs cost less around them. */
static void cheap_rows_share_runs(void **state)
{
    struct cost_table costs = { 0 };
    (void)state;
    for (int64_t rows = 1; rows <= 64; rows *= 2)
        cost_add(&costs, (struct cost_key){ rows, SHAPE }, rows * 20000);
    struct batch_target choice =
        batch_target_choose(&costs, (struct cost_key){ 1, SHAPE }, BATCH_TARGET_NONE, false);
    assert_int_equal(choice.rows_max, 32);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(cheap_rows_share_runs),
        cmocka_unit_test(a_class_is_not_judged_by_its_smallest_runs),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, cases, label, chooses);
    return test_group_run(&group, "batch_target", NULL, NULL);
}
