#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/status.h"
#include "server/models/cost_table.h"
#include "support/test_group.h"

/* Measured runs, and the cost that the table then estimates for a run of `rows`. */
static const struct row {
    const char *label;
    struct {
        int64_t rows, took_ns;
    } measured[2];
    int64_t rows;
    int64_t cost_ns;
} cases[] = {
    { "nothing was measured", { { 0 } }, 1, 0 },
    { "this size was measured", { { 1, 500 } }, 1, 500 },
    { "sizes up to the next power of two are one class", { { 6, 600 } }, 8, 800 },
    { "and are scaled to its size", { { 5, 1000 } }, 5, 1000 },
    { "also above the largest class", { { 128, 12800 } }, 128, 12800 },
    { "a smaller size is scaled up", { { 2, 1000 } }, 16, 8000 },
    { "a size above the largest class is scaled up", { { 64, 6400 } }, 128, 12800 },
    { "the nearest smaller size counts", { { 1, 900 }, { 4, 1000 } }, 8, 2000 },
    { "if only a larger size was measured, its share", { { 64, 64000 } }, 1, 1000 },
    { "the nearest larger size counts", { { 64, 64000 }, { 8, 16000 } }, 2, 4000 },
    { "a smaller size counts before a larger one", { { 64, 64000 }, { 1, 3000 } }, 4, 12000 },
    { "a run that was held up hardly counts", { { 1, 8000 }, { 1, 4000000 } }, 1, 9000 },
    { "a known cost is never 0", { { 64, 5 } }, 1, 1 },
    { "a run of an hour", { { 1, 3600000000000 } }, 1, COST_MAX_NS },
    { "runs of minutes", { { 1, 60000000000 }, { 64, 600000000000 } }, 64, 600000000000 },
    { "a cost does not overflow", { { 1, 3000000000000 } }, 1000, COST_MAX_NS },
    { "a cost does not overflow with the most rows that a shape can have",
      { { 1, 4 } },
      (int64_t)1 << 62,
      COST_MAX_NS },
};

static void estimates(void **state)
{
    const struct row *row = *state;
    struct cost_table table = { 0 };

    for (size_t i = 0; i < COUNT(row->measured); i++)
        if (row->measured[i].rows > 0)
            cost_add(&table, (struct cost_key){ row->measured[i].rows, 7 },
                     row->measured[i].took_ns);
    assert_int_equal(cost_find(&table, (struct cost_key){ row->rows, 7 }), row->cost_ns);
}

static struct cost_key key_of(enum dtype dtype, struct shape shape, const void *data)
{
    struct tensor input = tensor_borrow(dtype, &shape, data);
    return cost_key_of(&input, 1, cost_bytes(&input, 1), shape.dims[0]);
}

static struct cost_key key_of_text(const char *text)
{
    struct bytes strings[] = { bytes_of(text) };
    return key_of(DT_STRING, shape_of(1), strings);
}

static bool is_known(const struct cost_table *table, struct cost_key key)
{
    return cost_find(table, key) != 0;
}

static void inputs_of_another_size_are_unknown(void **state)
{
    (void)state;
    struct cost_table table = { 0 };
    cost_add(&table, key_of(DT_FLOAT, shape_of(1, 8, 8, 3), NULL), 500);
    assert_true(is_known(&table, key_of(DT_FLOAT, shape_of(1, 8, 8, 3), NULL)));
    assert_true(is_known(&table, key_of(DT_FLOAT, shape_of(1, 7, 8, 3), NULL)));
    assert_true(is_known(&table, key_of(DT_FLOAT, shape_of(5, 8, 8, 3), NULL)));
    assert_false(is_known(&table, key_of(DT_FLOAT, shape_of(1, 1500, 1500, 3), NULL)));
    assert_false(is_known(&table, key_of(DT_FLOAT, shape_of(1, 4, 16, 3), NULL)));
    assert_false(is_known(&table, key_of(DT_DOUBLE, shape_of(1, 8, 8, 3), NULL)));
}

static void longer_strings_are_unknown(void **state)
{
    (void)state;
    struct cost_table table = { 0 };
    cost_add(&table, key_of_text("short"), 500);
    assert_true(is_known(&table, key_of_text("as so")));
    assert_false(is_known(&table, key_of_text("a text that is a good deal longer than that")));
}

static void a_shape_replaces_another_in_the_same_slot(void **state)
{
    (void)state;
    struct cost_table table = { 0 };
    struct cost_key old = { 1, 5 }, new = { 1, 5 + COST_SHAPES_COUNT };
    cost_add(&table, old, 500);
    cost_add(&table, new, 90000);
    assert_int_equal(cost_find(&table, old), 0);
    assert_int_equal(cost_find(&table, new), 90000);
}

/* Adds runs that take this long until the table knows about how long. */
static int runs_until_known(struct cost_table *table, struct cost_key key, int64_t took_ns)
{
    int count = 0;
    for (; cost_find(table, key) < took_ns / 2; count++)
        cost_add(table, key, took_ns);
    return count;
}

static void a_cost_that_was_too_low_is_soon_right(void **state)
{
    (void)state;
    static const int64_t low_ns[] = { 100000, 10000, 1 };
    static const int runs_max[] = { 5, 8, 22 };
    for (size_t i = 0; i < COUNT(low_ns); i++) {
        struct cost_table table = { 0 };
        struct cost_key key = { 1, 7 };
        cost_add(&table, key, low_ns[i]);
        assert_in_range(runs_until_known(&table, key, 1000000), 1, runs_max[i]);
    }
}

/* As on a busy machine: another thread has the core for milliseconds. */
static void runs_that_were_held_up_apart_from_each_other_hardly_count(void **state)
{
    (void)state;
    struct cost_table table = { 0 };
    struct cost_key key = { 1, 7 };
    for (int i = 0; i < 1000; i++) {
        cost_add(&table, key, i % 10 < 8 ? 50000 : 4000000);
        assert_in_range(cost_find(&table, key), 50000, 100000);
    }
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_cost_that_was_too_low_is_soon_right),
        cmocka_unit_test(runs_that_were_held_up_apart_from_each_other_hardly_count),
        cmocka_unit_test(inputs_of_another_size_are_unknown),
        cmocka_unit_test(longer_strings_are_unknown),
        cmocka_unit_test(a_shape_replaces_another_in_the_same_slot),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, cases, label, estimates);
    return test_group_run(&group, "cost_table", NULL, NULL);
}
