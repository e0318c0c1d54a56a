/*
 * batch_queue: a queue of --enable_batching, which forms batches as calls arrive, as TensorFlow
 * Serving's SharedBatchScheduler does. A call joins the open batch or, if it does not fit, closes
 * it and begins the next one. The first batch may run when it is closed or full, or when its first
 * call has waited long enough. The number of batches is bounded.
 *
 * Threads: the pool's lock guards a queue. The caller passes the time.
 */
#ifndef SERVER_INFERENCE_BATCH_QUEUE_H
#define SERVER_INFERENCE_BATCH_QUEUE_H

#include "server/inference/inference.h"

/* Checks the inputs of a call, and sets its `rows`. The texts are TensorFlow Serving's. */
struct status batch_queue_check_inputs(struct inference_call *call);

/* INVALID_ARGUMENT: the call is too large for any batch. UNAVAILABLE: the queue is full.
 * Otherwise, adds the call, or its parts if it must be split. */
struct status batch_queue_add(struct call_queue *queue, struct inference_call *call,
                              int64_t now_ns);

/* The time from which the first batch may run; CLOCK_NEVER: no batch. */
int64_t batch_queue_ready_ns(const struct call_queue *queue);

/* Takes the first batch, ready or not. */
struct inference_call *batch_queue_take(struct call_queue *queue);

#endif
