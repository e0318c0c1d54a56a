#include "record_rows.h"

#include "trainer/records/delimited.h"
#include "trainer/records/text_input.h"
#include "support/test_group.h"

#define X                 \
    {                     \
        "x", COLUMN_FLOAT \
    }
#define N                 \
    {                     \
        "n", COLUMN_INT64 \
    }
#define S                 \
    {                     \
        "s", COLUMN_BYTES \
    }

static const struct record_row rows[] = {
    { "numbers and texts",
      "x,n,s\n1.5,2,abc\n-3e2,-4,d e\n",
      { X, N, S },
      "[1.5|2|'abc'] [-300|-4|'d e'] " },
    { "columns in another order than asked for", "s,x,n\na,1,2\n", { N, S, X }, "[2|'a'|1] " },
    { "columns that nobody asks for are not converted", "a,x,b\nq,1,\"w,\n\"\n", { X }, "[1] " },
    { "one column as text that could be a number", "s\n007\n", { S }, "['007'] " },
    { "a byte order mark", "\xef\xbb\xbfx,n\n1,2\n", { X, N }, "[1|2] " },
    { "blanks around fields: only texts keep them",
      "s, n\t,  x \n a , 2 , 3\nb,4 ,\t5\n",
      { S, N, X },
      "[' a '|2|3] ['b'|4|5] " },
    { "blanks around the name of a schema",
      "x, s\n1,a\n",
      { { .name = "x ", .kind = COLUMN_FLOAT }, { .name = " s", .kind = COLUMN_BYTES } },
      "[1|'a'] " },
    { "blanks within the quotes of a name",
      "\" x\",n\n1,2\n",
      { { " x", COLUMN_FLOAT }, N },
      "[1|2] " },
    { "CR LF", "x,s\r\n1,a\r\n2,\r\n", { X, S }, "[1|'a'] [2|] " },
    { "no line end at the end", "x,s\n1,a", { X, S }, "[1|'a'] " },
    { "CR LF and no line end at the end", "x,s\r\n1,a\r\n2,b", { X, S }, "[1|'a'] [2|'b'] " },
    { "missing values", "x,n,s\n,,\n1,,\"\"\n,\"\",b\n", { X, N, S }, "[||] [1||] [||'b'] " },
    { "quotes",
      "x,s\n1,\"a,b\"\n\"2\",\"say \"\"hi\"\"\"\n",
      { X, S },
      "[1|'a,b'] [2|'say \"hi\"'] " },
    { "line ends within quotes",
      "x,s\n1,\"a\nb\"\n2,\"\r\n\"\n\"\n\",z\n",
      { X, S },
      "[1|'a\nb'] [2|'\r\n'] (line 6: column 'x': '\n' is not a number) " },
    { "a name in quotes", "\"x\",\"a \"\"name\"\"\",s\n1,2,3\n", { X, S }, "[1|'3'] " },
    { "numbers as people write them",
      "x,n\n +1, 007\n.5,+2 \n5.,-0\n",
      { X, N },
      "[1|7] [0.5|2] [5|0] " },
    { "numbers that are none are infinite",
      "x\nnan\ninf\n-Infinity\n",
      { X },
      "[nan] [inf] [-inf] " },
    { "long numbers",
      "x,n\n0.1000000000000000055511151231257827,9223372036854775807\n",
      { X, N },
      "[0.1|9223372036854775807] " },
    { "lines without a character", "x,s\n\n1,a\n\r\n\n2,b\n\n\n", { X, S }, "[1|'a'] [2|'b'] " },
    { "an empty line of one column is a missing value", "x\n1\n\n2\n", { X }, "[1] [] [2] " },
    { "no rows", "x\n", { X }, "" },
    { "bad: not a number",
      "x,s\nabc,a\n2,b\n",
      { X, S },
      "(line 2: column 'x': 'abc' is not a number) [2|'b'] " },
    { "bad: a number with a tail",
      "x\n1.5z\n0x10\n1e\n--1\n",
      { X },
      "(line 2: column 'x': '1.5z' is not a number) (line 3: column 'x': '0x10' is "
      "hexadecimal, and numbers are read as decimal) "
      "(line 4: column 'x': '1e' is not a number) (line 5: column 'x': '--1' is not a number) " },
    { "bad: not an integer",
      "n\n1.0\n1e3\n9223372036854775808\n-9223372036854775808\n",
      { N },
      "(line 2: column 'n': '1.0' is not an integer) (line 3: column 'n': '1e3' is not an integer) "
      "(line 4: column 'n': '9223372036854775808' is out of the range of int64) "
      "[-9223372036854775808] " },
    { "bad: too big for a float",
      "x\n1e39\n1e400\n-1e39\n",
      { X },
      "(line 2: column 'x': '1e39' is out of the range of a float) "
      "(line 3: column 'x': '1e400' is out of the range of a float) "
      "(line 4: column 'x': '-1e39' is out of the range of a float) " },
    { "bad: too few fields", "x,s\n1\n2,b\n", { X, S }, "(line 2: 1 fields, wanted 2) [2|'b'] " },
    { "bad: too many fields",
      "x,s\n1,a,z\n2,b\n",
      { X, S },
      "(line 2: 3 fields, wanted 2) [2|'b'] " },
    { "bad: a quote within a field",
      "x,s\n1,a\"b\"\n2,b\n",
      { X, S },
      "(line 2: column 's': a quote within a field without quotes) [2|'b'] " },
    { "bad: a CR within a field",
      "x,s\n1,a\rb\n2,b\n",
      { X, S },
      "(line 2: column 's': a CR within a field without quotes) [2|'b'] " },
    { "bad: text after a closing quote",
      "x,s\n1,\"a\" \n2,b\n",
      { X, S },
      "(line 2: column 's': text after a closing quote) [2|'b'] " },
    { "bad: no closing quote",
      "x,s\n1,\"a\n2,b\n3,c\n",
      { X, S },
      "(line 2: no closing quote) [2|'b'] [3|'c'] " },
    { "bad: the record of several lines is passed as a whole",
      "x,s\nz,\"a\nb\"\n2,b\n",
      { X, S },
      "(line 2: column 'x': 'z' is not a number) [2|'b'] " },
    { "the file: without a byte, as parts of a table are", "", { X }, "" },
    { "the file: empty lines alone", "\n\r\n\n", { X }, "!the file is empty: it has no header" },
    { "the file: empty lines before the header",
      "\n\r\n\nx,s\n1,a\nz,b\n",
      { X, S },
      "[1|'a'] (line 6: column 'x': 'z' is not a number) " },
    { "the file: compressed",
      "\x28\xb5\x2f\xfd 1\n",
      { X },
      "!the file is compressed with zstd: unpack it, or compress it with gzip" },
    { "the file: bzip2",
      "BZh91AY&SY\n",
      { X },
      "!the file is compressed with bzip2: unpack it, or compress it with gzip" },
    { "the file: a header like bzip2's", "BZh,x\n2,1\n", { X }, "[1] " },
    { "the file: Parquet",
      "PAR1\x15\x04\n",
      { X },
      "!the file is a Parquet file: convert it to CSV or TFRecord" },
    { "the file: a header like Parquet's", "PAR1,x\n2,1\n", { X }, "[1] " },
    { "the file: UTF-16",
      "\xff\xfex\0\n\0",
      { X },
      "!the file is in UTF-16: convert it to UTF-8, as with iconv" },
    { "the file: a semicolon behind the first window",
      "the_first_column_of_all;x\n1;2\n",
      { X },
      "[2] " },
    { "the file: no such column",
      "a,b\n1,2\n",
      { X },
      "!no column 'x' among a, b (--column_names names the columns of files without a header, and "
      "--skip_lines passes lines before one)" },
    { "the file: the column twice",
      "x,x\n1,2\n",
      { X },
      "!two columns 'x' (--column_names names the columns of files without a header, and "
      "--skip_lines passes lines before one)" },
    { "the file: a header without a closing quote",
      "x,\"s\n1,2\n",
      { X },
      "!line 1: no closing quote" },
};

