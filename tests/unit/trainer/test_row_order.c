#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/status.h"
#include "trainer/data/row_order.h"
#include "support/test_group.h"

static const struct row {
    const char *label;
    uint32_t rows, workers, batch;
} rows[] = {
    { "one worker, even batches", 100, 1, 10 }, { "one worker, a tail", 101, 1, 10 },
    { "three workers, a tail", 100, 3, 7 },     { "batch larger than the share", 10, 2, 64 },
    { "more workers than rows", 3, 5, 1 },
};

static struct batch_order shuffled(uint64_t seed, uint32_t worker, uint32_t workers)
{
    return (struct batch_order){
        .shuffle = true, .repeat = true, .seed = seed, .worker = worker, .workers = workers
    };
}

/* Workers that have taken equally many rows have together taken each row equally often, but for the
 * epoch that they are in. */
static void every_row_counts_once_an_epoch(void **state)
{
    const struct row *row = *state;
    uint32_t taken[300];

    for (uint32_t each = 1; each <= COUNT(taken); each += 7) {
        uint32_t seen[128] = { 0 }, epochs = each * row->workers / row->rows;
        for (uint32_t w = 0; w < row->workers; w++) {
            const struct batch_order how = shuffled(9, w, row->workers);
            struct row_order order;
            row_order_init(&order, &how, row->rows);
            for (uint32_t i = 0; i < each; i += row->batch)
                row_order_next(&order, taken + i, row->batch < each - i ? row->batch : each - i);
            for (uint32_t i = 0; i < each; i++)
                seen[taken[i]]++;
            row_order_finish(&order);
        }
        for (uint32_t i = 0; i < row->rows; i++)
            assert_in_range(seen[i], epochs,
                            each * row->workers % row->rows == 0 ? epochs : epochs + 1);
    }
}

/* After a seek the order continues as if it had reached that place by itself. */
static void it_goes_on_where_it_is_told(void **state)
{
    const struct row *row = *state;

    for (uint32_t w = 0; w < row->workers; w++) {
        const struct batch_order how = shuffled(9, w, row->workers);
        uint32_t all[400], some[8];
        struct row_order order;
        row_order_init(&order, &how, row->rows);
        row_order_next(&order, all, 400);
        for (uint64_t at = 0; at < 392; at += 7) {
            row_order_seek(&order, at);
            row_order_next(&order, some, 8);
            assert_memory_equal(some, all + at, sizeof some);
        }
        row_order_finish(&order);
    }
}

static void take(uint64_t seed, uint32_t *out, uint32_t count)
{
    const struct batch_order how = shuffled(seed, 0, 1);
    struct row_order order;

    row_order_init(&order, &how, 100);
    row_order_next(&order, out, count);
    row_order_finish(&order);
}

static void epochs_have_different_orders_and_seeds_too(void **state)
{
    (void)state;
    uint32_t both[200], other[100], again[100];

    take(1, both, 200);
    take(2, other, 100);
    take(1, again, 100);
    assert_memory_not_equal(both, both + 100, sizeof again);
    assert_memory_not_equal(both, other, sizeof again);
    assert_memory_equal(both, again, sizeof again);
}

/* Every job with this seed has taken its rows in this order: a checkpoint may be of such a job. */
static void the_order_of_a_seed_is_kept(void **state)
{
    (void)state;
    const struct batch_order how = shuffled(1, 1, 2);
    const uint32_t kept[] = { 3, 9, 6, 5, 8, 1, 8, 6, 5, 2, 8, 3 };
    uint32_t taken[COUNT(kept)];
    struct row_order order;

    row_order_init(&order, &how, 10);
    row_order_next(&order, taken, COUNT(kept));
    row_order_finish(&order);
    assert_memory_equal(taken, kept, sizeof kept);
}

static void without_shuffling_the_rows_come_in_their_order_and_end(void **state)
{
    (void)state;
    const struct batch_order how = { .worker = 1, .workers = 3 };
    const uint32_t all[] = { 1, 4, 7 };
    uint32_t taken[8];
    struct row_order order;

    row_order_init(&order, &how, 10);
    assert_int_equal(row_order_next(&order, taken, 8), 3);
    assert_memory_equal(taken, all, sizeof all);
    assert_int_equal(row_order_next(&order, taken, 8), 0);
    row_order_seek(&order, 1);
    assert_int_equal(row_order_next(&order, taken, 1), 1);
    assert_int_equal(taken[0], 4);
    row_order_seek(&order, 100);
    assert_int_equal(row_order_next(&order, taken, 8), 0);
    row_order_finish(&order);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(epochs_have_different_orders_and_seeds_too),
        cmocka_unit_test(the_order_of_a_seed_is_kept),
        cmocka_unit_test(without_shuffling_the_rows_come_in_their_order_and_end),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, every_row_counts_once_an_epoch);
    ADD_ROWS(&group, rows, label, it_goes_on_where_it_is_told);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "row order", NULL, NULL);
}
