/*
 * inference_pool: the threads that run calls which no loop runs itself (inference.h), and parse
 * large requests. The calls wait in the queues of pending_calls.h.
 *
 * Owner    A call belongs to its caller; it is the pool's until its `done` runs.
 * Threads  any
 */
#ifndef SERVER_INFERENCE_INFERENCE_POOL_H
#define SERVER_INFERENCE_INFERENCE_POOL_H

#include "server/inference/batch.h"
#include "server/inference/inference.h"

struct inference_options {
    bool batch_ready;      /* calls of a round may share a run */
    int64_t target_p99_ns; /* limits how many rows share a run in the pool; 0: none */
    int batch_threads;     /* limit of the threads that run batches of --enable_batching; 0: none */
    int threads;           /* limit for one callable; 0: one per core. The pool has one more */
    size_t run_memory_limit_bytes; /* of one run */
};

struct status inference_pool_create(const struct inference_options *options,
                                    struct inference_pool **out);
int inference_pool_threads(const struct inference_pool *pool);
int inference_pool_queued(struct inference_pool *pool); /* number of calls that wait for a thread */
/* Ends the runs soon, and then the threads. Call it when the loops no longer run, before
 * inference_destroy. Accepts NULL. */
void inference_pool_stop(struct inference_pool *pool);
/* Call it after destroying the inferences that use it. Accepts NULL. */
void inference_pool_destroy(struct inference_pool *pool);

/* The rest is for inference.c. */

/* Calls `to_pool` of the calls, which are linked by `next`, and adds them to their queue together:
 * if they came one by one, an idle thread would run the first of them alone. If the queue refuses
 * a call, its `done` gets the failure later, in the loop's thread. */
void inference_pool_submit(struct inference_pool *pool, struct inference_call *calls);
/* Does the call wait in its queue until a batch of --enable_batching may run? */
bool inference_pool_forms_batch(const struct inference_call *call);
/* May calls of a round share a run? */
bool inference_pool_batches_ready(const struct inference_pool *pool);
const struct batch_limits *inference_pool_limits(const struct inference_pool *pool);
/* Does a thread wait that has no call to take? */
bool inference_pool_has_idle_thread(struct inference_pool *pool);
/* A loop has just run calls. If the pool's runs are long, it yields to loops from now on. */
void inference_pool_note_loop_ran(struct inference_pool *pool, int64_t now_ns);
/* Ends the calls that were submitted after the threads had ended, from any loop. */
void inference_pool_end_queue(struct inference_pool *pool);

#endif
