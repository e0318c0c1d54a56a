/*
 * pad_rows: the lists of a ragged column as a dense tensor [rows, longest], with zeros, or classes
 * that do not count, behind all lists but the longest one.
 */
#ifndef TRAINER_INPUTS_PAD_ROWS_H
#define TRAINER_INPUTS_PAD_ROWS_H

#include "trainer/data/batch_source.h"

/* Does a ragged column feed a dense tensor whose rows may have any number of values? */
bool pads_rows(const struct tensor_spec *wanted, const struct tensor_spec *given);

/* `ignored_class`: of int32, what stands behind the lists in place of 0; NULL: 0. *out borrows
 * `room`, whose memory is kept for the next batch. INVALID_ARGUMENT: a value is no int32, which
 * `spec` is. RESOURCE_EXHAUSTED: the batch would take more than 1 GiB. */
struct status pad_rows(const struct tensor_spec *spec, const struct batch_column *column,
                       const int64_t *ignored_class, struct buffer *room, struct tensor *out);

#endif
