#include "record_rows.h"

#include "base/arena.h"
#include "trainer/records/npz.h"
#include "support/test_group.h"

#define CORPUS "tests/fuzz/corpus/npz/"
#define X                 \
    {                     \
        "x", COLUMN_FLOAT \
    }
#define Y                 \
    {                     \
        "y", COLUMN_INT64 \
    }

static const struct npz_row {
    const char *file;
    struct column_spec specs[2];
    const char *want;
} rows[] = {
    { "stored.npz", { X, Y }, "[0,0.5|1] [1,1.5|0] [2,2.5|2] " },
    { "deflated.npz", { X, Y }, "[0,0.5|1] [1,1.5|0] [2,2.5|2] " },
    { "zip64.npz", { Y, X }, "[1|0,0.5] [0|1,1.5] [2|2,2.5] " },
    { "types.npz", { X, Y }, "[1,255|1] [3,4|0] " },
    { "doubles.npz", { X, Y }, "[0.5|1099511627776] [-2.5|-1] " },
    { "doubles.npz", { { "y", COLUMN_FLOAT }, X }, "[1.09951e+12|0.5] [-1|-2.5] " },
    { "rows.npz", { X, Y }, "!array 'y' has 2 rows, others have 3" },
    { "rows.npz", { Y }, "[1] [0] " },
    { "text.npz", { X }, "!array 'x': .npy: dtype '<U1' is not read" },
    { "text.npz", { Y }, "[1] [0] " },
    { "scalar.npz", { X }, "!array 'x': a single number, not rows" },
    { "floats.npz", { X, Y }, "!array 'y' holds float, not integers" },
    { "floats.npz", { { "y", COLUMN_BYTES } }, "!array 'y' holds float, not text" },
    { "stored.npz", { { "z", COLUMN_FLOAT } }, "!no array 'z'" },
    { "flipped.npz",
      { X },
      "!row 2 and following: 'x.npy': a damaged ZIP archive: the checksum of a member is wrong" },
    { "short_array.npz", { X }, "!array 'x': 12 bytes of data do not fit float of [2,2]" },
    { "not_npy.npz", { X }, "!array 'x': not a .npy file" },
    { "cut.npz", { X }, "!not a ZIP archive" },
};

static void reads_the_arrays(void **state)
{
    const struct npz_row *row = *state;
    struct record_options options = { 0 };
    char path[256];

    snprintf(path, sizeof path, CORPUS "%s", row->file);
    for (size_t rows_max = 1; rows_max <= 4; rows_max++) {
        struct buffer got = { 0 };
        show_file(path, &npz_format, &options, row->specs, row->specs[1].name == NULL ? 1 : 2,
                  rows_max, &got);
        if (strcmp(row->file, "flipped.npz") != 0 || rows_max == 1)
            assert_non_null(strstr(got.data, row->want));
        if (row->want[0] == '[')
            assert_string_equal(got.data, row->want);
        buffer_finish(&got);
    }
}

static void reads_more_than_a_chunk(void **state)
{
    (void)state;
    const struct column_spec specs[] = { Y, X };
    struct record_options options = { 0 };
    struct record_reader *reader;
    struct columns columns;
    struct status bad;
    size_t rows_read = 0;

    columns_init(&columns, specs, 2);
    assert_int_equal(
        record_reader_open(CORPUS "large.npz", &npz_format, &options, &columns, &reader).code,
        STATUS_OK);
    do {
        columns_clear(&columns);
        assert_int_equal(record_reader_read(reader, 300, &columns, &bad).code, STATUS_OK);
        for (size_t i = 0; i < columns.rows; i++, rows_read++) {
            assert_int_equal(columns.list[0].ints[i], rows_read % 7);
            assert_true(columns.list[1].floats[i * 5 + 4] == (float)(rows_read * 5 + 4));
            assert_int_equal(columns.list[1].ends[i], 5 * (i + 1));
        }
    } while (columns.rows == 300);
    assert_int_equal(rows_read, 1000);
    record_reader_close(reader);
    columns_finish(&columns);
}

static void lists_the_arrays_that_are_rows(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct record_options options = { 0 };
    struct record_fields fields;

    assert_int_equal(
        record_format_list(CORPUS "stored.npz", &npz_format, &options, arena, &fields).code,
        STATUS_OK);
    assert_int_equal(fields.count, 2);
    assert_string_equal(fields.list[0].name, "x");
    assert_int_equal(fields.list[0].kind, COLUMN_FLOAT);
    assert_int_equal(fields.list[1].kind, COLUMN_INT64);
    arena_destroy(arena);
}

static const struct list_row {
    const char *file;
    int count;
    const char *left_out, *error;
} lists[] = {
    { "scalar.npz", 1, "array 'x' is left out: a single number, not rows\n", "" },
    { "text.npz", 1, "array 'x' is left out: .npy: dtype '<U1' is not read\n", "" },
    { "not_npy.npz", 0, "", "array 'x': not a .npy file" },
    { "short_array.npz", 0, "", "array 'x': 12 bytes of data do not fit float of [2,2]" },
};

static void names_the_arrays_that_it_leaves_out(void **state)
{
    const struct list_row *row = *state;
    struct arena *arena = arena_create(0);
    struct record_options options = { 0 };
    struct record_fields fields = { 0 };
    char path[256];

    snprintf(path, sizeof path, CORPUS "%s", row->file);
    struct status status = record_format_list(path, &npz_format, &options, arena, &fields);
    assert_int_equal(status.code, row->error[0] != '\0' ? STATUS_DATA_LOSS : STATUS_OK);
    assert_non_null(strstr(status.message, row->error));
    assert_int_equal(fields.count, row->count);
    assert_string_equal(fields.notes != NULL ? fields.notes : "", row->left_out);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(reads_more_than_a_chunk),
        cmocka_unit_test(lists_the_arrays_that_are_rows),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, file, reads_the_arrays);
    ADD_ROWS(&group, lists, file, names_the_arrays_that_it_leaves_out);
    return test_group_run(&group, "npz", NULL, NULL);
}
