/* Updates and copies of some rows of a slice. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "trainer/optimizers/average.h"
#include "trainer/ps/slice.h"
#include "optimizer_rows_golden.h"
#include "support/test_group.h"

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

    slice_apply_rows(&table->slice,
                     &(struct slice_update){ table->optimizer, table->settings, table->rate,
                                             .keep_before = keep_before },
                     &(struct rows_gradient){ gradient->rows, gradient->g, gradient->count },
                     table->optimizer->row_local ? NULL : table->zeros);
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

/* The average of each row moves with every update, and every second one copies all of them. A row
 * without a gradient is as one whose gradient is 0. */
static void averages_come_over_all_rows(void **state)
{
    /* weight decay, momentum, momentum before, frequency */
    static const float settings[] = { 0, .5f, .25f, 2 };
    const struct optimizer *sgd = optimizer_with_average(optimizer_find("sgd"));
    float values[2][GOLDEN_COUNT], whole[GOLDEN_COUNT], before[GOLDEN_COUNT];
    struct slice slices[2]; /* by rows, and whole */
    (void)state;

    for (int i = 0; i < 2; i++) {
        memcpy(values[i], golden_start, sizeof golden_start);
        slice_init(&slices[i], i, sizeof values[i], true, values[i]);
        slices[i].row_bytes = ROW_BYTES;
        slices[i].rows_count = GOLDEN_ROWS;
        slice_begin(&slices[i], sgd, settings, NULL);
    }
    struct table table = { .slice = slices[0] };
    for (int t = 0; t < GOLDEN_STEPS; t++) {
        const struct golden_gradient *gradient = &golden_gradients[t];
        const struct slice_update update = { sgd, settings, .rate = .05f, .keep_before = true };
        memset(whole, 0, sizeof whole);
        for (size_t i = 0; i < gradient->count; i++)
            memcpy((char *)whole + gradient->rows[i] * ROW_BYTES,
                   (const char *)gradient->g + i * ROW_BYTES, ROW_BYTES);
        memcpy(before, table.slice.now.parts[0]->data, sizeof before);
        slice_apply_rows(&table.slice, &update,
                         &(struct rows_gradient){ gradient->rows, gradient->g, gradient->count },
                         NULL);
        slice_apply(&slices[1], &update, whole);
        for (int part = 0; part < 2; part++)
            assert_memory_equal(table.slice.now.parts[part]->data, slices[1].now.parts[part]->data,
                                sizeof whole);
        assert_before(&table, before);
    }
    slice_finish(&table.slice);
    slice_finish(&slices[1]);
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

static void hold_and_apply(struct table *table, int t, struct slice_state *snapshot)
{
    slice_hold(&table->slice, true, snapshot);
    apply(table, t, false);
}

/* Copies for a snapshot take turns with the first memory of the slice, part by part. */
static void copies_for_snapshots_use_the_lent_memory(void **state)
{
    const struct golden *golden = golden_of("ftrl"); /* has two slots */
    float lent[3][GOLDEN_COUNT], first[3][GOLDEN_COUNT];
    struct slice_state snapshots[2];
    struct table table;
    void *at[3];
    (void)state;

    table_init(&table, golden);
    for (int part = 0; part < 3; part++) {
        at[part] = table.slice.now.parts[part]->data;
        memcpy(first[part], at[part], sizeof first[part]);
        slice_lend_spare(&table.slice, part, lent[part]);
    }
    hold_and_apply(&table, 0, &snapshots[0]);
    for (int part = 0; part < 3; part++) {
        assert_ptr_equal(table.slice.now.parts[part]->data, lent[part]);
        assert_memory_equal(snapshots[0].parts[part]->data, first[part], sizeof first[part]);
    }
    slice_let_go(&snapshots[0]);
    hold_and_apply(&table, 1, &snapshots[0]);
    for (int part = 0; part < 3; part++)
        assert_ptr_equal(table.slice.now.parts[part]->data, at[part]);
    hold_and_apply(&table, 2, &snapshots[1]); /* a second one meanwhile takes other memory */
    for (int part = 0; part < 3; part++) {
        assert_ptr_not_equal(table.slice.now.parts[part]->data, at[part]);
        assert_ptr_not_equal(table.slice.now.parts[part]->data, lent[part]);
    }
    for (int i = 0; i < 2; i++)
        slice_let_go(&snapshots[i]);
    for (int i = 0; i < GOLDEN_COUNT; i++)
        assert_float_equal(((float *)table.slice.now.parts[0]->data)[i], golden->expected[2][i],
                           2e-6f);
    slice_finish(&table.slice);
}

/* While two snapshots are read at once, such as a checkpoint's and an evaluation's, updates take
 * memory that the slice allocates. Afterwards, they are in the lent memory again. */
static void copies_return_to_the_lent_memory(void **state)
{
    const struct golden *golden = golden_of("ftrl");
    float lent[3][GOLDEN_COUNT];
    struct slice_state snapshots[2];
    struct table table, plain; /* the second without snapshots */
    (void)state;

    table_init(&table, golden);
    table_init(&plain, golden);
    for (int part = 0; part < 3; part++)
        slice_lend_spare(&table.slice, part, lent[part]);
    for (int round = 0; round < 8; round++) {
        hold_and_apply(&table, 0, &snapshots[0]);
        hold_and_apply(&table, 1, &snapshots[1]);
        slice_let_go(&snapshots[round % 2]);
        if (round % 4 >= 2)
            apply(&table, 2, false);
        slice_let_go(&snapshots[1 - round % 2]);
        apply(&table, 2, false);
        for (int t = 0; t < 2 + (round % 4 >= 2); t++)
            apply(&plain, t, false);
        apply(&plain, 2, false);
        for (int part = 0; part < 3; part++) {
            const void *data = table.slice.now.parts[part]->data;
            assert_true(data == lent[part] || data == table.first);
            assert_memory_equal(data, plain.slice.now.parts[part]->data, sizeof lent[part]);
        }
    }
    slice_finish(&table.slice);
    slice_finish(&plain.slice);
}

#define LONG_COUNT 6000

/* Rows are updated one run at a time or gathered, by their length. A slice that is updated as a
 * whole, by the same gradient, has the same bits in these rows. */
static void compare_with_whole(const struct optimizer *optimizer, size_t row, size_t stride)
{
    static float values[2][LONG_COUNT], g[LONG_COUNT], g_of_rows[LONG_COUNT];
    static uint32_t rows[LONG_COUNT];
    float settings[OPTIMIZER_SETTINGS_MAX];
    struct rows_gradient gradient = { .rows = rows, .g = g_of_rows };
    struct slice slices[2]; /* by rows, and whole */
    size_t count = LONG_COUNT / row * row;

    for (int i = 0; i < optimizer->settings_count; i++)
        settings[i] = optimizer->settings[i].initial;
    for (int i = 0; i < 2; i++) {
        slice_init(&slices[i], i, count * sizeof(float), true, values[i]);
        slices[i].row_bytes = row * sizeof(float);
        slice_begin(&slices[i], optimizer, settings, NULL);
        for (size_t k = 0; k < count; k++)
            values[i][k] = (float)(k % 17) * .1f - .5f;
    }
    for (size_t k = 0; k < count; k++)
        g[k] = (float)(k % 23) * .07f - .6f;
    for (size_t r = 0; r < count / row; r += stride) {
        memcpy(g_of_rows + gradient.count * row, g + r * row, row * sizeof(float));
        rows[gradient.count++] = (uint32_t)r;
    }
    for (int t = 0; t < 2; t++) {
        const struct slice_update update = { optimizer, settings, .rate = .05f };
        slice_apply_rows(&slices[0], &update, &gradient, NULL);
        slice_apply(&slices[1], &update, g);
    }
    for (size_t i = 0; i < gradient.count; i++)
        for (int part = 0; part <= optimizer->slots_count; part++)
            assert_memory_equal((float *)slices[0].now.parts[part]->data + rows[i] * row,
                                (float *)slices[1].now.parts[part]->data + rows[i] * row,
                                row * sizeof(float));
    slice_finish(&slices[0]);
    slice_finish(&slices[1]);
}

static void rows_of_any_length_get_the_bits_of_a_whole_update(void **state)
{
    static const size_t lengths[] = { 1, 3, 8, 9, 64 };
    char names[512], *rest = names;
    (void)state;

    strncpy(names, optimizer_names(), sizeof names - 1);
    names[sizeof names - 1] = '\0';
    for (char *name; (name = strtok_r(rest, " ", &rest)) != NULL;)
        for (size_t i = 0; i < COUNT(lengths) && optimizer_find(name)->row_local; i++)
            for (size_t stride = 1; stride <= 3; stride++)
                compare_with_whole(optimizer_find(name), lengths[i], stride);
}

/* With zeros, a row-local optimizer changes the other rows as an update of the whole slice does. */
static void zeros_are_gradients_of_the_other_rows(void **state)
{
    const struct golden *golden = golden_of("momentum");
    float whole[GOLDEN_COUNT];
    struct table table, other;
    (void)state;

    table_init(&table, golden);
    table_init(&other, golden);
    for (int t = 0; t < GOLDEN_STEPS; t++) {
        const struct golden_gradient *gradient = &golden_gradients[t];
        const struct slice_update update = { table.optimizer, table.settings, .rate = table.rate };
        slice_apply_rows(&table.slice, &update,
                         &(struct rows_gradient){ gradient->rows, gradient->g, gradient->count },
                         table.zeros);
        memset(whole, 0, sizeof whole);
        for (size_t i = 0; i < gradient->count; i++)
            memcpy((char *)whole + gradient->rows[i] * ROW_BYTES,
                   (const char *)gradient->g + i * ROW_BYTES, ROW_BYTES);
        slice_apply(&other.slice, &update, whole);
    }
    assert_memory_equal(table.slice.now.parts[0]->data, other.slice.now.parts[0]->data,
                        sizeof whole);
    assert_memory_equal(table.slice.now.parts[1]->data, other.slice.now.parts[1]->data,
                        sizeof whole);
    slice_finish(&table.slice);
    slice_finish(&other.slice);
}

static void an_update_of_no_rows_counts(void **state)
{
    const struct rows_gradient none = { 0 };
    struct table table;
    (void)state;

    table_init(&table, golden_of("lazy_adam"));
    slice_apply_rows(&table.slice,
                     &(struct slice_update){ .optimizer = table.optimizer,
                                             .settings = table.settings,
                                             .rate = table.rate },
                     &none, NULL);
    assert_memory_equal(table.slice.now.parts[0]->data, golden_start, sizeof golden_start);
    assert_true(table.slice.now.scalars[0] == .9f * .9f); /* β₁ of the next update */
    slice_finish(&table.slice);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(the_rows_before_an_update_can_be_read_until_the_next),
        cmocka_unit_test(averages_come_over_all_rows),
        cmocka_unit_test(a_snapshot_keeps_its_values_and_slots),
        cmocka_unit_test(copies_for_snapshots_use_the_lent_memory),
        cmocka_unit_test(copies_return_to_the_lent_memory),
        cmocka_unit_test(rows_of_any_length_get_the_bits_of_a_whole_update),
        cmocka_unit_test(zeros_are_gradients_of_the_other_rows),
        cmocka_unit_test(an_update_of_no_rows_counts),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, goldens, name, updates_rows_as_tensorflow);
    return test_group_run(&group, "slice rows", NULL, NULL);
}
