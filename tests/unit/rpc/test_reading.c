#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "rpc/reading.h"

static void what_nobody_keeps_is_read_to_again(void **state)
{
    struct reading *reading = reading_create();
    struct reading_piece *first = reading_next(reading);
    (void)state;

    assert_ptr_equal(reading_next(reading), first);
    assert_true(reading_keep(first));
    assert_true(reading_keep(first));
    reading_release(first);
    reading_release(first);
    assert_ptr_equal(reading_next(reading), first);
    reading_destroy(reading);
}

static void what_somebody_keeps_is_left_alone(void **state)
{
    struct reading *reading = reading_create();
    struct reading_piece *kept[READING_PIECES - 1], *last;
    int count = READING_PIECES - 1;
    (void)state;

    for (int i = 0; i < count; i++) {
        kept[i] = reading_next(reading);
        memset(reading_data(kept[i]), i, READING_BYTES);
        assert_true(reading_keep(kept[i]));
        assert_true(reading_keep(kept[i])); /* as often as there are messages in it */
    }
    last = reading_next(reading);
    memset(reading_data(last), 'x', READING_BYTES);
    assert_false(reading_keep(last));
    assert_ptr_equal(reading_next(reading), last);
    for (int i = 0; i < count; i++) {
        assert_int_equal(reading_data(kept[i])[0], i);
        assert_int_equal(reading_data(kept[i])[READING_BYTES - 1], i);
    }
    assert_true(reading_keep(kept[0]));
    for (int n = 0; n < 3; n++)
        reading_release(kept[0]);
    assert_true(reading_keep(last));
    assert_ptr_equal(reading_next(reading), kept[0]);
    reading_release(last);
    for (int i = 1; i < count; i++)
        for (int n = 0; n < 2; n++)
            reading_release(kept[i]);
    reading_destroy(reading);
}

static void what_is_kept_outlives_the_rest(void **state)
{
    struct reading *reading = reading_create();
    struct reading_piece *kept = reading_next(reading);
    (void)state;

    assert_true(reading_keep(kept));
    memset(reading_data(kept), 'x', READING_BYTES);
    reading_destroy(reading);
    assert_int_equal(reading_data(kept)[READING_BYTES - 1], 'x');
    reading_release(kept);
}

static void a_piece_knows_its_own_bytes(void **state)
{
    struct reading *reading = reading_create();
    struct reading_piece *piece = reading_next(reading);
    char elsewhere;
    (void)state;

    assert_true(reading_holds(piece, reading_data(piece)));
    assert_true(reading_holds(piece, reading_data(piece) + READING_BYTES - 1));
    assert_false(reading_holds(piece, reading_data(piece) + READING_BYTES));
    assert_false(reading_holds(piece, reading_data(piece) - 1));
    assert_false(reading_holds(piece, &elsewhere));
    assert_false(reading_holds(NULL, &elsewhere));
    reading_destroy(reading);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_keeps_is_read_to_again),
        cmocka_unit_test(what_somebody_keeps_is_left_alone),
        cmocka_unit_test(what_is_kept_outlives_the_rest),
        cmocka_unit_test(a_piece_knows_its_own_bytes),
    };
    return cmocka_run_group_tests_name("reading", tests, NULL, NULL);
}
