#include "storage/table.h"

#include <inttypes.h>
#include <snappy-c.h>
#include <stdlib.h>

#include "base/crc32c.h"

/* Snappy expands 3 bytes to at most 64: a larger ratio is damage. */
#define SNAPPY_RATIO_MAX 22

struct table {
    struct file_reader file; /* zeroed if the table is in memory */
    struct bytes memory;
    uint64_t size;
    struct buffer index_contents;
    struct table_block index;
};

struct handle {
    uint64_t offset, size;
};

static bool handle_get(const char **at, const char *end, struct handle *out)
{
    return varint_get(at, end, &out->offset) && varint_get(at, end, &out->size);
}

static struct status get(const struct table *table, uint64_t offset, void *data, size_t size)
{
    if (table->file.path != NULL)
        return file_reader_get(&table->file, offset, data, size);
    memcpy(data, table->memory.data + offset, size);
    return status_ok();
}

static struct status not_snappy(const struct buffer *contents)
{
    return status_error(STATUS_DATA_LOSS,
                        "corrupted compressed block contents: %zu bytes that Snappy did not write",
                        contents->size);
}

static struct status inflate_snappy(struct buffer *contents)
{
    size_t size;
    if (snappy_uncompressed_length(contents->data, contents->size, &size) != SNAPPY_OK ||
        size / SNAPPY_RATIO_MAX > contents->size)
        return not_snappy(contents);
    struct buffer inflated = { 0 };
    buffer_reserve(&inflated, size + 1);
    if (snappy_uncompress(contents->data, contents->size, inflated.data, &size) != SNAPPY_OK) {
        buffer_finish(&inflated);
        return not_snappy(contents);
    }
    inflated.size = size;
    buffer_finish(contents);
    *contents = inflated;
    return status_ok();
}

static struct status verify_checksum(const char *contents_and_type, size_t size)
{
    uint32_t stored = crc32c_unmask(get_u32le(contents_and_type + size));
    uint32_t computed = crc32c(0, contents_and_type, size);
    if (computed != stored)
        return status_error(STATUS_DATA_LOSS,
                            "block checksum mismatch: its bytes have %08" PRIx32 ", %08" PRIx32
                            " is stored",
                            computed, stored);
    return status_ok();
}

/* Reads, verifies and decompresses a block into `contents`, and opens it. */
static struct status load_block(const struct table *table, struct handle handle,
                                struct buffer *contents, struct table_block *out)
{
    uint64_t end = table->size - TABLE_FOOTER_BYTES;
    if (handle.offset > end || end - handle.offset < TABLE_TRAILER_BYTES ||
        handle.size > end - handle.offset - TABLE_TRAILER_BYTES)
        return status_error(STATUS_DATA_LOSS,
                            "bad block handle: the block and its %d bytes of trailer must end "
                            "before the footer at %" PRIu64,
                            TABLE_TRAILER_BYTES, end);

    size_t size = (size_t)handle.size;
    contents->size = 0;
    buffer_reserve(contents, size + TABLE_TRAILER_BYTES);
    TRY(get(table, handle.offset, contents->data, size + TABLE_TRAILER_BYTES));
    TRY(verify_checksum(contents->data, size + 1));

    contents->size = size;
    int type = (unsigned char)contents->data[size];
    if (type == 1)
        TRY(inflate_snappy(contents));
    else if (type != 0)
        return status_error(STATUS_DATA_LOSS, "bad block type %d, must be 0 (stored) or 1 (Snappy)",
                            type);
    return block_open((struct bytes){ contents->data, contents->size }, out);
}

static struct status read_block(const struct table *table, struct handle handle,
                                struct buffer *contents, struct table_block *out)
{
    return status_in(load_block(table, handle, contents, out),
                     "block of %" PRIu64 " bytes at offset %" PRIu64, handle.size, handle.offset);
}

static struct status open_index(struct table *table)
{
    char footer[TABLE_FOOTER_BYTES];
    if (table->size < TABLE_FOOTER_BYTES)
        return status_error(STATUS_DATA_LOSS,
                            "file is too short to be an sstable: %" PRIu64
                            " bytes, the footer alone has %d",
                            table->size, TABLE_FOOTER_BYTES);
    TRY(get(table, table->size - TABLE_FOOTER_BYTES, footer, sizeof footer));
    if (get_u64le(footer + 40) != TABLE_MAGIC)
        return status_error(STATUS_DATA_LOSS,
                            "not an sstable (bad magic number %016" PRIx64 ", must be %016" PRIx64
                            ")",
                            get_u64le(footer + 40), TABLE_MAGIC);
    const char *at = footer;
    struct handle metaindex, index;
    if (!handle_get(&at, footer + 40, &metaindex) || !handle_get(&at, footer + 40, &index))
        return status_error(STATUS_DATA_LOSS, "bad block handle in the footer at offset %" PRIu64,
                            table->size - TABLE_FOOTER_BYTES);
    return read_block(table, index, &table->index_contents, &table->index);
}

