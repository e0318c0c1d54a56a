/*
 * kept_batch: a batch copied from rows of columns, in memory that grows and is reused.
 *
 *     TRY(kept_batch_begin(&batch, layout, rows_max));
 *     kept_batch_append(&batch, layout, &columns, rows, count);       any number of times
 *     kept_batch_end(&batch, layout, &out);                           out points into the batch
 *
 * A zeroed kept_batch is empty. All calls take the same layout.
 */
#ifndef TRAINER_DATA_KEPT_BATCH_H
#define TRAINER_DATA_KEPT_BATCH_H

#include "trainer/data/row_layout.h"

struct kept_batch {
    struct batch_column *columns; /* [layout.count] */
    void **values;                /* memory of the dense tensors, for `capacity` rows */
    struct buffer *texts;         /* [layout.count]: the characters of a batch's texts */
    struct row_lists *lists;      /* [layout.count]: memory of the sparse and ragged tensors */
    int64_t rows, capacity;
};

/* Drops the rows of the previous batch. Errors: RESOURCE_EXHAUSTED no memory for rows_max rows. */
struct status kept_batch_begin(struct kept_batch *batch, const struct row_layout *layout,
                               int64_t rows_max);
/* Copies rows of `columns`, which were checked; at most rows_max in total. */
void kept_batch_append(struct kept_batch *batch, const struct row_layout *layout,
                       const struct columns *columns, const uint32_t *rows, size_t count);
/* Owner: *out is valid until the next begin. */
void kept_batch_end(struct kept_batch *batch, const struct row_layout *layout, struct batch *out);
void kept_batch_finish(struct kept_batch *batch, const struct row_layout *layout);

#endif
