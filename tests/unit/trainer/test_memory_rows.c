#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/data/memory_rows.h"

static void gathers_rows_as_floats(void **state)
{
    (void)state;
    const uint8_t pixels[] = { 0, 255, 51, 102, 5, 10 }, labels[] = { 7, 8, 9 };
    const struct memory_rows images = {
        .rows = 3, .width = 2, .bytes = pixels, .classes = labels, .target_width = 1
    };
    const uint32_t picked[] = { 2, 0, 2 };
    const float wanted[] = { 5, 10, 0, 255, 5, 10 };
    float x[6];
    int32_t classes[3];

    memory_rows_gather(&images, picked, 3, x, classes, NULL);
    for (int i = 0; i < 6; i++)
        assert_true(x[i] == wanted[i] * (1 / 255.0f));
    assert_int_equal(classes[0], 9);
    assert_int_equal(classes[1], 7);
    assert_int_equal(classes[2], 9);
}

static void any_byte_changes_the_checksum(void **state)
{
    uint8_t pixels[3 * 5] = { 0 }, labels[3] = { 0 };
    float x[3] = { 0 }, y[3] = { 0 };
    struct memory_rows
        images = { .rows = 3, .width = 5, .bytes = pixels, .classes = labels, .target_width = 1 },
        points = { .rows = 3, .width = 1, .floats = x, .targets = y, .target_width = 1 };
    uint32_t image_sum = memory_rows_checksum(&images), point_sum = memory_rows_checksum(&points);

    (void)state;
    pixels[14] = 1;
    assert_int_not_equal(memory_rows_checksum(&images), image_sum);
    pixels[14] = 0;
    labels[2] = 1;
    assert_int_not_equal(memory_rows_checksum(&images), image_sum);
    labels[2] = 0;
    assert_int_equal(memory_rows_checksum(&images), image_sum);
    x[2] = 1;
    assert_int_not_equal(memory_rows_checksum(&points), point_sum);
    x[2] = 0;
    y[2] = 1;
    assert_int_not_equal(memory_rows_checksum(&points), point_sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gathers_rows_as_floats),
        cmocka_unit_test(any_byte_changes_the_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
