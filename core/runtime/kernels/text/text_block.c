#include "runtime/kernels/text/text_block.h"

/* Earlier strings stay where they are. */
static struct status grow(struct text_block *block, size_t more)
{
    size_t kept = block->size - block->begin;
    size_t capacity = 2 * (kept + more);
    void *data;

    if (capacity < TEXT_BLOCK_BYTES)
        capacity = TEXT_BLOCK_BYTES;
    TRY(arena_reserve(block->arena, capacity, &data));
    if (kept > 0)
        memcpy(data, block->data + block->begin, kept);
    block->data = data;
    block->begin = 0;
    block->size = kept;
    block->capacity = capacity;
    return status_ok();
}

struct status text_block_add(struct text_block *block, const void *data, size_t size)
{
    if (size == 0)
        return status_ok();
    if (size > block->capacity - block->size)
        TRY(grow(block, size));
    memcpy(block->data + block->size, data, size);
    block->size += size;
    return status_ok();
}

struct bytes text_block_end(struct text_block *block)
{
    struct bytes text = { block->data + block->begin, block->size - block->begin };

    block->begin = block->size;
    return text.size > 0 ? text : (struct bytes){ "", 0 };
}

struct status text_block_copy(struct text_block *block, struct bytes text, struct bytes *out)
{
    TRY(text_block_add(block, text.data, text.size));
    *out = text_block_end(block);
    return status_ok();
}
