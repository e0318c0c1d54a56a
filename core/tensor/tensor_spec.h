/*
 * tensor_spec: the name, layout, dtype and shape of a tensor that is not there yet: a feed of a
 * graph, or a column of the training data. As TensorFlow's TensorSpec and RaggedTensorSpec.
 */
#ifndef TENSOR_TENSOR_SPEC_H
#define TENSOR_TENSOR_SPEC_H

#include "tensor/tensor.h"

enum tensor_layout {
    TENSOR_DENSE, /* one tensor: [rows, …] */
    TENSOR_RAGGED, /* two tensors: the values of all rows [values, …], and row_splits, int64 [rows +
                      1]: row i has values row_splits[i] … row_splits[i + 1] - 1 */
    /* Three tensors: values [values], ids, int64 [values], and row_splits as above. ids[k] is the
     * column of values[k], from 0 to the shape's dimension 1. The ids of a row are in any order,
     * and an id may stand in a row several times: such values add up. */
    TENSOR_SPARSE,
};

struct tensor_spec {
    const char *name;
    enum tensor_layout layout;
    enum dtype dtype;
    struct shape shape; /* dimension 0 is the rows, -1: any number. RAGGED: dimension 1 is -1.
                           SPARSE: [-1, columns] */
};

/* "float [?,784]", "ragged int64 [?,?]", "sparse float [?,123]": without the name. Valid until 8
 * more calls in the thread. */
const char *tensor_spec_text(const struct tensor_spec *spec);

/* The number of elements in a row (of a sparse one: columns), or in a value of a ragged row. 0: a
 * later dimension is unknown. */
int64_t tensor_spec_row_size(const struct tensor_spec *spec);

#endif
