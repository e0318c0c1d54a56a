/*
 * tensors: several tensors together: the components of an element of a dataset, and the rows that
 * become a batch.
 */
#ifndef KERNELS_TENSORS_H
#define KERNELS_TENSORS_H

#include "runtime/kernel.h"

/* Moves tensors; `from` is left empty. */
void tensors_move(int count, struct tensor *from, struct tensor *to);
/* Gives each of them one more owner. */
void tensors_acquire(int count, const struct tensor *from, struct tensor *to);

/* A list of tensors that grows in memory of the run. */
struct tensors {
    struct tensor *at; /* [count] */
    int64_t count;
    struct tensor memory;
};
/* Makes room for `count` more. */
struct status tensors_reserve(struct kernel_context *k, struct tensors *tensors, int64_t count);
/* Moves tensors to the end of the others, where there must be room. */
void tensors_append(struct tensors *tensors, int count, struct tensor *from);
void tensors_clear(struct tensors *tensors);  /* releases all of them, and keeps the room */
void tensors_finish(struct tensors *tensors); /* releases all of them */

/* Makes them the outputs of the node. INVALID_ARGUMENT: the node declares others */
struct status tensors_output(struct kernel_context *k, struct tensors *tensors);

/* Makes one tensor of `count` tensors of one shape, `stride` apart: the rows of a batch.
 * `component` is for the error text. INVALID_ARGUMENT: their shapes differ */
struct status tensors_stack(struct kernel_context *k, int64_t count, const struct tensor *rows,
                            int64_t stride, int component, struct tensor *out);
/* A vector of three variants, as tf.data hands on a sparse tensor. Takes over the parts, also after
 * a failure; `out` is the caller's then, too. */
struct status tensors_box_sparse(struct kernel_context *k, struct tensor *indices,
                                 struct tensor *values, struct tensor *sizes, struct tensor *out);
/* Row `index` of a tensor of rank 1 or more. */
struct status tensor_row(struct kernel_context *k, const struct tensor *tensor, int64_t index,
                         struct tensor *out);

#endif
