/*
 * inference: schedules calls of models. REST and gRPC turn a request into a call, submit it, and
 * turn its outputs into an answer.
 *
 * A call runs in the loop's thread, at the end of the round that brought it, if runs with inputs of
 * its size are known to be cheap (cost_table.h). It shares its run with other calls of the round if
 * they fit (batch.h). If its protocol can send an answer at once, and waiting for the end of the
 * round would gain nothing, it runs inside inference_submit. All other calls run in a thread pool:
 * those with inputs of an unmeasured size, and those of models whose cost does not follow from the
 * size of their inputs (plan_cost_is_predictable). A run in the loop's thread that takes longer
 * than two milliseconds stops, and restarts in the pool. There, each callable has its own queue,
 * and the queues share the threads fairly (pending_calls.h). If a round brought more calls than a
 * loop should run, they go to the pool, and further calls of the callable follow them until all
 * have ended: the loops would otherwise run later calls before them, on the same core.
 *
 * Each loop has its own rounds (struct inference); all share one pool (inference_pool.h).
 *
 * Threads  A struct inference belongs to its loop's thread, the pool to any.
 */
#ifndef SERVER_INFERENCE_INFERENCE_H
#define SERVER_INFERENCE_INFERENCE_H

#include "base/loop.h"
#include "server/models/servable.h"

struct inference; /* the rounds of one loop */
struct inference_pool;

/* A call that costs more runs in the pool. */
#define INFERENCE_LOOP_COST_MAX_NS 200000

/* A larger or compressed request is parsed in the pool (`prepare`). */
#define INFERENCE_READ_BYTES_MAX ((size_t)64 << 10)

struct inference_call {
    /* If not NULL, a pool thread calls it first: it parses the request and sets callable and
     * inputs. If it leaves callable NULL, the answer is already complete. */
    struct status (*prepare)(struct inference_call *call);

    /* Set by the caller. All of it lives until `done`. */
    struct callable *callable;
    const struct tensor *inputs; /* in the signature's order; elements may be unaligned */
    int64_t deadline_ns;         /* CLOCK_MONOTONIC; 0: none */
    /* The number of the model's waiting calls, decremented when the run begins; then NULL. NULL:
     * not counted. */
    _Atomic int *waiting;
    /* Called in the thread that ran the call. `outputs`, in the signature's order, are valid
     * only during the call. */
    struct status (*answer)(struct inference_call *call, const struct tensor *outputs);
    /* Called once, in the loop's thread. */
    void (*done)(struct inference_call *call, struct status status);
    /* Called in the loop's thread when the call moves to the pool, at once or from its round. An
     * HTTP connection is suspended meanwhile. */
    void (*to_pool)(struct inference_call *call);
    bool at_once; /* `answer` and `done` may be called inside inference_submit */

    struct run_profile *profile; /* profiles the steps of the run, which has no other calls;
                                  * NULL: none */

    /* Private to inference. */
    _Atomic bool cancelled; /* see inference_cancel */
    bool unfinished;        /* its run in the loop was stopped */
    int64_t rows;           /* dimension 0 of all inputs; 0: it runs alone */
    size_t bytes;           /* of all inputs */
    struct cost_key size;   /* rows 0: its cost is unpredictable */
    int64_t cost_ns;        /* 0: unknown */
    int64_t run_began_ns;   /* of the last run, even if shared; 0: none */
    int64_t run_ended_ns;
    struct status status;
    int64_t queued_ns, batch;    /* batch: its number, with --enable_batching */
    struct call_split *split;    /* the split of which this is a part; NULL: it is whole */
    struct arena *arena;         /* keeps the text of `status`, which crosses threads */
    struct inference *inference; /* to which it was submitted */
    struct inference_call *next;
    struct loop_task task;
};

struct inference *inference_create(struct inference_pool *pool, struct loop *loop);
/* Ends all calls, and calls their `done`, in this thread. The pool must be stopped. Accepts
 * NULL. */
void inference_destroy(struct inference *inference);

/* Adds the call to this round or, after calling its `to_pool`, to the pool's queue. After
 * `prepare` in the pool, a call is submitted again automatically. */
void inference_submit(struct inference *inference, struct inference_call *call);

/* Removes a call from this round, because its client has disconnected. `done` is not called. */
void inference_forget(struct inference *inference, struct inference_call *call);

/* Is the call cheap enough for a loop? */
static inline bool inference_is_cheap(const struct inference_call *call)
{
    return call->cost_ns > 0 && call->cost_ns <= INFERENCE_LOOP_COST_MAX_NS;
}

/* Cancels the call, because its client has disconnected or the server ends. A run that continues
 * only for this call ends soon, with CANCELLED; `done` is called as usual. Threads: any, before
 * `done` was called. */
static inline void inference_cancel(struct inference_call *call)
{
    atomic_store_explicit(&call->cancelled, true, memory_order_relaxed);
}

struct loop *inference_loop(const struct inference *inference);

/* Would a call that goes to the pool now find a thread that waits? */
bool inference_has_idle_thread(const struct inference *inference);

/* The number of calls in this round. */
int inference_waiting(const struct inference *inference);
/* Sets, or increases, the number of calls that all clients together may have in a round. */
void inference_expect(struct inference *inference, int calls_max);
void inference_expect_more(struct inference *inference, int calls); /* accepts NULL */
/* Does every client wait for a call of this round, so that no more can join it? */
bool inference_is_complete(const struct inference *inference);
/* Is the round full? It is at 64 rows, at about a millisecond of runs or, if runs are cheap,
 * when its inputs would exceed the L2 cache. */
bool inference_is_full(const struct inference *inference);
/* Runs the calls of this round. */
void inference_run(struct inference *inference);

#endif
