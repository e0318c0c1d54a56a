/*
 * call_queue: the calls of one callable that wait for a thread of the pool. It is part of the
 * callable, so that a call needs no search for its queue. The functions are in
 * server/inference/call_queues.h.
 *
 * Zero-initialise it. Threads: the pool's lock guards it.
 */
#ifndef SERVER_MODELS_CALL_QUEUE_H
#define SERVER_MODELS_CALL_QUEUE_H

#include <stdbool.h>
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
    int running;           /* threads that run calls of this queue */
    int64_t served_ns;     /* thread time that it has had, as call_queues_take counts it */

    unsigned choices;               /* made for --target_p99_ms */
    int64_t chosen_rows, chosen_ns; /* the last one that was logged, and when */

    /* How calls form batches (--enable_batching). NULL: those that are ready share a run. */
    const struct batching *batching;
    /* Batches have numbers; calls of the open one may be followed by more. */
    int64_t first_batch, open_batch, last_batch; /* last_batch: that of the last call */
    int64_t open_rows, open_until_ns;
};

#endif
