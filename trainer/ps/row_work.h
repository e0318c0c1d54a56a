/*
 * row_work: processes the rows of many slices on all free cores: copies them for a reply, or
 * updates them.
 */
#ifndef TRAINER_PS_ROW_WORK_H
#define TRAINER_PS_ROW_WORK_H

#include "trainer/ps/row_lists.h"

/* The rows of one slice. */
struct row_item {
    struct slice *slice;
    size_t first, count; /* index of its numbers in those of the work */
    const float *g;      /* of an update: the gradient [count, row], valid until the work is run */
    void *out;           /* of a copy: [count, row] */
};

typedef void row_work_body(void *context, const struct row_item *item, const uint32_t *rows);

/* Slices whose numbers have been read. They are processed together by all free processors; the
 * slices are independent of each other. Zero-initialise it, and set the fields up to `parts`. */
struct row_work {
    row_work_body *body; /* runs for one slice, in any thread */
    void *context;
    int parts; /* parts of a slice that the body reads: values, and maybe slots; determines the
                * cost */
    struct slice_rows numbers;
    struct row_item *items; /* [count] */
    size_t count, capacity;
};

/* Reads the slice's numbers. Set the rest of the item, which is valid until the next call. May
 * run the earlier items. */
struct row_item *row_work_add(struct row_work *work, struct slice *slice,
                              struct row_ids_reader *reader);
void row_work_run(struct row_work *work); /* runs all added items; the work is empty afterwards */
void row_work_finish(struct row_work *work);

#endif
