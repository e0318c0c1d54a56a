#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "trainer/data/memory_rows.h"

#define ROWS  10
#define WIDTH 3

static float features[ROWS * WIDTH], targets[ROWS];
static uint8_t classes[ROWS];
static struct memory_split split;

/* Row i has the features (i, 0, 0), the target 2 i and the class i % 4. */
static int make_split(void **state)
{
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        features[i * WIDTH] = (float)i;
        targets[i] = 2 * (float)i;
        classes[i] = (uint8_t)(i % 4);
    }
    memory_split_init(&split, &(struct memory_rows){ .rows = ROWS,
                                                     .width = WIDTH,
                                                     .floats = features,
                                                     .targets = targets,
                                                     .target_width = 1 });
    return 0;
}

static struct batch_source *open_source(const struct batch_order *order)
{
    struct batch_source *source;

    assert_int_equal(split.split.open(&split.split, order, &source).code, STATUS_OK);
    return source;
}

static struct batch take(struct batch_source *source, int64_t rows)
{
    struct batch batch;

    assert_int_equal(source->next(source, rows, &batch).code, STATUS_OK);
    return batch;
}

static float first_feature(const struct batch *batch, int64_t row)
{
    return tensor_floats(&batch->columns[0].values)[row * WIDTH];
}

static void names_its_columns(void **state)
{
    (void)state;
    struct memory_split images;

    memory_split_init(&images, &(struct memory_rows){ .rows = ROWS,
                                                      .width = WIDTH,
                                                      .floats = features,
                                                      .classes = classes,
                                                      .target_width = 1,
                                                      .class_count = 4 });
    assert_int_equal(images.split.rows, ROWS);
    assert_int_equal(images.split.columns_count, 2);
    assert_string_equal(images.split.columns[0].spec.name, "x");
    assert_string_equal(tensor_spec_text(&images.split.columns[0].spec), "float [?,3]");
    assert_string_equal(images.split.columns[1].spec.name, "labels");
    assert_string_equal(tensor_spec_text(&images.split.columns[1].spec), "int32 [?]");
    assert_int_equal(images.split.columns[1].classes, 4);
    assert_string_equal(tensor_spec_text(&split.split.columns[1].spec), "float [?,1]");
    assert_int_equal(split.split.columns[1].classes, 0);
}

static void without_repeat_the_rows_end(void **state)
{
    (void)state;
    const struct batch_order in_order = { .workers = 1 };
    struct batch_source *source = open_source(&in_order);
    const int64_t sizes[] = { 4, 4, 2, 0, 0 };
    int row = 0;

    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct batch batch = take(source, 4);
        assert_int_equal(batch.rows, sizes[i]);
        assert_int_equal(batch.columns[0].values.shape.dims[0], sizes[i]);
        for (int64_t k = 0; k < batch.rows; k++, row++) {
            assert_true(first_feature(&batch, k) == (float)row);
            assert_true(tensor_floats(&batch.columns[1].values)[k] == 2 * (float)row);
        }
    }
    assert_int_equal(row, ROWS);
    source->destroy(source);
}

static void with_repeat_a_batch_crosses_epochs(void **state)
{
    (void)state;
    const struct batch_order forever = { .shuffle = true, .repeat = true, .seed = 3, .workers = 1 };
    struct batch_source *source = open_source(&forever);
    int seen[ROWS] = { 0 };

    struct batch batch = take(source, 3 * ROWS);
    assert_int_equal(batch.rows, 3 * ROWS);
    for (int i = 0; i < 3 * ROWS; i++)
        seen[(int)first_feature(&batch, i)]++;
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], 3);
    source->destroy(source);
}

static void seeks_to_any_row_and_back(void **state)
{
    (void)state;
    const struct batch_order forever = {
        .shuffle = true, .repeat = true, .seed = 3, .worker = 1, .workers = 3
    };
    struct batch_source *source = open_source(&forever);
    float all[20];

    struct batch batch = take(source, 20);
    for (int i = 0; i < 20; i++)
        all[i] = first_feature(&batch, i);
    for (uint64_t at = 20; at-- > 0;) {
        assert_int_equal(source->seek(source, at).code, STATUS_OK);
        batch = take(source, 1);
        assert_true(first_feature(&batch, 0) == all[at]);
    }
    source->destroy(source);
}

static void other_rows_have_another_identity(void **state)
{
    (void)state;
    struct buffer before = { 0 }, after = { 0 };

    assert_int_equal(split.split.identify(&split.split, &before).code, STATUS_OK);
    targets[ROWS - 1] += 1;
    assert_int_equal(split.split.identify(&split.split, &after).code, STATUS_OK);
    targets[ROWS - 1] -= 1;
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, "crc32c=", 7);
    assert_memory_not_equal(before.data, after.data, before.size);
    buffer_finish(&before);
    buffer_finish(&after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_its_columns),
        cmocka_unit_test(without_repeat_the_rows_end),
        cmocka_unit_test(with_repeat_a_batch_crosses_epochs),
        cmocka_unit_test(seeks_to_any_row_and_back),
        cmocka_unit_test(other_rows_have_another_identity),
    };
    return cmocka_run_group_tests(tests, make_split, NULL);
}
