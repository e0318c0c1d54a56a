/*
 * slice: the part of a variable that one ps holds: its values, its optimizer slots, and the lock
 * under which they change.
 *
 * Values are counted and never written while somebody else has them: a pull or a snapshot takes one
 * more reference, and an update that finds them shared writes into another buffer, which then is
 * the current one. So a reader sees whole updates only, nothing is copied to be read, and with one
 * worker every update is in place. Buffers come back to their slice and are used again. Slices of
 * one variable that are neighbours begin life next to each other in memory, so that a reader may
 * find a whole variable in one run.
 *
 * Slots are counted, too: a snapshot holds them as they were, and the next update then goes on in a
 * copy. A state of a slice is its values, slots and scalars at one moment.
 */
#ifndef TRAINER_SLICE_H
#define TRAINER_SLICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "rpc/message.h"
#include "base/status.h"
#include "trainer/optimizer.h"

struct slice;

struct values {
    _Atomic int references;
    bool borrowed;                  /* data lies in the ps' first block */
    _Atomic(struct values *) *home; /* where the buffer waits to be used again */
    void *data;
};

/* 0: the values; 1, 2, …: the optimizer's slots. */
#define SLICE_PARTS_MAX (1 + OPTIMIZER_SLOTS_MAX)

struct slice_state {
    struct values *parts[SLICE_PARTS_MAX]; /* NULL: the optimizer has no such slot, or not wanted */
    float scalars[OPTIMIZER_SCALARS_MAX];
};

struct slice {
    int id; /* the piece's */
    bool trainable;
    size_t size_bytes;
    pthread_mutex_t lock;
    struct slice_state now;
    struct values *before;          /* the values before the last update; NULL: not kept */
    size_t filled[SLICE_PARTS_MAX]; /* bytes written since slice_begin */
    /* A buffer for the next update that finds the current one shared: of values, of slots. */
    _Atomic(struct values *) spare, spare_slot;
};

/* `data`: size_bytes for the first values, owned by the caller for as long as the slice. */
void slice_init(struct slice *slice, int id, size_t size_bytes, bool trainable, void *data);
void slice_finish(struct slice *slice); /* nobody holds values of it any more */

/* The values as they are now, for as long as the caller keeps them. */
struct values *slice_acquire(struct slice *slice);
/* The same before the last update, if that was to keep them. The values of what is not trained are
 * the same at all times. NULL: they were not kept. */
struct values *slice_acquire_before(struct slice *slice);
void values_release(struct values *values);

/* The same with all slots and scalars, when with_slots; the values and the slots are of one moment.
 */
void slice_hold(struct slice *slice, bool with_slots, struct slice_state *out);
void slice_let_go(struct slice_state *state); /* accepts a zeroed one */

/* A life from the beginning: slots and scalars are the optimizer's initial ones (scalars: unless
 * given), the values are to be filled. Nobody applies to the slice meanwhile. */
void slice_begin(struct slice *slice, const struct optimizer *optimizer, const float *settings,
                 const float *scalars);

/**
 * Takes a message's payload as the bytes of a part from `offset` on. Parts are filled from the
 * beginning on; what comes twice is passed over.
 *
 * Errors  NOT_FOUND no such part; OUT_OF_RANGE a gap, or more than the part has
 */
struct status slice_fill(struct slice *slice, uint32_t part, uint64_t offset,
                         const struct message *message);

/* FAILED_PRECONDITION: the values, or a slot that was begun, are not whole. */
struct status slice_check_filled(const struct slice *slice);

/* One update by the gradient g of size_bytes / 4 elements. keep_before: the values of before remain
 * for slice_acquire_before, until the next update. */
void slice_apply(struct slice *slice, const struct optimizer *optimizer, float rate,
                 const float *settings, const float *g, bool keep_before);

#endif
