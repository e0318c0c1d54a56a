/*
 * kernel: the code that runs an op, for some dtypes. A kernel file holds its functions and one
 * table of rows; runtime/kernels/kernels.c lists the tables. An op may have several rows: a node
 * gets the first one whose dtypes contain the type of `type_attr`.
 *
 *     static const struct kernel rows[] = {
 *         { "Relu", DTYPES_REAL, .compute = relu_compute },
 *         { "Cast", DTYPES_ALL, .prepare = cast_prepare, .compute = cast_compute },
 *     };
 *     const struct kernel_table kernels_activation = { rows, COUNT(rows) };
 */
#ifndef RUNTIME_KERNEL_H
#define RUNTIME_KERNEL_H

#include <pthread.h>

#include "graph/graph.h"
#include "tensor/tensor.h"

struct dataset_kind;
struct kernel_context;
struct prepare_context;
struct resources;

struct kernel {
    const char *op;
    dtype_set dtypes;      /* of the attribute `type_attr`; DTYPES_ALL where it does not matter */
    const char *type_attr; /* NULL: "T", or the op's first type attribute if it has no T */
    struct status (*prepare)(struct prepare_context *); /* once per plan; NULL: nothing to do */
    struct status (*compute)(struct kernel_context *);  /* per run */
    bool any_rank; /* takes tensors of packed shapes (SHAPE_PACKED) */
    bool costly;   /* takes long enough that the deadline is checked before it */
    bool once;     /* gives the same result in every run, whatever its inputs: a handle, a constant.
                    * Computed when the plan is made, even with folding off */
    const struct dataset_kind *dataset; /* the dataset kind of the op, see kernels/data/dataset.h */
};

struct kernel_table {
    const struct kernel *rows;
    size_t count;
};

/* The row for a node, or NULL. */
const struct kernel *kernel_find(const struct node *node);
const struct kernel_table *const *kernel_tables(size_t *count);
const char *kernel_table_file(size_t index); /* such as "matmul.c" */
/* The attribute that the dtypes of a row refer to; NULL: the op has no type attribute. */
const char *kernel_type_attr(const struct op *op, const struct kernel *row);
/* UNIMPLEMENTED, for a node that kernel_find has no row for: its op, or only its dtype. */
struct status kernel_missing(const struct node *node);

/* ---- preparing: once, at load, on one thread ---- */

/* Its attributes are read by node_attr_*(…). */
const struct node *prepare_node(const struct prepare_context *context);
/* The value of an input that is constant in this plan, such as a variable that nothing writes, or
 * NULL. Lives as long as the plan. */
const struct tensor *prepare_constant(const struct prepare_context *context, int input);
/* Asks for the buffer of a constant input. If no other step uses the constant, `take` is called
 * with the kernel's state when all steps of the plan are prepared. It may drop the buffer and set
 * `data` to NULL; the kernel then sees a tensor that has only dtype and shape. All calls of `take`
 * share `scratch`, which is empty: its memory grows with the largest use. */
void prepare_claim(struct prepare_context *context, int input,
                   void (*take)(void *state, struct tensor *constant, struct buffer *scratch));
struct arena *prepare_arena(struct prepare_context *context); /* the plan's */
struct resources *prepare_resources(struct prepare_context *context);
/* The bytes that the load may still keep (kernel_keep); 0: no limit. If `prepare` makes something
 * that outlives the plan, it counts the memory with prepare_count_memory. */
size_t prepare_memory_left(const struct prepare_context *context);
void prepare_count_memory(struct prepare_context *context, size_t bytes);
/* Zeroed state for compute, in the plan's arena; `destroy` (may be NULL) is called with it when the
 * plan is destroyed. */
void *prepare_state(struct prepare_context *context, size_t size_bytes,
                    void (*destroy)(void *state));

/* ---- running: many threads run one plan at a time, and share only `state`, which is const ---- */

const void *kernel_state(const struct kernel_context *context);
/* For error texts; prepare is the place to read attributes. */
const struct node *kernel_node(const struct kernel_context *context);
int kernel_inputs_count(const struct kernel_context *context);
int kernel_outputs_count(const struct kernel_context *context);
const struct tensor *kernel_input(const struct kernel_context *context, int index);
/* Does anything use this output? */
bool kernel_output_wanted(const struct kernel_context *context, int index);

/* A new tensor for output `index`, of the dtype that the node declares, from the run's pool. Its
 * elements are not initialised, but strings are empty and objects NULL. */
struct status kernel_output(struct kernel_context *context, int index, const struct shape *shape,
                            struct tensor **out);
