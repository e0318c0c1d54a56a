/*
 * tensor_cells: the object of a TensorArray and a Stack of TensorFlow 1 (ops: tensor_array.c,
 * tensor_array_grad.c, tensor_stack.c). Unlike a TensorList it is changed in place: all holders of
 * the handle see the change. The handle of the current ops is a resource tensor that holds the
 * object; the object lives as long as the tensor, which never outlives the run. The handle of older
 * ops is two strings that name the object; the object lives until the run ends.
 */
#ifndef KERNELS_TENSOR_CELLS_H
#define KERNELS_TENSOR_CELLS_H

#include "runtime/kernel.h"

struct tensor_cell {
    struct tensor value; /* dtype DT_INVALID: none */
    struct shape shape;  /* of the zeros that a cell without a value is; in gradient arrays */
    bool is_written, is_read, is_cleared;
};

struct tensor_cells {
    struct object object;
    enum dtype dtype;
    struct shape shape;      /* of every element; may be partly unknown */
    const struct node *node; /* that made it; for error texts */
    bool grows;              /* a write past the end makes room */
    bool clears;             /* a read takes the value out */
    bool has_one_shape;      /* the first write decides the shape of all */
    bool is_closed;
    bool is_gradient; /* tensor_array_grad.c: writes to the same cell add up */
    int64_t count;
    int64_t count_max; /* of a stack; -1: any */
    struct tensor_cell *cells;
    struct tensor cells_of; /* the pooled buffer that holds them */
    struct tensor self;     /* the tensor that holds the object itself */
    struct bytes source;    /* of a gradient array: which gradient computation it belongs to */
    struct tensor_cells *gradients; /* of this array; each holds the next one in `sibling` */
    struct tensor_cells *sibling;
};

/* The object types of the two ops. */
extern const struct object_type tensor_array_type, tensor_stack_type;

/* An object of `count` unwritten cells, in memory of the run's pool. Owner: the caller. */
struct status tensor_cells_create(struct kernel_context *k, const struct object_type *type,
                                  enum dtype dtype, int64_t count, struct tensor_cells **out);

/* Makes the caller's object output 0. */
struct status tensor_cells_output(struct kernel_context *k, struct tensor_cells *cells);

/* The object of that type in input 0; INVALID_ARGUMENT if it is none, or closed. */
struct status tensor_cells_input(struct kernel_context *k, const struct object_type *type,
                                 struct tensor_cells **out);

/* Makes room for `count` cells; new ones are unwritten. */
struct status tensor_cells_grow(struct kernel_context *k, struct tensor_cells *cells,
                                int64_t count);

/* Releases all values. */
void tensor_cells_close(struct tensor_cells *cells);

#endif
