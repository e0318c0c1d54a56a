/*
 * What plan.c and its helpers make and executor.c runs. Nobody outside core/runtime includes this.
 *
 * While it is made, a plan is a tree of regions: a region is a flattened graph (the signature's
 * own, or a branch or loop body) with what is known of each value. When it is made, it is a tree of
 * blocks: linear lists of steps. Every value of the whole tree has a slot of its own, so a body
 * reads what it captures straight from the slot of whoever made it: arguments of branches and
 * invariant arguments of loops cost nothing, and constants reach into every body.
 */
#ifndef RUNTIME_PLAN_INTERNAL_H
#define RUNTIME_PLAN_INTERNAL_H

#include "runtime/kernel.h"
#include "runtime/plan.h"

/* In step->inputs and block->results: nobody uses the slot afterwards, so its value may be taken.
 */
#define SLOT_LAST  UINT32_C(0x80000000)
#define SLOT_INDEX UINT32_C(0x7fffffff)
#define SLOT_NONE  SLOT_INDEX

/* How deep branches and loops may nest, and how many nodes all their bodies may have together: a
 * file chooses both. */
#define REGION_DEPTH_MAX 64
#define REGION_NODES_MAX 4000000

/* How many outputs the nodes of unknown ops may have together: a file names any number. */
#define UNKNOWN_OUTPUTS_MAX 65536

/* What computing one constant from small ones may use, see emit.c. */
#define MAKE_BYTES_MAX ((size_t)64 << 20)

struct step {
    struct status (*compute)(struct kernel_context *context);
    void *state;
    const struct node *node;
    uint32_t *inputs;         /* slots, with SLOT_LAST */
    const uint32_t *releases; /* slots given up when it is done */
    const bool *unwanted;     /* [outputs_count], or NULL: all are used */
    uint32_t first_output;    /* output i goes to slot first_output + i */
    int inputs_count, outputs_count, releases_count;
    bool costly;
    const struct control *control; /* a branch or a loop: what it runs */
};

struct block {
    struct step *steps;
    int steps_count, steps_capacity;
    int id;
    uint32_t *results; /* with SLOT_LAST */
    int results_count;
    uint32_t *captures; /* slots of others that it uses */
    int captures_count;
};

/* What a step of If, Case, While runs. */
struct control {
    struct block **blocks; /* the branches; of a loop: cond, body */
    int blocks_count;
    uint32_t *carried; /* of a loop: the slots that the body reads and each round writes anew */
    uint32_t *next;    /* as many, where a round's results wait for each other */
    int *outputs;      /* of a loop: which output of the node each carried value is */
    int carried_count;
    bool by_number; /* Case: input 0 is an index, not a truth */
    const char *kind;
};

struct plan_cleanup {
    void (*destroy)(void *state);
    void *state;
};

struct plan {
    struct arena *arena;
    struct resources *resources;
    struct plan_options options;
    uint64_t serial; /* what frames of runs are found by: an address may come back */
    struct block *main;
    const struct tensor **constants; /* [slots_count], NULL: computed */
    uint32_t slots_count;
    uint32_t *feeds;
    enum dtype *feed_dtypes;
    struct shape *feed_shapes; /* as declared */
    int feeds_count;
    int steps_count, blocks_count;
    bool rows_independent, batch_pays, has_loop;
    struct tensor **owned; /* constants to release */
    int owned_count, owned_capacity;
    struct plan_cleanup *cleanups;
    int cleanups_count, cleanups_capacity;
};

/* The values of one plan in one run. */
struct frame {
    uint64_t serial;
    uint64_t used; /* run->clock at its last use */
    struct tensor *storage;
    const struct tensor **values; /* slot -> the constant, the feed, or storage */
    uint32_t slots_count;
};

#define RUN_FRAMES 8

struct run {
    struct arena *arena;
    struct tensor_pool *pool;
    uint64_t deadline_ns;
    size_t kept_bytes, kept_max; /* that variables and tables have taken over; max 0: not counted */
    struct status (*check)(const void *context);
    const void *check_context;
    int width;
    uint64_t random;
    uint64_t clock;
    struct frame frames[RUN_FRAMES];
};

struct kernel_context {
    const struct step *step;
    const struct tensor **values;
    struct tensor *storage;
    struct run *run;
    const struct plan *plan;
};

/* The run's frame for a plan; made at the first use. */
struct frame *run_frame(struct run *run, const struct plan *plan);
/* DEADLINE_EXCEEDED where the run's time is over, and what run_set_check's function says. */
struct status run_check(const struct run *run);
struct status run_block(struct kernel_context *context, const struct block *block);

