/*
 * pad_rows: converts the lists of a ragged column to a dense tensor [rows, longest], padded with
 * zeros or an ignored class.
 */
#ifndef TRAINER_INPUTS_PAD_ROWS_H
#define TRAINER_INPUTS_PAD_ROWS_H

#include "trainer/data/batch_source.h"

/* Must the rows of a ragged column be padded for this dense tensor? */
bool pads_rows(const struct tensor_spec *wanted, const struct tensor_spec *given);

/* `ignored_class`: padding for int32; NULL: 0. *out borrows `room`, whose memory is reused for
 * the next batch. INVALID_ARGUMENT: a value does not fit in an int32. RESOURCE_EXHAUSTED: the
 * batch would take more than 1 GiB. */
struct status pad_rows(const struct tensor_spec *spec, const struct batch_column *column,
                       const int64_t *ignored_class, struct buffer *room, struct tensor *out);

#endif
