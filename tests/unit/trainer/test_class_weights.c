#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "trainer/data/class_weights.h"
#include "trainer/data/memory_rows.h"
#include "support/test_group.h"
#include "support/arena.h"

#define ROWS 6

static const uint8_t pixels[ROWS] = { 0, 1, 2, 3, 4, 5 }, classes[ROWS] = { 0, 1, 2, 1, 0, 3 };
static const float targets[2 * ROWS] = { 0, 1, .9f, 2.4f, 5, NAN };
static const struct data_split *images(void)
{
    static struct memory_split split;

    memory_split_init(&split, &(struct memory_rows){ .rows = ROWS,
                                                     .width = 1,
                                                     .bytes = pixels,
                                                     .classes = classes,
                                                     .target_width = 1,
                                                     .class_count = 4 });
    return &split.split;
}

static struct class_weights weights_of(const char *text)
{
    struct class_weights weights;

    assert_string_equal(class_weights_read(text, arena, &weights).message, "");
    return weights;
}

static void reads_a_weight_for_each_class(void **state)
{
    (void)state;
    const float wanted[] = { 2.5f, 1, 1, 0, 1e3f };
    struct class_weights weights = weights_of("4:1e3,0:2.5,3:0");

    assert_int_equal(weights.count, COUNT(wanted));
    assert_memory_equal(weights.of_class, wanted, sizeof wanted);
}

static const struct wrong {
    const char *text, *said;
} wrongs[] = {
    { "", "'', expected CLASS:WEIGHT" },
    { "1", "'1', expected" },
    { "0:1,", "'0:1,', expected" },
    { "0:1,,1:1", "',1:1', expected" },
    { "-1:2", "'-1:2', expected" },
    { "cat:2", "'cat:2', expected" },
    { "0:", "'0:', expected" },
    { "0:1;1:2", "'0:1;1:2', expected" },
    { "99999999999999999999:1", "expected CLASS:WEIGHT" },
    { "1000000:1", "class 1000000, expected less than 1000000" },
    { "0:-1", "class 0 has the weight -1" },
    { "0:nan", "class 0 has the weight" },
    { "0:1e300", "class 0 has the weight 1e+300" },
    { "2:1,2:1", "class 2 comes twice" },
};

static void what_is_no_weight_is_named(void **state)
{
    const struct wrong *wrong = *state;
    struct class_weights weights;

    struct status status = class_weights_read(wrong->text, arena, &weights);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    if (strstr(status.message, wrong->said) == NULL)
        fail_msg("'%s' does not say '%s'", status.message, wrong->said);
}

/* Compares the weights of all rows, in their order. */
static void check_weights(const struct data_split *base, const char *text, const float *wanted)
{
    const struct batch_order in_order = { .workers = 1 };
    const struct class_weights weights = weights_of(text);
    const struct data_split *split;
    struct batch_source *source;
    struct batch batch;

    assert_string_equal(class_weights_apply(&weights, base, arena, &split).message, "");
    assert_int_equal(split->rows, ROWS);
    assert_int_equal(split->columns_count, 3);
    assert_string_equal(split->columns[2].spec.name, "sample_weight");
    assert_string_equal(tensor_spec_text(&split->columns[2].spec), "float [?]");
    assert_int_equal(split->open(split, &in_order, &source).code, STATUS_OK);
    assert_int_equal(source->seek(source, 2).code, STATUS_OK);
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_OK);
    assert_int_equal(batch.rows, ROWS - 2);
    assert_int_equal(batch.columns[2].values.shape.dims[0], ROWS - 2);
    assert_memory_equal(tensor_floats(&batch.columns[2].values), wanted + 2,
                        (ROWS - 2) * sizeof *wanted);
    assert_int_equal(source->seek(source, 0).code, STATUS_OK);
    assert_int_equal(source->next(source, 3, &batch).code, STATUS_OK);
    assert_memory_equal(tensor_floats(&batch.columns[2].values), wanted, 3 * sizeof *wanted);
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_OK);
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_OK);
    assert_int_equal(batch.rows, 0);
    source->destroy(source);
}

