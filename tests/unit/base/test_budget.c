#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/budget.h"

/* Holds `kept` bytes that are charged to the budget. */
struct keeper {
    struct budget_holder holder;
    struct budget *budget;
    int64_t kept;
    int asked, swept;
};

static void give_back(struct budget_holder *holder, bool stale)
{
    struct keeper *keeper = (struct keeper *)holder;
    if (stale) {
        keeper->swept++;
        return;
    }
    keeper->asked++;
    budget_give(keeper->budget, keeper->kept);
    keeper->kept = 0;
}

static void keep(struct keeper *keeper, struct budget *budget, int64_t bytes)
{
    *keeper = (struct keeper){ { .give_back = give_back }, budget, bytes, 0, 0 };
    assert_int_equal(budget_take(budget, bytes).code, STATUS_OK);
    budget_hold(budget, &keeper->holder);
}

static void takes_up_to_the_limit(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 100 };
    assert_int_equal(budget_take(&budget, 60).code, STATUS_OK);
    assert_int_equal(budget_take(&budget, 41).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget_take(&budget, INT64_MAX).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget_take(&budget, 40).code, STATUS_OK);
    budget_give(&budget, 100);
    assert_int_equal(budget.used_bytes, 0);
}

static void small_things_find_room_in_the_reserve(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 100, .reserve_bytes = 10 };
    assert_int_equal(budget_take(&budget, 91).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget_take(&budget, 90).code, STATUS_OK);
    assert_int_equal(budget_take(&budget, 1).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget_take_reserved(&budget, 10).code, STATUS_OK);
    assert_int_equal(budget_take_reserved(&budget, 1).code, STATUS_RESOURCE_EXHAUSTED);
}

static void what_is_kept_makes_room(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 100 };
    struct keeper a, b;
    keep(&a, &budget, 30);
    keep(&b, &budget, 40);
    assert_int_equal(budget_take(&budget, 30).code, STATUS_OK);
    assert_int_equal(a.asked + b.asked, 0);
    assert_int_equal(budget_take(&budget, 20).code, STATUS_OK);
    assert_int_equal(a.asked + b.asked, 1); /* one holder freed enough */
    assert_int_equal(budget_take(&budget, 101).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(a.asked + b.asked, 1); /* exceeds the limit: asks nobody */
    assert_int_equal(budget_take(&budget, 40).code, STATUS_OK);
    assert_int_equal(a.kept + b.kept, 0);
    assert_true(budget_sweep(&budget, 10));
    assert_int_equal(a.swept + b.swept, 2);
    budget_forget(&budget, &a.holder);
    budget_forget(&budget, &b.holder);
    assert_true(budget_sweep(&budget, 10));
    assert_int_equal(a.swept + b.swept, 2);
}

static void a_sweep_may_take_several_calls(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 100 };
    struct keeper keepers[5], late;
    for (int i = 0; i < 5; i++)
        keep(&keepers[i], &budget, 0);
    assert_false(budget_sweep(&budget, 2)); /* the last ones first */
    keep(&late, &budget, 0);
    budget_forget(&budget, &keepers[2].holder); /* whose turn it is */
    assert_false(budget_sweep(&budget, 1));
    budget_forget(&budget, &keepers[0].holder); /* nobody is left */
    assert_true(budget_sweep(&budget, 1));
    for (int i = 0; i < 5; i++)
        assert_int_equal(keepers[i].swept, i == 4 || i == 3 || i == 1);
    assert_int_equal(late.swept, 0);
    assert_true(budget_sweep(&budget, 4));
    assert_int_equal(late.swept, 1);
}

static void a_vain_walk_over_many_holders_is_rare(void **state)
{
    (void)state;
    enum { HOLDERS = 1000, REFUSED = 100 };
    struct budget budget = { .limit_bytes = 100 };
    struct keeper *keepers = calloc(HOLDERS, sizeof *keepers);
    int asked = 0;
    for (int i = 0; i < HOLDERS; i++)
        keep(&keepers[i], &budget, 0);
    assert_int_equal(budget_take(&budget, 100).code, STATUS_OK);
    for (int i = 0; i < REFUSED; i++)
        assert_int_equal(budget_take(&budget, 1).code, STATUS_RESOURCE_EXHAUSTED);
    for (int i = 0; i < HOLDERS; i++)
        asked += keepers[i].asked;
    assert_in_range(asked, HOLDERS, HOLDERS * REFUSED / 10);
    free(keepers);
}

static void an_arena_pays_for_its_blocks(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 1 << 20 };
    struct arena *arena = arena_create(0);
    void *data;
    arena_charge(arena, &budget);
    assert_int_equal(budget.used_bytes, 0);
    arena_alloc(arena, 100);
    assert_int_equal(budget.used_bytes, arena_held(arena));
    assert_int_equal(arena_reserve(arena, 600000, &data).code, STATUS_OK);
    assert_in_range(budget.used_bytes, 600000, 700000);
    assert_int_equal(arena_reserve(arena, 600000, &data).code, STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(arena_reserve(arena, SIZE_MAX, &data).code, STATUS_RESOURCE_EXHAUSTED);
    arena_alloc(arena, 600000); /* counted, but never refused */
    assert_true(budget.used_bytes > budget.limit_bytes);
    int64_t held = budget.used_bytes;
    arena_reset(arena);
    assert_int_equal(arena_reserve(arena, 600000, &data).code, STATUS_OK); /* reuses its block */
    assert_int_equal(budget.used_bytes, held);
    arena_trim(arena);
    assert_int_equal(budget.used_bytes, 0);
    assert_int_equal(arena_reserve(arena, 600000, &data).code, STATUS_OK);
    arena_destroy(arena);
    assert_int_equal(budget.used_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_up_to_the_limit),
        cmocka_unit_test(small_things_find_room_in_the_reserve),
        cmocka_unit_test(what_is_kept_makes_room),
        cmocka_unit_test(a_sweep_may_take_several_calls),
        cmocka_unit_test(a_vain_walk_over_many_holders_is_rare),
        cmocka_unit_test(an_arena_pays_for_its_blocks),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
