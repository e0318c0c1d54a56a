/*
 * table: a sorted map from bytes to bytes in a file, the index of a checkpoint. The layout is
 * LevelDB's. Blocks are read one at a time.
 *
 *     file    := data block*  metaindex block  index block  footer
 *     block   := contents  type(1)  masked crc32c of contents and type(4)
 *     type    := 00 stored, 01 Snappy
 *     footer  := metaindex handle  index handle  zeros up to 40 bytes  magic(8)
 *     handle  := varint offset  varint size of contents
 *
 * The index block has one entry for each data block. Its key is not less than the block's last key
 * and less than the next block's first key; its value is the block's handle.
 *
 *     struct table_cursor cursor;
 *     bool found;
 *     table_cursor_init(&cursor, table);
 *     for (;;) {
 *         TRY_OR(done, table_cursor_next(&cursor, &found));
 *         if (!found)
 *             break;
 *         … table_cursor_key(&cursor), table_cursor_value(&cursor) …
 *     }
 *     done:
 *     table_cursor_finish(&cursor);
 *
 * Memory   the index block, and for each cursor the block that it is in
 * Threads  safe: each thread needs a cursor of its own
 */
#ifndef STORAGE_TABLE_H
#define STORAGE_TABLE_H

#include "base/file.h"
#include "storage/block.h"

#define TABLE_MAGIC         0xdb4775248b80fb57u
#define TABLE_FOOTER_BYTES  48
#define TABLE_TRAILER_BYTES 5 /* type and checksum of a block */

struct table;

/* Owner: *out is the caller's: table_close. DATA_LOSS: not a table, or damaged. The error texts
 * name the offset. The caller adds the file: table_path. */
struct status table_open(const char *path, struct table **out);
/* The same for a table in memory, which must outlive `*out`. */
struct status table_open_bytes(struct bytes bytes, struct table **out);
void table_close(struct table *table);             /* accepts NULL */
const char *table_path(const struct table *table); /* "": in memory */

struct table_cursor {
    const struct table *table;
    struct block_cursor index, entries;
    struct buffer contents; /* of the current data block */
    struct table_block block;
    uint64_t offset;        /* of the current data block in the file */
    struct buffer last_key; /* of the previous block: the next block must begin above it */
    bool open;              /* is there a current data block? */
    bool any;               /* is there a last_key? */
};

/* before the first entry */
void table_cursor_init(struct table_cursor *cursor, const struct table *table);
struct status table_cursor_next(struct table_cursor *cursor, bool *found);
struct status table_cursor_seek(struct table_cursor *cursor, struct bytes key, bool *found);
void table_cursor_finish(struct table_cursor *cursor);

/* The key and the value of the current entry are valid until the cursor moves. */
static inline struct bytes table_cursor_key(const struct table_cursor *cursor)
{
    return block_cursor_key(&cursor->entries);
}

static inline struct bytes table_cursor_value(const struct table_cursor *cursor)
{
    return cursor->entries.value;
}

#endif
