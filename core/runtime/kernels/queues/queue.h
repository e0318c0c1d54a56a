/*
 * queue: the object of FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue and PriorityQueue (ops:
 * queue_ops.c, queue_handles.c), and of Stage and Unstage (stage_ops.c). It holds rows of tensors
 * for the runs of a servable. Runs that wait for a row, or for room, are served in the order of
 * their arrival.
 *
 * Threads  all functions are safe; the kind never changes
 */
#ifndef KERNELS_QUEUE_H
#define KERNELS_QUEUE_H

#include "runtime/kernel.h"

struct queue;

/* A row shares no memory: its tensors are deep copies. */
struct queue_row {
    int64_t priority;             /* of a PriorityQueue: its first component */
    size_t bytes, elements_bytes; /* the latter without overhead */
    int count;
    struct tensor parts[];
};

/* A list of rows, in order. Zero-initialise it. */
struct queue_rows {
    struct queue_row **at;
    int64_t count, room;
};
void queue_rows_add(struct queue_rows *rows, struct queue_row *row);
void queue_rows_finish(struct queue_rows *rows); /* destroys what is left in it */
/* Without tensors. */
struct queue_row *queue_row_create(int count);
void queue_row_destroy(struct queue_row *row); /* accepts NULL */

/* The differences of the kinds, by the op that makes them; and "StagingArea". */
struct queue_policy {
    const char *name; /* for error texts */
    const char *base; /* the name of the kind in texts about single rows, and of those that give */
    const struct object_type *type; /* those of one type share a space of names */
    void (*put)(struct queue *queue, struct queue_row *row); /* there is room */
    struct queue_row *(*take)(struct queue *queue);          /* there is a row */
    /* Puts back a row that was taken without all others of the same request. */
    void (*put_back)(struct queue *queue, struct queue_row *row);
    bool pads;           /* rows may differ in shape; taken together, they are padded with zeros */
    bool has_priorities; /* component 0 is one, which the op does not declare */
};
/* NULL: no such kind. The second version of an op makes the same queue. */
const struct queue_policy *queue_policy_find(const char *op_name);

struct queue_kind {
    const struct queue_policy *policy;
    int64_t capacity; /* in rows; INT32_MAX if there is none */
    int64_t min_after_dequeue;
    int64_t seed, seed2;
    int64_t memory_limit; /* bytes of the elements of all rows; 0: none */
    int count;            /* of components */
    enum dtype *dtypes;   /* [count] */
    struct shape *shapes; /* [count]; NULL: not declared */
};

/* "int32, float". In `arena`. */
const char *queue_types_text(struct arena *arena, const enum dtype *dtypes, int count);

/* Copies the kind. Owner: the caller, of one reference. */
extern const struct object_type queue_type;
void queue_create(const struct queue_kind *kind, struct bytes name, struct object **out);
const struct queue_kind *queue_kind(const struct queue *queue);
const char *queue_name(const struct queue *queue);

/**
 * Copies the inputs from `first` on as a row, or, unless `batch` is -1, as that many rows: their
 * first dimension counts them. They are for something that holds `held` bytes.
 *
 * Owner   the caller, of the rows in *out
 * Errors  RESOURCE_EXHAUSTED it would hold more than a run may; those of kernel_check
 */
struct status queue_rows_copy(struct kernel_context *k, size_t held, bool has_priorities, int first,
                              int64_t batch, struct queue_rows *out);
/* RESOURCE_EXHAUSTED: the inputs from `first` on have more bytes than the memory_limit of a staging
 * area, if that is not 0. */
struct status queue_check_limit(struct kernel_context *k, int first, int64_t limit);

/**
 * Adds rows in order, and waits while the queue is full. Takes over the rows, which leave the list,
 * also after a failure.
 *
 * Errors  CANCELLED the queue is closed; RESOURCE_EXHAUSTED; those of kernel_wait
 */
struct status queue_give(struct kernel_context *k, struct queue *queue, struct queue_rows *rows);

/**
 * Takes `count` rows; waits for them. TAKE_UP_TO: of a queue that is closed, as many as there are,
 * at least one.
 *
 * Owner   the caller, of the rows in *out
 * Errors  OUT_OF_RANGE the queue is closed and has not as many; those of kernel_wait
 */
enum queue_taking { TAKE_ONE, TAKE_MANY, TAKE_UP_TO };
struct status queue_take(struct kernel_context *k, struct queue *queue, enum queue_taking taking,
                         int64_t count, struct queue_rows *out);

/* A copy of row `index`, counted from the next one; it shares the tensors. Waits until it is there.
 * Owner: the caller. */
struct status queue_peek(struct kernel_context *k, struct queue *queue, int64_t index,
                         struct queue_row **out);
/* Drops all rows. */
void queue_clear(struct queue *queue);

/* No more rows come. Waits for those that wait for room, or (`cancels`) ends their wait.
 * CANCELLED: it was closed before; those of kernel_wait. */
struct status queue_close(struct kernel_context *k, struct queue *queue, bool cancels);
bool queue_is_closed(struct queue *queue);
int64_t queue_size(struct queue *queue);
size_t queue_bytes(struct queue *queue);

#endif
