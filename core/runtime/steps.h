/*
 * steps: a finished plan in the executor's form, and the state of its runs. Internal to
 * core/runtime; runtime/plan/maker.h makes it.
 *
 * A plan is a tree of blocks. A block is a linear list of steps: the signature's own, or the body
 * of a branch or a loop. A step calls one kernel. Every value of the whole tree has its own slot,
 * and a body reads a value of an outer block directly from its slot: passing arguments to branches,
 * and arguments that a loop never changes, costs nothing.
 *
 *     plan ── main ── step, step, step ── control ── block ── step, step
 *                                                └── block ── step
 */
#ifndef RUNTIME_STEPS_H
#define RUNTIME_STEPS_H

#include <assert.h>

#include "runtime/functions.h"
#include "runtime/kernel.h"
#include "runtime/plan.h"

/* A mark on the slots in step->inputs and plan_block->results: this is the last use of the slot,
 * and the user may take its value. */
#define SLOT_LAST  UINT32_C(0x80000000)
#define SLOT_INDEX UINT32_C(0x7fffffff)
#define SLOT_NONE  SLOT_INDEX

struct step {
    struct status (*compute)(struct kernel_context *context);
    void *state; /* the kernel's, from prepare_state */
    const struct node *node;
    uint32_t *inputs;         /* slots, with SLOT_LAST */
    const uint32_t *releases; /* slots to release when the step is done */
    const bool *unwanted;     /* [outputs_count] outputs that nothing uses; NULL: there are none */
    uint32_t first_output;    /* output i goes to slot first_output + i */
    int inputs_count, outputs_count, releases_count;
    bool costly;                           /* check the deadline before this step */
    bool any_rank;                         /* the kernel's */
    const struct control *control;         /* the blocks of a branch or a loop; NULL: neither */
    const struct plan_function *functions; /* the functions of a kernel with OP_FUNCTIONS */
    int functions_count;
};

struct plan_block {
    struct step *steps;
    int steps_count, steps_capacity;
    int id;
    uint32_t *results; /* slots, with SLOT_LAST */
    int results_count;
    uint32_t *captures; /* slots of other blocks that this block, or one inside it, uses */
    int captures_count;
};

/* The blocks that a step of If, Case or While runs. */
struct control {
    struct plan_block **blocks; /* the branches; of a loop: cond, body */
    int blocks_count;
    uint32_t *carried; /* of a loop: slots that the body reads and each iteration overwrites */
    uint32_t *next;    /* [carried_count] where results of an iteration are kept until all are
                        * complete */
    int *outputs;      /* [carried_count] the output of the node for each carried value */
    int carried_count;
    bool by_index;   /* Case: input 0 is an index, not a truth value */
    bool is_lowered; /* node_is_lowered */
};

/* A function that a kernel runs (runtime/functions.h). */
struct plan_function {
    const struct plan *plan;
    const char *name;
    struct plan_block *block;
    uint32_t *args;        /* slots; SLOT_NONE: the plan knows the value */
    enum dtype *arg_types; /* [args_count] */
    int args_count, captures_count;
    int first_capture; /* the input of the node */
};

/* A running function, and its caller. */
struct running_function {
    const struct plan_function *function;
    const struct running_function *caller;
};

struct plan_cleanup {
    void (*destroy)(void *state);
    void *state;
};

struct plan {
    struct arena *arena;
    struct resources *resources;
    struct plan_options options;
    uint64_t serial; /* identifies the plan in a run's frames: an address may be used again */
    struct plan_block *main;
    const struct tensor **constants; /* [slots_count], NULL: computed */
    uint32_t slots_count;
    uint32_t *feeds; /* [feeds_count] slots */
    enum dtype *feed_dtypes;
    struct shape *feed_shapes; /* as declared */
    int feeds_count;
    int steps_count, blocks_count;
    bool rows_independent, batch_pays, has_loop;
    bool has_effects;      /* a second run may do something else than the first */
    int64_t chunk_rows;    /* the most rows of a run: longer batches run in chunks; 0: no limit */
    struct tensor **owned; /* constants to release with the plan */
    int owned_count, owned_capacity;
    struct plan_cleanup *cleanups;
    int cleanups_count, cleanups_capacity;
};

