#include "trainer/data/kept_blocks.h"

#include <stdlib.h>

#include "base/arena.h"

void kept_blocks_init(struct kept_blocks *blocks, size_t rows, size_t bytes_max)
{
    *blocks = (struct kept_blocks){ .rows = rows, .bytes_max = bytes_max };
    pthread_mutex_init(&blocks->lock, NULL);
}

void kept_blocks_finish(struct kept_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++) {
        if (blocks->list[i] == NULL)
            continue;
        columns_finish(&blocks->list[i]->columns);
        free(blocks->list[i]);
    }
    free(blocks->list);
    pthread_mutex_destroy(&blocks->lock);
}

const struct kept_block *kept_blocks_find(struct kept_blocks *blocks, uint64_t record)
{
    const struct kept_block *found = NULL;
    uint64_t place = record / blocks->rows;

    pthread_mutex_lock(&blocks->lock);
    if (record % blocks->rows == 0 && place < blocks->count)
        found = blocks->list[place];
    pthread_mutex_unlock(&blocks->lock);
    return found;
}

/* A column's description, what columns_trim leaves after its values, and the headers of both. */
#define COLUMN_BYTES (sizeof(struct column) + 48)

static size_t bytes_of_block(const struct kept_block *block)
{
    return sizeof *block + columns_bytes(&block->columns) +
           ((size_t)block->columns.count + 1) * COLUMN_BYTES;
}

/* Makes room in the list for the block at `place`. False: it would take too much memory. */
static bool reserve(struct kept_blocks *blocks, uint64_t place, size_t bytes)
{
    size_t more = place < blocks->count ? 0 : (size_t)place + 1 - blocks->count;

    if (more > blocks->bytes_max / sizeof *blocks->list ||
        bytes > blocks->bytes_max - more * sizeof *blocks->list ||
        blocks->bytes > blocks->bytes_max - more * sizeof *blocks->list - bytes)
        return false;
    blocks->bytes += more * sizeof *blocks->list + bytes;
    if (more == 0)
        return true;
    blocks->list = xrealloc(blocks->list, (size_t)(place + 1) * sizeof *blocks->list);
    for (; blocks->count <= place; blocks->count++)
        blocks->list[blocks->count] = NULL;
    return true;
}

const struct kept_block *kept_blocks_add(struct kept_blocks *blocks, uint64_t record,
                                         struct kept_block *block)
{
    struct kept_block *kept = NULL;
    uint64_t place = record / blocks->rows;

    if (record % blocks->rows != 0)
        return NULL;
    pthread_mutex_lock(&blocks->lock);
    bool is_new = place >= blocks->count || blocks->list[place] == NULL;
    if (is_new && reserve(blocks, place, bytes_of_block(block))) {
        kept = zalloc(sizeof *kept);
        *kept = *block;
        columns_trim(&kept->columns);
        blocks->list[place] = kept;
        block->columns = (struct columns){ 0 };
    }
    pthread_mutex_unlock(&blocks->lock);
    return kept;
}
