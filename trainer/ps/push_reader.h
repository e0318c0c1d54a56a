/*
 * push_reader: the gradients of one push, slice by slice, in ascending order of slices.
 *
 *     push_reader_init(&reader, push);
 *     … for each slice that the push has a gradient for: one of the push_read functions …
 *     push_reader_finish(&reader);
 *
 * The push was checked when it was received. No slice spans two chunks of it. A gradient is valid
 * until the next one is read.
 */
#ifndef TRAINER_PS_PUSH_READER_H
#define TRAINER_PS_PUSH_READER_H

#include "trainer/ps/pushes.h"
#include "trainer/ps/row_work.h"

struct push_reader {
    const struct push *chunk;
    struct payload_cursor payload; /* in that chunk */
    struct row_ids_reader ids;     /* in that chunk */
    struct slice_rows rows;        /* rows of the slice that was read last */
    struct slice_keys keys;        /* the same for one with keys */
    size_t next_list;              /* of keys, in that chunk */
    float *scratch;                /* on the heap */
    size_t scratch_bytes;
};

void push_reader_init(struct push_reader *reader, const struct push *push);
void push_reader_finish(struct push_reader *reader);

/* The gradient of a slice without rows, [size_bytes / 4]. */
const float *push_read(struct push_reader *reader, const struct slice *slice);
/* The gradient of a slice with rows. */
struct rows_gradient push_read_rows(struct push_reader *reader, const struct slice *slice);
/* The same, added to the work, which may run: its body must update the slice with item->g. */
void push_read_into_work(struct push_reader *reader, struct slice *slice, struct row_work *work);
/* The gradient of a slice with keys, [count, row]; the keys are in reader->keys. */
const float *push_read_keys(struct push_reader *reader, const struct slice *slice);

#endif
