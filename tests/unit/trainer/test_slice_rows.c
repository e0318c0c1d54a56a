/* Updates and copies of some rows of a slice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/arena.h"
#include "trainer/ps/slice.h"
#include "optimizer_rows_golden.h"

#define ROW_BYTES (GOLDEN_ROW * sizeof(float))

/* The golden values' matrix as a slice, with an optimizer. */
struct table {
    const struct optimizer *optimizer;
    float rate, settings[OPTIMIZER_SETTINGS_MAX];
    float first[GOLDEN_COUNT], zeros[GOLDEN_COUNT];
    struct slice slice;
};

static void table_init(struct table *table, const struct golden *golden)
{
    *table = (struct table){ .optimizer = optimizer_find(golden->name), .rate = golden->rate };
    assert_non_null(table->optimizer);
    for (int i = 0; i < table->optimizer->settings_count; i++)
        table->settings[i] = table->optimizer->settings[i].initial;
    for (int i = 0; i < 5 && golden->settings[i].name != NULL; i++) {
        int index = optimizer_setting_index(table->optimizer, golden->settings[i].name);
        assert_true(index >= 0);
        table->settings[index] = golden->settings[i].initial;
    }
    slice_init(&table->slice, 0, sizeof table->first, true, table->first);
    table->slice.row_bytes = ROW_BYTES;
    table->slice.rows_count = GOLDEN_ROWS;
    slice_begin(&table->slice, table->optimizer, table->settings, NULL);
    memcpy(table->first, golden_start, sizeof golden_start);
}

static void apply(struct table *table, int t, bool keep_before)
{
    const struct golden_gradient *gradient = &golden_gradients[t];

    slice_apply_rows(&table->slice, table->optimizer, table->rate, table->settings,
                     &(struct rows_gradient){ gradient->rows, gradient->g, gradient->count },
                     table->zeros, keep_before);
}

static const struct golden *golden_of(const char *name)
{
    for (size_t i = 0; i < COUNT(goldens); i++)
        if (strcmp(goldens[i].name, name) == 0)
            return &goldens[i];
    return NULL;
}

/* Tolerance 2e-6, as for updates of whole variables: TensorFlow's Adam rounds in another order. */
static void updates_rows_as_tensorflow(void **state)
{
    const struct golden *golden = *state;
    struct table table;

    table_init(&table, golden);
    for (int t = 0; t < GOLDEN_STEPS; t++) {
        apply(&table, t, t % 2 == 1);
        const float *w = table.slice.now.parts[0]->data;
        for (int i = 0; i < GOLDEN_COUNT; i++)
            if (!(fabsf(w[i] - golden->expected[t][i]) <= 2e-6f))
                fail_msg("update %d, element %d: %.9g, TensorFlow %.9g", t + 1, i, w[i],
                         golden->expected[t][i]);
    }
    slice_finish(&table.slice);
}

static const uint32_t all_rows[] = { 0, 1, 2, 3, 4, 5 };

static void assert_before(struct table *table, const float *expected)
{
    static const uint32_t some[] = { 1, 2, 4 };
    float out[GOLDEN_COUNT];

    assert_true(slice_copy_rows(&table->slice, all_rows, GOLDEN_ROWS, true, out));
    assert_memory_equal(out, expected, sizeof out);
    assert_true(slice_copy_rows(&table->slice, some, 3, true, out));
    for (int i = 0; i < 3; i++)
        assert_memory_equal(out + i * GOLDEN_ROW, expected + some[i] * GOLDEN_ROW, ROW_BYTES);
}

static void the_rows_before_an_update_can_be_read_until_the_next(void **state)
{
    const char *names[] = { "ftrl", "adam" }; /* some rows change, and all */
    (void)state;

    for (size_t n = 0; n < COUNT(names); n++) {
        const struct golden *golden = golden_of(names[n]);
        float before[GOLDEN_COUNT];
        struct table table;
        table_init(&table, golden);
        assert_false(slice_copy_rows(&table.slice, all_rows, 1, true, before));
        for (int t = 0; t < GOLDEN_STEPS; t++) {
            memcpy(before, table.slice.now.parts[0]->data, sizeof before);
            apply(&table, t, true);
            assert_before(&table, before);
        }
        apply(&table, 0, false);
        assert_false(slice_copy_rows(&table.slice, all_rows, 1, true, before));
        slice_finish(&table.slice);
    }
}

static void a_snapshot_keeps_its_values_and_slots(void **state)
{
    float values[GOLDEN_COUNT], slot[GOLDEN_COUNT];
    struct slice_state snapshot;
    struct table table;
    (void)state;

    table_init(&table, golden_of("adagrad"));
    apply(&table, 0, false);
    slice_hold(&table.slice, true, &snapshot);
    memcpy(values, snapshot.parts[0]->data, sizeof values);
    memcpy(slot, snapshot.parts[1]->data, sizeof slot);
    apply(&table, 1, false);
    assert_memory_equal(snapshot.parts[0]->data, values, sizeof values);
    assert_memory_equal(snapshot.parts[1]->data, slot, sizeof slot);
    assert_memory_not_equal(table.slice.now.parts[0]->data, values, sizeof values);
    slice_let_go(&snapshot);
    slice_finish(&table.slice);
}

static void an_update_of_no_rows_counts(void **state)
{
    const struct rows_gradient none = { 0 };
    struct table table;
    (void)state;

    table_init(&table, golden_of("lazy_adam"));
    slice_apply_rows(&table.slice, table.optimizer, table.rate, table.settings, &none, table.zeros,
                     false);
    assert_memory_equal(table.slice.now.parts[0]->data, golden_start, sizeof golden_start);
    assert_true(table.slice.now.scalars[0] == .9f * .9f); /* β₁ of the next update */
    slice_finish(&table.slice);
}

int main(void)
{
    struct CMUnitTest tests[COUNT(goldens) + 3];
    size_t count = 0;

    for (size_t i = 0; i < COUNT(goldens); i++)
        tests[count++] = (struct CMUnitTest){ .name = goldens[i].name,
                                              .test_func = updates_rows_as_tensorflow,
                                              .initial_state = (void *)(uintptr_t)&goldens[i] };
    tests[count++] =
        (struct CMUnitTest)cmocka_unit_test(the_rows_before_an_update_can_be_read_until_the_next);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(a_snapshot_keeps_its_values_and_slots);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(an_update_of_no_rows_counts);
    return cmocka_run_group_tests_name("slice rows", tests, NULL, NULL);
}
