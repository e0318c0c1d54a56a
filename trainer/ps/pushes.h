/*
 * pushes: receives gradients: keeps the pushes that wait to be applied, and each worker's progress.
 *
 * Threads  state.h says which functions need the lock
 */
#ifndef TRAINER_PS_PUSHES_H
#define TRAINER_PS_PUSHES_H

#include "trainer/ps/membership.h"
#include "trainer/ps/row_lists.h"

/* The chunks of one push, in the order of their pieces. */
struct push {
    struct waiting waiting; /* first; `next` is the next chunk */
    const struct worker *worker;
    uint64_t incarnation, sequence;
    uint64_t local_step;      /* for a synchronous job: the step of the values that it was
                               * computed from */
    uint64_t turn;            /* 1 + the turn of its rows; 0: none */
    struct piece_range range; /* the pieces that this chunk has gradients for */
    bool pull;
    float overflowed; /* the scale at which its gradients were not finite; 0: they are finite */
    /* Of the first push of an update, once it is taken: */
    float rate;    /* the learning rate of its step */
    uint64_t step; /* the number of the update */
    bool skips;    /* the update trains nothing */

    struct row_list rows, pull_rows; /* rows with gradients here, and rows wanted in the answer */
    struct key_list_set keys, pull_keys; /* the same of keys */
    double *totals;                      /* of metrics, on the heap; NULL: none in this chunk */
    struct push *next_push;              /* of the same update */
};

struct pushes *pushes_create(void);
void pushes_destroy(struct pushes *pushes);
uint64_t pushes_step(const struct ps *ps);  /* updates applied so far */
uint64_t pushes_begun(const struct ps *ps); /* including those being applied */
bool pushes_is_idle(const struct ps *ps);   /* true if no push is being applied */
void pushes_wait_until_idle(struct ps *ps);
bool pushes_is_empty(const struct ps *ps); /* true if no push waits */
/* Have all chunks of this worker's next push arrived? */
bool pushes_has_whole(const struct ps *ps, uint32_t index);
struct waiting *pushes_take_all(struct ps *ps);
/* Another process replaces this worker. Returns the pushes of the previous process, which no
 * longer count. */
struct waiting *pushes_forget(struct ps *ps, const struct worker *worker);
void pushes_begin(struct ps *ps, uint64_t step); /* a generation */
/* Without the lock: applies and answers pushes until none can be applied. */
void pushes_apply_ready(struct ps *ps);

/* For a snapshot: from now on applies only the permitted pushes. */
void pushes_hold(struct ps *ps);
void pushes_release(struct ps *ps);
void pushes_permit(struct ps *ps, const struct applied_push *until);
void pushes_permit_step(struct ps *ps, uint64_t step); /* of a synchronous job */
bool pushes_reached(const struct ps *ps);              /* have all permitted pushes been applied? */
/* The last push of this worker that was applied or is being applied. */
uint64_t pushes_applied(const struct ps *ps, const struct worker *worker);

#endif
