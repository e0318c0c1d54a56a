/*
 * tensor_box: an element of a variant tensor that holds tensors: a ragged tensor (its row splits,
 * then its values), one plain tensor, the components of an optional, none if it has no value, a
 * sparse matrix (kernels/sparse/csr.h), the changes of a text (kernels/text/normalize.c), or a
 * composite tensor (composite.c).
 * The boxes of a run share the tensors with their other owners.
 */
#ifndef KERNELS_TENSOR_BOX_H
#define KERNELS_TENSOR_BOX_H

#include "runtime/kernel.h"

struct tensor_box {
    struct object object;
    struct tensor self; /* the memory of the box, from the run's pool */
    int count;
    struct tensor parts[];
};

enum box_kind { BOX_RAGGED, BOX_PLAIN, BOX_OPTIONAL, BOX_CSR, BOX_TEXT_CHANGES, BOX_COMPOSITE };

/* Takes over the `count` tensors at `parts`, also after a failure. Owner: the caller. */
struct status tensor_box_create(struct kernel_context *k, enum box_kind kind, int count,
                                struct tensor *parts, struct object **out);

/* The same as output 0, a scalar. */
struct status tensor_box_output(struct kernel_context *k, enum box_kind kind, int count,
                                struct tensor *parts);

/* The box at element i of a variant tensor, or NULL if it holds something else. */
const struct tensor_box *tensor_box_at(const struct tensor *variants, int64_t i,
                                       enum box_kind kind);

#endif
