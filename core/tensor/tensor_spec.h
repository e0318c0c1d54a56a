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
};

struct tensor_spec {
    const char *name;
    enum tensor_layout layout;
    enum dtype dtype;
    struct shape shape; /* dimension 0 is the rows, -1: any number. RAGGED: dimension 1 is -1 */
};

/* "float [?,784]", "ragged int64 [?,?]": without the name. Valid until 8 more calls in the thread.
 */
const char *tensor_spec_text(const struct tensor_spec *spec);

/* The number of elements in a row, or in a value of a ragged row. 0: a later dimension is unknown.
 */
int64_t tensor_spec_row_size(const struct tensor_spec *spec);

#endif
