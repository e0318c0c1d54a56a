/*
 * tensor_cells: the object behind a TensorArray and a Stack of TensorFlow 1 (ops: tensor_array.c,
 * tensor_stack.c), held by a resource tensor. Unlike a TensorList it is changed in place: whoever
 * has the handle sees the change. It lives as long as the handle, which never outlives the run.
 */
#ifndef KERNELS_TENSOR_CELLS_H
#define KERNELS_TENSOR_CELLS_H

#include "runtime/kernel.h"

struct tensor_cell {
    struct tensor value; /* dtype DT_INVALID: none */
    bool is_written, is_read, is_cleared;
};

struct tensor_cells {
    struct object object;
    enum dtype dtype;
    struct shape shape;      /* of every element; may be partly unknown */
    const struct node *node; /* that made it; for error texts */
    bool grows;              /* a write behind the end makes room */
    bool clears;             /* a read takes the value out */
    bool has_one_shape;      /* the first write decides the shape of all */
    bool is_closed;
    int64_t count, capacity;
    int64_t count_max; /* of a stack; -1: any */
    struct tensor_cell *cells;
    struct tensor cells_of; /* the pooled buffer that holds them */
    struct tensor self;     /* the tensor that holds the object itself */
};

/* One type for each op that makes such an object. */
extern const struct object_type tensor_array_type, tensor_stack_type;

/* Makes an object of `count` unwritten cells output 0, in memory of the run's pool; *out is
 * borrowed of that output. */
struct status tensor_cells_output(struct kernel_context *k, const struct object_type *type,
                                  enum dtype dtype, int64_t count, struct tensor_cells **out);

/* The object of that type in input 0; INVALID_ARGUMENT if it is none, or closed. */
struct status tensor_cells_input(struct kernel_context *k, const struct object_type *type,
                                 struct tensor_cells **out);

/* Makes room for `count` cells; new ones are unwritten. */
struct status tensor_cells_grow(struct kernel_context *k, struct tensor_cells *cells,
                                int64_t count);

/* Releases all values. */
void tensor_cells_close(struct tensor_cells *cells);

#endif
