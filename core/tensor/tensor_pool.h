/*
 * tensor_pool: what tensor.c needs to know of the pool that tensor.h declares.
 */
#ifndef TENSOR_TENSOR_POOL_H
#define TENSOR_TENSOR_POOL_H

#include "tensor/tensor.h"

/* A buffer with room for size_bytes behind its header, one owner, from the heap.
 * RESOURCE_EXHAUSTED. */
struct status tensor_buffer_create(size_t size_bytes, struct tensor_buffer **out);

/* The same, from the pool: the capacity is that of a size class. */
struct status tensor_pool_take(struct tensor_pool *pool, size_t size_bytes,
                               struct tensor_buffer **out);

/* Takes back a buffer that has no owner left. Any thread. */
void tensor_pool_give(struct tensor_buffer *buffer);

#endif
