/*
 * table: makes tables that our own writer would never write.
 */
#ifndef SUPPORT_TABLE_H
#define SUPPORT_TABLE_H

#include "base/crc32c.h"
#include "storage/table.h"

/*
 * Returns a table of one data block with these contents, stored as they are; `type` is the block's
 * compression type. The checksums are correct, so that a reader gets as far as the contents.
 */
static inline struct buffer table_of(struct bytes contents, char type)
{
    struct buffer file = { 0 };
    char trailer[5], handle[2 * VARINT_MAX], footer[48] = { 0 };
    static const char empty[] = "\0\0\0\0\1\0\0\0";
    buffer_append(&file, contents.data, contents.size);
    trailer[0] = type;
    put_u32le(trailer + 1,
              crc32c_mask(crc32c(crc32c(0, contents.data, contents.size), trailer, 1)));
    buffer_append(&file, trailer, 5);

    size_t metaindex = file.size;
    trailer[0] = 0;
    put_u32le(trailer + 1, crc32c_mask(crc32c(crc32c(0, empty, 8), trailer, 1)));
    buffer_append(&file, empty, 8);
    buffer_append(&file, trailer, 5);

    struct block_builder index = { .interval = 1 };
    size_t size = varint_put(handle, 0);
    size += varint_put(handle + size, contents.size);
    block_builder_add(&index, bytes_of("~"), (struct bytes){ handle, size });
    struct bytes index_contents = block_builder_close(&index);
    size_t index_at = file.size;
    put_u32le(trailer + 1,
              crc32c_mask(crc32c(crc32c(0, index_contents.data, index_contents.size), trailer, 1)));
    buffer_append(&file, index_contents.data, index_contents.size);
    buffer_append(&file, trailer, 5);

    size = varint_put(footer, metaindex);
    size += varint_put(footer + size, 8);
    size += varint_put(footer + size, index_at);
    varint_put(footer + size, index_contents.size);
    put_u64le(footer + 40, TABLE_MAGIC);
    buffer_append(&file, footer, 48);
    block_builder_finish(&index);
    return file;
}

#endif
