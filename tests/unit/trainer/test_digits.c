#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/data/digits.h"

static void the_same_index_is_the_same_image(void **state)
{
    (void)state;
    static uint8_t together[50 * DIGITS_PIXELS], labels[50], alone[DIGITS_PIXELS];

    digits_draw(DIGITS_SEED, 100, 50, together, labels);
    for (uint32_t i = 0; i < 50; i++) {
        assert_int_equal(digit_draw(DIGITS_SEED, 100 + i, alone), labels[i]);
        assert_memory_equal(alone, together + (size_t)i * DIGITS_PIXELS, DIGITS_PIXELS);
    }
}

/* If this hash changes, every accuracy that we quote for the drawn digits is out of date. */
static void the_set_is_the_one_that_was_measured(void **state)
{
    (void)state;
    static uint8_t pixels[100 * DIGITS_PIXELS], labels[100];

    digits_draw(DIGITS_SEED, 0, 100, pixels, labels);
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < sizeof pixels; i++)
        sum = (sum ^ pixels[i]) * 1099511628211u;
    assert_true(sum == 0x20a2bbd6c6ab05f2u);
}

static void every_digit_comes_and_has_ink(void **state)
{
    (void)state;
    static uint8_t pixels[2000 * DIGITS_PIXELS], labels[2000];
    int counts[10] = { 0 };

    digits_draw(1, 0, 2000, pixels, labels);
    for (size_t i = 0; i < 2000; i++) {
        int bright = 0;
        for (size_t at = 0; at < DIGITS_PIXELS; at++)
            bright += pixels[i * DIGITS_PIXELS + at] > 128;
        assert_in_range(bright, 8, 350);
        counts[labels[i]]++;
    }
    for (int digit = 0; digit < 10; digit++)
        assert_in_range(counts[digit], 140, 260);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_index_is_the_same_image),
        cmocka_unit_test(the_set_is_the_one_that_was_measured),
        cmocka_unit_test(every_digit_comes_and_has_ink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
