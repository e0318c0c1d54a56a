#include "trainer/data/kept_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void kept_blocks_init(struct kept_blocks *blocks, size_t rows, size_t bytes_max)
{
    *blocks = (struct kept_blocks){ .rows = rows, .bytes_max = bytes_max };
    pthread_mutex_init(&blocks->lock, NULL);
}

void kept_blocks_finish(struct kept_blocks *blocks)
{
    for (size_t i = 0; i < blocks->count; i++)
        free(blocks->list[i]);
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

/* In front of the columns of a block, aligned as they are. */
#define KEPT_BYTES ((sizeof(struct kept_block) + 15) / 16 * 16)

/* NULL: there is no memory. */
static struct kept_block *copy_block(const struct kept_block *block, size_t bytes)
{
    char *memory = malloc(bytes);
    struct kept_block *kept = (struct kept_block *)(void *)memory;

    if (kept == NULL)
        return NULL;
    *kept = *block;
    columns_pack(&block->columns, memory + KEPT_BYTES, &kept->columns);
    return kept;
}

static void put_in_list(struct kept_blocks *blocks, uint64_t place, struct kept_block *kept)
{
    if (place >= blocks->count) {
        size_t more = (size_t)place + 1 - blocks->count;
        blocks->list = xrealloc(blocks->list, (size_t)(place + 1) * sizeof *blocks->list);
        memset(blocks->list + blocks->count, 0, more * sizeof *blocks->list);
        blocks->count += more;
        blocks->bytes += more * sizeof *blocks->list;
    }
    blocks->list[place] = kept;
}

static bool has_room(const struct kept_blocks *blocks, uint64_t place, size_t bytes)
{
    size_t more = place < blocks->count ? 0 : (size_t)place + 1 - blocks->count;
    size_t left = blocks->bytes_max - blocks->bytes;

    return bytes <= left && more <= (left - bytes) / sizeof *blocks->list;
}

const struct kept_block *kept_blocks_add(struct kept_blocks *blocks, uint64_t record,
                                         const struct kept_block *block)
{
    struct kept_block *kept = NULL;
    uint64_t place = record / blocks->rows;
    size_t bytes = KEPT_BYTES + columns_packed_bytes(&block->columns);

    if (record % blocks->rows != 0)
        return NULL;
    pthread_mutex_lock(&blocks->lock);
    bool is_new = place >= blocks->count || blocks->list[place] == NULL;
    if (is_new && has_room(blocks, place, bytes))
        kept = copy_block(block, bytes);
    if (kept != NULL) {
        put_in_list(blocks, place, kept);
        blocks->bytes += bytes;
    }
    pthread_mutex_unlock(&blocks->lock);
    return kept;
}