static void reads_csv(void **state)
{
    assert_record_row(&csv_format, *state, NULL, 0);
}

static void the_options_give_the_names_of_a_file_without_a_header(void **state)
{
    (void)state;
    static const char *const names[] = { "x", "s" };
    const struct record_row row = { .text = "1,a\n2,b\n",
                                    .specs = { S, X },
                                    .want = "['a'|1] ['b'|2] " };
    assert_record_row(&csv_format, &row, names, 2);
}

static void lines_before_the_header_are_passed(void **state)
{
    (void)state;
    static const char *const names[] = { "x", "s" };
    const struct record_row header = { .text = "120;4,\"\n# a comment\nx,s\n1,a\nz,b\n",
                                       .specs = { X, S },
                                       .want =
                                           "[1|'a'] (line 5: column 'x': 'z' is not a number) " },
                            named = { .text = "120,4,setosa\r\nx,s\n1,a\n",
                                      .specs = { S, X },
                                      .want = "['a'|1] " },
                            cut = { .text = "x,s\n1,a\n",
                                    .specs = { X },
                                    .want = "!the file has 2 lines, and --skip_lines=3" },
                            empty = { .text = "1\n2\n",
                                      .specs = { X },
                                      .want = "!the file is empty: it has no header" };

    assert_record_row_with(&csv_format, &header, (struct record_options){ .skip_lines = 2 });
    assert_record_row_with(
        &csv_format, &named,
        (struct record_options){ .skip_lines = 2, .column_names = names, .column_names_count = 2 });
    assert_record_row_with(&csv_format, &cut, (struct record_options){ .skip_lines = 3 });
    assert_record_row_with(&csv_format, &empty, (struct record_options){ .skip_lines = 2 });
}

