/*
 * records_read: reads a file of records again and again, as pstrain does, and prints its rate.
 *
 *     records_read SECONDS FORMAT FILE COLUMN:KIND…        KIND is float, int64 or bytes
 *     records_read 3 csv train.csv x:float label:int64     prints rows/s and MB/s
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "trainer/records/record_reader.h"

#define BLOCK_ROWS 10000 /* --shuffle_buffer's default */

static enum column_kind kind_of(const char *text)
{
    return strcmp(text, "float") == 0   ? COLUMN_FLOAT
           : strcmp(text, "int64") == 0 ? COLUMN_INT64
                                        : COLUMN_BYTES;
}

/* Reads the file once; returns its rows. */
static size_t read_file(const char *path, const struct record_format *format,
                        struct columns *columns)
{
    struct record_options options = { 0 };
    struct record_reader *reader;
    struct status bad;
    size_t rows = 0;

    struct status status = record_reader_open(path, format, &options, columns, &reader);
    if (!status_is_ok(status)) {
        fprintf(stderr, "records_read: %s\n", status.message);
        exit(EXIT_FAILURE);
    }
    do {
        columns_clear(columns);
        status = record_reader_read(reader, BLOCK_ROWS, columns, &bad);
        rows += columns->rows;
    } while (status_is_ok(status) && status_is_ok(bad) && columns->rows == BLOCK_ROWS);
    if (!status_is_ok(status) || !status_is_ok(bad)) {
        fprintf(stderr, "records_read: %s%s\n", status.message, bad.message);
        exit(EXIT_FAILURE);
    }
    record_reader_close(reader);
    return rows;
}

int main(int argc, char **argv)
{
    const struct record_format *format = argc > 4 ? record_format_find(argv[2]) : NULL;
    struct column_spec specs[64];
    struct columns columns;
    struct stat file;
    int count = 0;

    if (format == NULL || stat(argv[3], &file) != 0) {
        fprintf(stderr, "usage: records_read SECONDS FORMAT FILE COLUMN:KIND...\n");
        return 2;
    }
    for (; count + 4 < argc && count < 64; count++) {
        char *colon = strchr(argv[count + 4], ':');
        if (colon == NULL)
            return 2;
        *colon = '\0';
        specs[count] = (struct column_spec){ argv[count + 4], kind_of(colon + 1) };
    }
    columns_init(&columns, specs, count);
    int64_t begin = clock_now_ns(clock_monotonic()), now;
    size_t rows = 0, files = 0;
    do {
        rows += read_file(argv[3], format, &columns);
        files++;
        now = clock_now_ns(clock_monotonic());
    } while ((double)(now - begin) < atof(argv[1]) * 1e9);
    double seconds = (double)(now - begin) / 1e9;
    printf("%.0f rows/s, %.1f MB/s\n", (double)rows / seconds,
           (double)file.st_size * (double)files / seconds / 1e6);
    columns_finish(&columns);
    return 0;
}
