/*
 * call_queues: what the pool has to do. Calls wait in one queue per callable (call_queue.h) and are
 * taken in their order. Calls that have to be read first, whose callable is not known yet, wait in
 * a queue of their own.
 *
 * Queues share the threads fairly: the next calls come from the queue that has had the least thread
 * time. A queue that was empty starts with as much as the queue that was served last had, so that
 * it can neither save up time nor be punished for what it used before. No queue uses all threads: a
 * saturated model leaves one to the others.
 *
 * A queue with parameters of --enable_batching waits until its first batch may run (batch_queue.h).
 *
 * Threads: the caller locks. Time is the caller's, for tests.
 */
#ifndef SERVER_INFERENCE_CALL_QUEUES_H
#define SERVER_INFERENCE_CALL_QUEUES_H

#include "server/inference/batch_target.h"
#include "server/inference/inference.h"

void call_list_append(struct call_list *list, struct inference_call *call);
/* Takes the first call and those not far behind it that can share its run, of up to `rows_max` rows
 * together; 0: the first alone. */
struct inference_call *call_list_take_batch(struct call_list *list, int64_t rows_max);

struct call_queues {
    bool batch;        /* calls may share a run */
    int64_t target_ns; /* --target_p99_ms, which says how many rows; 0: none */
    int running_max;   /* threads that may serve one queue at the same time */
    int batches_max;   /* threads that may run batches of --enable_batching */
    int batches_running;
    struct list_link *waiting; /* the queues that have calls */
    struct call_queue unread;  /* calls to prepare */
    int64_t served_ns;         /* of the queue that was served last, before that */
};

/* The calls that a thread runs now. */
struct taken_calls {
    struct inference_call *first; /* NULL: none may run now */
    struct call_queue *queue;
    int64_t began_ns;
    struct batch_target chosen; /* rows_max 0: as before, or there is no target */
};

/* Fails only if the call would have to form a batch: see batch_queue_add. */
struct status call_queues_add(struct call_queues *queues, struct inference_call *call,
                              int64_t now_ns);
/* The time from which calls can be taken, `now_ns` if they can be taken at once; CLOCK_NEVER: not
 * before calls are added or a run ends. */
int64_t call_queues_ready_ns(const struct call_queues *queues, int64_t now_ns);
/* Takes the next calls, if there are any that may run now. */
struct taken_calls call_queues_take(struct call_queues *queues, int64_t now_ns);
/* The calls have run. Call this before their `done`, after which the queue may not exist. */
void call_queues_end(struct call_queues *queues, const struct taken_calls *taken, int64_t now_ns);
/* The calls that wait in all queues. */
int call_queues_count(const struct call_queues *queues);
/* Takes any call or part of a split call, for a pool without threads; NULL: none is left. */
struct inference_call *call_queues_drop(struct call_queues *queues);

#endif