static void a_header_behind_names_is_suspected(void **state)
{
    (void)state;
    static const char *const names[] = { "x", "s" };
    const struct record_row row = {
        .text = "x,s\n1,a\nx,b\n",
        .specs = { X, S },
        .want = "(line 1: column 'x': 'x' is not a number; --skip_lines=1 passes a header) "
                "[1|'a'] (line 3: column 'x': 'x' is not a number) "
    };
    assert_record_row(&csv_format, &row, names, 2);
}

static void a_field_holds_several_values(void **state)
{
    (void)state;
    static const struct column_separator separators[] = { { "x", ';' }, { "s", '|' } };
    const struct record_options options = { .separators = separators, .separators_count = 2 };
    const struct record_row row = {
        .text = "x,n,s\n1.5;2;-3e1,7,a|b||\n,8,|\n\"4\",9,\"a,b|\"\"\"\n1;;2,1,a\n",
        .specs = { X, N, S },
        .want = "[1.5,2,-30|7|'a','b','',''] [|8|'',''] [4|9|'a,b','\"'] "
                "(line 5: column 'x': '' is not a number) "
    };
    assert_record_row_with(&csv_format, &row, options);
}

/* Quoted or not, also in place of a number or a text; with a separator, the whole field. */
static void a_text_may_stand_for_no_value(void **state)
{
    (void)state;
    const struct column_separator separators[] = { { "y", '|' } };
    const struct record_options options = { .separators = separators,
                                            .separators_count = 1,
                                            .na_value = { "-9", 2 } };
    const struct record_row row = { .text = "x,y,s\n-9,-9,-9\n\"-9\",1|-9,a\n-9.0,2,\n",
                                    .specs = { X, { "y", COLUMN_FLOAT }, S },
                                    .want = "[||] [|1,-9|'a'] [-9|2|] " };

    assert_record_row_with(&csv_format, &row, options);
}

static void reads_tabs(void **state)
{
    (void)state;
    const struct record_row row = { .text = "x\ts\n1\ta,b\n2\t\"c\td\"\n",
                                    .specs = { X, S },
                                    .want = "[1|'a,b'] [2|'c\td'] " };
    assert_record_row(&tsv_format, &row, NULL, 0);
}

static void reads_criteo(void **state)
{
    (void)state;
    const struct record_row row = {
        .text =
            "1\t1\t-2\t\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t68fd1e64\t80e26c9b\t\td\t5\t6\t7\t8\t9"
            "\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19\t20\t21\t22\t23\t24\t25\t\n"
            "0\t1\t\n"
            "0\t1\t-2\t\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\txyz\t80e26c9b\t\td\t5\t6\t7\t8\t9"
            "\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19\t20\t21\t22\t23\t24\t25\tff\n",
        .specs = { { "label", COLUMN_FLOAT },
                   { "I3", COLUMN_INT64 },
                   { "C1", COLUMN_INT64 },
                   { "C2", COLUMN_BYTES } },
        .want = "[1||1761418852|'80e26c9b'] (line 2: 3 fields, wanted 40) "
                "(line 3: column 'C1': 'xyz' is not a hexadecimal number of up to 16 digits) "
    };
    assert_record_row(&criteo_format, &row, NULL, 0);
}

/* Criteo's test.txt has no labels. */
static void reads_criteo_without_labels(void **state)
{
    (void)state;
    const struct record_row row = {
        .text = "1\t-2\t\t4\t5\t6\t7\t8\t9\t10\t11\t12\t13\t68fd1e64\t80e26c9b\t\td\t5\t6\t7\t8"
                "\t9\t10\t11\t12\t13\t14\t15\t16\t17\t18\t19\t20\t21\t22\t23\t24\t25\t\n",
        .specs = { { "I1", COLUMN_FLOAT },
                   { "I13", COLUMN_INT64 },
                   { "C1", COLUMN_INT64 },
                   { "C2", COLUMN_BYTES } },
        .want = "[1|13|1761418852|'80e26c9b'] "
    };
    const struct record_row labelled = { .text = row.text,
                                         .specs = { { "label", COLUMN_FLOAT } },
                                         .want =
                                             "!no column 'label' among I1, I2, I3, I4, I5, I6, "
                                             "I7, I8, I9, I10, I11, I12, I13, C1, C2, C3, C4, "
                                             "C5, C6, C7, C8, C9, C10, C11, C12, C13, C14, C15, "
                                             "C16, C17, C18, C19, C20, C21, C22, C23, C24, C25, "
                                             "C26" };

    assert_record_row(&criteo_format, &row, NULL, 0);
    assert_record_row(&criteo_format, &labelled, NULL, 0);
}

