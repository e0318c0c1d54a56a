/*
 * servable: one loaded version of a model, shared by the requests that use it. It is reference
 * counted: the manager holds one reference while the version serves, each loop one while it
 * remembers the version (servable_cache.h), and each request one while it runs. Unloading waits
 * until only the manager's is left.
 *
 * Loops share nothing that they write for each request. A loop's thread has a number, by which it
 * finds its own count of references and its own idle runs. All other threads share theirs.
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

/* A run that waits for the next request. */
struct idle_run {
    struct run *run;
    int sweeps; /* by the budget, since it was last used */
    struct idle_run *next;
};

#define SERVABLE_PROTOCOLS_MAX 4

struct request_series;

/* The runs of a callable that wait for the next request. */
struct idle_runs {
    pthread_mutex_t lock;   /* the budget's sweeps take it as well */
    struct idle_run *first; /* the last used first */
};

/* One signature, and what serving it needs. */
struct callable {
    struct servable *servable;
    const struct signature *signature;
    const struct plan *plan; /* NULL: `status` says why the signature cannot answer */
    struct status status;    /* its text lives as long as the servable */
    bool predictable;        /* inputs of one shape cost about the same, so the loop may run them */
    bool batches;            /* rows of different requests may run together, and that is cheaper */
    struct cost_table costs;
    struct call_queue queue;
    struct budget *budget;       /* pays for its runs; NULL: nothing does */
    struct budget_holder holder; /* of the idle runs */
    struct idle_runs idle;       /* of all threads without a number */
    struct own_runs *own;        /* [servable->loops] */
    /* The counters of its requests, by protocol, and of its runs. NULL: there were none yet. Freed
     * with the servable. */
    _Atomic(struct request_series *) counted[SERVABLE_PROTOCOLS_MAX];
    _Atomic(struct metric_series *) rows_counted, rows_chosen;
};

/* These are 64 bytes, so that no two loops write to the same cache line. */
struct own_runs {
    _Alignas(64) struct idle_runs idle;
};
struct own_references {
    /* Taken less given back, written by one thread only. Negative: a reference that another thread
     * took was given back here. */
    _Alignas(64) _Atomic int count;
};

/* Where requests of the version are logged, and how many of them. The manager sets it. */
struct servable_log {
    _Atomic uint64_t id;        /* of the log, which may have gone; 0: none are */
    _Atomic uint64_t threshold; /* a random number of 64 bits is below it; UINT64_MAX: all are */
};

struct servable {
    const char *name;
    int64_t version;
    uint64_t serial; /* differs in each servable that this process has loaded; never 0 */
    struct savedmodel *model;
    struct model_gate *gate;    /* model_limits.h; NULL: the model has no limits */
    struct callable *callables; /* one per signature, in the model's order */
    int callables_count;
    struct arena *arena;
    struct metric_owner series; /* that go with this version */
    struct servable_log log;
    _Atomic int references;     /* the manager's, and those of threads without a number */
    struct own_references *own; /* [loops] */
    int loops;
};

/* Gives the calling thread a number, from 1; 0: none. */
void servable_number_thread(int number);
/* Called before other threads know the servable: threads up to this number have references and idle
 * runs of their own. */
void servable_divide(struct servable *servable, int loops);

/* Called before the first run. From then on `budget`, which outlives the servable, pays for the
 * runs. It frees idle runs when it is short of memory, and those that stay idle for some of its
 * sweeps. */
void servable_charge(struct servable *servable, struct budget *budget);
/* Called before the first run. From then on calls form batches as `batching` says, which outlives
 * the servable or lies in its arena. */
void servable_batch(struct servable *servable, const struct batching *batching);
struct servable *servable_acquire(struct servable *servable);
/* Gives back the reference of a request, which is never the last: servable_destroy frees the
 * manager's, in a thread where freeing may take its time. */
void servable_release(struct servable *servable);
/* The references that are held, by all threads together. Exact once no thread can find the servable
 * any more; before, it may be more than are held.
 *
 * A thread with a number gives back references that it took, or that a thread without one took. */
int servable_references(const struct servable *servable);
void servable_destroy(struct servable *servable); /* accepts NULL */

/* The functions by which the manager loads and frees servables. */
struct servable_loader {
    /* Loads the model and makes the plans. Owner: one reference for the caller. Errors:
     * savedmodel_load's; why the default signature has no plan, or, if none has that name, why no
     * signature has one. */
    struct status (*load)(const char *name, int64_t version, const char *directory,
                          const struct savedmodel_options *options, struct servable **out);
    void (*free)(struct servable *servable);
};
extern const struct servable_loader servable_loader;

/* Finds the signature; an empty name means `serving_default`. NULL: there is none. */
struct callable *servable_callable(struct servable *servable, struct bytes signature_name);

/* Checks that the method name is one that predict accepts, for servers with
 * --enable_signature_method_name_check. INTERNAL: it is not. */
struct status callable_check_predict(const struct callable *callable);

/* callable_init makes one without a plan, for a servable or a test; callable_finish frees its idle
 * runs. */
void callable_init(struct callable *callable, struct servable *servable,
                   const struct signature *signature);
void callable_finish(struct callable *callable);

/* Takes a run, idle or new, and gives it back. Threads: safe. */
struct run *callable_take_run(struct callable *callable, size_t memory_limit_bytes);
void callable_give_run(struct callable *callable, struct run *run);

#endif
