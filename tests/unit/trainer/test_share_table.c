/* Which turns a worker has, and which count: each once, whatever becomes of the workers. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "support/status.h"
#include "trainer/protocol/share_table.h"
#include "support/test_group.h"

#define TURNS   2000
#define WORKERS 5

static struct turn_range take(struct share_table *table, uint32_t worker, uint64_t most)
{
    struct turn_range range;

    assert_ok(share_table_take(table, worker, most, &range));
    return range;
}

static void assert_range(struct turn_range range, uint64_t first, uint64_t count)
{
    assert_int_equal(range.first, first);
    assert_int_equal(range.count, count);
}

static void gives_turns_in_order(void **state)
{
    struct share_table table = { 0 };

    (void)state;
    assert_range(take(&table, 1, 4), 0, 4);
    assert_range(take(&table, 2, 3), 4, 3);
    assert_range(take(&table, 1, 2), 7, 2);
    assert_int_equal(share_table_given(&table), 9);
    share_table_finish(&table);
}

static void counts_the_turns_of_a_share_in_order(void **state)
{
    struct share_table table = { 0 };

    (void)state;
    take(&table, 1, 2);
    assert_false(share_table_has(&table, 1, 1));
    assert_false(share_table_has(&table, 2, 0));
    assert_true(share_table_has(&table, 1, 0));
    share_table_count(&table, 1, 0);
    assert_false(share_table_has(&table, 1, 0));
    share_table_count(&table, 1, 0); /* a copy counts nothing */
    assert_int_equal(share_table_given(&table), 1);
    share_table_count(&table, 1, 1);
    assert_false(share_table_holds(&table, 1));
    share_table_finish(&table);
}

static void gives_what_was_given_back_first(void **state)
{
    struct share_table table = { 0 };

    (void)state;
    take(&table, 1, 4);
    take(&table, 2, 4);
    take(&table, 1, 4);
    share_table_count(&table, 1, 0);
    share_table_give_back(&table, 1); /* 1–3, 8–11 */
    assert_range(take(&table, 3, 2), 1, 2);
    assert_range(take(&table, 3, 9), 3, 1);
    assert_range(take(&table, 3, 9), 8, 4);
    assert_range(take(&table, 3, 9), 12, 9);
    share_table_finish(&table);
}

static void joins_what_was_given_back(void **state)
{
    struct share_table table = { 0 };

    (void)state;
    take(&table, 1, 2);
    take(&table, 2, 2);
    take(&table, 3, 2);
    share_table_give_back(&table, 3);
    share_table_give_back(&table, 1);
    share_table_give_back(&table, 2);
    assert_range(take(&table, 4, 9), 0, 6);
    share_table_finish(&table);
}

static void limits_the_shares_of_a_worker(void **state)
{
    struct share_table table = { 0 };
    struct turn_range range;

    (void)state;
    for (int i = 0; i < SHARES_OF_WORKER_MAX; i++)
        take(&table, 1, 1);
    assert_int_equal(share_table_take(&table, 1, 1, &range).code, STATUS_RESOURCE_EXHAUSTED);
    take(&table, 2, 1);
    share_table_finish(&table);
}

static void begins_where_a_position_says(void **state)
{
    struct share_table table = { 0 }, later = { 0 };
    uint64_t *numbers;
    size_t count;

    (void)state;
    take(&table, 1, 3);
    take(&table, 2, 3);
    take(&table, 3, 3);
    share_table_count(&table, 1, 0);
    share_table_count(&table, 2, 3);
    share_table_give_back(&table, 3);
    share_table_position(&table, &numbers, &count);
    const uint64_t expected[] = { 9, 1, 2, 4, 5 };
    assert_int_equal(count, COUNT(expected));
    assert_memory_equal(numbers, expected, sizeof expected);
    assert_ok(share_table_begin(&later, numbers, count));
    assert_range(take(&later, 7, 9), 1, 2);
    assert_range(take(&later, 7, 9), 4, 5);
    assert_range(take(&later, 7, 9), 9, 9);
    free(numbers);
    share_table_finish(&table);
    share_table_finish(&later);
}

static const struct row {
    const char *label;
    size_t count;
    uint64_t numbers[5];
} bad_positions[] = {
    { "refuses a position without numbers", 0, { 0 } },
    { "refuses half a range", 2, { 9, 1 } },
    { "refuses an empty range", 3, { 9, 1, 0 } },
    { "refuses a range behind the end", 3, { 9, 8, 2 } },
    { "refuses a range whose end overflows", 3, { 9, 8, UINT64_MAX - 2 } },
    { "refuses ranges that overlap", 5, { 9, 1, 3, 3, 2 } },
    { "refuses ranges that descend", 5, { 9, 5, 2, 1, 2 } },
    { "refuses a turn that leaves no room", 1, { UINT64_MAX } },
};

