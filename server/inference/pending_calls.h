/*
 * pending_calls: the pool's pending calls. Calls wait in one queue per callable (call_queue.h) and
 * are taken in FIFO order. Calls that must be parsed first, whose callable is unknown, wait in a
 * separate queue.
 *
 * Queues share the threads fairly: the next calls come from the queue with the least thread time. A
 * queue that becomes non-empty starts with the time of the queue that was served last, so that it
 * can neither accumulate credit nor be penalised for earlier use. No queue uses all threads: a
 * saturated model leaves one to the others.
 *
 * A queue with parameters of --enable_batching waits until its first batch may run (batch_queue.h).
 *
 * Threads: the caller locks. The caller passes the time, for tests.
 */
#ifndef SERVER_INFERENCE_PENDING_CALLS_H
#define SERVER_INFERENCE_PENDING_CALLS_H

#include "server/inference/batch_target.h"
#include "server/inference/inference.h"

void call_list_append(struct call_list *list, struct inference_call *call);
/* Takes the first call and calls close after it that can share its run, of up to `rows_max` rows
 * in total; 0: only the first. */
struct inference_call *call_list_take_batch(struct call_list *list, int64_t rows_max);

struct pending_calls {
    bool batch;        /* calls may share a run */
    int64_t target_ns; /* --target_p99_ms, which limits the rows of a run; 0: none */
    int running_max;   /* limit of the threads that serve one queue concurrently */
    int batches_max;   /* limit of the threads that run batches of --enable_batching */
    int batches_running;
    struct list_link *waiting; /* the queues that have calls */
    struct call_queue unread;  /* calls to prepare */
    int64_t served_ns;         /* thread time of the queue that was served last, before that */
};

/* The calls that a thread is running. */
struct taken_calls {
    struct inference_call *first; /* NULL: none may run now */
    struct call_queue *queue;
    int64_t began_ns;
    int cheap_count;            /* those that a loop could have run */
    struct batch_target chosen; /* rows_max 0: unchanged, or no target */
};

/* Fails only if the call must form a batch: see batch_queue_add. */
struct status pending_calls_add(struct pending_calls *pending, struct inference_call *call,
                                int64_t now_ns);
/* The time from which calls can be taken, `now_ns` if at once; CLOCK_NEVER: not before calls are
 * added or a run ends. */
int64_t pending_calls_ready_ns(const struct pending_calls *pending, int64_t now_ns);
/* Takes the next calls that may run now, if any. */
struct taken_calls pending_calls_take(struct pending_calls *pending, int64_t now_ns);
/* The calls have run. Call this before their `done`, which may destroy the queue. */
void pending_calls_end(struct pending_calls *pending, const struct taken_calls *taken,
                       int64_t now_ns);
/* The number of calls that wait in all queues. */
int pending_calls_count(const struct pending_calls *pending);
/* Takes any call or part of a split call, for a pool without threads; NULL: none is left. */
struct inference_call *pending_calls_drop(struct pending_calls *pending);

#endif
