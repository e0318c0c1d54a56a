/*
 * pushes: the gradients that wait and are applied, and what else a push counts for: the lead of a
 * worker, the rows that it has taken, the training metrics, and the loss scale.
 */
#ifndef TRAINER_PS_PUSHES_H
#define TRAINER_PS_PUSHES_H

#include "trainer/ps/membership.h"
#include "trainer/ps/row_lists.h"

/* ---- Pushes. ---- */

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
void ps_pump(struct ps *ps);

/* For a snapshot: from now on applies only the permitted pushes. */
void pushes_hold(struct ps *ps);
void pushes_release(struct ps *ps);
void pushes_permit(struct ps *ps, const struct applied_push *until);
void pushes_permit_step(struct ps *ps, uint64_t step); /* of a synchronous job */
bool pushes_reached(const struct ps *ps);              /* have all permitted pushes been applied? */
/* The last push of this worker that was applied or is being applied. */
uint64_t pushes_applied(const struct ps *ps, const struct worker *worker);

/* ---- Pace. ---- */

struct pace *pace_create(void);
void pace_destroy(struct pace *pace);
void pace_begin(struct ps *ps);                             /* a generation */
void pace_join(struct ps *ps, const struct worker *worker); /* it has got its place */
struct waiting *pace_take_all(struct ps *ps);
/* Another process replaces this worker. Returns the calls of the previous process. */
struct waiting *pace_forget(struct ps *ps, const struct worker *worker);
/* Takes the passes that can be granted now. */
struct waiting *pace_due(struct ps *ps);
void pace_answer(struct waiting *due);   /* without the lock */
void pace_check(struct ps *ps);          /* both, without the lock */
bool pace_is_empty(const struct ps *ps); /* true if no worker waits */
/* Appends the workers that others wait for. */
void pace_note(const struct ps *ps, struct buffer *out);

/* ---- Shares. ---- */

struct shares *shares_create(void);
void shares_destroy(struct shares *shares);
/* INVALID_ARGUMENT: the position of a job that assigns its rows is invalid. */
struct status shares_check(const struct create_request *request);
void shares_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Another process replaces this worker. */
void shares_forget(struct ps *ps, const struct worker *worker);
/* ABORTED: not the worker's next turn. It was reassigned because the worker had gone silent. */
struct status shares_check_turn(const struct ps *ps, const struct worker *worker, uint64_t turn);
void shares_count(struct ps *ps, const struct worker *worker, uint64_t turn); /* it counts */
/* Has this worker no turn, because all are assigned? */
bool shares_is_idle(const struct ps *ps, const struct worker *worker);
/* On the heap; NULL if the job does not assign its rows. */
void shares_position(const struct ps *ps, uint64_t **numbers, size_t *count);

/* ---- Totals of the training's metrics. ---- */

struct push;
struct totals *totals_create(void);
void totals_destroy(struct totals *totals);
struct status totals_check(const struct create_request *request); /* INVALID_ARGUMENT: too many */
void totals_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* Copies the totals of a request. INVALID_ARGUMENT: a different number than the job has. */
struct status totals_take(const struct ps *ps, const struct push_request *request,
                          struct push *push);
void totals_add(struct ps *ps, const struct push *push); /* the push counts */

/* ---- The scale of the loss. ---- */

struct scale *scale_create(void);
void scale_destroy(struct scale *scale);
void scale_begin(struct ps *ps, const struct create_request *request); /* a generation; checked */
/* The current scale, or that before the last step. */
struct loss_scale scale_state(const struct ps *ps, bool before);
/* INVALID_ARGUMENT: the push has overflowed, but the job has no loss scaling. */
struct status scale_check_push(const struct ps *ps, const struct push_request *request);
/* The pushes of an update, which begins: sets pushes->skips. */
void scale_take(struct ps *ps, struct push *pushes);
void scale_count(struct ps *ps, const struct push *pushes); /* the update has ended */
float scale_overflowed(const struct ps *ps); /* the scale at which the last update was skipped; 0 */
/* The number of the first `step` steps that were not skipped: the iterations of Keras'
 * optimizers. */
uint64_t scale_updates(const struct ps *ps, uint64_t step);

/* The chunks of one push, in the order of their pieces (apply.c). */
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

/* Without the lock: applies one push, or those of a synchronous step, in the order of workers. */
void push_apply(struct variables *variables, const struct push *pushes);

#endif
