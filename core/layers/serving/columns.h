/*
 * columns: makes the inputs of a model of the raw columns that a request carries, as
 * trainer/data makes them of a file's. Internal to layers/.
 */
#ifndef LAYERS_SERVING_COLUMNS_H
#define LAYERS_SERVING_COLUMNS_H

#include "layers/build_model.h"

/* The parts of a raw column in the graph: values [batch, width], or of a ragged one [n] and the row
 * splits. */
struct column_parts {
    const struct raw_column *column;
    struct endpoint values, row_splits;
};

/* Integers as int32. A request with one that does not fit fails, as such a record is bad in
 * training; TensorFlow's Cast would take other bits for it. */
struct endpoint narrow_integers(struct layer_context *context, const char *name, struct endpoint x);

/* Places prepared columns side by side as an input of the model. Sets the context's input and its
 * lists. */
void build_input_of_columns(struct layer_context *context, const struct layers_model *model,
                            int input, const struct column_parts *parts, int count);

#endif
