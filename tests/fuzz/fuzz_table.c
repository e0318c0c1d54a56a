/* Tables. The bytes are read as a whole file and as the contents of one block with a correct
 * checksum, because a mutated file never passes its checksums. */
#include <stddef.h>
#include <stdint.h>

#include "support/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(struct bytes bytes)
{
    struct table *table;
    struct table_cursor cursor;
    bool found = true;
    if (!status_is_ok(table_open_bytes(bytes, &table)))
        return;
    table_cursor_init(&cursor, table);
    while (status_is_ok(table_cursor_next(&cursor, &found)) && found) {
        struct table_cursor seeker;
        bool again;
        table_cursor_init(&seeker, table);
        if (status_is_ok(table_cursor_seek(&seeker, table_cursor_key(&cursor), &again)) && again &&
            bytes_compare(table_cursor_key(&seeker), table_cursor_key(&cursor)) < 0)
            __builtin_trap();
        table_cursor_finish(&seeker);
    }
    table_cursor_finish(&cursor);
    table_close(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = { (const char *)data, size };
    if (size == 0)
        return 0;
    read_all(bytes);
    struct buffer file = table_of((struct bytes){ bytes.data + 1, size - 1 }, (char)(data[0] & 3));
    read_all((struct bytes){ file.data, file.size });
    buffer_finish(&file);
    return 0;
}
