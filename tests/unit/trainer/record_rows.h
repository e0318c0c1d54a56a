/* Reads a file's records and prints them, for the tests of the formats. */
#ifndef TESTS_RECORD_ROWS_H
#define TESTS_RECORD_ROWS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>

#include "support/memory_file.h"
#include "trainer/records/record_reader.h"

/* "1,2.5" of a row's values; texts in quotes. */
static inline void show_values(const struct column *column, size_t row, struct buffer *out)
{
    for (size_t i = column_begin(column, row); i < column->ends[row]; i++) {
        buffer_append_text(out, i == column_begin(column, row) ? "" : ",");
        if (column->kind == COLUMN_FLOAT)
            buffer_printf(out, "%g", (double)column->floats[i]);
        else if (column->kind == COLUMN_INT64)
            buffer_printf(out, "%" PRId64, column->ints[i]);
        else
            buffer_printf(out, "'%.*s'", (int)column_text(column, i).size,
                          column_text(column, i).data);
    }
}

/* "[1|2,3|'a'] " for each row. */
static inline void show_rows(const struct columns *columns, struct buffer *out)
{
    for (size_t row = 0; row < columns->rows; row++) {
        buffer_append_text(out, "[");
        for (int i = 0; i < columns->count; i++) {
            buffer_append_text(out, i == 0 ? "" : "|");
            show_values(&columns->list[i], row, out);
        }
        buffer_append_text(out, "] ");
    }
}

/* "'path': text" or "'path' line 2: text" without the path. */
static inline const char *after_path(const char *message)
{
    const char *at = strchr(message + 1, '\'') + 1;

    return at + strspn(at, ": ");
}

/* The same for a whole file, with "(why a record is bad) " and "!why the file is" in between. */
static inline void show_file(const char *path, const struct record_format *format,
                             const struct record_options *options, const struct column_spec *specs,
                             int count, size_t rows_max, struct buffer *out)
{
    struct record_reader *reader = NULL;
    struct columns columns;
    struct status bad = status_ok();

    columns_init(&columns, specs, count);
    struct status status = record_reader_open(path, format, options, &columns, &reader);
    for (bool more = true; status_is_ok(status) && more;) {
        status = record_reader_read(reader, rows_max, &columns, &bad);
        more = columns.rows == rows_max || !status_is_ok(bad);
        show_rows(&columns, out);
        columns_clear(&columns);
        if (!status_is_ok(bad))
            buffer_printf(out, "(%s) ", strchr(bad.message + 1, '\'') + 2);
    }
    if (!status_is_ok(status))
        buffer_printf(out, "!%s", after_path(status.message));
    buffer_append_char(out, '\0');
    record_reader_close(reader);
    columns_finish(&columns);
}

/* A file, what is asked of it, and what comes. */
struct record_row {
    const char *label, *text;
    struct column_spec specs[4];
    const char *want;
};

/* Reads it with windows of several sizes: records and fields then lie across their borders. */
static inline void assert_record_row_with(const struct record_format *format,
                                          const struct record_row *row,
                                          struct record_options options)
{
    static const size_t windows[] = { 16, 17, 19, 64, 0 };
    struct memory_file file = memory_file_make(row->text, strlen(row->text));
    int count = 0;

    while (count < 4 && row->specs[count].name != NULL)
        count++;
    for (size_t i = 0; i < COUNT(windows); i++) {
        struct buffer got = { 0 };
        options.window_bytes = windows[i];
        show_file(file.path, format, &options, row->specs, count, i + 1, &got);
        assert_string_equal(got.data, row->want);
        buffer_finish(&got);
    }
    memory_file_close(&file);
}

static inline void assert_record_row(const struct record_format *format,
                                     const struct record_row *row, const char *const *names,
                                     int names_count)
{
    const struct record_options options = { .column_names = names,
                                            .column_names_count = names_count };

    assert_record_row_with(format, row, options);
}

/* Reads the text of a column behind `skipped` records, and skips the rest, which are `behind`.
 * Returns the place of the one that it read. */
static inline uint64_t assert_skips(const struct record_format *format, const char *name,
                                    const char *content, int skipped, const char *text, int behind)
{
    const struct column_spec specs[] = { { name, COLUMN_BYTES } };
    struct memory_file file = memory_file_make(content, strlen(content));
    struct record_options options = { .window_bytes = 16 };
    struct record_reader *reader;
    struct columns columns;
    struct status bad;
    bool found;

    columns_init(&columns, specs, 1);
    assert_int_equal(record_reader_open(file.path, format, &options, &columns, &reader).code,
                     STATUS_OK);
    for (int i = 0; i < skipped; i++) {
        assert_int_equal(record_reader_skip(reader, &found).code, STATUS_OK);
        assert_true(found);
    }
    assert_int_equal(record_reader_read(reader, 1, &columns, &bad).code, STATUS_OK);
    assert_true(bytes_equal(column_text(&columns.list[0], 0), bytes_of(text)));
    uint64_t place = reader->place;
    for (int i = 0; i <= behind; i++) {
        assert_int_equal(record_reader_skip(reader, &found).code, STATUS_OK);
        assert_int_equal(found, i < behind);
    }
    record_reader_close(reader);
    columns_finish(&columns);
    memory_file_close(&file);
    return place;
}

#endif
