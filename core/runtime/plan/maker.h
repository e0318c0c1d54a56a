/*
 * maker: makes a plan, on one thread, when a servable is loaded. Internal to runtime/plan.
 *
 *     region_create            region.c     makes a region of a flattened graph: the signature's
 *                                           and, with fold.c, those of its branches and loops
 *     region_remove_dead_code  dead_code.c  drops ops that others wait for and nothing reads
 *     region_fold              fold.c       computes constants, removes identities
 *     region_fuse              fuse.c       makes one node of a pattern of nodes
 *     region_emit              emit.c       makes blocks of steps of the regions; prepares kernels
 *     block_liveness           liveness.c   finds the last use of every slot
 *     region_rows_independent  rows.c       proves that requests may share a run
 */
#ifndef RUNTIME_PLAN_MAKER_H
#define RUNTIME_PLAN_MAKER_H

#include "runtime/steps.h"

/* The deepest nesting of branches and loops, and the most nodes of all their bodies together. They
 * are limited because a file chooses both; a node takes about 2 KB while the plan is made. */
#define REGION_DEPTH_MAX 64
#define REGION_NODES_MAX 500000

/* The most outputs of all nodes of unknown ops together: a file can name any number. */
#define UNKNOWN_OUTPUTS_MAX 65536

/* The memory that computing one constant from small ones may use, see emit.c. */
#define MAKE_BYTES_MAX ((size_t)64 << 20)

/* The facts about one output of one node. */
struct plan_value {
    const struct tensor *constant;
    const struct node *handle; /* the VarHandleOp or VariableV2 that it comes from */
    struct endpoint same;      /* node != NULL: it is this other value of the region */
    uint32_t slot;             /* SLOT_NONE: it has none yet */
    bool is_written_out;       /* the constant follows from Const nodes of the region alone, so that
                                * TensorFlow's optimizer knows it, too */
};

/* The bodies of a node that is a branch or a loop, or whose kernel runs functions. */
struct branches {
    struct region **regions; /* of a loop: cond, body */
    int count;
    bool is_loop;
    int chosen; /* the branch that a constant condition chooses; -1: known when it runs */
    /* [inputs] Is the input an argument that never changes? NULL: all are. In a loop, the body
     * returns it unchanged; a kernel that runs functions passes it to each call. */
    bool *invariant;
    /* [count] of functions: the first such input, and how many there are. */
    int *captures, *captures_count;
};

/* A flattened graph, the signature's own or the body of a branch or loop, and the facts about each
 * value in it. */
struct region {
    struct graph *graph;
    struct region *parent;
    const char *function; /* the function that it is the body of; NULL: the signature */
    struct node **nodes;  /* in an order that honours every edge */
    int nodes_count, nodes_capacity;
    struct endpoint *args, *results;
    int args_count, results_count;
    struct node **targets;
    int targets_count;
    struct plan_value **values;  /* [ids_count][outputs] by node id */
    struct branches **branches;  /* [ids_count] by node id; NULL: neither branch nor loop */
    int ids_count, ids_capacity; /* of all nodes, including those that region_add made */
    int depth;
};

/* A step, by its node, that uses a constant; NULL: not a step of a kernel. */
struct constant_use {
    const struct tensor *constant;
    const struct node *user;
};

/* A kernel that can do without a constant, see prepare_claim. */
struct constant_claim {
    struct constant_use use;
    void (*take)(void *state, struct tensor *constant, struct buffer *scratch);
    void *state;
};