static struct status finish_open(struct table *table, struct table **out)
{
    struct status status = open_index(table);
    if (!status_is_ok(status)) {
        table_close(table);
        return status;
    }
    *out = table;
    return status_ok();
}

struct status table_open(const char *path, struct table **out)
{
    struct file_reader file;
    TRY(file_reader_open(path, &file));
    struct table *table = zalloc(sizeof *table);
    table->file = file;
    table->size = file.size;
    return finish_open(table, out);
}

struct status table_open_bytes(struct bytes bytes, struct table **out)
{
    struct table *table = zalloc(sizeof *table);
    table->memory = bytes;
    table->size = bytes.size;
    return finish_open(table, out);
}

const char *table_path(const struct table *table)
{
    return table->file.path != NULL ? table->file.path : "";
}

void table_close(struct table *table)
{
    if (table == NULL)
        return;
    file_reader_close(&table->file);
    buffer_finish(&table->index_contents);
    free(table);
}

void table_cursor_init(struct table_cursor *cursor, const struct table *table)
{
    *cursor = (struct table_cursor){ .table = table };
    block_cursor_init(&cursor->index, &table->index);
}

/* Opens the data block of the current index entry. */
static struct status open_data(struct table_cursor *cursor)
{
    struct bytes value = cursor->index.value;
    const char *at = value.data;
    struct handle handle;
    if (!handle_get(&at, value.data + value.size, &handle))
        return status_error(STATUS_DATA_LOSS,
                            "bad block handle in the index: %zu bytes that are not two numbers",
                            value.size);
    block_cursor_finish(&cursor->entries);
    cursor->open = false;
    TRY(read_block(cursor->table, handle, &cursor->contents, &cursor->block));
    block_cursor_init(&cursor->entries, &cursor->block);
    cursor->offset = handle.offset;
    cursor->open = true;
    return status_ok();
}

static struct status in_block(const struct table_cursor *cursor, struct status status)
{
    return status_in(status, "block at offset %" PRIu64, cursor->offset);
}

static struct status check_ascends(const struct table_cursor *cursor)
{
    struct bytes last = { cursor->last_key.data, cursor->last_key.size };
    if (cursor->any && bytes_compare(last, table_cursor_key(cursor)) >= 0)
        return status_error(STATUS_DATA_LOSS,
                            "bad block contents: the first key of the block at offset %" PRIu64
                            " must be greater than the last one of the block before",
                            cursor->offset);
    return status_ok();
}

struct status table_cursor_next(struct table_cursor *cursor, bool *found)
{
    bool fresh = false; /* at the start of a block that was opened here */
    for (;;) {
        if (cursor->open) {
            TRY(in_block(cursor, block_cursor_next(&cursor->entries, found)));
            if (*found)
                return fresh ? check_ascends(cursor) : status_ok();
            if (cursor->entries.any) {
                cursor->last_key.size = 0;
                buffer_append(&cursor->last_key, cursor->entries.key.data,
                              cursor->entries.key.size);
                cursor->any = true;
            }
        }
        TRY(status_in(block_cursor_next(&cursor->index, found), "index block"));
        if (!*found)
            return status_ok();
        TRY(open_data(cursor));
        fresh = true;
    }
}

struct status table_cursor_seek(struct table_cursor *cursor, struct bytes key, bool *found)
{
    cursor->any = false;
    TRY(status_in(block_cursor_seek(&cursor->index, key, found), "index block"));
    if (!*found)
        return status_ok();
    TRY(open_data(cursor));
    TRY(in_block(cursor, block_cursor_seek(&cursor->entries, key, found)));
    return *found ? status_ok() : table_cursor_next(cursor, found);
}

void table_cursor_finish(struct table_cursor *cursor)
{
    block_cursor_finish(&cursor->index);
    block_cursor_finish(&cursor->entries);
    buffer_finish(&cursor->contents);
    buffer_finish(&cursor->last_key);
}
