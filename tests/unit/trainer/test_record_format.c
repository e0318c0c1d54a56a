#include "record_rows.h"
#include "support/test_group.h"

#include "base/arena.h"
#include "trainer/records/other_content.h"

static const struct name_row {
    const char *name, *text, *want; /* NULL: nothing tells */
} rows[] = {
    { "a.csv", "1 2:3\n", "csv" },
    { "a.tsv", "", "tsv" },
    { "a.libsvm", "", "libsvm" },
    { "a.libffm", "", "libffm" },
    { "a.criteo", "", "criteo" },
    { "a.npz", "", "npz" },
    { "train-images-idx3-ubyte.gz", "", "idx" },
    { "a.tfrecord.gz", "", "tfrecord" },
    { "part-00000-of-00001", "\3\1\1\1\1\1\1\1....", NULL },
    { "archive", "PK\3\4.", "npz" },
    { "a9a", "-1 3:1 11:1 \n", "libsvm" },
    { "part-0", "+1 3:1\n", "libsvm" },
    { "ffm", "0 1:2:0.5\n", "libffm" },
    { "weights", "1:0.5 3:1\n", "libsvm" },
    { "ffm-weights", "1:0.5 1:2:0.5\n", "libffm" },
    { "fold1.txt", "2 qid:10 1:0.03 2:0\n", "libsvm" },
    { "times.txt", "12:30 lunch, again\n", "csv" },
    { "ratio", "1:0.5 3\n", "text" },
    { "rcv1", "1 |f price:.23 sqft:.25\n", "vw" },
    { "tagged", "-1 0.5 'tag | price\n", "vw" },
    { "table", "1 | 2 | 3\n", "text" },
    { "item", "1|Movie, The|1995\n", "csv" },
    { "day_0", "0\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n",
      "criteo" },
    { "table.txt", "label,I1,I2\n1,2,3\n", "csv" },
    { "tabs.txt", "a\tb\n", "tsv" },
    { "words.txt", "one two\n", "text" },
    { "words.text", "one, two\n", "text" },
    { "lines.gz", "one two\n", "text" },
    { "braces.txt", "{a} or { b}\n", "text" },
    { "braces", "{a},{b}\n1,2\n", "csv" },
    { "binary", "\1\2\3,", NULL },
    { "empty", "", NULL },
};

/* Detects the format of a file of that name. */
static struct status detect(const struct name_row *row, int skip_lines,
                            const struct record_format **format)
{
    const struct record_options options = { .skip_lines = skip_lines };
    const struct record_format *ignored;
    char directory[] = "/tmp/slipway_format_XXXXXX", path[128];

    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/%s", directory, row->name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(row->text, file);
    fclose(file);
    struct status status = record_format_detect(path, &options, format != NULL ? format : &ignored);
    unlink(path);
    rmdir(directory);
    return status;
}

static void the_name_or_the_first_bytes_tell_the_format(void **state)
{
    const struct name_row *row = *state;
    const struct record_format *format = NULL;
    struct status status = detect(row, 0, &format);

    if (row->want == NULL) {
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, "--data_format"));
    } else {
        assert_int_equal(status.code, STATUS_OK);
        assert_string_equal(format->name, row->want);
    }
}

static void the_line_behind_those_that_are_skipped_tells_the_format(void **state)
{
    (void)state;
    static const struct name_row counted[] = { { "rows", "3\nx,y\n1,2\n", "csv" },
                                               { "rows.txt", "# a\n# b\nx\ty\n", "tsv" },
                                               { "rows.data", "3\n\nx,y\n", "csv" },
                                               { "own.data", "3,2\n\nx;y\n", "csv" },
                                               { "short.txt", "3\n", "text" } };
    const struct record_format *format = NULL;

    for (size_t i = 0; i < COUNT(counted); i++) {
        assert_true(status_is_ok(detect(&counted[i], i == 0 ? 1 : 2, &format)));
        assert_string_equal(format->name, counted[i].want);
    }
}

static const struct name_row refusals[] = {
    { "a.xml", "<rows>\n<row/>\n",
      "begins with '<rows>…': neither this nor its name tells its format:"
      " give --data_format, one of npz, image," },
    { "b.xml", "<?xml version=\"1.0\"?>\n",
      "is XML: convert it to CSV or TFRecord. If each line is "
      "a text, give --data_format text" },
    { "a.jsonl", "{\"x\": 1, \"y\": 2}\n", "is JSON: convert it to CSV or TFRecord. If each" },
    { "b.json", "{\r\n  \"x\": [1, 2]\n}\n", "is JSON: " },
    { "rows.dicts", "{'x': 1, 'y': 2}\n", "is JSON: " },
    { "a.json", "[{\"x\": 1, \"y\": 2}]\n", "is JSON: " },
    { "a.parquet", "PAR1\x15\4", "is a Parquet file: convert it to CSV or TFRecord" },
    { "a.feather", "ARROW1", "begins with 'ARROW1': neither" },
    { "rows",
      "\xff\xfe"
      "x",
      "is in UTF-16: convert it to UTF-8, as with iconv" },
    { "a.npy", "\x93NUMPY\1", "is an array of NumPy: write it with numpy.savez, as .npz" },
    { "a.bin", "\1\x1b[2J,", "begins with '\\u0001\\u001B[2J,': neither this nor its name" },
    { "housing.data", " 0.02731   0.00   7.070  0  0.4690  6.4210  78.90\n",
      "begins with ' 0.02731   0.00   7.070  0  0.4690  6.42…': neither" },
    { "none.dat", "", "is empty: neither this nor its name tells its format: give --data_format" },
};

