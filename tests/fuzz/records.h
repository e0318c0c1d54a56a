/* Reads a file of records with one format in windows of two sizes: both give the same rows. */
#ifndef TESTS_RECORDS_H
#define TESTS_RECORDS_H

#include "support/memory_file.h"
#include "trainer/records/record_reader.h"

/* Reads all records. Returns a number that depends on all values, and on which records are bad. If
 * the file itself is damaged, it is 0: the window decides how many rows come before the error. */
static inline uint64_t read_records(const char *path, const char *format, size_t window_bytes,
                                    struct record_options options, const struct column_spec *specs,
                                    int count)
{
    options.window_bytes = window_bytes;
    struct record_reader *reader;
    struct columns columns;
    uint64_t sum = 0;

    columns_init(&columns, specs, count);
    struct status status =
        record_reader_open(path, record_format_find(format), &options, &columns, &reader);
    while (status_is_ok(status)) {
        struct status bad;
        status = record_reader_read(reader, 7, &columns, &bad);
        sum = sum * 31 + columns.rows + (status_is_ok(bad) ? 0 : 1000);
        for (int i = 0; i < count; i++) {
            const struct column *column = &columns.list[i];
            if (columns.rows > 0 && column->ends[columns.rows - 1] != column->count)
                __builtin_trap();
            size_t size = column->count * (column->kind == COLUMN_FLOAT ? 4 : 8);
            sum = sum * 31 + bytes_hash((struct bytes){ column->values, size });
            sum = sum * 31 + bytes_hash((struct bytes){ column->text.data, column->text.size });
        }
        if (status_is_ok(bad) && columns.rows < 7) {
            record_reader_close(reader);
            break;
        }
        columns_clear(&columns);
        if (!status_is_ok(status))
            record_reader_close(reader);
    }
    columns_finish(&columns);
    return status_is_ok(status) ? sum : 0;
}

static inline void compare_windows(const char *format, const void *data, size_t size,
                                   struct record_options options, const struct column_spec *specs,
                                   int count)
{
    struct memory_file file = memory_file_make(data, size);

    if (read_records(file.path, format, 16, options, specs, count) !=
        read_records(file.path, format, 0, options, specs, count))
        __builtin_trap();
    memory_file_close(&file);
}

#endif
