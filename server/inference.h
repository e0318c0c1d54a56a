/*
 * inference: the seam between the protocols and the models. REST and gRPC turn a request into a
 * call, hand it in, and turn the outputs into an answer.
 *
 * A call runs in the loop's thread at the end of the round that brought it if runs with inputs of
 * its size are known to be cheap (cost_table.h), together with the others of the round that fit
 * beside it in one batch. All others run in the pool of threads: inputs of a size that was not
 * measured, and models whose cost inputs of one size do not tell (plan_cost_is_predictable). A run
 * in the loop that takes longer than a millisecond all the same stops and starts again in the pool.
 */
#ifndef SERVER_INFERENCE_H
#define SERVER_INFERENCE_H

#include "base/loop.h"
#include "server/servable.h"

struct inference;

/* Reading a request that is larger than this, or compressed, is work for the pool (`prepare`). */
#define INFERENCE_READ_BYTES_MAX ((size_t)64 << 10)

struct inference_call {
    /* If it is not NULL, it is called first, in a thread of the pool: it reads the request and
     * fills in callable and inputs. If it leaves callable NULL, the answer is there already. */
    struct status (*prepare)(struct inference_call *call);

    /* Filled in by the caller; all of it lives until `done`. */
    struct callable *callable;
    const struct tensor *inputs; /* in the order of the signature's; numbers at any address */
    int64_t deadline_ns;         /* CLOCK_MONOTONIC; 0: none */
    /* Called where the run ended, in any thread: outputs, in the signature's order, are valid
     * inside only. */
    struct status (*answer)(struct inference_call *call, const struct tensor *outputs);
    /* Called in the loop's thread, once. */
    void (*done)(struct inference_call *call, struct status status);
    /* Called in the loop's thread when the call goes to the pool: at once, or out of its round. An
     * HTTP connection is suspended meanwhile. */
    void (*to_pool)(struct inference_call *call);

    /* inference's own */
    _Atomic bool left;    /* by who asked: see inference_leave */
    bool unfinished;      /* its run in the loop was stopped */
    int64_t rows;         /* dimension 0 of all inputs; 0: it rides alone */
    size_t bytes;         /* of all inputs */
    struct cost_key size; /* rows 0: its cost is not predictable */
    uint32_t cost_ns;     /* 0: unknown */
    struct status status;
    struct arena *arena;         /* keeps the status' text from one thread to the other */
    struct inference *inference; /* that has it */
    struct inference_call *next;
    struct loop_task task;
};

struct inference_options {
    struct loop *loop;
    bool batch_ready;              /* calls of a round may ride together */
    int threads;                   /* of the pool; 0: as many as the machine has cores */
    size_t run_memory_limit_bytes; /* of one run */
};

struct status inference_create(const struct inference_options *options, struct inference **out);
/* Threads that may run kernels at the same time: those of the pool, and the loop's. */
int inference_threads(const struct inference *inference);
/* What the pool and the round have ends soon, and `done` of it is called. Accepts NULL. */
void inference_destroy(struct inference *inference);

/* Puts the call into this round or, after `to_pool` of it, into the pool's queue. A call that was
 * prepared in the pool does so again. */
void inference_submit(struct inference *inference, struct inference_call *call);

/* Forgets a call of this round, whose client has gone; `done` is not called. */
void inference_forget(struct inference *inference, struct inference_call *call);

/* Nobody wants the outcome any more: a run that goes on only for this call ends soon, with
 * CANCELLED. `done` comes as ever. In any thread, before it has come. */
static inline void inference_leave(struct inference_call *call)
{
    atomic_store_explicit(&call->left, true, memory_order_relaxed);
}

/* Calls of this round. */
int inference_waiting(const struct inference *inference);
/* Has the round collected as much as should run at once: 64 rows, about a millisecond, or, of cheap
 * runs, as much input as stays in a near cache? */
bool inference_is_full(const struct inference *inference);
/* Runs the round's calls. */
void inference_run(struct inference *inference);

#endif
