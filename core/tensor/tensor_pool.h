/*
 * tensor_pool: the functions of the pool (declared in tensor.h) that only tensor.c calls.
 */
#ifndef TENSOR_TENSOR_POOL_H
#define TENSOR_TENSOR_POOL_H

#include "tensor/tensor.h"

/* Allocates a buffer of size_bytes with one owner. RESOURCE_EXHAUSTED: no memory. */
struct status tensor_buffer_create(size_t size_bytes, struct tensor_buffer **out);

/* The same from the pool. The capacity is that of a size class. */
struct status tensor_pool_take(struct tensor_pool *pool, size_t size_bytes,
                               struct tensor_buffer **out);

/* Returns a buffer that has no owner any more. Threads: safe. */
void tensor_pool_give(struct tensor_buffer *buffer);

#endif
