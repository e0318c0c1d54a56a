/*
 * index_vectors: the indices of XlaGather and XlaScatter. One dimension of the tensor of indices,
 * index_vector_dim, holds the elements of a vector; all others are a batch of vectors. An element
 * is the start of a window in one dimension of the operand; in other dimensions, windows start at
 * 0. A batching dimension of the operand takes its start from the place of the vector in the batch.
 */
#ifndef KERNELS_XLA_INDEX_VECTORS_H
#define KERNELS_XLA_INDEX_VECTORS_H

#include "runtime/kernels/xla/dimension_numbers.h"

/* The fields that GatherDimensionNumbers and ScatterDimensionNumbers number alike. */
enum {
    INDEX_MAP = 3, /* the dimension of the operand for each element of a vector */
    INDEX_VECTOR = 4,
    INDEX_OPERAND_BATCH = 5,
    INDEX_BATCH = 6
};

struct index_vectors {
    const struct tensor *indices;
    const struct dimension_list *map;
    int64_t element_stride; /* from an element of a vector to the next */
    struct shape batch;     /* of the indices without index_vector_dim */
    int64_t count;          /* of vectors */
    int64_t batch_strides[SHAPE_RANK_MAX];
    int batch_place[SHAPE_RANK_MAX]; /* for each dimension of the operand, or -1 */
    int64_t operand_strides[SHAPE_RANK_MAX];
    int operand_rank;
};

/* Errors  INVALID_ARGUMENT numbers that do not fit the operand or the indices */
struct status index_vectors_bind(const struct kernel_context *k,
                                 const struct dimension_numbers *numbers,
                                 const struct shape *operand, const struct tensor *indices,
                                 struct index_vectors *out);

/* Vector i as the start of a window in each dimension of the operand, wherever that is. */
void index_vector_read(const struct index_vectors *vectors, int64_t i, int64_t *start);
/* The element of the operand at a start inside of it. */
int64_t index_vector_offset(const struct index_vectors *vectors, const int64_t *start);

#endif
