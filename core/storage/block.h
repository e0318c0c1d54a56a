/*
 * block: a sorted run of keys and values, the unit of a table.
 *
 *     contents := entry*  restart_offset(4)*  restarts_count(4)
 *     entry    := varint shared  varint unshared  varint value_size
 *                 key_suffix[unshared]  value[value_size]
 *
 * The key of an entry is the first `shared` bytes of the previous key, then the suffix. At a
 * restart, `shared` is 0. The first restart offset is always 0. An empty block is 00 00 00 00 01 00
 * 00 00.
 */
#ifndef STORAGE_BLOCK_H
#define STORAGE_BLOCK_H

#include "base/bytes.h"

struct table_block {
    struct bytes entries;
    const char *restarts; /* u32le each */
    uint32_t restarts_count;
};

/* Checks the restarts once, so that seeking need not. DATA_LOSS: damaged. Borrows `contents`. */
struct status block_open(struct bytes contents, struct table_block *out);

struct block_cursor {
    const struct table_block *block;
    const char *next;  /* the end of the current entry */
    struct buffer key; /* of the current entry */
    struct bytes value;
    bool any; /* has an entry been read? Its key must be less than the next one. */
};

/* Starts before the first entry. */
void block_cursor_init(struct block_cursor *cursor, const struct table_block *block);
/* Moves to the next entry; *found is false after the last one. DATA_LOSS: damaged, or keys that do
 * not ascend. */
struct status block_cursor_next(struct block_cursor *cursor, bool *found);
/* Moves to the first entry whose key is not less than `key`. */
struct status block_cursor_seek(struct block_cursor *cursor, struct bytes key, bool *found);
void block_cursor_finish(struct block_cursor *cursor);

static inline struct bytes block_cursor_key(const struct block_cursor *cursor)
{
    return (struct bytes){ cursor->key.data, cursor->key.size };
}

/* Zero-initialise it and set `interval`, the number of entries between two restarts. */
struct block_builder {
    struct buffer data, restarts, last_key;
    int interval, since_restart;
    int64_t count;
};

void block_builder_add(struct block_builder *builder, struct bytes key, struct bytes value);
/* of the contents if it were closed now */
size_t block_builder_size(const struct block_builder *builder);
/* Returns the contents, valid until the builder is used again. Call block_builder_reset before the
 * next block. */
struct bytes block_builder_close(struct block_builder *builder);
void block_builder_reset(struct block_builder *builder);
void block_builder_finish(struct block_builder *builder);

#endif
