#include "record_rows.h"

#include "base/arena.h"
#include "trainer/records/text_lines.h"
#include "support/test_group.h"

#define T                    \
    {                        \
        "text", COLUMN_BYTES \
    }
#define L                     \
    {                         \
        "label", COLUMN_BYTES \
    }

/* The folder of a file in memory is fd. */
static const struct record_row rows[] = {
    { "lines", "one, two\nthree \n", { T }, "['one, two'] ['three '] " },
    { "the folder is the label", "a\nb\n", { L, T }, "['fd'|'a'] ['fd'|'b'] " },
    { "empty lines are texts", "\na\n\n", { T }, "[''] ['a'] [''] " },
    { "CR LF", "a\r\n\r\nb\rc\r\n", { T }, "['a'] [''] ['b\rc'] " },
    { "no line end at the end", "a\nb", { T }, "['a'] ['b'] " },
    { "a byte order mark", "\xef\xbb\xbf\xc3\xa4\n", { T }, "['\xc3\xa4'] " },
    { "a line beyond the window",
      "a line that is longer than the first window\nb\n",
      { T },
      "['a line that is longer than the first window'] ['b'] " },
    { "no lines", "", { T }, "" },
    { "another column",
      "a\n",
      { { "line", COLUMN_BYTES } },
      "!no column 'line' of this type: lines of text have 'text' and 'label', of string" },
    { "numbers",
      "1\n",
      { { "text", COLUMN_INT64 } },
      "!no column 'text' of this type: lines of text have 'text' and 'label', of string" },
};

static void reads_lines(void **state)
{
    assert_record_row(&text_format, *state, NULL, 0);
}

static void lines_are_skipped(void **state)
{
    (void)state;
    assert_int_equal(assert_skips(&text_format, "text", "a\nb\nc", 1, "b", 1), 2);
}

static void the_folders_of_the_files_are_the_classes(void **state)
{
    (void)state;
    static const char *const paths[] = { "p/spam/1.text", "p/ham/2.text" };
    struct arena *arena = arena_create(0);
    struct schema schema;

    text_schema(paths, 2, NULL, arena, &schema);
    assert_int_equal(schema.count, 2);
    assert_string_equal(schema.columns[0].name, "text");
    assert_true(bytes_equal(schema.columns[1].classes[0], bytes_of("ham")));
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(lines_are_skipped),
        cmocka_unit_test(the_folders_of_the_files_are_the_classes),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads_lines);
    return test_group_run(&group, "text_lines", NULL, NULL);
}
