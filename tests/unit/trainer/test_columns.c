#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
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

static void expected_rows_find_their_memory(void **state)
{
    (void)state;
    struct columns columns;

    columns_init(&columns, specs, COUNT(specs));
    columns_expect(&columns, 1000); /* of no known size */
    for (int i = 0; i < 100; i++)
        add_row(&columns, i);
    columns_expect(&columns, 1000);
    const void *values = columns.list[0].values, *ends = columns.list[2].ends;
    for (int i = 100; i < 1000; i++)
        add_row(&columns, i);
    assert_ptr_equal(values, columns.list[0].values);
    assert_ptr_equal(ends, columns.list[2].ends);
    for (int i = 1000; i < 5000; i++)
        add_row(&columns, i);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(columns.list[1].ints[i], i);
        assert_int_equal(columns.list[0].ends[i], 2 * i + 2);
    }
    columns_finish(&columns);
}

/* Packs rows whose integers begin at `first`. */
static void pack_rows(int64_t first, size_t int_bytes)
{
    struct columns columns, packed;
    void *memory;

    columns_init(&columns, specs, COUNT(specs));
    for (int i = 0; i < 1000; i++) {
        add_row(&columns, i);
        columns.list[1].ints[i] = first + i;
    }
    size_t size = columns_packed_bytes(&columns);
    memory = malloc(size);
    assert_non_null(memory);
    columns_pack(&columns, memory, &packed);
    assert_true(size >= columns_bytes(&packed));
    assert_int_equal(columns_bytes(&packed),
                     columns_bytes(&columns) - 1000 * (sizeof(int64_t) - int_bytes));
    columns_finish(&columns);
    assert_int_equal(packed.rows, 1000);
    for (size_t i = 0; i < 1000; i++) {
        assert_int_equal(packed.list[0].ends[i], 2 * i + 2);
        assert_true(packed.list[0].floats[2 * i + 1] == (float)i + .5f);
        assert_int_equal(column_int(&packed.list[1], i), first + (int64_t)i);
        assert_true(bytes_equal(column_text(&packed.list[2], i), bytes_of(i % 2 ? "odd" : "")));
    }
    assert_true(packed.list[2].text.data + packed.list[2].text.size <= (char *)memory + size);
    free(memory);
}

static void packed_integers_are_as_narrow_as_they_fit(void **state)
{
    (void)state;
    pack_rows(INT32_MIN, 4);
    pack_rows(INT32_MAX - 999, 4);
    pack_rows(INT32_MAX - 998, 8);
    pack_rows((int64_t)INT32_MIN - 1, 8);
    pack_rows(INT64_MIN, 8);
    pack_rows(INT64_MAX - 999, 8);
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
        cmocka_unit_test(expected_rows_find_their_memory),
        cmocka_unit_test(packed_integers_are_as_narrow_as_they_fit),
        cmocka_unit_test(a_column_is_found_by_its_name),
    };
    return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
