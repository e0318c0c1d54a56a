#include "storage/block.h"

#include <inttypes.h>
#include <stdarg.h>

static struct status damaged(const char *format, ...) PRINTF_LIKE(1, 2);
static struct status damaged(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    struct status status = status_errorv(STATUS_DATA_LOSS, format, arguments);
    va_end(arguments);
    return status_in(status, "bad block contents");
}

struct status block_open(struct bytes contents, struct table_block *out)
{
    if (contents.size < 4)
        return damaged("%zu bytes, the restart count alone has 4", contents.size);
    uint32_t count = get_u32le(contents.data + contents.size - 4);
    if (count == 0 || count > (contents.size - 4) / 4)
        return damaged("%" PRIu32 " restarts do not fit into %zu bytes", count, contents.size);
    size_t entries_size = contents.size - 4 - (size_t)count * 4;
    const char *restarts = contents.data + entries_size;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t restart = get_u32le(restarts + 4 * i);
        if (i == 0 ? restart != 0
                   : restart <= get_u32le(restarts + 4 * (i - 1)) || restart >= entries_size)
            return damaged("restart %" PRIu32 " at %" PRIu32
                           ": restarts must ascend from 0 and stay below %zu",
                           i, restart, entries_size);
    }
    *out = (struct table_block){ { contents.data, entries_size }, restarts, count };
    return status_ok();
}

void block_cursor_init(struct block_cursor *cursor, const struct table_block *block)
{
    *cursor = (struct block_cursor){ .block = block, .next = block->entries.data };
}

struct status block_cursor_next(struct block_cursor *cursor, bool *found)
{
    const char *at = cursor->next;
    const char *end = cursor->block->entries.data + cursor->block->entries.size;
    size_t start = (size_t)(at - cursor->block->entries.data);
    *found = at < end;
    if (at >= end)
        return status_ok();

    uint64_t shared, unshared, value_size;
    if (!varint_get(&at, end, &shared) || !varint_get(&at, end, &unshared) ||
        !varint_get(&at, end, &value_size))
        return damaged("the entry at byte %zu is cut short", start);
    if (shared > cursor->key.size)
        return damaged("the entry at byte %zu shares %" PRIu64
                       " bytes with the key before it, which has %zu",
                       start, shared, cursor->key.size);
    if (unshared > (uint64_t)(end - at) || value_size > (uint64_t)(end - at) - unshared)
        return damaged("the entry at byte %zu has a key of %" PRIu64 " and a value of %" PRIu64
                       " bytes, the block has %zu more",
                       start, unshared, value_size, (size_t)(end - at));

    /* The new key is greater if its suffix is greater than the rest of the old key. */
    buffer_reserve(&cursor->key, (size_t)unshared + 1);
    struct bytes old = { cursor->key.data + shared, cursor->key.size - (size_t)shared };
    struct bytes suffix = { at, (size_t)unshared };
    if (cursor->any && bytes_compare(old, suffix) >= 0)
        return damaged("the key of the entry at byte %zu must be greater than the one before it",
                       start);
    cursor->any = true;
    cursor->key.size = (size_t)shared;
    buffer_append(&cursor->key, suffix.data, suffix.size);
    cursor->value = (struct bytes){ at + unshared, (size_t)value_size };
    cursor->next = at + unshared + value_size;
    return status_ok();
}

/* Moves the cursor before the entry at a restart, which has a whole key. */
static void to_restart(struct block_cursor *cursor, uint32_t index)
{
    cursor->next = cursor->block->entries.data + get_u32le(cursor->block->restarts + 4 * index);
    cursor->key.size = 0;
    cursor->any = false;
}

struct status block_cursor_seek(struct block_cursor *cursor, struct bytes key, bool *found)
{
    /* Finds the last restart whose key is less: `low` is always such a one, or the first. */
    uint32_t low = 0, high = cursor->block->restarts_count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        to_restart(cursor, middle);
        TRY(block_cursor_next(cursor, found));
        if (bytes_compare(block_cursor_key(cursor), key) < 0)
            low = middle;
        else
            high = middle - 1;
    }
    to_restart(cursor, low);
    do
        TRY(block_cursor_next(cursor, found));
    while (*found && bytes_compare(block_cursor_key(cursor), key) < 0);
    return status_ok();
}

void block_cursor_finish(struct block_cursor *cursor)
{
    buffer_finish(&cursor->key);
}

static void append_u32(struct buffer *buffer, uint32_t value)
{
    char bytes[4];
    put_u32le(bytes, value);
    buffer_append(buffer, bytes, sizeof bytes);
}

static size_t shared_prefix(struct bytes a, struct bytes b)
{
    size_t size = a.size < b.size ? a.size : b.size, i = 0;
    while (i < size && a.data[i] == b.data[i])
        i++;
    return i;
}

void block_builder_add(struct block_builder *builder, struct bytes key, struct bytes value)
{
    size_t shared = 0;
    if (builder->count == 0 || builder->since_restart == builder->interval) {
        append_u32(&builder->restarts, (uint32_t)builder->data.size);
        builder->since_restart = 0;
    } else {
        shared =
            shared_prefix((struct bytes){ builder->last_key.data, builder->last_key.size }, key);
    }
    buffer_append_varint(&builder->data, shared);
    buffer_append_varint(&builder->data, key.size - shared);
    buffer_append_varint(&builder->data, value.size);
    buffer_append(&builder->data, key.data + shared, key.size - shared);
    buffer_append(&builder->data, value.data, value.size);
    builder->last_key.size = shared;
    buffer_append(&builder->last_key, key.data + shared, key.size - shared);
    builder->since_restart++;
    builder->count++;
}

size_t block_builder_size(const struct block_builder *builder)
{
    size_t restarts = builder->restarts.size > 0 ? builder->restarts.size : 4;
    return builder->data.size + restarts + 4;
}

struct bytes block_builder_close(struct block_builder *builder)
{
    if (builder->count == 0)
        append_u32(&builder->restarts, 0);
    uint32_t restarts_count = (uint32_t)(builder->restarts.size / 4);
    buffer_append(&builder->data, builder->restarts.data, builder->restarts.size);
    append_u32(&builder->data, restarts_count);
    return (struct bytes){ builder->data.data, builder->data.size };
}

void block_builder_reset(struct block_builder *builder)
{
    builder->data.size = builder->restarts.size = builder->last_key.size = 0;
    builder->since_restart = 0;
    builder->count = 0;
}

void block_builder_finish(struct block_builder *builder)
{
    buffer_finish(&builder->data);
    buffer_finish(&builder->restarts);
    buffer_finish(&builder->last_key);
}
