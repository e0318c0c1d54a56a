/*
 * sparse_stack: takes a sparse tensor apart into its rows, and stacks sparse tensors along new
 * dimensions. Internal to the kernels that store sparse tensors.
 */
#ifndef KERNELS_SPARSE_STACK_H
#define KERNELS_SPARSE_STACK_H

#include "runtime/kernels/sparse_input.h"

/* The three tensors of one sparse tensor. */
struct sparse_parts {
    struct tensor indices, values, shape;
};
void sparse_parts_finish(struct sparse_parts *parts);
/* Are inputs 0 to 2 a matrix and two vectors? INVALID_ARGUMENT, in TensorFlow's words: they are
 * not. */
struct status sparse_parts_check(const struct kernel_context *k);

/* Calls `visit` for each row, also for one without values: its sparse tensor has one dimension
 * less. The indices must be in order (sparse_input_check_order). */
typedef struct status sparse_row_visit(void *argument, int64_t row,
                                       const struct sparse_parts *parts);
struct status sparse_rows_each(struct kernel_context *k, const struct sparse_input *sparse,
                               sparse_row_visit *visit, void *argument);

struct sparse_stack {
    struct sparse_parts *items; /* [count], empty at first; the caller fills them */
    int64_t count;
    int64_t outer; /* new dimensions in front: the first ones of the kernel's input 0 */
    int64_t rank;  /* of each */
    int64_t total; /* values of all */
    enum dtype dtype;
};
/* Makes room for the items, in the run's arena. */
struct status sparse_stack_create(struct kernel_context *k, struct sparse_stack *stack);
/* Counts item i, which is filled now. INVALID_ARGUMENT: its rank is not that of the others. The
 * text differs from op to op: `what` is TensorFlow's word for it, and `more` is added to the
 * ranks. */
struct status sparse_stack_add(struct sparse_stack *stack, int64_t i, const char *what, int more);
/* The stack as outputs 0 to 2: indices, values, shape. */
struct status sparse_stack_output(struct kernel_context *k, const struct sparse_stack *stack);
void sparse_stack_finish(struct sparse_stack *stack);

#endif
