/*
 * batch_buffer: a batch copied from rows of columns, in memory that grows and is reused.
 *
 *     TRY(batch_buffer_begin(&batch, layout, rows_max));
 *     batch_buffer_append(&batch, layout, &columns, rows, count);       any number of times
 *     batch_buffer_end(&batch, layout, &out);                           out points into the batch
 *
 * A zeroed batch_buffer is empty. All calls take the same layout.
 */
#ifndef TRAINER_DATA_BATCH_BUFFER_H
#define TRAINER_DATA_BATCH_BUFFER_H

#include "trainer/data/row_layout.h"

struct batch_buffer {
    struct batch_column *columns; /* [layout.count] */
    void **values;                /* memory of the dense tensors, for `capacity` rows */
    struct buffer *texts;         /* [layout.count]: the characters of a batch's texts */
    struct row_lists *lists;      /* [layout.count]: memory of the sparse and ragged tensors */
    int64_t rows, capacity;
};

/* Drops the rows of the previous batch. Errors: RESOURCE_EXHAUSTED no memory for rows_max rows. */
struct status batch_buffer_begin(struct batch_buffer *batch, const struct row_layout *layout,
                                 int64_t rows_max);
/* Copies rows of `columns`, which were checked; at most rows_max in total. */
void batch_buffer_append(struct batch_buffer *batch, const struct row_layout *layout,
                         const struct columns *columns, const uint32_t *rows, size_t count);
/* Owner: *out is valid until the next begin. */
void batch_buffer_end(struct batch_buffer *batch, const struct row_layout *layout,
                      struct batch *out);
void batch_buffer_finish(struct batch_buffer *batch, const struct row_layout *layout);

#endif
