/*
 * slice: the part of a variable on one ps: its values, its optimizer slots, and the lock under
 * which they change.
 *
 * Values are reference-counted and never written while they are shared: a pull or a snapshot takes
 * a reference, and an update that finds them shared writes into another buffer, which becomes the
 * current one. A reader therefore sees only whole updates and needs no copy, and with one worker
 * every update is in place. Released buffers return to their slice for reuse. Neighbouring slices
 * of a variable are initially contiguous in memory, so a reader may find a whole variable in one
 * run.
 *
 * Slots are reference-counted as well: a snapshot keeps them unchanged, and the next update writes
 * a copy. A state of a slice is its values, slots and scalars at one moment.
 *
 * A slice with rows (slice_rows.c) is pulled and updated row by row. A pull copies the rows. Only a
 * snapshot shares the values, and the next update after it copies all of them once.
 *
 * A slice whose rows have keys has no values of its own: they are in its key_table.
 */
#ifndef TRAINER_PS_SLICE_H
#define TRAINER_PS_SLICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "rpc/message.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/protocol/protocol.h"
#include "trainer/ps/key_table.h"

struct slice;

/* Whose memory the data of a buffer are in: lent by the ps for the first values, or for copies of
 * them, or the slice's own. */
enum buffer_memory { MEMORY_FIRST, MEMORY_COPY, MEMORY_OWN, BUFFER_MEMORIES };

struct values_buffer {
    _Atomic int references;
    enum buffer_memory memory;
    /* Where the released buffer waits for reuse: the slice's spares of the same part. */
    struct spare_buffers *home;
    void *data;
};

/* Released buffers of a part, at most one of each memory. While one of lent memory is here, one of
 * the slice's own is freed. */
struct spare_buffers {
    _Atomic(struct values_buffer *) of[BUFFER_MEMORIES];
};

/* 0: the values; 1, 2, …: the optimizer's slots. */
#define SLICE_PARTS_MAX (1 + OPTIMIZER_SLOTS_MAX)

struct slice_state {
    /* NULL: the optimizer has no such slot, or it is not wanted */
    struct values_buffer *parts[SLICE_PARTS_MAX];
    float scalars[OPTIMIZER_SCALARS_MAX];
    struct key_snapshot *keys; /* for a slice with keys; NULL: none was taken */
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
    bool averaged;      /* updated by optimizer_average instead */
    float averaging[2]; /* its settings */
    int rule;           /* how it is trained: see struct training */
    struct constraint constraint;
    /* Above 0: an update first divides it by spectral_divide, with the vector in the next slice. */
    uint32_t power_iterations;
    /* set if it is constrained or divided, or if its optimizer takes whole variables */
    struct shape shape;
    bool continues; /* of the same variable as the slice before it, at whose end it begins */
    size_t size_bytes;
    size_t row_bytes;   /* 0: it has no rows */
    uint64_t first_row; /* number of rows in the slices before it on this ps */
    uint64_t rows_count;
    struct key_table *table; /* NULL: its rows are not keyed. With a table, size_bytes is 0 */
    int ps_count;            /* of the job, with `table` */
    pthread_mutex_t lock;
    struct slice_state now;
    struct values_buffer *before;   /* the values before the last update; NULL: not kept */
    struct slice_undo undo;         /* the same for an update that changed only some rows */
    size_t filled[SLICE_PARTS_MAX]; /* bytes written since slice_begin */
    /* For the next update that finds the current buffer of a part shared. */
    struct spare_buffers spares[SLICE_PARTS_MAX];
};

/* `data`: size_bytes for the initial values; the caller owns it and keeps it as long as the
 * slice. */
void slice_init(struct slice *slice, int id, size_t size_bytes, bool trainable, void *data);
void slice_finish(struct slice *slice); /* call it when nobody holds its values */

/* Before the first slice_begin: provides memory for the slot `part`, like `data` for the values.
 * Otherwise the slice allocates its own. */
void slice_lend(struct slice *slice, int part, void *data);

/* While no update runs: provides memory for copies of a part. While more than one snapshot is read,
 * an update may need other memory, but no longer. */
void slice_lend_spare(struct slice *slice, int part, void *data);

/* Does each push update the slice? */
bool slice_is_pushed(const struct slice *slice);

/* The current values, valid until the caller's values_buffer_release. */
struct values_buffer *slice_acquire(struct slice *slice);
/* The values before the last update; NULL: not kept. For a slice that is not trained, the
 * current values, which never change. */
struct values_buffer *slice_acquire_before(struct slice *slice);
void values_buffer_release(struct values_buffer *values);

/* The current values and, if with_slots, all slots and scalars of the same moment. */
void slice_hold(struct slice *slice, bool with_slots, struct slice_state *out);
void slice_let_go(struct slice_state *state); /* accepts a zeroed one */

/* Resets the slice: slots get the optimizer's initial values, and so do scalars unless they are
 * given. The values must be filled afterwards. No update of the slice may run meanwhile. */
void slice_begin(struct slice *slice, const struct optimizer *optimizer, const float *settings,
                 const float *scalars);

/**
 * Copies a message's payload to the bytes of a part from `offset` on. Parts are filled from the
 * beginning; repeated bytes are skipped.
 *
 * Errors  NOT_FOUND no such part; OUT_OF_RANGE a gap, or more than the part has
 */
struct status slice_fill(struct slice *slice, uint32_t part, uint64_t offset,
                         const struct message *message);

/* FAILED_PRECONDITION: the values, or a slot that was begun, are incomplete. */
struct status slice_check_filled(const struct slice *slice);

/* Under the slice's lock: the buffer of a part for changes in place; copies it first if it is
 * shared. */
float *slice_writable(struct slice *slice, int part);
/* Under the slice's lock: drops the values before the last update. */
void slice_forget_before(struct slice *slice);

/* The parameters of an update. */
struct slice_update {
    const struct optimizer *optimizer;
    const float *settings;
    float rate;
    float ratio;      /* of an optimizer that measures */
    bool keep_before; /* keep the values before the update until the next one */
};

/* Applies one update with the gradient g of size_bytes / 4 elements. */
void slice_apply(struct slice *slice, const struct slice_update *update, const float *g);

/* Instead of an update of any kind, in a step that is skipped: values and slots stay unchanged.
 * A slice that updates divide is still divided, because that does not depend on its gradient. */
void slice_skip(struct slice *slice, bool keep_before);

/* The first half of an update by an optimizer that measures. slice_apply, which then needs no
 * gradient, is the second. */
void slice_measure(struct slice *slice, const struct slice_update *update, const float *g,
                   struct optimizer_norms *norms);

/* ---- a slice with rows: slice_rows.c ---- */

/* Row numbers are relative to the slice. */

/* The gradient of some rows. */
struct rows_gradient {
    const uint32_t *rows; /* [count], ascending */
    const float *g;       /* [count, row] */
    size_t count;
};

/* Copies ascending rows to out [count, row]: the current ones, or those before the last update.
 * Returns false if these were not kept. */
bool slice_copy_rows(struct slice *slice, const uint32_t *rows, size_t count, bool before,
                     void *out);

/* Applies one update with the gradient of some rows. Without `zeros`, other rows and their slots
 * stay unchanged, for which the optimizer must be row-local. With `zeros` (size_bytes, zero
 * again afterwards), the others are updated with a gradient of 0. */
void slice_apply_rows(struct slice *slice, const struct slice_update *update,
                      const struct rows_gradient *gradient, float *zeros);
void slice_measure_rows(struct slice *slice, const struct slice_update *update,
                        const struct rows_gradient *gradient, float *zeros,
                        struct optimizer_norms *norms);

#endif
