#include "runtime/kernels/xla/index_vectors.h"

#include "runtime/kernels/plain/strided.h"

/* The batch's dimensions of the indices that the batching dimensions of the operand follow. */
static bool bind_batching(const struct dimension_numbers *numbers, const struct shape *operand,
                          int vector_dim, struct index_vectors *out)
{
    const struct dimension_list *of_operand = &numbers->fields[INDEX_OPERAND_BATCH];
    const struct dimension_list *of_indices = &numbers->fields[INDEX_BATCH];
    if (of_operand->count != of_indices->count || !dimensions_fit(of_operand, operand->rank))
        return false;
    for (int i = 0; i < of_operand->count; i++) {
        int d = of_indices->at[i], place = d - (d > vector_dim);
        if (d == vector_dim || place >= out->batch.rank)
            return false;
        out->batch_place[of_operand->at[i]] = place;
    }
    return true;
}

struct status index_vectors_bind(const struct kernel_context *k,
                                 const struct dimension_numbers *numbers,
                                 const struct shape *operand, const struct tensor *indices,
                                 struct index_vectors *out)
{
    int64_t strides[SHAPE_RANK_MAX + 1];
    int rank = indices->shape.rank, vector_dim = dimension_number(numbers, INDEX_VECTOR);
    *out = (struct index_vectors){ .indices = indices,
                                   .map = &numbers->fields[INDEX_MAP],
                                   .count = 1,
                                   .operand_rank = operand->rank };
    dense_strides(&indices->shape, strides);
    dense_strides(operand, out->operand_strides);
    for (int d = 0; d < operand->rank; d++)
        out->batch_place[d] = -1;
    for (int d = 0; d < rank; d++) {
        if (d == vector_dim)
            continue;
        out->batch_strides[out->batch.rank] = strides[d];
        shape_append(&out->batch, indices->shape.dims[d]);
        out->count *= indices->shape.dims[d];
    }
    /* Without index_vector_dim, each element is a vector. */
    out->element_stride = vector_dim < rank ? strides[vector_dim] : 0;
    int64_t length = vector_dim < rank ? indices->shape.dims[vector_dim] : 1;
    if (vector_dim <= rank && length == out->map->count &&
        dimensions_fit(out->map, operand->rank) && bind_batching(numbers, operand, vector_dim, out))
        return status_ok();
    return kernel_error(k, STATUS_INVALID_ARGUMENT,
                        "dimension_numbers do not fit indices of shape %s and an operand of %s",
                        shape_text(&indices->shape), shape_text(operand));
}

void index_vector_read(const struct index_vectors *vectors, int64_t i, int64_t *start)
{
    int64_t at[SHAPE_RANK_MAX], first = 0;
    for (int d = vectors->batch.rank - 1; d >= 0; d--) {
        at[d] = i % vectors->batch.dims[d];
        i /= vectors->batch.dims[d];
        first += at[d] * vectors->batch_strides[d];
    }
    for (int d = 0; d < vectors->operand_rank; d++)
        start[d] = vectors->batch_place[d] >= 0 ? at[vectors->batch_place[d]] : 0;
    for (int n = 0; n < vectors->map->count; n++)
        start[vectors->map->at[n]] =
            tensor_index(vectors->indices, first + n * vectors->element_stride);
}

int64_t index_vector_offset(const struct index_vectors *vectors, const int64_t *start)
{
    int64_t offset = 0;
    for (int d = 0; d < vectors->operand_rank; d++)
        offset += start[d] * vectors->operand_strides[d];
    return offset;
}
