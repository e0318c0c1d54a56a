/* tensor_row: one row of a batch, as a tensor of its own. */
#ifndef SUPPORT_TENSOR_ROW_H
#define SUPPORT_TENSOR_ROW_H

#include "tensor/tensor.h"

/* Row i of dimension 0, with that dimension 1. One more owner of the buffer. */
static inline struct tensor tensor_row(const struct tensor *batch, int64_t i)
{
    struct tensor row = tensor_acquire(batch);

    row.shape.dims[0] = 1;
    row.size = shape_size(&row.shape);
    if (row.size > 0) /* a tensor without elements may have no data to point into */
        row.data = (char *)batch->data + (size_t)(row.size * i) * dtype_size(batch->dtype);
    return row;
}

#endif