/* The values of one plan in one run. */
struct run_frame {
    uint64_t serial; /* of the plan */
    uint64_t used;   /* run->clock at its last use */
    struct tensor *storage;
    const struct tensor **values; /* by slot: points at the constant, the feed, or storage[slot] */
    uint32_t slots_count;
};

/* A run serves several plans in turn and keeps the frames of the last few. */
#define RUN_FRAMES 8

struct run {
    struct arena *arena;
    struct tensor_pool *pool;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
    bool packed;          /* a feed has a packed shape, so others may */
    bool lends_feeds;     /* run_lend_feeds */
    bool is_repeated;     /* after kernel_repeat: no step overwrites its inputs early */
    bool must_repeat;     /* kernel_repeat */
    size_t kept_bytes;    /* bytes that variables and tables have taken over */
    size_t kept_max;      /* of kept_bytes; 0: not counted */
    size_t memory_max;    /* of the arena, of the pool, and of each table that the run fills */
    size_t grown_bytes;   /* growth of tables in this run */
    struct status (*check)(const void *context);
    const void *check_context;
    struct run_profile *profile; /* NULL: steps are not timed */
    uint64_t random;             /* state of kernel_random_seed */
    uint64_t clock;              /* counts uses of frames */
    struct object **named;       /* kernel_name_object */
    int64_t named_count, named_capacity;
    const struct running_function *running; /* the innermost one */
    struct run_frame frames[RUN_FRAMES];
};

struct kernel_context {
    const struct step *step;
    const struct tensor **values;
    struct tensor *storage;
    struct run *run;
    const struct plan *plan;
};

/* The run's frame for a plan; created at the first use, replacing the least recently used one. */
struct run_frame *run_find_frame(struct run *run, const struct plan *plan);
/* Releases the objects that kernel_name_object keeps. */
void run_release_named(struct run *run);
/* DEADLINE_EXCEEDED when the run's time is over, or the failure of run_set_check's function. */
struct status run_check(const struct run *run);
struct status run_block(struct kernel_context *context, const struct plan_block *block);
/* plan_run without chunks. */
struct status run_whole(const struct plan *plan, struct run *run, const struct tensor *feeds,
                        struct tensor *fetches);

/* chunks.c: a batch whose values do not fit into the cache runs in chunks of rows. The chunks
 * depend only on the sizes. */
bool run_takes_chunks(const struct plan *plan, const struct tensor *feeds);
struct status run_in_chunks(const struct plan *plan, struct run *run, const struct tensor *feeds,
                            struct tensor *fetches);

/* One reference to the value of a slot: the slot's own, if this is its last use. */
static inline struct tensor take_value(const struct kernel_context *context, uint32_t marked)
{
    uint32_t slot = marked & SLOT_INDEX;
    if (!(marked & SLOT_LAST))
        return tensor_acquire(context->values[slot]);
    assert(context->values[slot] == &context->storage[slot]); /* computed: no constant, no feed */
    struct tensor value = context->storage[slot];
    context->storage[slot].buffer = NULL;
    return value;
}

static inline void put_value(const struct kernel_context *context, uint32_t slot,
                             struct tensor value)
{
    struct tensor *place = &context->storage[slot];
    assert(context->values[slot] == place);
    if (place->buffer != NULL)
        tensor_release(place);
    *place = value;
}

static inline void drop_value(const struct kernel_context *context, uint32_t slot)
{
    struct tensor *place = &context->storage[slot];
    if (place->buffer != NULL)
        tensor_release(place);
}

/* The compute functions of branches and loops (control.c). */
struct status branch_compute(struct kernel_context *context);
struct status loop_compute(struct kernel_context *context);
/* The truth of a condition, as TensorFlow's ToBool defines it: a scalar is true if it is not zero
 * (a string: not empty), any other tensor if it has elements. */
struct status condition_truth(const struct tensor *condition, bool *out);

/* Chooses the block of a branch by its condition. INVALID_ARGUMENT: not a condition. */
struct status branch_choose(const struct control *control, const struct tensor *condition,
                            int *out);

/**
 * Prepares a kernel for a step that the kernel of `context` runs itself, such as one link of a
 * fused node. The inner kernel sees `node`, whose inputs are endpoints of the plan, or NULL nodes
 * for values that only the outer kernel knows. Only step->state is written.
 */
struct status prepare_inner(const struct prepare_context *context, const struct node *node,
                            const struct kernel *kernel, struct step *step);

#endif
