/*
 * A block in memory:
 *
 *     | struct tensor_block | tensor_buffer | data … | tensor_buffer | data … | …
 *
 * Each part begins at a multiple of TENSOR_ALIGNMENT.
 */
#include "tensor/tensor_block.h"

#include "base/memory.h"
#include "base/poison.h"

struct tensor_block {
    _Atomic int references; /* of the creator and of the buffers in it */
    size_t size, used;      /* with this struct */
};

/* Smaller buffers keep their pages, because each return costs a system call. */
#define GIVE_BACK_BYTES ((size_t)64 << 10)

struct tensor_block *tensor_block_create(size_t size_bytes)
{
    size_t size;
    if (__builtin_add_overflow(size_bytes, TENSOR_ALIGNMENT, &size) || size > memory_of_machine())
        return NULL;
    struct tensor_block *block = memory_reserve(size);
    if (block == NULL)
        return NULL;
    *block = (struct tensor_block){ .size = size, .used = TENSOR_ALIGNMENT };
    atomic_init(&block->references, 1);
    return block;
}

static void drop_reference(struct tensor_block *block)
{
    if (atomic_fetch_sub_explicit(&block->references, 1, memory_order_acq_rel) != 1)
        return;
    UNPOISON(block, block->size);
    memory_unmap(block, block->size);
}

void tensor_block_release(struct tensor_block *block)
{
    if (block == NULL)
        return;
    memory_forbid_huge_pages(block, block->size);
    drop_reference(block);
}

size_t tensor_block_room(size_t size_bytes)
{
    if (size_bytes > SIZE_MAX - 2 * TENSOR_ALIGNMENT)
        return SIZE_MAX;
    return TENSOR_ALIGNMENT +
           (size_bytes + TENSOR_ALIGNMENT - 1) / TENSOR_ALIGNMENT * TENSOR_ALIGNMENT;
}

bool tensor_block_take(struct tensor_block *block, size_t size_bytes, struct tensor_buffer **out)
{
    _Static_assert(sizeof(struct tensor_block) <= TENSOR_ALIGNMENT, "the buffers follow it");
    size_t room = tensor_block_room(size_bytes);
    if (block == NULL || room > block->size - block->used)
        return false;
    struct tensor_buffer *buffer = (struct tensor_buffer *)((char *)block + block->used);
    *buffer = (struct tensor_buffer){ .capacity = room - TENSOR_ALIGNMENT,
                                      .data = (char *)buffer + TENSOR_ALIGNMENT,
                                      .block = block };
    atomic_init(&buffer->references, 1);
    block->used += room;
    atomic_fetch_add_explicit(&block->references, 1, memory_order_relaxed);
    *out = buffer;
    return true;
}

void tensor_block_give(struct tensor_buffer *buffer)
{
    if (buffer->capacity >= GIVE_BACK_BYTES)
        memory_drop(buffer->data, buffer->capacity);
    drop_reference(buffer->block);
}