struct plan_maker {
    struct plan *plan;
    struct arena *arena; /* the plan's */
    struct run *run;     /* computes constants while the plan is made; NULL: none are */
    size_t given_bytes;  /* of the constants and variables in the files */
    size_t folded_bytes; /* of the constants that were computed from them */
    const struct map *mutable_variables;
    struct map taken;    /* of plan_options.own_variables: name -> the plan's tensor */
    struct map *written; /* receives the variables that are written; NULL: not requested */
    bool analyse;        /* only look: compute nothing, require no kernel */
    int64_t nodes_count, tensors_count, unknown_outputs;
    struct graph **graphs; /* of all regions */
    int graphs_count, graphs_capacity;
    uint32_t slots_capacity;
    int *owners; /* [slots] the block that writes the slot; -1: none, a constant or a feed */
    int *stamps; /* [slots] liveness.c's mark */
    int *takers; /* [slots] which input of its last user may take the value */
    int stamp;
    const struct node *emitting; /* the node whose step is being made; NULL: none */
    struct constant_use *uses;
    int uses_count, uses_capacity;
    struct constant_claim *claims;
    int claims_count, claims_capacity;
};

struct prepare_context {
    struct plan_maker *maker;
    struct region *region;
    const struct node *node;
    struct step *step;
    bool is_inner; /* of a kernel that another kernel calls */
};

/* region.c: the tree of graphs. */
struct status region_create(struct plan_maker *maker, struct region *parent,
                            const struct flatten_result *flat,
                            const struct flatten_request *request, struct region **out);
struct plan_value *region_value(const struct region *region, struct endpoint endpoint);
/* Follows `same` to the value itself. */
struct endpoint region_resolve(const struct region *region, struct endpoint endpoint);
/* Makes a node of one output that is not in the order yet; the caller describes the output. */
struct node *region_add(struct plan_maker *maker, struct region *region, const char *op,
                        const char *name, int inputs_count);
void region_append(struct plan_maker *maker, struct region *region, struct node *node);
/* Makes the bodies of a branch or loop, with the facts about its inputs. */
struct status region_branches(struct plan_maker *maker, struct region *region, struct node *node);
/* The same for the functions that a kernel runs. */
struct status region_functions(struct plan_maker *maker, struct region *region, struct node *node);
bool node_is_control(const struct node *node);
bool node_is_identity(const struct node *node);

/* check.c: what kernels take for granted. */
struct status check_fused(const struct node *node);
/* Is the last input of a fused convolution an image that is added to its result? */
bool node_has_addend(const struct node *node);
struct status check_body(const struct node *node, const struct region *body, int first_input,
                         bool is_condition);
/* The last arguments of a function are inputs of the node, from `first_input` on. */
struct status check_captures(const struct node *node, const struct region *body, int first_input,
                             int count);
struct status check_feeds(struct region *region);

/* dead_code.c: makes a NoOp of each node that has no effect and whose outputs nothing reads. */
void region_remove_dead_code(struct region *region);

/* fold.c: finds out what is constant; walks into bodies. */
struct status region_fold(struct plan_maker *maker, struct region *region);
void region_prune(struct region *region); /* drops nodes that nothing needs */

/* fuse.c: patterns of nodes become one; walks into bodies. */
void region_fuse(struct plan_maker *maker, struct region *region);

/* chunk.c: the most rows of a batch that should run together; 0: any number. */
int64_t region_chunk_rows(const struct region *region);

/* emit.c: regions become blocks. */
struct status region_emit(struct plan_maker *maker, struct region *region, struct plan_block **out);
/* Computes a node whose inputs are constants; the caller owns the outputs. RESOURCE_EXHAUSTED: they
 * take more than `bytes_max` bytes, the characters of strings included; 0: they may. */
struct status evaluate_node(struct plan_maker *maker, struct region *region, struct node *node,
                            const struct kernel *kernel, size_t bytes_max, struct tensor *outputs);

/* constants.c: after all steps are made, drops the constants that none of them uses, and lets
 * kernels take those that only they use. */
void note_constant_use(struct plan_maker *maker, const struct tensor *constant);
void plan_settle_constants(struct plan_maker *maker);

/* liveness.c: last uses. */
void block_liveness(struct plan_maker *maker, struct plan_block *block);

/* plan.c */
/* Makes the plan the owner of a constant. */
const struct tensor *plan_own(struct plan *plan, struct tensor tensor);
struct bytes variable_name(const struct node *handle); /* its shared name */

#endif