static void each_row_has_the_weight_of_its_class(void **state)
{
    (void)state;
    const float wanted[] = { 2, 1, .5f, 1, 2, 1 };

    check_weights(images(), "0:2,2:0.5", wanted);
}

/* As Keras' class_weight_to_sample_weights, for labels of a binary loss. */
static void labels_that_are_floats_are_rounded(void **state)
{
    (void)state;
    const float wanted[] = { 2, 3, 3, 4, 1, 1 };
    struct memory_split split;

    memory_split_init(
        &split,
        &(struct memory_rows){
            .rows = ROWS, .width = 1, .bytes = pixels, .targets = targets, .target_width = 1 });
    check_weights(&split.split, "0:2,1:3,2:4", wanted);
}

static void the_class_of_shares_is_the_largest(void **state)
{
    (void)state;
    static const float shares[2 * ROWS] = { .2f, .8f, .9f, .1f, .5f, .5f, 0, 1, 1, 0, .4f, .6f };
    const float wanted[] = { 3, 2, 2, 3, 2, 3 };
    struct memory_split split;

    memory_split_init(
        &split,
        &(struct memory_rows){
            .rows = ROWS, .width = 1, .bytes = pixels, .targets = shares, .target_width = 2 });
    check_weights(&split.split, "0:2,1:3", wanted);
}

static void data_without_classes_are_refused(void **state)
{
    (void)state;
    const struct class_weights many = weights_of("4:2");
    struct memory_split points;
    const struct data_split *weighted;

    struct status status = class_weights_apply(&many, images(), arena, &weighted);
    assert_non_null(strstr(status.message, "class 4 has a weight"));
    assert_non_null(strstr(status.message, "classes 0 to 3"));
    memory_split_init(
        &points,
        &(struct memory_rows){
            .rows = ROWS / 2, .width = 1, .bytes = pixels, .targets = targets, .target_width = 2 });
    status = class_weights_apply(&many, &points.split, arena, &weighted);
    assert_non_null(strstr(status.message, "classes 0 to 1"));
}

static void weights_multiply(void **state)
{
    (void)state;
    const struct class_weights first = weights_of("0:2,2:0.5"), second = weights_of("0:3,1:5");
    const struct batch_order in_order = { .workers = 1 };
    const float wanted[] = { 6, 5, .5f, 5, 6, 1 };
    const struct data_split *weighted, *twice;
    struct batch_source *source;
    struct batch batch;

    assert_int_equal(class_weights_apply(&first, images(), arena, &weighted).code, STATUS_OK);
    assert_int_equal(class_weights_apply(&second, weighted, arena, &twice).code, STATUS_OK);
    assert_int_equal(twice->columns_count, weighted->columns_count);
    assert_int_equal(twice->open(twice, &in_order, &source).code, STATUS_OK);
    assert_int_equal(source->next(source, ROWS, &batch).code, STATUS_OK);
    assert_memory_equal(tensor_floats(&batch.columns[2].values), wanted, sizeof wanted);
    source->destroy(source);
}

static void the_identity_is_that_of_the_rows(void **state)
{
    (void)state;
    const struct class_weights weights = weights_of("0:2");
    const struct data_split *split = images(), *weighted;
    struct buffer before = { 0 }, after = { 0 };

    assert_int_equal(class_weights_apply(&weights, split, arena, &weighted).code, STATUS_OK);
    assert_int_equal(split->identify(split, &before).code, STATUS_OK);
    assert_int_equal(weighted->identify(weighted, &after).code, STATUS_OK);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, before.size);
    buffer_finish(&before);
    buffer_finish(&after);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_a_weight_for_each_class),
        cmocka_unit_test(weights_multiply),
        cmocka_unit_test(each_row_has_the_weight_of_its_class),
        cmocka_unit_test(labels_that_are_floats_are_rounded),
        cmocka_unit_test(the_class_of_shares_is_the_largest),
        cmocka_unit_test(data_without_classes_are_refused),
        cmocka_unit_test(the_identity_is_that_of_the_rows),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, wrongs, said, what_is_no_weight_is_named);
    return test_group_run(&group, "class weights", arena_setup, arena_teardown);
}
