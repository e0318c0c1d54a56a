/*
 * pad_rows: converts the lists of a ragged column to a dense tensor [rows, longest, …], padded with
 * zeros or an ignored class. A list has the values of all steps of a row, one step after the other.
 */
#ifndef TRAINER_INPUTS_PAD_ROWS_H
#define TRAINER_INPUTS_PAD_ROWS_H

#include "trainer/data/batch_source.h"

/* The number of values of a step, for a dense tensor whose rows may have any number of steps:
 * [?,?] or [?,?,16]. 0: other tensors, such as ragged ones. */
int64_t padded_step_size(const struct tensor_spec *spec);

/* Must the rows of a ragged column be padded for this dense tensor? */
bool pads_rows(const struct tensor_spec *wanted, const struct tensor_spec *given);

/* `ignored_class`: padding for int32; NULL: 0. *out borrows `room`, whose memory is reused for
 * the next batch. INVALID_ARGUMENT: a value does not fit in an int32, or a list is not made of
 * whole steps. RESOURCE_EXHAUSTED: the batch would take more than 1 GiB. */
struct status pad_rows(const struct tensor_spec *spec, const struct batch_column *column,
                       const int64_t *ignored_class, struct buffer *room, struct tensor *out);

#endif
