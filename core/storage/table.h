/*
 * table: a sorted map from bytes to bytes in a file, the index of a checkpoint (LevelDB's layout).
 * Read block by block.
 *
 *     file   := data block*  metaindex block  index block  footer
 *     block  := contents  type(1)  masked crc32c of contents and type(4)     type 0 stored, 1
 * Snappy footer := metaindex handle  index handle  zeros up to 40 bytes  magic(8) handle := varint
 * offset  varint size of contents
 *
 * The index block has one entry for each data block: a key not less than its last and less than the
 * next one's first, and its handle.
 *
 *     struct table_cursor cursor;
 *     table_cursor_init(&cursor, table);
 *     bool found;
 *     for (TRY_OR(done, table_cursor_next(&cursor, &found)); found; TRY_OR(done,
 * table_cursor_next(&cursor, &found))) … table_cursor_key(&cursor), table_cursor_value(&cursor) …
 *     done: table_cursor_finish(&cursor);
 */
#ifndef STORAGE_TABLE_H
#define STORAGE_TABLE_H

#include "base/file.h"
#include "storage/block.h"

#define TABLE_MAGIC         0xdb4775248b80fb57u
#define TABLE_FOOTER_BYTES  48
#define TABLE_TRAILER_BYTES 5 /* type and checksum of a block */

struct table;

/* DATA_LOSS: not a table, or damaged. Texts do not name the file: the caller knows what it is. */
struct status table_open(const char *path, struct table **out);
/* The same in memory that outlives the table. */
struct status table_open_bytes(struct bytes bytes, struct table **out);
void table_close(struct table *table); /* accepts NULL */

struct table_cursor {
    const struct table *table;
    struct block_cursor index, entries;
    struct buffer contents; /* of the current data block */
    struct block block;
    struct buffer last_key; /* of the block before: the next one must go on above */
    bool open;              /* is there a current data block? */
    bool any;               /* does last_key hold? */
};

void table_cursor_init(struct table_cursor *cursor,
                       const struct table *table); /* before the first entry */
struct status table_cursor_next(struct table_cursor *cursor, bool *found);
struct status table_cursor_seek(struct table_cursor *cursor, struct bytes key, bool *found);
void table_cursor_finish(struct table_cursor *cursor);

/* Of the current entry; valid until the cursor moves. */
static inline struct bytes table_cursor_key(const struct table_cursor *cursor)
{
    return block_cursor_key(&cursor->entries);
}

static inline struct bytes table_cursor_value(const struct table_cursor *cursor)
{
    return cursor->entries.value;
}

#endif
