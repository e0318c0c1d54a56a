/* IDX files, plain or gzip. If a file parses, all of its data can be read. Its rows are read as
 * records as well. */
#include <stddef.h>
#include <stdint.h>

#include "records.h"
#include "trainer/records/idx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buffer unpacked = { 0 };
    struct bytes contents;
    struct idx idx;

    if (status_is_ok(idx_unpack((struct bytes){ (const char *)data, size }, 1 << 24, &unpacked,
                                &contents)) &&
        status_is_ok(idx_parse(contents, &idx))) {
        volatile uint8_t sum = 0;
        for (size_t i = 0,
                    end = (size_t)((const uint8_t *)contents.data + contents.size - idx.data);
             i < end; i++)
            sum = (uint8_t)(sum + idx.data[i]);
    }
    buffer_finish(&unpacked);
    static const struct column_spec image[] = { { "image", COLUMN_FLOAT } };
    compare_windows("idx", data, size, (struct record_options){ 0 }, image, 1);
    return 0;
}
