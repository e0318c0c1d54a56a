/*
 * plan: one signature made ready to run. The graph is pruned, calls are inlined, constants folded,
 * patterns fused and kernels prepared. The result is a tree of blocks (bodies of If, Case and While
 * are blocks), each a linear list of steps that knows the last use of every value.
 *
 * run: the state of one execution, which the next one reuses: values, a pool of buffers, an arena.
 *
 *     struct run *run = run_create(0);             one per thread, or taken from a pool
 *     TRY(plan_run(plan, run, feeds, fetches));
 *     tensor_release(&fetches[0]);                 the caller owns the fetches,
 *     run_reset(run);                              whose strings live until here
 */
#ifndef RUNTIME_PLAN_H
#define RUNTIME_PLAN_H

#include "graph/graph.h"
#include "tensor/tensor.h"

struct plan;
struct run;
struct resources;
struct budget;

/* Limits on the work of loading a model, because the file determines the computation. */
struct work_limits {
    size_t memory_bytes; /* memory that a run may hold at once, and keep afterwards; 0: no limit */
    int64_t timeout_ms;  /* for each part: the init op, the plan of one signature; 0: no limit */
    struct status (*check)(const void *context); /* called repeatedly: a failure ends the work */
    const void *context;
};

struct plan_options {
    bool no_fold; /* keep constants and variables as steps: for tests that compare both ways */
    bool no_fuse;
    bool writes_variables; /* the plan may run concurrently with others that write variables: it
                            * treats no variable as a constant */
    const struct work_limits *limits; /* for making the plan; NULL: none */
    /* Names of variables that nothing else reads, before or after: the plan takes over their
     * values and may change them in place, so that the weights are in memory only once. NULL:
     * none. */
    const struct map *own_variables;
};

/**
 * Makes a plan of the part of `graph` that `request` needs; it flattens any graph itself. The plan
 * refers to the arena and the library of `graph`, which must outlive it, and to no other part of
 * it.
 *
 * The plan treats a variable as a constant if it is initialised in `resources` and is not in
 * `mutable_variables`: the names of the variables that some signature or the servable's init op
 * writes (plan_written_variables). NULL: those that `request` writes.
 *
 * Errors  UNIMPLEMENTED `op 'Foo' of node 'x' is not implemented` (or not for its dtype);
 *         INVALID_ARGUMENT the graph contradicts itself; RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED
 *         beyond options->limits
 */
struct status plan_create(const struct graph *graph, const struct flatten_request *request,
                          struct resources *resources, const struct map *mutable_variables,
                          const struct plan_options *options, struct plan **out);
/* The same for a graph that this request has flattened already. Takes `flat`, even if it fails.
 * `mutable_variables` is not NULL. */
struct status plan_create_flat(struct flat_graph *flat, const struct flatten_request *request,
                               struct resources *resources, const struct map *mutable_variables,
                               const struct plan_options *options, struct plan **out);
void plan_destroy(struct plan *plan); /* accepts NULL */

/* Adds to `names` (key: shared name of the variable, in `arena`) every variable that running
 * `request` may write: its handle reaches an op that does more than read. */
struct status plan_written_variables(const struct graph *graph,
                                     const struct flatten_request *request, struct arena *arena,
                                     struct map *names);

/* Calls `report` for each node that `request` reaches and that has no kernel. For `savedmodel show`
 * and load errors. */
struct status plan_missing_kernels(const struct graph *graph, const struct flatten_request *request,
                                   void (*report)(void *context, const struct node *node),
                                   void *context);

/* May rows of different requests share a run? True if row i of every fetch provably depends only
 * on row i of the feeds (plan/rows.h). */
bool plan_rows_independent(const struct plan *plan);
/* Do these feeds have the ranks and row shapes that the proof assumed, and the same number of rows?
 * If not, the request must run alone. Two requests whose rows differ in shape must not share a run
 * either. */
bool plan_rows_fit(const struct plan *plan, const struct tensor *feeds);
/* Does the cost per row fall in a batch? It does for dense layers, and not for convolutions. */
bool plan_batch_pays(const struct plan *plan);
/* Do the shapes of the feeds alone determine the cost of a run? True if rows are independent and
 * there is no loop: then neither iterations nor the size of a tensor depend on a feed's values.
 * Such a plan has no side effects, and a run that was stopped may start again. */
bool plan_cost_is_predictable(const struct plan *plan);

int plan_steps_count(const struct plan *plan);
/* One line per step, indented by block: for `savedmodel show --plan`. */
void plan_print(const struct plan *plan, struct buffer *out);

/* memory_limit_bytes: the most that a run may hold at once, arena and buffers together; 0: no
 * limit. */
struct run *run_create(size_t memory_limit_bytes);
/* Takes the memory of the arena and the buffers from the budget, also while the run is kept for a
 * later request. Called before the first use. */
void run_charge(struct run *run, struct budget *budget);
/* From now on, fetches may borrow the elements of feeds, which must outlive them. */
void run_lend_feeds(struct run *run);
/* On CLOCK_MONOTONIC; 0: none. A run that is past it ends with DEADLINE_EXCEEDED. */
void run_set_deadline(struct run *run, uint64_t deadline_ns);
/* `check` is called wherever the deadline is checked: a failure ends the run. NULL: none. */
void run_set_check(struct run *run, struct status (*check)(const void *context),
                   const void *context);
/* Receives the duration of each step of a run, without the steps of its branches and bodies. */
struct run_profile {
    void (*step)(struct run_profile *profile, const struct node *node, int64_t took_ns);
    int64_t inner_ns; /* private: of the steps inside the current one */
};
/* Applies until it is set to NULL. A run with a profile uses a separate code path. */
void run_set_profile(struct run *run, struct run_profile *profile);
void run_set_limits(struct run *run, const struct work_limits *limits); /* deadline and check */
struct tensor_pool *run_pool(struct run *run); /* feeds may be made in it */
void run_reset(struct run *run);               /* after the fetches were released or copied */
/* Has the run asked for more memory than its own limit, since the last reset? */
bool run_hit_limit(const struct run *run);
/* Resets a run that is kept for a later request, and frees memory that recent runs did not need. */
void run_settle(struct run *run);
void run_destroy(struct run *run); /* accepts NULL */

/**
 * Runs. Borrows the feeds; a fetch may share the counted buffer of a feed.
 *
 * Owner   the caller owns the fetches: tensor_release each; their strings live until run_reset
 * Errors  INVALID_ARGUMENT a feed's dtype (`Expects arg[0] to be float but int32 is provided`), and
 *         what kernels say; DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED
 * Threads any number of runs of one plan at a time; one thread at a time for each run
 */
struct status plan_run(const struct plan *plan, struct run *run, const struct tensor *feeds,
                       struct tensor *fetches);

#endif
