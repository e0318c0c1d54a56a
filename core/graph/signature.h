/*
 * signature: SignatureDef: named inputs and outputs bound to endpoints. It is part of graph, not of
 * savedmodel, because core/layers describes serving graphs independently of how they are saved.
 */
#ifndef GRAPH_SIGNATURE_H
#define GRAPH_SIGNATURE_H

#include "graph/graph.h"

#define SIGNATURE_DEFAULT  "serving_default"
#define SIGNATURE_PREDICT  "tensorflow/serving/predict"
#define SIGNATURE_CLASSIFY "tensorflow/serving/classify"
#define SIGNATURE_REGRESS  "tensorflow/serving/regress"
#define SIGNATURE_INIT_OP  "__saved_model_init_op"

/* The tensors that make up a sparse tensor of TensorFlow 1 (TensorInfo.coo_sparse). */
struct signature_coo {
    const char *values, *indices, *dense_shape;
};

struct signature_tensor {
    const char *key;         /* "images" */
    const char *tensor_name; /* "x:0"; of sparse and composite tensors "" (no plan has them) */
    enum dtype dtype;        /* base type; DT_INVALID: the file does not say */
    bool is_ref;
    bool has_shape;                  /* the file has a tensor_shape */
    struct shape shape;              /* unknown rank where it has none */
    const char *const *dim_names;    /* of each dimension, for clients; NULL: none has a name */
    const struct signature_coo *coo; /* for clients; NULL: it is no such tensor */
    const void *composite;           /* for clients: a TensorInfo.CompositeTensor; NULL: none */
    struct tensor default_value;     /* SignatureDef.defaults; dtype DT_INVALID: none */
};

struct signature {
    const char *name;
    const char *method;
    /* Sorted by key; the outputs without a tensor_name follow those with one. */
    struct signature_tensor *inputs, *outputs;
    int inputs_count, outputs_count;
};

/* Names with two leading underscores are internal to TensorFlow: they run once when a model
 * loads. */
bool signature_is_callable(const struct signature *signature);

/* Does it take serialized tf.Examples, as those that classify and regress do? */
bool signature_takes_examples(const struct signature *signature);

/* The signature to use if none is named: serving_default, unless it takes serialized tf.Examples
 * and another one takes tensors; otherwise the only one that takes tensors, or the only one.
 * NULL: several, or none. */
const struct signature *signature_choose(const struct signature *list, int count);

/* The inputs beside the indices K of a sparse tensor. */
struct signature_sparse {
    int values, shape;
};

/* Is the input K, with K_1 and K_2, the indices [?, 2], the values [?] and the shape [2] of a
 * sparse tensor, as Keras, tf.function and this program export one? */
bool signature_is_sparse(const struct signature *signature, int input,
                         struct signature_sparse *out);

/* UNIMPLEMENTED: it is one of TensorFlow 1's named sparse tensors, or a composite one. */
struct status signature_check_named(const struct signature_tensor *tensor);

/* The number of outputs that a plan computes: the first ones, up to the sparse and composite
 * ones. */
int signature_computed_outputs(const struct signature *signature);

/* UNIMPLEMENTED: the output, or one of all outputs, is a sparse or composite tensor. */
struct status signature_check_output(const struct signature *signature, int output);
struct status signature_check_outputs(const struct signature *signature);

/* For the input K, the index of the input K_1 if it may be the row splits of a ragged tensor
 * with the values K; otherwise -1. Two inputs of a number per row look the same. */
int signature_row_splits(const struct signature *signature, int input);

/* Index of the input or output of that key, or -1. */
int signature_input(const struct signature *signature, struct bytes key);
int signature_output(const struct signature *signature, struct bytes key);

#endif
