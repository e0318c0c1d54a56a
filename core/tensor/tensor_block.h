/*
 * tensor_block: one large piece of memory for tensors that live together, such as the weights of a
 * model. It has huge pages where the system does: reading 224 MB of weights into them takes 0.07 s
 * instead of 0.18 s, because the system maps 107 pages instead of 55,000.
 *
 *     tensor_block_create, tensor_create_in for each tensor, tensor_block_release
 *
 * Tensors in it are like all others. The whole pages of one that is released go back to the system;
 * the block goes when its creator and all tensors in it have released it.
 */
#ifndef TENSOR_TENSOR_BLOCK_H
#define TENSOR_TENSOR_BLOCK_H

#include "tensor/tensor.h"

/* Below this, a block is not worth its pages. */
#define TENSOR_BLOCK_BYTES_MIN ((size_t)4 << 20)

/* NULL: no memory. Owner: the caller, who calls tensor_block_release after creating the tensors. */
struct tensor_block *tensor_block_create(size_t size_bytes);
void tensor_block_release(struct tensor_block *block); /* accepts NULL */

/* The bytes that a tensor of size_bytes takes of a block; SIZE_MAX: more than there are. */
size_t tensor_block_room(size_t size_bytes);

/* Makes a buffer in the block. Returns false if it is full, or NULL. Only tensor.c calls this
 * and the next function. Threads: one takes; any may give. */
bool tensor_block_take(struct tensor_block *block, size_t size_bytes, struct tensor_buffer **out);
void tensor_block_give(struct tensor_buffer *buffer);

#endif
