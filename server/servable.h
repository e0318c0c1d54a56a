/*
 * servable: one loaded version of a model, shared by the requests that use it. It is counted: the
 * manager holds one reference while it serves, each request one for its duration; unloading waits
 * until only the manager's is left.
 */
#ifndef SERVER_SERVABLE_H
#define SERVER_SERVABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "savedmodel/load.h"
#include "server/cost_table.h"

#define BATCH_ROWS_MAX 64

/* A run that is free for the next request. */
struct idle_run {
    struct run *run;
    int sweeps; /* of the budget since it was used */
    struct idle_run *next;
};

/* What serving one signature needs beyond the signature. */
struct callable {
    struct servable *servable;
    const struct signature *signature;
    const struct plan *plan; /* NULL: `status` says why */
    struct status status;    /* its text lives as long as the servable */
    bool predictable;        /* inputs of one shape cost about the same: the loop may run it */
    bool batches;            /* rows of different requests may run together, and it pays */
    struct cost_table costs;
    struct budget *budget;       /* of its runs; NULL: none */
    struct budget_holder holder; /* of the idle ones */
    pthread_mutex_t lock;
    struct idle_run *idle; /* the last used first */
};

struct servable {
    const char *name;
    int64_t version;
    uint64_t serial; /* another one in each that this process has loaded; never 0 */
    struct savedmodel *model;
    struct callable *callables; /* one per signature, in the model's order */
    int callables_count;
    struct arena *arena;
    _Atomic int references;
};

/* Loads, makes the plans. Owner: one reference for the caller. Errors: savedmodel_load's; why the
 * default signature has no plan, or if there is none of that name, why no signature has one. */
struct status servable_load(const char *name, int64_t version, const char *directory,
                            const struct savedmodel_options *options, struct servable **out);
/* Before the first run: from now on runs are paid for from `budget`, which outlives the servable,
 * and idle ones are freed when the budget is short, or after some sweeps of it. */
void servable_charge(struct servable *servable, struct budget *budget);
struct servable *servable_acquire(struct servable *servable);
/* Never the last one of a request's: the manager's is released by servable_destroy, where freeing
 * may take its time. */
void servable_release(struct servable *servable);
void servable_destroy(struct servable *servable);

/* An empty name means `serving_default`; NULL: no such signature. */
struct callable *servable_callable(struct servable *servable, struct bytes signature_name);

/* Is its method name one that predict may be asked for? INTERNAL, for a server that checks names.
 */
struct status callable_check_predict(const struct callable *callable);

/* A run, used before or new, and back. Threads: safe. */
struct run *callable_take_run(struct callable *callable, size_t memory_limit_bytes);
void callable_give_run(struct callable *callable, struct run *run);

#endif
