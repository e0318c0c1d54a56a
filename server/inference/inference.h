/*
 * inference: between the protocols and the models. REST and gRPC turn a request into a call, submit
 * it, and turn its outputs into an answer.
 *
 * A call runs in the loop's thread, at the end of the round that brought it, if runs with inputs of
 * its size are known to be cheap (cost_table.h). It shares its run with other calls of the round if
 * they fit (batch.h). If its protocol can send an answer at once, and it would gain nothing by
 * waiting for the end of the round, it runs inside inference_submit. All other calls run in a pool
 * of threads: those with inputs of a size that was not measured yet, and those of models whose cost
 * does not follow from the size of their inputs (plan_cost_is_predictable). A run in the loop's
 * thread that takes longer than a millisecond stops, and starts again in the pool. There, each
 * callable has a queue of its own, and the queues share the threads fairly (call_queues.h).
 *
 * Each loop has rounds of its own (struct inference), all share one pool.
 *
 * Threads  A struct inference belongs to its loop's thread, the pool to any.
 */
#ifndef SERVER_INFERENCE_INFERENCE_H
#define SERVER_INFERENCE_INFERENCE_H

#include "base/loop.h"
#include "server/models/servable.h"

struct inference; /* the rounds of one loop */
struct inference_pool;

/* A request that is larger, or compressed, is read in the pool (`prepare`). */
#define INFERENCE_READ_BYTES_MAX ((size_t)64 << 10)

struct inference_call {
    /* If it is not NULL, a thread of the pool calls it first: it reads the request and fills in
     * callable and inputs. If it leaves callable NULL, the answer is already made. */
    struct status (*prepare)(struct inference_call *call);

    /* Filled in by the caller. All of it lives until `done`. */
    struct callable *callable;
    const struct tensor *inputs; /* in the signature's order; elements may be unaligned */
    int64_t deadline_ns;         /* CLOCK_MONOTONIC; 0: none */
    /* Counts the calls of the model that wait; one less once the run begins, and then NULL. NULL:
     * nobody counts. */
    _Atomic int *waiting;
    /* Called in the thread that ran the call. `outputs`, in the signature's order, are valid during
     * the call only. */
    struct status (*answer)(struct inference_call *call, const struct tensor *outputs);
    /* Called once, in the loop's thread. */
    void (*done)(struct inference_call *call, struct status status);
    /* Called in the loop's thread when the call goes to the pool, at once or from its round. An
     * HTTP connection is suspended meanwhile. */
    void (*to_pool)(struct inference_call *call);
    bool at_once; /* `answer` and `done` may be called inside inference_submit */

    struct run_profile *profile; /* hears the steps of the run, which is alone; NULL: none */

    /* Private to inference. */
    _Atomic bool left;    /* its client has left: see inference_leave */
    bool unfinished;      /* its run in the loop was stopped */
    int64_t rows;         /* dimension 0 of all inputs; 0: it runs alone */
    size_t bytes;         /* of all inputs */
    struct cost_key size; /* rows 0: its cost is not predictable */
    uint32_t cost_ns;     /* 0: unknown */
    int64_t run_began_ns; /* of the last run, whoever shared it; 0: none */
    int64_t run_ended_ns;
    struct status status;
    int64_t queued_ns, batch;    /* batch: its number, with --enable_batching */
    struct call_split *split;    /* of which this is a part; NULL: it is whole */
    struct arena *arena;         /* keeps the text of `status`, which crosses threads */
    struct inference *inference; /* that it was submitted to */
    struct inference_call *next;
    struct loop_task task;
};

struct inference_options {
    bool batch_ready;      /* calls of a round may share a run */
    int64_t target_p99_ns; /* chooses how many rows share a run in the pool; 0: up to 64 do */
    int batch_threads;     /* that may run batches of --enable_batching; 0: there are none */
    int threads;           /* that one callable may use; 0: one per core. The pool has one more */
    size_t run_memory_limit_bytes; /* of one run */
};

struct status inference_pool_create(const struct inference_options *options,
                                    struct inference_pool **out);
int inference_pool_threads(const struct inference_pool *pool);
int inference_pool_queued(struct inference_pool *pool); /* calls that wait for a thread */
/* Ends the runs soon, and then the threads. Call it when the loops run no more, before
 * inference_destroy. Accepts NULL. */
void inference_pool_stop(struct inference_pool *pool);
/* After the inferences that use it. Accepts NULL. */
void inference_pool_destroy(struct inference_pool *pool);

struct inference *inference_create(struct inference_pool *pool, struct loop *loop);
/* Ends all calls, and calls their `done`, in this thread. The pool is stopped. Accepts NULL. */
void inference_destroy(struct inference *inference);

/* Adds the call to this round or, after calling its `to_pool`, to the pool's queue. After `prepare`
 * in the pool, a call is submitted again by itself. */
void inference_submit(struct inference *inference, struct inference_call *call);

/* Removes a call from this round, because its client has gone. `done` is not called. */
void inference_forget(struct inference *inference, struct inference_call *call);

/* Says that nobody wants the outcome of the call. A run that continues only for this call ends
 * soon, with CANCELLED; `done` is called as usual. Threads: any, before `done` was called. */
static inline void inference_leave(struct inference_call *call)
{
    atomic_store_explicit(&call->left, true, memory_order_relaxed);
}

/* The number of calls in this round. */
int inference_waiting(const struct inference *inference);
/* Tells how many calls all clients together may have in a round, or how many more than before. */
void inference_expect(struct inference *inference, int calls_max);
void inference_expect_more(struct inference *inference, int calls); /* accepts NULL */
/* Does every client wait for a call of this round, so that nobody is left to join it? */
bool inference_is_complete(const struct inference *inference);
/* Is the round full? It is at 64 rows, at about a millisecond of runs or, if runs are cheap, at as
 * much input as stays in the L2 cache. */
bool inference_is_full(const struct inference *inference);
/* Runs the calls of this round. */
void inference_run(struct inference *inference);

#endif
