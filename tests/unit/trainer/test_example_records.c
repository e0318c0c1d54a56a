#include "record_rows.h"

#include "base/arena.h"
#include "base/file.h"
#include "storage/tfrecord.h"
#include "support/directory.h"
#include "trainer/records/example_records.h"
#include "support/test_group.h"

#define CORPUS "tests/fuzz/corpus/example_records/"

static const struct column_spec specs[] = { { "a", COLUMN_FLOAT },
                                            { "b", COLUMN_INT64 },
                                            { "c", COLUMN_BYTES } };

/* A file of these Examples, each the contents of a file in the corpus. */
static struct buffer frame(const char *const *names)
{
    struct buffer framed = { 0 };

    for (; *names != NULL; names++) {
        struct buffer example = { 0 };
        char path[256];
        snprintf(path, sizeof path, CORPUS "%s", *names);
        assert_ok(file_read(path, 0, &example));
        tfrecord_frame((struct bytes){ example.data, example.size }, &framed);
        buffer_finish(&example);
    }
    return framed;
}

static void assert_rows(const struct buffer *contents, const char *want)
{
    struct memory_file file = memory_file_make(contents->data, contents->size);
    struct record_options options = { 0 };

    for (size_t rows_max = 1; rows_max < 4; rows_max++) {
        struct buffer got = { 0 };
        show_file(file.path, &tfrecord_format, &options, specs, 3, rows_max, &got);
        assert_string_equal(got.data, want);
        buffer_finish(&got);
    }
    memory_file_close(&file);
}

static const struct example_row {
    const char *label, *names[4], *want;
} rows[] = {
    { "all kinds", { "all", "all" }, "[1,2.5|3,-4|'x','','yz'] [1,2.5|3,-4|'x','','yz'] " },
    { "missing features and empty lists",
      { "empty_lists", "all", "nothing" },
      "[||] [1,2.5|3,-4|'x','','yz'] [||] " },
    { "the last of two features counts, unless it has no kind", { "twice" }, "[2,3|1|] " },
    { "a SequenceExample: the context, and lists of any length",
      { "sequence", "twice" },
      "[1,2.5|5,6,-7|'x','yz'] [2,3|1|] " },
    { "bad: a list of another kind",
      { "other_list", "twice" },
      "(record 0: offset 0: feature list: feature 'a' holds int64s, not floats) [2,3|1|] " },
    { "bad: a damaged list",
      { "damaged_list" },
      "(record 0: offset 0: feature list 'b' is damaged) " },
    { "numbers that are not packed", { "unpacked" }, "[1|5,6|] " },
    { "bad: another kind",
      { "other_kind", "twice" },
      "(record 0: offset 0: feature 'a' holds int64s, not floats) [2,3|1|] " },
    { "bad: no Example",
      { "twice", "damaged", "twice" },
      "[2,3|1|] (record 1: offset 71: not a tf.Example or tf.SequenceExample) [2,3|1|] " },
};

static void reads_examples(void **state)
{
    const struct example_row *row = *state;
    struct buffer framed = frame(row->names);

    assert_rows(&framed, row->want);
    buffer_finish(&framed);
}

static void goes_on_behind_a_wrong_checksum(void **state)
{
    (void)state;
    static const char *const names[] = { "twice", "twice", "twice", NULL };
    struct buffer framed = frame(names);
    size_t size = framed.size / 3;

    framed.data[size + 20] ^= 1;
    struct memory_file file = memory_file_make(framed.data, framed.size);
    struct record_options options = { 0 };
    struct buffer got = { 0 };
    show_file(file.path, &tfrecord_format, &options, specs, 3, 10, &got);
    assert_non_null(strstr(got.data, "[2,3|1|] (record 1: offset 71"));
    assert_non_null(strstr(got.data, "corrupted record at 83"));
    assert_non_null(strstr(got.data, ") [2,3|1|] "));
    memory_file_close(&file);
    buffer_finish(&got);
    buffer_finish(&framed);
}

static void a_damaged_size_ends_the_file(void **state)
{
    (void)state;
    static const char *const names[] = { "twice", "twice", NULL };
    struct buffer framed = frame(names), got = { 0 };
    struct record_options options = { 0 };

    framed.data[framed.size / 2] ^= 1;
    struct memory_file file = memory_file_make(framed.data, framed.size);
    show_file(file.path, &tfrecord_format, &options, specs, 3, 10, &got);
    assert_non_null(strstr(got.data, "!"));
    assert_non_null(strstr(got.data, "corrupted record at 71"));
    memory_file_close(&file);
    buffer_finish(&got);
    buffer_finish(&framed);
}

static void reads_gzip(void **state)
{
    (void)state;
    struct tfrecord_writer *writer;
    struct buffer example = { 0 }, got = { 0 };
    struct record_options options = { 0 };

    assert_ok(file_read(CORPUS "twice", 0, &example));
    assert_ok(tfrecord_writer_open(in("r.gz"), TFRECORD_GZIP, &writer));
    for (int i = 0; i < 2; i++)
        assert_ok(tfrecord_writer_append(writer, (struct bytes){ example.data, example.size }));
    assert_ok(tfrecord_writer_finish(writer));
    show_file(in("r.gz"), &tfrecord_format, &options, specs, 3, 10, &got);
    assert_string_equal(got.data, "[2,3|1|] [2,3|1|] ");
    buffer_finish(&example);
    buffer_finish(&got);
}

static void lists_the_features(void **state)
{
    (void)state;
    static const char *const names[] = { "nothing", "other_kind", "all", NULL };
    struct buffer framed = frame(names);
    struct memory_file file = memory_file_make(framed.data, framed.size);
    struct record_options options = { 0 };
    struct record_fields fields;

    assert_ok(record_format_list(file.path, &tfrecord_format, &options, arena, &fields));
    assert_int_equal(fields.count, 4); /* a and z of other_kind, b and c of all */
    assert_string_equal(fields.list[0].name, "a");
    assert_int_equal(fields.list[0].kind, COLUMN_INT64);
    assert_string_equal(fields.list[3].name, "z");
    assert_int_equal(fields.list[3].kind, COLUMN_BYTES);
    memory_file_close(&file);
    buffer_finish(&framed);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(goes_on_behind_a_wrong_checksum),
        cmocka_unit_test(a_damaged_size_ends_the_file),
        TEST_IN_DIRECTORY(reads_gzip),
        TEST_IN_DIRECTORY(lists_the_features),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, reads_examples);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "example_records", NULL, NULL);
}
