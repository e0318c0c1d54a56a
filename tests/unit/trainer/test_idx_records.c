/* IDX files of images as records, with the labels of the file beside them. */
#include "record_rows.h"
#include "support/directory.h"
#include "support/test_group.h"

#include <zlib.h>

#define IMAGES "\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x02\x00\x01\x02\x03\xfe\xff"
#define LABELS "\0\0\x08\x01\0\0\0\x03\x07\x08\x09"
#define PIXELS                \
    {                         \
        "image", COLUMN_FLOAT \
    }
#define LABEL                 \
    {                         \
        "label", COLUMN_INT64 \
    }
#define BYTES(text)           \
    {                         \
        text, sizeof text - 1 \
    }

static const struct row {
    const char *label;
    const char *images_name, *labels_name;
    struct bytes images, labels;
    struct column_spec specs[2];
    const char *want;
} rows[] = {
    { "both",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES(LABELS),
      { PIXELS, LABEL },
      "[0,1|7] [2,3|8] [254,255|9] " },
    { "only labels",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES(LABELS),
      { LABEL },
      "[7] [8] [9] " },
    { "integers and floats",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES(LABELS),
      { { "label", COLUMN_FLOAT }, { "image", COLUMN_INT64 } },
      "[7|0,1] [8|2,3] [9|254,255] " },
    { "only the labels are compressed",
      "images.idx3-ubyte",
      "labels.idx1-ubyte.gz",
      BYTES(IMAGES),
      BYTES(LABELS),
      { PIXELS, LABEL },
      "[0,1|7] [2,3|8] [254,255|9] " },
    { "both are compressed",
      "images.idx3-ubyte.gz",
      "labels.idx1-ubyte.gz",
      BYTES(IMAGES),
      BYTES(LABELS),
      { PIXELS, LABEL },
      "[0,1|7] [2,3|8] [254,255|9] " },
    { "no labels",
      "t-images-idx3-ubyte",
      "other",
      BYTES(IMAGES),
      BYTES(LABELS),
      { PIXELS },
      "[0,1] [2,3] [254,255] " },
    { "no labels, but asked for",
      "t-images-idx3-ubyte",
      "other",
      BYTES(IMAGES),
      BYTES(LABELS),
      { LABEL },
      "!no column 'label' of this type" },
    { "text",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES(LABELS),
      { { "label", COLUMN_BYTES } },
      "!no column 'label' of this type" },
    { "fewer labels",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES("\0\0\x08\x01\0\0\0\x02\x07\x08"),
      { PIXELS },
      "!3 images, but 2 labels in '" },
    { "labels of rank 2",
      "t-images-idx3-ubyte",
      "t-labels-idx1-ubyte",
      BYTES(IMAGES),
      BYTES("\0\0\x08\x02\0\0\0\x03\0\0\0\x01\x07\x08\x09"),
      { PIXELS },
      "IDX rank 2" },
    { "a file of labels",
      "t-labels-idx1-ubyte",
      "other",
      BYTES(LABELS),
      BYTES(LABELS),
      { PIXELS },
      "!a file of one number per row, as of labels: name only files of images" },
    { "cut short",
      "t-images-idx3-ubyte",
      "other",
      BYTES("\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x02\x00\x01\x02"),
      BYTES(LABELS),
      { PIXELS },
      "!IDX data has 3 bytes, its dimensions say 6" },
    { "compressed and cut short",
      "t-images-idx3-ubyte.gz",
      "other",
      BYTES("\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\x02\x00\x01\x02"),
      BYTES(LABELS),
      { PIXELS },
      "cut short in row 1 of 3" },
    { "compressed, with more rows than its header says",
      "t-images-idx3-ubyte.gz",
      "other",
      BYTES(IMAGES "\1"),
      BYTES(LABELS),
      { PIXELS },
      "more IDX data than the 3 rows of its header" },
    { "a header cut short",
      "t-images-idx3-ubyte",
      "other",
      BYTES("\0\0\x08\x03\0\0\0\x03\0\0"),
      BYTES(LABELS),
      { PIXELS },
      "!IDX header cut short: 10 bytes of 16" },
    { "rows without values",
      "t-images-idx3-ubyte",
      "other",
      BYTES("\0\0\x08\x03\0\0\0\x03\0\0\0\x01\0\0\0\0"),
      BYTES(LABELS),
      { PIXELS },
      "!rows without values" },
    { "long rows",
      "t-images-idx3-ubyte",
      "other",
      BYTES("\0\0\x08\x03\0\0\0\x01\xff\0\0\0\xff\0\0\0"),
      BYTES(LABELS),
      { PIXELS },
      "!a row has more than 64 MiB" },
    { "floats",
      "t-images-idx3-ubyte",
      "other",
      BYTES("\0\0\x0d\x02\0\0\0\x01\0\0\0\x01\0\0\0\0"),
      BYTES(LABELS),
      { PIXELS },
      "!IDX element type 0x0d, only unsigned bytes (0x08) are read" },
};

