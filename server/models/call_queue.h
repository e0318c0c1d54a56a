/*
 * call_queue: the calls of one callable that wait for a pool thread. It is part of the callable, so
 * a call finds its queue without a search. The functions are in server/inference/pending_calls.h.
 *
 * Zero-initialise it. Threads: the pool's lock guards it, but for cheap_count.
 */
#ifndef SERVER_MODELS_CALL_QUEUE_H
#define SERVER_MODELS_CALL_QUEUE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/list.h"

struct batching;
struct inference_call;

/* Calls in the order of arrival. */
struct call_list {
    struct inference_call *first, **end; /* `end` is unset if the list is empty */
};

struct call_queue {
    struct call_list calls;
    struct list_link link; /* among the queues that have calls */
    int running;           /* threads that are running calls of this queue */
    /* Calls that wait or run here and are cheap enough for a loop. Loops read it without the
     * lock. */
    _Atomic int cheap_count;
    int64_t served_ns; /* thread time that it has used, in the count of pending_calls_take */

    unsigned choices;               /* number of choices made by batch_target.h */
    int64_t chosen_rows, chosen_ns; /* the last choice for --target_p99_ms, and its time */

    /* The rules by which calls form batches (--enable_batching). NULL: those that are ready
     * share a run. */
    const struct batching *batching;
    /* Batches have numbers; more calls may follow those of the open one. */
    int64_t first_batch, open_batch, last_batch; /* last_batch: that of the last call */
    int64_t open_rows, open_until_ns;
};

#endif
