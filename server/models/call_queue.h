/*
 * call_queue: the calls of one callable that wait for a thread of the pool. It is part of the
 * callable, so that a call needs no search for its queue. The functions are in
 * server/inference/call_queues.h.
 *
 * Zero-initialise it. Threads: the pool's lock guards it.
 */
#ifndef SERVER_MODELS_CALL_QUEUE_H
#define SERVER_MODELS_CALL_QUEUE_H

#include <stdint.h>

#include "base/list.h"

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
};

#endif
