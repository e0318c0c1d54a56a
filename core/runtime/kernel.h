/*
 * kernel: how an op runs, for some dtypes. A kernel file holds its functions and one table of rows;
 * runtime/kernels/kernels.c lists the tables. An op may have several rows: the first whose dtypes
 * hold the type of `type_attr` is taken.
 *
 *     static const struct kernel rows[] = {
 *         { "Relu", DTYPES_REAL, .compute = relu_compute },
 *         { "Cast", DTYPES_ALL, .prepare = cast_prepare, .compute = cast_compute },
 *     };
 *     const struct kernel_table kernels_activation = { rows, COUNT(rows) };
 */
#ifndef RUNTIME_KERNEL_H
#define RUNTIME_KERNEL_H

#include "graph/graph.h"
#include "tensor/tensor.h"

struct kernel_context;
struct prepare_context;
struct resources;
struct run;

struct kernel {
    const char *op;
    dtype_set dtypes;      /* of the attribute `type_attr`; DTYPES_ALL where it does not matter */
    const char *type_attr; /* NULL: "T", or the op's first type attribute if it has no T */
    struct status (*prepare)(struct prepare_context *context); /* once per plan: attributes, packed
                                                                  weights; may be NULL */
    struct status (*compute)(struct kernel_context *context);  /* per run */
    bool costly; /* long enough to check the deadline before it */
    bool once;   /* what it gives is the same in every run and no input decides it: a handle, a
                    constant. Computed when the plan is made, never folded away */
};

struct kernel_table {
    const struct kernel *rows;
    size_t count;
};

/* The row for a node, or NULL. */
const struct kernel *kernel_find(const struct node *node);
const struct kernel_table *const *kernel_tables(size_t *count);
bool kernel_has_op(const char *op); /* a row for any dtype */
/* The dtype that chooses among a node's rows; NOT_FOUND: its op has no type attribute. */
struct status kernel_dtype(const struct node *node, enum dtype *out);

/* ---- preparing: once, at load, on one thread ---- */

const struct node *
prepare_node(const struct prepare_context *context); /* attributes by node_attr_*(…) */
/* The value of an input that is constant in this plan (after folding, variables that nothing writes
 * included), or NULL. Lives as long as the plan. */
const struct tensor *prepare_constant(const struct prepare_context *context, int input);
struct arena *prepare_arena(struct prepare_context *context); /* the plan's */
struct resources *prepare_resources(struct prepare_context *context);
/* State for compute, in the plan's arena, zeroed; `destroy` (may be NULL) is called with it when
 * the plan goes. */
void *prepare_state(struct prepare_context *context, size_t size_bytes,
                    void (*destroy)(void *state));

/* ---- running: many threads may run one plan; nothing but `state` is shared, and that is const
 * ---- */

const void *kernel_state(const struct kernel_context *context);
const struct node *kernel_node(
    const struct kernel_context *context); /* for error texts; attributes are read in prepare */
int kernel_inputs_count(const struct kernel_context *context);
int kernel_outputs_count(const struct kernel_context *context);
const struct tensor *kernel_input(const struct kernel_context *context, int index);
/* Does anything use this output? */
bool kernel_output_wanted(const struct kernel_context *context, int index);

/* A new output of the node's dtype for it, from the run's pool. Elements are not initialised
 * (strings empty, objects NULL). */
struct status kernel_output(struct kernel_context *context, int index, const struct shape *shape,
                            struct tensor **out);
/* The same with a dtype given (ops whose output type is not in the graph). */
struct status kernel_output_typed(struct kernel_context *context, int index, enum dtype dtype,
                                  const struct shape *shape, struct tensor **out);
/* Like kernel_output, but writes over input `input` where that is its last use and its size and
 * dtype fit: for element-wise loops. */
struct status kernel_output_forward(struct kernel_context *context, int index, int input,
                                    const struct shape *shape, struct tensor **out);
/* Hands on a tensor (tensor_acquire, tensor_reshape, …): takes over the caller's ownership. */
void kernel_output_set(struct kernel_context *context, int index, struct tensor tensor);
/* Takes input `index` out of the frame, if this is its last use, else an acquired copy: for ops
 * that change an object in place (TensorListSetItem). */
struct tensor kernel_take_input(struct kernel_context *context, int index);

/* A scratch tensor of the run's pool; the caller releases it. */
struct status kernel_scratch(struct kernel_context *context, enum dtype dtype,
                             const struct shape *shape, struct tensor *out);
struct tensor_pool *
kernel_pool(struct kernel_context *context);                /* the run's: for what makes its
                                                               own tensors (kernel_output_set) */
struct arena *kernel_arena(struct kernel_context *context); /* the run's: characters of new strings
                                                               (arena_reserve: a stranger's size) */
struct resources *kernel_resources(struct kernel_context *context);
/**
 * A value outlives the run: a variable or table keeps `value`, instead of `replaced` if that is not
 * NULL. Looks at `replaced` only in a load, where nobody else has it.
 *
 * Errors  RESOURCE_EXHAUSTED the init op keeps more than a load may; later runs have no such limit
 */
struct status kernel_keep(struct kernel_context *context, const struct tensor *value,
                          const struct tensor *replaced);
/* For long loops: DEADLINE_EXCEEDED, or why the run should end. */
struct status kernel_check(const struct kernel_context *context);
int kernel_width(const struct kernel_context *context); /* threads this run may use (parallel.h) */
uint64_t kernel_random_seed(
    struct kernel_context *context); /* a fresh seed, for random ops without one of their own */

/* A failure of this node: `text [node 'x' (Conv2D)]`. The text stands in front as it is, since
 * clients may look for TensorFlow's own words. */
struct status kernel_error(const struct kernel_context *context, enum status_code code,
                           const char *format, ...) PRINTF_LIKE(3, 4);

#endif
