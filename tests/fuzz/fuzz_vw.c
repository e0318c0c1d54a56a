/* Vowpal Wabbit's files: read in windows of two sizes, and skipped and jumped over. The first byte
 * chooses if the weights are read. */
#include <stddef.h>
#include <stdint.h>

#include "records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Skipping finds as many records as reading, good and bad. */
static void compare_skipping(const void *data, size_t size, const struct column_spec *specs)
{
    struct memory_file file = memory_file_make(data, size);
    const struct record_options options = { .window_bytes = 16 };
    const struct record_format *format = record_format_find("vw");
    struct record_reader *reader, *skipper;
    struct columns columns;
    bool found = true;

    columns_init(&columns, specs, 1);
    if (!status_is_ok(record_reader_open(file.path, format, &options, &columns, &reader)) ||
        !status_is_ok(record_reader_open(file.path, format, &options, &columns, &skipper)))
        __builtin_trap();
    while (found) {
        struct record_mark mark = { 0 };
        struct status bad = status_ok();
        columns_clear(&columns);
        bool told = record_reader_tell(skipper, &mark);
        if (!status_is_ok(record_reader_read(reader, 1, &columns, &bad)) ||
            !status_is_ok(record_reader_skip(skipper, &found)) ||
            found != (columns.rows == 1 || !status_is_ok(bad)) ||
            (found && skipper->place != reader->place))
            __builtin_trap();
        /* A jump back to where the skipped record begins finds it again. None goes to line 1. */
        if (told && found && mark.place > 1 &&
            (!status_is_ok(record_reader_go_to(skipper, &mark)) ||
             !status_is_ok(record_reader_skip(skipper, &found)) || !found ||
             skipper->place != reader->place))
            __builtin_trap();
    }
    record_reader_close(reader);
    record_reader_close(skipper);
    columns_finish(&columns);
    memory_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct column_spec specs[] = { { "label", COLUMN_FLOAT },
                                                { "index", COLUMN_INT64 },
                                                { "value", COLUMN_FLOAT },
                                                { "weight", COLUMN_FLOAT } };

    if (size == 0)
        return 0;
    compare_windows("vw", data + 1, size - 1, (struct record_options){ 0 }, specs, 3 + data[0] % 2);
    compare_skipping(data + 1, size - 1, specs);
    return 0;
}