/* The same with the dtype given, for ops whose output type is not in the graph. */
struct status kernel_output_typed(struct kernel_context *context, int index, enum dtype dtype,
                                  const struct shape *shape, struct tensor **out);
/* Like kernel_output, but reuses the buffer of input `input` if this is its last use and size and
 * dtype fit: for element-wise loops. */
struct status kernel_output_forward(struct kernel_context *context, int index, int input,
                                    const struct shape *shape, struct tensor **out);
/* May a kernel overwrite an input before it knows whether it succeeds? If it then fails, it returns
 * kernel_repeat: the executor repeats the whole run, in which no kernel may. */
bool kernel_may_spoil_input(const struct kernel_context *context);
struct status kernel_repeat(struct kernel_context *context);
/* Makes the caller's tensor (tensor_acquire, …) the output, and takes it over. */
void kernel_output_set(struct kernel_context *context, int index, struct tensor tensor);
/* A reference to input `index`: the only one if this is the last use of an input that is not
 * shared. For ops that change an object in place (TensorListSetItem). */
struct tensor kernel_take_input(struct kernel_context *context, int index);

/* A scratch tensor of the run's pool; the caller releases it. */
struct status kernel_scratch(struct kernel_context *context, enum dtype dtype,
                             const struct shape *shape, struct tensor *out);
/* The run's pool, for kernels that make their own tensors (kernel_output_set). */
struct tensor_pool *kernel_pool(struct kernel_context *context);
/* The run's arena, for the characters of new strings (arena_reserve for a size that a peer or a
 * file chooses). */
struct arena *kernel_arena(struct kernel_context *context);
struct resources *kernel_resources(struct kernel_context *context);
/**
 * Counts a value that a variable or table keeps beyond the run, replacing `replaced` if that is not
 * NULL. Reads `replaced` only during a load, when no other thread has it.
 *
 * Errors  RESOURCE_EXHAUSTED the init op keeps more than a load may; later runs have no such limit
 */
struct status kernel_keep(struct kernel_context *context, const struct tensor *value,
                          const struct tensor *replaced);
/**
 * May a table of `bytes` bytes grow by `more`? The memory of tables does not count as the run's.
 * Therefore a run may not make tables grow by more than its memory limit, nor make one larger than
 * that. Call kernel_table_grew after the change, with the growth.
 *
 * Errors  RESOURCE_EXHAUSTED
 */
struct status kernel_table_may_grow(struct kernel_context *context, size_t bytes, size_t more);
void kernel_table_grew(struct kernel_context *context, size_t bytes);
/* A table that this run made grow has freed `bytes`. */
void kernel_table_shrank(struct kernel_context *context, size_t bytes);
/* For long loops to call: DEADLINE_EXCEEDED, or the reason why the run must end. */
struct status kernel_check(const struct kernel_context *context);
/**
 * Waits for another run: until `changed` is signalled, or for a while. The caller holds `lock`, and
 * checks its condition again, as after pthread_cond_wait. `changed` is made by clock_cond_init.
 *
 *     int64_t deadline_ns = kernel_wait_deadline(k);
 *     while (status_is_ok(status) && queue->count == 0)
 *         status = kernel_wait(k, &queue->changed, &queue->lock, deadline_ns);
 *
 * Errors  DEADLINE_EXCEEDED the run's deadline, or a minute in a run that has none; or the reason
 *         why the run must end
 */
int64_t kernel_wait_deadline(const struct kernel_context *context);
struct status kernel_wait(const struct kernel_context *context, pthread_cond_t *changed,
                          pthread_mutex_t *lock, int64_t deadline_ns);
/* Waits for a time. Errors as kernel_wait. */
struct status kernel_sleep(const struct kernel_context *context, int64_t duration_ns);
/* Keeps an object until the run ends, and returns a number by which kernel_named_object finds
 * it: for handles that are texts. Takes over the reference. */
int64_t kernel_name_object(struct kernel_context *context, struct object *object);
/* Borrowed; NULL: no object of this run has the number. */
struct object *kernel_named_object(const struct kernel_context *context, int64_t number);
/* A fresh seed, for random ops that have none. */
uint64_t kernel_random_seed(struct kernel_context *context);

/* A failure of this node: `text [node 'x' (Conv2D)]`. The text comes first and unchanged, because
 * clients may look for TensorFlow's words. */
struct status kernel_error(const struct kernel_context *context, enum status_code code,
                           const char *format, ...) PRINTF_LIKE(3, 4);

#endif
