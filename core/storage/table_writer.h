/*
 * table_writer: writes a table, byte for byte as TensorFlow does. Blocks are stored uncompressed.
 *
 *     table_writer_init(&writer, &file);
 *     TRY(table_writer_add(&writer, key, value));      keys strictly ascending (asserted)
 *     TRY(table_writer_end(&writer));                  the owner of the file finishes it
 *     table_writer_finish(&writer);                    also after a failure
 */
#ifndef STORAGE_TABLE_WRITER_H
#define STORAGE_TABLE_WRITER_H

#include "base/file.h"
#include "storage/block.h"

struct table_writer {
    struct file_writer *file;
    struct block_builder data, index;
    struct buffer last_key;
    bool pending; /* the index entry of the last block waits for the next key */
    uint64_t pending_offset, pending_size;
    int64_t count;
};

void table_writer_init(struct table_writer *writer, struct file_writer *file);
struct status table_writer_add(struct table_writer *writer, struct bytes key, struct bytes value);
struct status table_writer_end(struct table_writer *writer);
void table_writer_finish(struct table_writer *writer);

#endif
