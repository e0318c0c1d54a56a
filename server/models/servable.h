/*
 * servable: one loaded version of a model, shared by the requests that use it. It is reference
 * counted: the manager holds one reference while the version serves, each loop one while it has
 * cached the version (servable_cache.h), and each request one while it runs. Unloading waits until
 * only the manager's is left.
 *
 * Per-request writes are never shared between loops. A loop's thread has a number, which selects
 * its own reference count and its own idle runs. All other threads share theirs.
 */
#ifndef SERVER_MODELS_SERVABLE_H
#define SERVER_MODELS_SERVABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "savedmodel/load.h"
#include "server/metrics/metrics.h"
#include "server/models/batching.h"
#include "server/models/call_queue.h"
#include "server/models/cost_table.h"

#define BATCH_ROWS_MAX 64

/* A run that waits for reuse by the next request. */
struct idle_run {
    struct run *run;
    int sweeps; /* number of the budget's sweeps since it was last used */
    struct idle_run *next;
};

#define SERVABLE_PROTOCOLS_MAX 4

struct request_series;

/* The runs of a callable that wait for reuse. */
struct idle_runs {
    pthread_mutex_t lock;   /* the budget's sweeps take it as well */
    struct idle_run *first; /* the last used first */
};

/* One signature, and everything needed to serve it. */
struct callable {
    struct servable *servable;
    const struct signature *signature;
    const struct plan *plan; /* NULL: `status` is the reason */
    struct status status;    /* its text lives as long as the servable */
    bool predictable;        /* inputs of one shape have similar costs, so the loop may run them */
    bool batches;            /* rows of different requests may share a run, and that is cheaper */
    struct cost_table costs;
    struct call_queue queue;
    struct budget *budget;       /* charged for its runs; NULL: not charged */
    struct budget_holder holder; /* of the idle runs */
    struct idle_runs idle;       /* for all threads without a number */
    struct own_runs *own;        /* [servable->loops] */
    /* The metric series of its requests, by protocol, and of its runs. NULL: none yet. Freed
     * with the servable. */
    _Atomic(struct request_series *) counted[SERVABLE_PROTOCOLS_MAX];
    _Atomic(struct metric_series *) rows_counted, rows_chosen;
};

/* 64 bytes, so that no two loops write to the same cache line. */
struct own_runs {
    _Alignas(64) struct idle_runs idle;
};
struct own_references {
    /* Acquired minus released, written by one thread only. Negative: references that other
     * threads acquired were released here. */
    _Alignas(64) _Atomic int count;
};

/* The log and sampling rate of the version's requests. Set by the manager. */
struct servable_log {
    _Atomic uint64_t id;        /* of the log, which may no longer exist; 0: none */
    _Atomic uint64_t threshold; /* a request is logged if a random 64-bit number is below it;
                                 * UINT64_MAX: always */
};

struct servable {
    const char *name;
    int64_t version;
    uint64_t serial; /* unique among the servables that this process has loaded; never 0 */
    struct savedmodel *model;
    struct model_gate *gate;    /* model_limits.h; NULL: the model has no limits */
    struct callable *callables; /* one per signature, in the model's order */
    int callables_count;
    struct arena *arena;
    struct metric_owner series; /* metric series that are removed with this version */
    struct servable_log log;
    _Atomic int references;     /* those of the manager, and of threads without a number */
    struct own_references *own; /* [loops] */
    int loops;
};

/* Gives the calling thread a number, from 1; 0: none. */
void servable_number_thread(int number);
/* Call it before other threads know the servable: threads up to this number get their own
 * references and idle runs. */
void servable_divide(struct servable *servable, int loops);

/* Call it before the first run. From then on runs are charged to `budget`, which outlives the
 * servable. It frees idle runs when it is short of memory, and those that stay idle for several
 * of its sweeps. */
void servable_charge(struct servable *servable, struct budget *budget);
/* Call it before the first run. From then on calls form batches according to `batching`, which
 * outlives the servable or lives in its arena. */
void servable_batch(struct servable *servable, const struct batching *batching);
struct servable *servable_acquire(struct servable *servable);
/* Releases the reference of a request, which is never the last: servable_destroy releases the
 * manager's, in a thread where freeing may take long. */
void servable_release(struct servable *servable);
/* The number of references held by all threads. Exact once no thread can find the servable any
 * more; before that, it may be too large.
 *
 * A thread with a number releases references that it, or a thread without a number, acquired. */
int servable_references(const struct servable *servable);
void servable_destroy(struct servable *servable); /* accepts NULL */

/* The functions by which the manager loads and frees servables. */
struct servable_loader {
    /* Loads the model and makes the plans. Owner: one reference for the caller. Errors:
     * savedmodel_load's; why the default signature or, without one, every signature has no plan. */
    struct status (*load)(const char *name, int64_t version, const char *directory,
                          const struct savedmodel_options *options, struct servable **out);
    void (*free)(struct servable *servable);
};
extern const struct servable_loader servable_loader;

/* Finds the signature; an empty name means `serving_default`. NULL: not found. */
struct callable *servable_callable(struct servable *servable, struct bytes signature_name);

/* Checks that predict accepts the method name, for servers with
 * --enable_signature_method_name_check. INTERNAL: it does not. */
struct status callable_check_predict(const struct callable *callable);

/* callable_init makes one without a plan, for a servable or a test; callable_finish frees its
 * idle runs. */
void callable_init(struct callable *callable, struct servable *servable,
                   const struct signature *signature);
void callable_finish(struct callable *callable);

/* Takes an idle or new run, and returns it. Threads: safe. */
struct run *callable_take_run(struct callable *callable, size_t memory_limit_bytes);
void callable_give_run(struct callable *callable, struct run *run);

#endif
