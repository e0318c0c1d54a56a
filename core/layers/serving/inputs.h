/*
 * inputs: the inputs of an exported graph, which come from serialized tf.Examples or from a
 * request. A dense input is one tensor. A sparse or ragged one has the parts of a SparseTensor or a
 * RaggedTensor, named and numbered as in TensorFlow's signatures:
 *
 *     dense   x
 *     sparse  x  indices int64 [n, 2]   x_1  values [n]        x_2  dense shape int64 [2]
 *     ragged  x  values [n]             x_1  row splits int64 [rows + 1]
 *
 * If the options name raw columns, these replace the inputs, each as columns/NAME.
 *
 * In an Example, a dense or ragged input is the feature of its name. A sparse input is two
 * features, "ids" and "values"; if there are several inputs, "NAME_ids" and "NAME_values".
 *
 * Internal to layers/.
 */
#ifndef LAYERS_SERVING_INPUTS_H
#define LAYERS_SERVING_INPUTS_H

#include "layers/layer.h"

struct input_part {
    const char *name; /* the input's name; NULL: it is the only one */
    int number;       /* of the part, from 0 */
    struct endpoint value;
};

struct serving_inputs {
    struct endpoint examples; /* string [?]; a null node: Examples are not possible */
    struct input_part *list;
    int count;
};

/* Adds the nodes, and sets the context's inputs and lists. options NULL: the defaults. */
void build_serving_inputs(struct layer_context *context, const struct layers_model *model,
                          const struct layers_serving_options *options, bool examples,
                          struct serving_inputs *out);

/* The part's key in a signature: "x_1" for `only` "x" if there is one input. */
const char *input_part_key(const struct input_part *part, const char *only, struct arena *arena);

/* Replaces characters that a node's name must not have. */
const char *node_name_of(const char *text, struct arena *arena);

#endif
