/*
 * text_block: builds strings in blocks of a run's arena.
 *
 *     struct text_block block = { .arena = kernel_arena(k) };
 *     TRY(text_block_add(&block, "a", 1));
 *     out[i] = text_block_end(&block);
 */
#ifndef KERNELS_TEXT_BLOCK_H
#define KERNELS_TEXT_BLOCK_H

#include "base/arena.h"
#include "base/bytes.h"

#define TEXT_BLOCK_BYTES ((size_t)4 << 10) /* of the first block */

struct text_block {
    struct arena *arena;
    char *data;
    size_t begin, size, capacity; /* the string that grows is data[begin .. size) */
};

/* Appends to the string. RESOURCE_EXHAUSTED: the arena is over its limit. */
struct status text_block_add(struct text_block *block, const void *data, size_t size);
/* The string, which is whole; the next one begins. */
struct bytes text_block_end(struct text_block *block);
/* A string of its own, for example of bytes of a tensor that the run may release first. */
struct status text_block_copy(struct text_block *block, struct bytes text, struct bytes *out);

#endif
