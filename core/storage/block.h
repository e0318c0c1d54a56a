/*
 * block: a sorted run of keys and values, the unit of a table.
 *
 *     contents := entry*  restart_offset(4)*  restarts_count(4)
 *     entry    := varint shared  varint unshared  varint value_size  key_suffix[unshared]
 * value[value_size]
 *
 * A key is the first `shared` bytes of the key before it and the suffix; at a restart `shared` is
 * 0. The first restart is always 0. An empty block is 00 00 00 00 01 00 00 00.
 */
#ifndef STORAGE_BLOCK_H
#define STORAGE_BLOCK_H

#include "base/bytes.h"

struct block {
    struct bytes entries;
    const char *restarts; /* u32le each */
    uint32_t restarts_count;
};

/* Checks the restarts once, here, so that seeking need not. DATA_LOSS. Borrows `contents`. */
struct status block_open(struct bytes contents, struct block *out);

struct block_cursor {
    const struct block *block;
    const char *next;  /* behind the current entry */
    struct buffer key; /* of the current entry */
    struct bytes value;
    bool any; /* is there an entry before the next one, whose key must be less? */
};

/* Before the first entry. */
void block_cursor_init(struct block_cursor *cursor, const struct block *block);
/* To the next entry; *found false: there is none. DATA_LOSS: damaged, or keys that do not ascend.
 */
struct status block_cursor_next(struct block_cursor *cursor, bool *found);
/* To the first entry whose key is not less. */
struct status block_cursor_seek(struct block_cursor *cursor, struct bytes key, bool *found);
void block_cursor_finish(struct block_cursor *cursor);

static inline struct bytes block_cursor_key(const struct block_cursor *cursor)
{
    return (struct bytes){ cursor->key.data, cursor->key.size };
}

/* Zero-initialise but for the interval: how many entries share a restart. */
struct block_builder {
    struct buffer data, restarts, last_key;
    int interval, since_restart;
    int64_t count;
};

void block_builder_add(struct block_builder *builder, struct bytes key, struct bytes value);
size_t block_builder_size(const struct block_builder *builder); /* of the contents, if closed now */
/* The contents; valid until the builder is used again. Call block_builder_reset before the next
 * block. */
struct bytes block_builder_close(struct block_builder *builder);
void block_builder_reset(struct block_builder *builder);
void block_builder_finish(struct block_builder *builder);

#endif
