/*
 * sparse_parts: the parts of a SparseTensor that a sparse or a ragged column becomes: int64 indices
 * [values, 2] and the shape, beside the values. The values of a sparse column are at their ids, and
 * those of a list at the first places of its row.
 */
#ifndef TRAINER_INPUTS_SPARSE_PARTS_H
#define TRAINER_INPUTS_SPARSE_PARTS_H

#include "trainer/data/batch_source.h"

/* The row and the place of each value. Borrows `room`, whose memory is kept for the next batch. */
struct tensor sparse_indices(const struct batch_column *column, struct buffer *room);

/* The rows, and the columns: of a ragged column, the values of the longest row. Borrows `dims`. */
struct tensor sparse_shape(const struct tensor_spec *spec, const struct batch_column *column,
                           int64_t dims[2]);

#endif