static void refuses_a_position(void **state)
{
    const struct row *row = *state;
    struct share_table table = { 0 };

    assert_int_equal(share_table_begin(&table, row->numbers, row->count).code,
                     STATUS_INVALID_ARGUMENT);
    share_table_finish(&table);
}

static const struct conversion {
    const char *label;
    uint64_t from, to;
    size_t count, expected_count;
    uint64_t numbers[5], expected[5];
} conversions[] = {
    { "converts to turns of half the rows", 10, 5, 3, 3, { 9, 1, 2 }, { 18, 2, 4 } },
    { "converts to turns of twice the rows", 5, 10, 3, 3, { 18, 2, 4 }, { 9, 1, 2 } },
    { "repeats the rows of a turn that is whole no more", 5, 10, 3, 3, { 19, 3, 2 }, { 9, 1, 2 } },
    { "joins ranges that come to touch", 5, 10, 5, 3, { 18, 2, 1, 3, 1 }, { 9, 1, 1 } },
    { "cuts a range behind the end", 5, 10, 3, 1, { 19, 18, 1 }, { 9 } },
};

static void converts_a_position(void **state)
{
    const struct conversion *row = *state;
    uint64_t numbers[5];

    memcpy(numbers, row->numbers, sizeof numbers);
    assert_int_equal(share_position_convert(numbers, row->count, row->from, row->to),
                     row->expected_count);
    assert_memory_equal(numbers, row->expected, row->expected_count * sizeof *numbers);
}

/* What a worker knows: the turns that it has taken and not pushed. */
struct player {
    uint64_t turns[TURNS * 2];
    size_t count, pushed;
};

static void ask(struct share_table *table, struct random *random, uint32_t w, uint64_t left,
                struct player *player)
{
    if (left == 0 || player->count - player->pushed > 100)
        return;
    uint64_t most = 1 + random_below(random, 40);
    struct turn_range range = take(table, w, most < left ? most : left);
    for (uint64_t t = 0; t < range.count; t++)
        player->turns[player->count++] = range.first + t;
}

static void push(struct share_table *table, uint32_t w, struct player *player, int *counted)
{
    if (player->pushed == player->count)
        return;
    uint64_t turn = player->turns[player->pushed++];
    assert_true(share_table_has(table, w, turn));
    share_table_count(table, w, turn);
    counted[turn]++;
}

static void lose(struct share_table *table, uint32_t w, struct player *player)
{
    share_table_give_back(table, w);
    player->count = player->pushed = 0;
}

/* The job goes on from a checkpoint: all workers begin anew. */
static void restart(struct share_table *table, struct player *players)
{
    uint64_t *numbers;
    size_t count;

    share_table_position(table, &numbers, &count);
    assert_ok(share_table_begin(table, numbers, count));
    free(numbers);
    memset(players, 0, WORKERS * sizeof *players);
}

/* Workers ask, push, and are lost in an order that the seed decides. */
static void counts_every_turn_once(void **state)
{
    struct player *players = calloc(WORKERS, sizeof *players);

    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct share_table table = { 0 };
        struct random random;
        int counted[TURNS] = { 0 };
        memset(players, 0, WORKERS * sizeof *players);
        random_init(&random, seed, 0);
        for (uint64_t made = 0; made < TURNS;) {
            uint32_t w = (uint32_t)random_below(&random, WORKERS);
            uint64_t what = random_below(&random, 200);
            uint64_t given = share_table_given(&table);
            if (what == 0)
                restart(&table, players);
            else if (what < 6)
                lose(&table, w, &players[w]);
            else if (what < 40)
                ask(&table, &random, w, TURNS - made - given, &players[w]);
            else
                push(&table, w, &players[w], counted);
            made = 0;
            for (int t = 0; t < TURNS; t++)
                made += (uint64_t)counted[t];
        }
        for (int t = 0; t < TURNS; t++)
            assert_int_equal(counted[t], 1);
        assert_int_equal(table.next, TURNS);
        share_table_finish(&table);
    }
    free(players);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(gives_turns_in_order),
        cmocka_unit_test(counts_the_turns_of_a_share_in_order),
        cmocka_unit_test(gives_what_was_given_back_first),
        cmocka_unit_test(joins_what_was_given_back),
        cmocka_unit_test(limits_the_shares_of_a_worker),
        cmocka_unit_test(begins_where_a_position_says),
        cmocka_unit_test(counts_every_turn_once),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, bad_positions, label, refuses_a_position);
    ADD_ROWS(&group, conversions, label, converts_a_position);
    return test_group_run(&group, "share_table", NULL, NULL);
}
