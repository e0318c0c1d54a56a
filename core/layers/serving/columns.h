/*
 * columns: computes the inputs of a model from the raw columns of a request, as trainer/data does
 * for a file. Internal to layers/.
 */
#ifndef LAYERS_SERVING_COLUMNS_H
#define LAYERS_SERVING_COLUMNS_H

#include "layers/layer.h"

/* The parts of a raw column in the graph: values [batch, width], or for a ragged column [n] and
 * the row splits. */
struct column_parts {
    const struct raw_column *column;
    struct endpoint values, row_splits;
};

/* Casts integers to another type. A request with an integer that does not fit fails, as such a
 * record is bad in training; TensorFlow's Cast would keep only its low bits. */
struct endpoint narrow_integers(struct layer_context *context, const char *name, enum dtype dtype,
                                struct endpoint x);

/* Joins prepared columns side by side as an input of the model. Sets the context's input and its
 * lists. */
void build_input_of_columns(struct layer_context *context, const struct layers_model *model,
                            int input, const struct column_parts *parts, int count);

#endif
