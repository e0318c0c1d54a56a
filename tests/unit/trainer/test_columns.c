#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "trainer/records/columns.h"

static const struct column_spec specs[] = { { "x", COLUMN_FLOAT },
                                            { "n", COLUMN_INT64 },
                                            { "s", COLUMN_BYTES } };

static void add_row(struct columns *columns, int number)
{
    column_add_float(&columns->list[0], (float)number);
    column_add_float(&columns->list[0], (float)number + .5f);
    column_add_int64(&columns->list[1], number);
    column_add_bytes(&columns->list[2], bytes_of(number % 2 ? "odd" : ""));
    columns_end_row(columns);
}

static void rows_stay_while_the_columns_grow(void **state)
{
    (void)state;
    struct columns columns;

    columns_init(&columns, specs, COUNT(specs));
    for (int i = 0; i < 1000; i++)
        add_row(&columns, i);
    assert_int_equal(columns.rows, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(column_begin(&columns.list[0], i), 2 * i);
        assert_int_equal(columns.list[0].ends[i], 2 * i + 2);
        assert_true(columns.list[0].floats[2 * i + 1] == (float)i + .5f);
        assert_int_equal(columns.list[1].ints[i], i);
        assert_true(bytes_equal(column_text(&columns.list[2], i), bytes_of(i % 2 ? "odd" : "")));
    }
    assert_int_equal(columns_bytes(&columns), 8000 + 8000 + 8000 + 1500 + 3 * 8000);
    columns_finish(&columns);
}

static void a_dropped_row_leaves_nothing(void **state)
{
    (void)state;
    struct columns columns;

    columns_init(&columns, specs, COUNT(specs));
    column_add_bytes(&columns.list[2], bytes_of("gone before the first row"));
    columns_drop_row(&columns);
    add_row(&columns, 1);
    column_add_float(&columns.list[0], 9);
    column_add_bytes(&columns.list[2], bytes_of("gone"));
    columns_drop_row(&columns);
    add_row(&columns, 3);
    assert_int_equal(columns.rows, 2);
    assert_int_equal(columns.list[0].count, 4);
    assert_true(bytes_equal(column_text(&columns.list[2], 1), bytes_of("odd")));
    assert_int_equal(columns.list[2].text.size, 6);
    columns_finish(&columns);
}

static void a_cleared_batch_keeps_its_memory(void **state)
{
    (void)state;
    struct columns columns;

    columns_init(&columns, specs, COUNT(specs));
    for (int i = 0; i < 100; i++)
        add_row(&columns, i);
    const void *values = columns.list[1].values, *ends = columns.list[1].ends;
    columns_clear(&columns);
    assert_int_equal(columns.rows, 0);
    assert_int_equal(columns_bytes(&columns), 0);
    for (int i = 0; i < 100; i++)
        add_row(&columns, i);
    assert_ptr_equal(values, columns.list[1].values);
    assert_ptr_equal(ends, columns.list[1].ends);
    columns_finish(&columns);
}

static void reserved_columns_take_as_many_rows(void **state)
{
    (void)state;
    struct columns columns, others;

    columns_init(&others, specs, COUNT(specs));
    columns_init(&columns, specs, COUNT(specs));
    for (int i = 0; i < 1000; i++)
        add_row(&others, i);
    columns_reserve(&columns, &others);
    assert_int_equal(columns.rows, 0);
    assert_int_equal(columns_bytes(&columns), 0);
    const void *values = columns.list[0].values, *ends = columns.list[2].ends;
    for (int i = 0; i < 1000; i++)
        add_row(&columns, i);
    assert_ptr_equal(values, columns.list[0].values);
    assert_ptr_equal(ends, columns.list[2].ends);
    for (int i = 1000; i < 2000; i++) /* more than the others have */
        add_row(&columns, i);
    assert_int_equal(columns.list[1].ints[1999], 1999);
    columns_finish(&columns);
    columns_finish(&others);
}

static void a_column_is_found_by_its_name(void **state)
{
    (void)state;
    struct columns columns;

    columns_init(&columns, specs, COUNT(specs));
    assert_ptr_equal(columns_find(&columns, bytes_of("n")), &columns.list[1]);
    assert_null(columns_find(&columns, bytes_of("na")));
    columns_finish(&columns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_stay_while_the_columns_grow),
        cmocka_unit_test(a_dropped_row_leaves_nothing),
        cmocka_unit_test(a_cleared_batch_keeps_its_memory),
        cmocka_unit_test(reserved_columns_take_as_many_rows),
        cmocka_unit_test(a_column_is_found_by_its_name),
    };
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
