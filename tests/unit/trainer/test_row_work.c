/* Work on the rows of many slices, against a plain loop over single rows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/random.h"
#include "trainer/ps/row_work.h"

#define SLICES     40
#define SLICE_ROWS 20000 /* so that all rows are more than are kept before they are worked on */

/* A table in slices, and the numbers of half of its rows, as they travel. */
struct table {
    size_t row_floats;
    float *values, *gradient;
    struct slice slices[SLICES];
    struct row_ids_writer writer;
    struct bytes piece;
    struct message message;
    uint64_t rows_count; /* of the list */
};

static void table_init(struct table *table, size_t row_floats, const struct slice_update *update)
{
    size_t slice_floats = SLICE_ROWS * row_floats;
    struct random random;

    *table = (struct table){ .row_floats = row_floats };
    random_init(&random, 1, 1);
    table->values = zalloc(SLICES * slice_floats * sizeof(float));
    table->gradient = zalloc(SLICES * slice_floats * sizeof(float));
    for (size_t i = 0; i < SLICES * slice_floats; i++) {
        table->values[i] = (float)(random_u64(&random) % 1000) / 100;
        table->gradient[i] = (float)(random_u64(&random) % 1000) / 100 - 5;
    }
    row_ids_begin_list(&table->writer);
    for (int i = 0; i < SLICES; i++) {
        struct slice *slice = &table->slices[i];
        slice_init(slice, i, slice_floats * sizeof(float), true,
                   table->values + (size_t)i * slice_floats);
        slice->row_bytes = row_floats * sizeof(float);
        slice->first_row = (uint64_t)i * SLICE_ROWS;
        slice->rows_count = SLICE_ROWS;
        slice_begin(slice, update->optimizer, update->settings, NULL);
    }
    for (uint64_t row = 0; row < SLICES * SLICE_ROWS; row++)
        if (random_u64(&random) % 2 == 0 && row / SLICE_ROWS != 3) { /* a slice without rows */
            row_ids_append(&table->writer, row);
            table->rows_count++;
        }
    table->piece = (struct bytes){ table->writer.bytes.data, table->writer.bytes.size };
    table->message = (struct message){ .pieces = &table->piece, .pieces_count = 1 };
}

static void table_finish(struct table *table)
{
    for (int i = 0; i < SLICES; i++)
        slice_finish(&table->slices[i]);
    buffer_finish(&table->writer.bytes);
    free(table->values);
    free(table->gradient);
}

static void update_init(struct slice_update *update, const char *name, float *settings)
{
    const struct optimizer *optimizer = optimizer_find(name);

    for (int i = 0; i < optimizer->settings_count; i++)
        settings[i] = optimizer->settings[i].initial;
    *update = (struct slice_update){ .optimizer = optimizer, .settings = settings, .rate = .1f };
}

static void update_item(void *context, const struct row_item *item, const uint32_t *rows)
{
    slice_apply_rows(item->slice, context, &(struct rows_gradient){ rows, item->g, item->count },
                     NULL);
}

static void copy_item(void *context, const struct row_item *item, const uint32_t *rows)
{
    (void)context;
    if (!slice_copy_rows(item->slice, rows, item->count, false, item->out))
        abort(); /* an assertion fails in the test's own thread alone */
}

/* Updates all rows of the list, and copies them to out. */
static void work_at_once(struct table *table, struct slice_update *update, float *out)
{
    struct row_work updates = { .body = update_item, .context = update, .parts = 2 };
    struct row_work copies = { .body = copy_item, .parts = 1 };
    struct row_ids_reader reader, again;
    size_t at = 0;

    row_ids_read(&reader, &table->message, 0, table->rows_count);
    for (int i = 0; i < SLICES; i++) {
        struct row_item *item = row_work_add(&updates, &table->slices[i], &reader);
        item->g = table->gradient + at;
        at += item->count * table->row_floats;
    }
    row_work_run(&updates);
    row_work_finish(&updates);
    row_ids_read(&again, &table->message, 0, table->rows_count);
    at = 0;
    for (int i = 0; i < SLICES; i++) {
        struct row_item *item = row_work_add(&copies, &table->slices[i], &again);
        item->out = out + at;
        at += item->count * table->row_floats;
    }
    row_work_run(&copies);
    row_work_finish(&copies);
}

/* The same row by row. Only optimizers without scalars: each call is an update of its own. */
static void work_plainly(struct table *table, struct slice_update *update, float *out)
{
    struct row_ids_reader reader;
    size_t at = 0;

    row_ids_read(&reader, &table->message, 0, table->rows_count);
    for (; reader.left > 0; row_ids_next(&reader), at += table->row_floats) {
        struct slice *slice = &table->slices[reader.row / SLICE_ROWS];
        uint32_t row = (uint32_t)(reader.row % SLICE_ROWS);
        slice_apply_rows(slice, update, &(struct rows_gradient){ &row, table->gradient + at, 1 },
                         NULL);
        assert_true(slice_copy_rows(slice, &row, 1, false, out + at));
    }
}

static void any_width_works_as_a_loop_over_single_rows(void **state)
{
    static const struct {
        const char *optimizer;
        size_t row_floats;
    } cases[] = { { "ftrl", 1 }, { "adagrad", 3 }, { "sgd", 12 } };
    (void)state;

    parallel_set_part_ns(0);
    for (size_t c = 0; c < COUNT(cases); c++) {
        size_t bytes = SLICES * SLICE_ROWS * cases[c].row_floats * sizeof(float);
        float settings[OPTIMIZER_SETTINGS_MAX], *expected = zalloc(bytes), *out = zalloc(bytes);
        struct slice_update update;
        struct table table;
        update_init(&update, cases[c].optimizer, settings);
        table_init(&table, cases[c].row_floats, &update);
        work_plainly(&table, &update, expected);
        table_finish(&table);
        for (int width = 1; width <= 3; width++) {
            parallel_set_width(width);
            table_init(&table, cases[c].row_floats, &update);
            memset(out, 0, bytes);
            work_at_once(&table, &update, out);
            assert_memory_equal(out, expected, bytes);
            table_finish(&table);
        }
        free(expected);
        free(out);
    }
    parallel_set_width(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_width_works_as_a_loop_over_single_rows),
    };

    return cmocka_run_group_tests_name("row work", tests, NULL, NULL);
}