static void what_an_unknown_file_looks_like_is_told(void **state)
{
    const struct name_row *row = *state;

    assert_non_null(strstr(detect(row, 0, NULL).message, row->want));
}

static void a_nul_byte_is_no_text(void **state)
{
    (void)state;
    static const struct bytes texts[] = { { "a\0b\n", 4 }, { "a,\0\n", 4 }, { "{\0}\n", 4 } };

    for (size_t i = 0; i < COUNT(texts); i++) {
        assert_false(record_format_find("text")->recognises(texts[i]));
        assert_false(record_format_find("csv")->recognises(texts[i]));
        assert_null(other_content_find(texts[i]));
    }
}

static void a_format_is_found_by_its_name(void **state)
{
    (void)state;
    assert_string_equal(record_format_find("libffm")->name, "libffm");
    assert_null(record_format_find("xml"));
    assert_non_null(strstr(record_format_names(), "libsvm, libffm"));
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    const struct record_format *format;
    struct status status = record_format_detect("/nowhere/a.csv", NULL, &format);
    assert_int_equal(status.code, STATUS_NOT_FOUND);
    assert_non_null(strstr(status.message, "/nowhere/a.csv"));
}

static void only_fields_of_text_are_divided(void **state)
{
    (void)state;
    const struct column_separator separator = { "text", '|' };
    const struct record_options options = { .separators = &separator, .separators_count = 1 };
    struct memory_file file = memory_file_make("a|b\n", 4);
    struct record_reader *reader;
    struct columns columns;

    columns_init(&columns, NULL, 0);
    struct status status =
        record_reader_open(file.path, record_format_find("text"), &options, &columns, &reader);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "column 'text' has a 'separator', which is for csv"));
    columns_finish(&columns);
    memory_file_close(&file);
}

static void only_tables_have_lines_to_skip(void **state)
{
    (void)state;
    static const char *const formats[] = { "text", "libsvm", "vw", "criteo", "npz" };
    const struct record_options options = { .skip_lines = 1 };
    struct record_reader *reader;
    struct columns columns;

    columns_init(&columns, NULL, 0);
    for (size_t i = 0; i < COUNT(formats); i++) {
        struct status status = record_reader_open("/nowhere", record_format_find(formats[i]),
                                                  &options, &columns, &reader);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, "--skip_lines is for csv and tsv files"));
    }
    columns_finish(&columns);
}

static void the_columns_of_a_file_are_listed(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct memory_file file = memory_file_make("a,\"b c\"\n1,2\n", 12);
    struct record_options options = { 0 };
    struct record_fields fields;

    assert_int_equal(
        record_format_list(file.path, record_format_find("csv"), &options, arena, &fields).code,
        STATUS_OK);
    assert_int_equal(fields.count, 2);
    assert_string_equal(fields.list[1].name, "b c");
    assert_true(fields.list[1].is_text);
    assert_int_equal(
        record_format_list(file.path, record_format_find("libffm"), &options, arena, &fields).code,
        STATUS_OK);
    assert_int_equal(fields.count, 4);
    assert_string_equal(fields.list[3].name, "field");
    memory_file_close(&file);
    arena_destroy(arena);
}

static void a_weight_is_listed_only_for_a_weight_column(void **state)
{
    (void)state;
    static const char *const formats[] = { "libsvm", "libffm", "vw" };
    struct arena *arena = arena_create(0);

    for (size_t i = 0; i < COUNT(formats); i++)
        for (int asked = 0; asked < 3; asked++) {
            const struct record_options options = { .weight_column = asked == 0   ? NULL
                                                                     : asked == 1 ? "cost"
                                                                                  : "weight" };
            struct record_fields fields;
            assert_int_equal(record_format_list("/nowhere", record_format_find(formats[i]),
                                                &options, arena, &fields)
                                 .code,
                             STATUS_OK);
            assert_int_equal(record_field_find(fields.list, fields.count, "weight") != NULL,
                             asked == 2);
            assert_non_null(record_field_find(fields.list, fields.count, "label"));
        }
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_nul_byte_is_no_text),
        cmocka_unit_test(a_format_is_found_by_its_name),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(the_columns_of_a_file_are_listed),
        cmocka_unit_test(only_fields_of_text_are_divided),
        cmocka_unit_test(the_line_behind_those_that_are_skipped_tells_the_format),
        cmocka_unit_test(only_tables_have_lines_to_skip),
        cmocka_unit_test(a_weight_is_listed_only_for_a_weight_column),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, refusals, name, what_an_unknown_file_looks_like_is_told);
    ADD_ROWS(&group, rows, name, the_name_or_the_first_bytes_tell_the_format);
    return test_group_run(&group, "record_format", NULL, NULL);
}