static void write_file(const char *path, struct bytes content)
{
    size_t size = strlen(path);

    if (strcmp(path + size - 3, ".gz") != 0) {
        assert_ok(file_write(path, content));
        return;
    }
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, content.data, (unsigned)content.size), content.size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void reads_the_files(void **state)
{
    const struct row *row = *state;
    struct record_options options = { 0 };
    const struct record_format *format;

    directory_setup(state);
    write_file(in(row->images_name), row->images);
    write_file(in(row->labels_name), row->labels);
    assert_ok(record_format_detect(in(row->images_name), NULL, &format));
    for (size_t rows_max = 1; rows_max <= 4; rows_max++) {
        struct buffer got = { 0 };
        show_file(in(row->images_name), format, &options, row->specs,
                  row->specs[1].name == NULL ? 1 : 2, rows_max, &got);
        if (strstr(got.data, row->want) == NULL)
            assert_string_equal(got.data, row->want);
        if (row->want[0] == '[')
            assert_string_equal(got.data, row->want);
        buffer_finish(&got);
    }
    assert_int_equal(directory_teardown(state), 0);
}

static void lists_the_shape_of_an_image(void **state)
{
    struct record_options options = { 0 };
    struct record_fields fields;

    directory_setup(state);
    write_file(in("t-images-idx3-ubyte"), (struct bytes)BYTES(IMAGES));
    write_file(in("t-labels-idx1-ubyte"), (struct bytes)BYTES(LABELS));
    assert_ok(record_format_list(in("t-images-idx3-ubyte"), record_format_find("idx"), &options,
                                 arena, &fields));
    assert_int_equal(fields.count, 2);
    assert_string_equal(fields.list[0].name, "image");
    assert_int_equal(fields.list[0].shape.rank, 2);
    assert_int_equal(fields.list[0].shape.dims[1], 2);
    assert_string_equal(fields.list[1].name, "label");
    assert_int_equal(fields.list[1].shape.rank, 0);
    assert_int_equal(directory_teardown(state), 0);
}

/* Skips a row, reads one, then jumps back to the second, if the files are not compressed. */
static void skips_and_jumps(void **state)
{
    static const char *const suffixes[] = { "", ".gz" };
    const struct column_spec specs[] = { PIXELS, LABEL };
    struct record_options options = { 0 };

    directory_setup(state);
    for (size_t i = 0; i < COUNT(suffixes); i++) {
        const char *path = in(arena_printf(arena, "t-images-idx3-ubyte%s", suffixes[i]));
        struct record_reader *reader;
        struct record_mark mark = { 0 };
        struct columns columns;
        struct status bad;
        bool found;
        write_file(path, (struct bytes)BYTES(IMAGES));
        write_file(in(arena_printf(arena, "t-labels-idx1-ubyte%s", suffixes[i])),
                   (struct bytes)BYTES(LABELS));
        columns_init(&columns, specs, 2);
        assert_ok(record_reader_open(path, record_format_find("idx"), &options, &columns, &reader));
        assert_ok(record_reader_skip(reader, &found));
        assert_true(found);
        bool jumps = record_reader_tell(reader, &mark);
        assert_int_equal(jumps, i == 0);
        assert_ok(record_reader_read(reader, 9, &columns, &bad));
        assert_int_equal(columns.rows, 2);
        assert_int_equal(columns.list[1].ints[0], 8);
        assert_ok(record_reader_skip(reader, &found));
        assert_false(found);
        columns_clear(&columns);
        if (jumps) {
            assert_ok(record_reader_go_to(reader, &mark));
            assert_ok(record_reader_read(reader, 1, &columns, &bad));
            assert_true(columns.list[0].floats[1] == 3);
            mark.offset = 4;
            assert_fails_naming(record_reader_go_to(reader, &mark), STATUS_DATA_LOSS, "changed");
        }
        record_reader_close(reader);
        columns_finish(&columns);
    }
    assert_int_equal(directory_teardown(state), 0);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(lists_the_shape_of_an_image),
        cmocka_unit_test(skips_and_jumps),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, reads_the_files);
    return test_group_run(&group, "idx records", NULL, NULL);
}
