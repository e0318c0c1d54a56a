#include "trainer/inputs/sparse_parts.h"

struct tensor sparse_indices(const struct batch_column *column, struct buffer *room)
{
    const int64_t *ids = column->ids.data, *splits = column->row_splits.data;
    int64_t rows = column->row_splits.size - 1;
    const struct shape shape = shape_of(splits[rows], 2);

    room->size = 0;
    buffer_reserve(room, 1); /* not NULL if there are no values */
    for (int64_t row = 0; row < rows; row++)
        for (int64_t k = splits[row]; k < splits[row + 1]; k++) {
            const int64_t index[] = { row, ids != NULL ? ids[k] : k - splits[row] };
            buffer_append(room, index, sizeof index);
        }
    return tensor_borrow(DT_INT64, &shape, room->data);
}

struct tensor sparse_shape(const struct tensor_spec *spec, const struct batch_column *column,
                           int64_t dims[2])
{
    const int64_t *splits = column->row_splits.data;
    const struct shape two = shape_of(2);

    dims[0] = column->row_splits.size - 1;
    dims[1] = spec->layout == TENSOR_SPARSE ? spec->shape.dims[1] : 0;
    for (int64_t row = 0; row < dims[0] && spec->layout == TENSOR_RAGGED; row++)
        if (splits[row + 1] - splits[row] > dims[1])
            dims[1] = splits[row + 1] - splits[row];
    return tensor_borrow(DT_INT64, &two, dims);
}