/* The window grows for a record that is longer. */
static void reads_a_long_record(void **state)
{
    (void)state;
    struct buffer text = { 0 }, got = { 0 };
    const struct column_spec specs[] = { X };

    buffer_append_text(&text, "x,s\n1,\"");
    for (int i = 0; i < 100000; i++)
        buffer_append_text(&text, "0123456789\n");
    buffer_append_text(&text, "\"\n2,b\nc,d\n");
    struct memory_file file = memory_file_make(text.data, text.size);
    struct record_options options = { .window_bytes = 16 };
    show_file(file.path, &csv_format, &options, specs, 1, 10, &got);
    assert_string_equal(got.data, "[1] [2] (line 100004: column 'x': 'c' is not a number) ");
    memory_file_close(&file);
    buffer_finish(&text);
    buffer_finish(&got);
}

static void a_record_beyond_the_limit_ends_the_file(void **state)
{
    (void)state;
    struct buffer text = { 0 }, got = { 0 };
    const struct column_spec specs[] = { X };
    struct record_options options = { 0 };

    buffer_append_text(&text, "x,s\n1,");
    size_t size = 3 * TEXT_RECORD_BYTES_MAX;
    buffer_reserve(&text, size);
    memset(text.data + text.size, 'z', size);
    text.size += size;
    struct memory_file file = memory_file_make(text.data, text.size);
    show_file(file.path, &csv_format, &options, specs, 1, 10, &got);
    assert_non_null(strstr(got.data, "line 2: a record of more than 16 MiB"));
    memory_file_close(&file);
    buffer_finish(&text);
    buffer_finish(&got);
}

/* The delimiter is guessed without reading on from the quote. */
static void a_header_of_a_large_file_with_a_quote_within_a_name_is_named(void **state)
{
    struct buffer text = { 0 }, got = { 0 };
    const struct column_spec specs[] = { X };
    const struct record_options options = { 0 };
    const size_t size = 3 * TEXT_RECORD_BYTES_MAX;
    (void)state;

    buffer_append_text(&text, "pipe 5\",x\n1,2\n");
    buffer_reserve(&text, size);
    memset(text.data + text.size, '\n', size);
    text.size += size;
    struct memory_file file = memory_file_make(text.data, text.size);
    show_file(file.path, &csv_format, &options, specs, 1, 10, &got);
    assert_non_null(strstr(got.data, "a quote within a field without quotes"));
    memory_file_close(&file);
    buffer_finish(&text);
    buffer_finish(&got);
}

static void records_are_skipped(void **state)
{
    static const char before[] =
        "x,s\n1,a\n2,\"b\n,\"\"\n\"\r\n\n\"3\",\"a field beyond the window\"\n";
    char content[200];
    (void)state;

    snprintf(content, sizeof content, "%s4,d", before);
    assert_skips(&csv_format, "s", content, 3, "d", 0);
    snprintf(content, sizeof content, "%s4,d\n5,\"e\n6,f\n", before);
    assert_skips(&csv_format, "s", content, 3, "d", 2);
    assert_skips(&csv_format, "s", "x,s\n1,a\n2,\"b\n,\"\"\n\"\r\n\n", 1, "b\n,\"\n", 0);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_text_may_stand_for_no_value),
        cmocka_unit_test(reads_tabs),
        cmocka_unit_test(reads_criteo),
        cmocka_unit_test(reads_criteo_without_labels),
        cmocka_unit_test(reads_a_long_record),
        cmocka_unit_test(a_record_beyond_the_limit_ends_the_file),
        cmocka_unit_test(a_header_of_a_large_file_with_a_quote_within_a_name_is_named),
        cmocka_unit_test(the_options_give_the_names_of_a_file_without_a_header),
        cmocka_unit_test(lines_before_the_header_are_passed),
        cmocka_unit_test(a_header_behind_names_is_suspected),
        cmocka_unit_test(a_field_holds_several_values),
        cmocka_unit_test(records_are_skipped),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads_csv);
    return test_group_run(&group, "delimited", NULL, NULL);
}