/* ---- making: one thread, at load ---- */

/* What is known of one output of one node. */
struct value {
    const struct tensor *constant;
    const struct node *handle; /* the VarHandleOp or VariableV2 that it comes from */
    struct endpoint same;      /* node != NULL: it is this other value of the region */
    uint32_t slot;             /* SLOT_NONE: no place yet */
};

/* The bodies of a node that is a branch or a loop. */
struct branches {
    struct region **regions; /* of a loop: cond, body */
    int count;
    bool is_loop;
    int chosen;      /* the branch that a constant condition takes; -1: known when it runs */
    bool *invariant; /* of a loop: [inputs] the body hands it on as it is */
};

struct region {
    struct graph *graph;
    struct region *parent;
    const char *function; /* that this is the body of; NULL: the signature */
    struct node **nodes;  /* in an order that honours every edge */
    int nodes_count, nodes_capacity;
    struct endpoint *args, *results;
    int args_count, results_count;
    struct node **targets;
    int targets_count;
    struct value **values;       /* by node id */
    struct branches **branches;  /* by node id */
    int ids_count, ids_capacity; /* of nodes, those made here included */
    int depth;
};

struct maker {
    struct plan *plan;
    struct arena *arena; /* the plan's */
    struct run *run;     /* for what is computed when the plan is made; NULL: nothing is */
    size_t given_bytes;  /* of the constants and variables that stand in the files */
    size_t folded_bytes; /* of the constants that were made of them */
    const struct map *mutable_variables;
    struct map *written; /* where to note variables that are written; NULL: not asked */
    bool analyse;        /* only look: compute nothing, ask for no kernel */
    int64_t nodes_count, unknown_outputs;
    struct graph **graphs; /* of all regions */
    int graphs_count, graphs_capacity;
    uint32_t slots_capacity;
    int *owners; /* [slots] the block that makes the slot; -1: nobody, a constant or feed */
    int *stamps; /* [slots] liveness.c's mark */
    int stamp;
};

struct prepare_context {
    struct maker *maker;
    struct region *region;
    const struct node *node;
    struct step *step;
};

/* region.c: the tree of graphs. */
struct status region_create(struct maker *maker, struct region *parent, const struct graph *graph,
                            const struct flatten_request *request, struct region **out);
struct value *region_value(const struct region *region, struct endpoint endpoint);
/* Follows `same` to the value itself. */
struct endpoint region_resolve(const struct region *region, struct endpoint endpoint);
/* A node of ours, not yet in the order: its outputs are to be filled in. */
struct node *region_add(struct maker *maker, struct region *region, const char *op,
                        const char *name, int inputs_count, int outputs_count);
void region_append(struct maker *maker, struct region *region, struct node *node);
/* Makes the bodies of a branch or loop, with what is known of its inputs. */
struct status region_branches(struct maker *maker, struct region *region, struct node *node);
bool node_is_control(const struct node *node);
bool node_is_identity(const struct node *node);

/* check.c: what kernels take for granted. */
struct status check_fused(const struct node *node);
struct status check_body(const struct node *node, const struct region *body, int first_input,
                         bool is_condition);
struct status check_feeds(struct region *region);

/* fold.c: finds out what is constant; walks into bodies. */
struct status region_fold(struct maker *maker, struct region *region);
void region_prune(struct region *region); /* drops nodes that nothing needs */

/* fuse.c: patterns of nodes become one; walks into bodies. */
void region_fuse(struct maker *maker, struct region *region);

/* emit.c: regions to blocks. */
struct status region_emit(struct maker *maker, struct region *region, struct block **out);
/* Computes a node whose inputs are constants; outputs are the plan's. */
struct status evaluate_node(struct maker *maker, struct region *region, struct node *node,
                            const struct kernel *kernel, struct tensor *outputs);

/* liveness.c: last uses. */
void block_liveness(struct maker *maker, struct block *block);

/* plan.c */
const struct tensor *plan_own(struct plan *plan, struct tensor tensor);
struct status missing_kernel(const struct node *node);
bool input_is_ref(const struct node *node, int index);
struct bytes variable_name(const struct node *handle); /* its shared name */

/* control.c: what branches and loops do when they run. */
struct status branch_compute(struct kernel_context *context);
struct status loop_compute(struct kernel_context *context);
/* format.md §12.3: bool; number not 0; string not empty; a tensor that is no scalar: has elements.
 */
struct status condition_truth(const struct tensor *condition, bool *out);

#endif
