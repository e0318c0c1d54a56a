/*
 * plan: one signature made ready to run: pruned, calls inlined, constants folded, patterns fused,
 * kernels prepared; a tree of regions (If, Case and While are regions), each a linear list of steps
 * with the last use of every value known. run: what one execution needs and the next one reuses:
 * values, a pool of buffers, an arena.
 *
 *     struct run *run = run_create(0);                              one per thread, or taken from a
 * pool TRY(plan_run(plan, run, feeds, fetches));                     fetches: owned by the caller
 * until run_reset run_reset(run);
 */
#ifndef RUNTIME_PLAN_H
#define RUNTIME_PLAN_H

#include "graph/graph.h"
#include "tensor/tensor.h"

struct plan;
struct run;
struct resources;
struct budget;

/* What the work of a load may cost: a file decides what is computed. */
struct work_limits {
    size_t memory_bytes; /* that a run may hold at once, and leave behind; 0: no limit */
    int64_t timeout_ms;  /* of each piece: the init op, the plan of one signature; 0: no limit */
    struct status (*check)(const void *context); /* asked again and again: a failure ends it */
    const void *context;
};

struct plan_options {
    bool no_fold; /* keep constants and variables as steps: for tests (folding off = on) */
    bool no_fuse;
    bool writes_variables; /* this plan may run beside others that write the variables: none is
                              taken for a constant */
    const struct work_limits *limits; /* of making the plan; NULL: none */
    int width;                        /* threads a run may use inside a kernel; 0 = 1 */
};

/**
 * Makes a plan of what `request` needs of `graph` (any graph: it is flattened here). The plan keeps
 * nothing of `graph` but what is in its arena and library: both must outlive it.
 *
 * A variable is a constant of the plan when it is initialised in `resources` and no node of `graph`
 * that is reachable from a signature can write it
 * (`mutable_variables`: names that some signature or the init op of the servable writes; see
 * plan_written_variables).
 *
 * Errors  UNIMPLEMENTED `op 'Foo' of node 'x' is not implemented` (or not for its dtype);
 * INVALID_ARGUMENT what the graph says wrong
 */
struct status plan_create(const struct graph *graph, const struct flatten_request *request,
                          struct resources *resources, const struct map *mutable_variables,
                          const struct plan_options *options, struct plan **out);
void plan_destroy(struct plan *plan); /* accepts NULL */

/* Adds to `names` (key: shared name of the variable, in `arena`) every variable that running
 * `request` may write: its handle reaches any op but a read. */
struct status plan_written_variables(const struct graph *graph,
                                     const struct flatten_request *request, struct arena *arena,
                                     struct map *names);

/* Every op that `request` reaches and that has no kernel: `report` is called once for each node.
 * For `savedmodel show` and load errors. */
struct status plan_missing_kernels(const struct graph *graph, const struct flatten_request *request,
                                   void (*report)(void *context, const struct node *node),
                                   void *context);

/*
 * May rows of different requests ride in one run: is every fetch, row i of it, a function of row i
 * of the feeds alone? Proved by a rule per op. And does it pay: does the cost of a row fall with
 * the batch (dense nets, not convolutions)?
 */
bool plan_rows_independent(const struct plan *plan);
/* Do these feeds have the ranks and row shapes that the proof took for granted, and one number of
 * rows? A request whose feeds do not must not share a run with others; nor may two whose rows
 * differ in shape. */
bool plan_rows_fit(const struct plan *plan, const struct tensor *feeds);
bool plan_batch_pays(const struct plan *plan);
/* Do the shapes of the feeds tell what a run costs? Rows are proven independent and there is no
 * loop: neither the number of a loop's turns nor the size of a tensor depends on a feed's values.
 * Such a plan has no side effects: a run that was stopped may start again. */
bool plan_cost_is_predictable(const struct plan *plan);

int plan_steps_count(const struct plan *plan);
/* One line per step, indented by region: for `savedmodel show --plan` and for people. */
void plan_print(const struct plan *plan, struct buffer *out);

/* memory_limit_bytes: what a run may hold at once, arena and buffers together; 0 = no limit. */
struct run *run_create(size_t memory_limit_bytes);
/* From the start: its arena and its buffers are taken from the budget, also while the run is kept
 * for the next one. */
void run_charge(struct run *run, struct budget *budget);
void run_set_deadline(
    struct run *run,
    uint64_t deadline_ns); /* CLOCK_MONOTONIC; 0 = none; DEADLINE_EXCEEDED when past */
/* Asked where the deadline is looked at: a failure ends the run. NULL: nobody is asked. */
void run_set_check(struct run *run, struct status (*check)(const void *context),
                   const void *context);
void run_set_limits(struct run *run, const struct work_limits *limits); /* deadline and check */
void run_set_width(struct run *run, int width); /* 0: what the plan's options say */
struct arena *run_arena(struct run *run);       /* lives until run_reset: for feeds' strings too */
struct tensor_pool *run_pool(struct run *run);  /* feeds may be made in it */
void run_reset(struct run *run);                /* after the fetches were released or copied */
/* Resets it to be kept for a later request: memory that recent runs did not need is freed. */
void run_settle(struct run *run);
void run_destroy(struct run *run);

/**
 * Runs. Feeds are borrowed (a feed with a counted buffer may be shared into the fetches). Fetches
 * are the caller's: tensor_release each. Strings of fetches live until run_reset.
 *
 * Errors  INVALID_ARGUMENT feed dtype (`Expects arg[0] to be float but int32 is provided`), and
 * what kernels say; DEADLINE_EXCEEDED; RESOURCE_EXHAUSTED Threads one plan, many runs; one run, one
 * thread
 */
struct status plan_run(const struct plan *plan, struct run *run, const struct tensor *feeds,
                       struct tensor *fetches);

#endif
