/*
 * sparse_parts: the indices and the shape of a SparseTensor from a sparse or ragged column. Values
 * of a sparse column are at their ids; those of a list fill the first columns of its row.
 */
#ifndef TRAINER_INPUTS_SPARSE_PARTS_H
#define TRAINER_INPUTS_SPARSE_PARTS_H

#include "trainer/data/batch_source.h"

/* The row and the column of each value: int64 [values, 2]. Borrows `room`, whose memory is
 * reused for the next batch. */
struct tensor sparse_indices(const struct batch_column *column, struct buffer *room);

/* The number of rows and columns; for a ragged column, the length of the longest row. Borrows
 * `dims`. */
struct tensor sparse_shape(const struct tensor_spec *spec, const struct batch_column *column,
                           int64_t dims[2]);

#endif
