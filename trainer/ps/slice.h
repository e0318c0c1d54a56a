/*
 * slice: the part of a variable that one ps holds: its values, its optimizer slots, and the lock
 * under which they change.
 *
 * Values are reference-counted and never written while they are shared: a pull or a snapshot takes
 * a reference, and an update that finds them shared writes into another buffer, which becomes the
 * current one. A reader therefore sees only whole updates and needs no copy, and with one worker
 * every update is in place. Released buffers return to their slice for reuse. Neighbouring slices
 * of a variable first lie next to each other in memory, so that a reader may find a whole variable
 * in one run.
 *
 * Slots are reference-counted as well: a snapshot keeps them unchanged, and the next update
 * continues in a copy. A state of a slice is its values, slots and scalars at one moment.
 *
 * A slice with rows (slice_rows.c) is pulled and updated by some of its rows. A pull copies them.
 * Only a snapshot shares the values, and the next update after it copies all of them once.
 *
 * A slice whose rows have keys has no values of its own: they are in its key_table.
 */
#ifndef TRAINER_PS_SLICE_H
#define TRAINER_PS_SLICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "rpc/message.h"
#include "base/status.h"
#include "trainer/protocol/protocol.h"
#include "trainer/ps/key_table.h"
#include "trainer/optimizers/optimizer.h"

struct slice;

struct values_buffer {
    _Atomic int references;
    bool borrowed;                         /* data lies in the block that the ps allocated first */
    _Atomic(struct values_buffer *) *home; /* where the released buffer waits for reuse */
    void *data;
};

/* 0: the values; 1, 2, …: the optimizer's slots. */
#define SLICE_PARTS_MAX (1 + OPTIMIZER_SLOTS_MAX)

struct slice_state {
    /* NULL: the optimizer has no such slot, or not wanted */
    struct values_buffer *parts[SLICE_PARTS_MAX];
    float scalars[OPTIMIZER_SCALARS_MAX];
    struct key_snapshot *keys; /* of a slice with keys; NULL: none was taken */
};

/* The old values of the rows that the last update changed. */
struct slice_undo {
    bool kept;
    size_t count, capacity; /* of rows */
    uint32_t *rows;         /* [count], ascending */
    float *values;          /* [count, row] */
};

struct slice {
    int id;             /* the piece's */
    bool trainable;     /* by the optimizer */
    bool averaged;      /* by optimizer_average instead */
    float averaging[2]; /* its settings */
    int rule;           /* how it is trained: see struct training */
    struct constraint constraint;
    /* Above 0: an update first divides it as spectral_divide, by the vector in the next slice. */
    uint32_t power_iterations;
    /* if it is constrained or divided, or its optimizer takes whole variables */
    struct shape shape;
    bool continues; /* of the same variable as the slice before it, whose end it begins at */
    size_t size_bytes;
    size_t row_bytes;   /* 0: it has no rows */
    uint64_t first_row; /* how many rows the slices before it on this ps have */
    uint64_t rows_count;
    struct key_table *table; /* NULL: its rows have no keys. With it, size_bytes is 0 */
    int ps_count;            /* of the job, with `table` */
    pthread_mutex_t lock;
    struct slice_state now;
    struct values_buffer *before;   /* the values before the last update; NULL: not kept */
    struct slice_undo undo;         /* the same for an update that changed only some rows */
    size_t filled[SLICE_PARTS_MAX]; /* bytes written since slice_begin */
    /* Spare buffers of values and of slots, for the next update that finds the current one
     * shared. */
    _Atomic(struct values_buffer *) spare, spare_slot;
};

/* `data`: size_bytes for the first values, owned by the caller for as long as the slice. */
void slice_init(struct slice *slice, int id, size_t size_bytes, bool trainable, void *data);
void slice_finish(struct slice *slice); /* call it when nobody holds its values any more */

/* Before its first slice_begin: memory for the slot `part`, as `data` is for the values. Otherwise
 * the slice takes its own. */
void slice_lend(struct slice *slice, int part, void *data);

/* Does each push have an update of the slice? */
bool slice_is_pushed(const struct slice *slice);

/* The current values, valid until the caller's values_buffer_release. */
struct values_buffer *slice_acquire(struct slice *slice);
/* The values before the last update; NULL: that update did not keep them. For a slice that is not
 * trained, the current values, which never change. */
struct values_buffer *slice_acquire_before(struct slice *slice);
void values_buffer_release(struct values_buffer *values);

/* The current values and, if with_slots, all slots and scalars of the same moment. */
void slice_hold(struct slice *slice, bool with_slots, struct slice_state *out);
void slice_let_go(struct slice_state *state); /* accepts a zeroed one */

/* Starts over: slots take the optimizer's initial values, and so do scalars unless they are given.
 * The values are still to be filled. No update of the slice may run meanwhile. */
void slice_begin(struct slice *slice, const struct optimizer *optimizer, const float *settings,
                 const float *scalars);

/**
 * Takes a message's payload as the bytes of a part from `offset` on. Parts are filled from the
 * beginning on; bytes that come twice are skipped.
 *
 * Errors  NOT_FOUND no such part; OUT_OF_RANGE a gap, or more than the part has
 */
struct status slice_fill(struct slice *slice, uint32_t part, uint64_t offset,
                         const struct message *message);

/* FAILED_PRECONDITION: the values, or a slot that was begun, are incomplete. */
struct status slice_check_filled(const struct slice *slice);

/* The buffer of a part to be changed in place, under the slice's lock: a copy if it was shared. */
float *slice_writable(struct slice *slice, int part);
/* Under the slice's lock: the values before the last update are not wanted any more. */
void slice_forget_before(struct slice *slice);

/* How an update is made. */
struct slice_update {
    const struct optimizer *optimizer;
    const float *settings;
    float rate;
    float ratio;      /* of an optimizer that measures */
    bool keep_before; /* keep the values before it, until the next update */
};

/* Applies one update by the gradient g of size_bytes / 4 elements. */
void slice_apply(struct slice *slice, const struct slice_update *update, const float *g);

/* In place of an update, of any kind, in a step that is skipped: the values and slots stay as they
 * are. A slice that an update first divides is divided, as that does not depend on its gradient. */
void slice_skip(struct slice *slice, bool keep_before);

/* The first half of an update by an optimizer that measures. slice_apply, which then needs no
 * gradient, is the second. */
void slice_measure(struct slice *slice, const struct slice_update *update, const float *g,
                   struct optimizer_norms *norms);

/* ---- A slice with rows: slice_rows.c. Rows are numbered within the slice. ---- */

/* The gradient of some rows. */
struct rows_gradient {
    const uint32_t *rows; /* [count], ascending */
    const float *g;       /* [count, row] */
    size_t count;
};

/* Copies rows, which ascend, to out [count, row]: as they are now, or as they were before the last
 * update. False: these were not kept. */
bool slice_copy_rows(struct slice *slice, const uint32_t *rows, size_t count, bool before,
                     void *out);

/* Applies one update by the gradient of some rows. Other rows, and their slots, stay as they are if
 * there are no `zeros`, for which the optimizer must be row-local. If there are (size_bytes, zero
 * again at the end), they are updated as by a gradient of 0. */
void slice_apply_rows(struct slice *slice, const struct slice_update *update,
                      const struct rows_gradient *gradient, float *zeros);
void slice_measure_rows(struct slice *slice, const struct slice_update *update,
                        const struct rows_gradient *gradient, float *zeros,
                        struct optimizer_norms *norms);

#endif
