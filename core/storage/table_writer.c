#include "storage/table_writer.h"

#include <assert.h>

#include "base/crc32c.h"
#include "storage/table.h"

/* TensorFlow's values. Others would make valid tables, but not the same bytes. */
#define BLOCK_BYTES    ((size_t)262144)
#define DATA_INTERVAL  16
#define INDEX_INTERVAL 1

void table_writer_init(struct table_writer *writer, struct file_writer *file)
{
    *writer = (struct table_writer){
        .file = file,
        .data.interval = DATA_INTERVAL,
        .index.interval = INDEX_INTERVAL,
    };
}

static struct status write_block(struct table_writer *writer, struct bytes contents,
                                 uint64_t *out_offset)
{
    char trailer[TABLE_TRAILER_BYTES] = { 0 }; /* type 0: stored */
    uint32_t crc = crc32c(crc32c(0, contents.data, contents.size), trailer, 1);
    put_u32le(trailer + 1, crc32c_mask(crc));
    *out_offset = writer->file->offset;
    TRY(file_writer_append(writer->file, contents.data, contents.size));
    return file_writer_append(writer->file, trailer, sizeof trailer);
}

static size_t handle_put(char *out, uint64_t offset, uint64_t size)
{
    size_t at = varint_put(out, offset);
    return at + varint_put(out + at, size);
}

/* Makes a key that is not less than `last` and less than `next`: the common prefix and one byte
 * more, if that is such a key. */
static void separate(struct buffer *last, struct bytes next)
{
    size_t size = last->size < next.size ? last->size : next.size, i = 0;
    while (i < size && last->data[i] == next.data[i])
        i++;
    if (i == size)
        return;
    unsigned char byte = (unsigned char)last->data[i];
    if (byte < 0xff && byte + 1 < (unsigned char)next.data[i]) {
        last->data[i] = (char)(byte + 1);
        last->size = i + 1;
    }
}

/* A short key that is not less than `last`. */
static void succeed(struct buffer *last)
{
    for (size_t i = 0; i < last->size; i++) {
        unsigned char byte = (unsigned char)last->data[i];
        if (byte != 0xff) {
            last->data[i] = (char)(byte + 1);
            last->size = i + 1;
            return;
        }
    }
}

static void add_index_entry(struct table_writer *writer)
{
    char handle[2 * VARINT_MAX];
    size_t size = handle_put(handle, writer->pending_offset, writer->pending_size);
    block_builder_add(&writer->index,
                      (struct bytes){ writer->last_key.data, writer->last_key.size },
                      (struct bytes){ handle, size });
    writer->pending = false;
}

static struct status close_block(struct table_writer *writer)
{
    if (writer->data.count == 0)
        return status_ok();
    struct bytes contents = block_builder_close(&writer->data);
    writer->pending_size = contents.size;
    TRY(write_block(writer, contents, &writer->pending_offset));
    block_builder_reset(&writer->data);
    writer->pending = true;
    return status_ok();
}

struct status table_writer_add(struct table_writer *writer, struct bytes key, struct bytes value)
{
    assert(writer->count == 0 ||
           bytes_compare((struct bytes){ writer->last_key.data, writer->last_key.size }, key) < 0);
    if (key.size + value.size >= 2 * BLOCK_BYTES)
        TRY(close_block(writer));
    if (writer->pending) {
        separate(&writer->last_key, key);
        add_index_entry(writer);
    }
    block_builder_add(&writer->data, key, value);
    writer->last_key.size = 0;
    buffer_append(&writer->last_key, key.data, key.size);
    writer->count++;
    return block_builder_size(&writer->data) >= BLOCK_BYTES ? close_block(writer) : status_ok();
}

struct status table_writer_end(struct table_writer *writer)
{
    char footer[TABLE_FOOTER_BYTES] = { 0 };
    uint64_t offset;
    TRY(close_block(writer));

    struct block_builder empty = { .interval = DATA_INTERVAL };
    struct bytes contents = block_builder_close(&empty);
    struct status status = write_block(writer, contents, &offset);
    size_t at = handle_put(footer, offset, contents.size);
    block_builder_finish(&empty);
    TRY(status);

    if (writer->pending) {
        succeed(&writer->last_key);
        add_index_entry(writer);
    }
    contents = block_builder_close(&writer->index);
    TRY(write_block(writer, contents, &offset));
    handle_put(footer + at, offset, contents.size);
    put_u64le(footer + 40, TABLE_MAGIC);
    return file_writer_append(writer->file, footer, sizeof footer);
}

void table_writer_finish(struct table_writer *writer)
{
    block_builder_finish(&writer->data);
    block_builder_finish(&writer->index);
    buffer_finish(&writer->last_key);
}
