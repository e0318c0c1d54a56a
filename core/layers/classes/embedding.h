/*
 * embedding: helpers of the layers that look up rows of a table by ids. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_EMBEDDING_H
#define LAYERS_CLASSES_EMBEDDING_H

#include "layers/layer_variable.h"

/* The argument mask_zero: which ids are not 0, the id of padding. */
struct endpoint embedding_mask(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io);

struct bag {
    const struct layer_lists *lists;
    struct endpoint ids, weights; /* [n]: int64, float */
};

extern const char *const bag_call_args[]; /* "inputs", "weights" */

/* Reads a bag: a sparse input has ids and weights; a ragged one only ids. Returns false on
 * failure. */
bool bag_read(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
              struct bag *out);

/* Combines the rows of each list: combiner "mean", "sum" or "sqrtn". [batch, width] */
struct endpoint bag_combine(struct layer_context *context, const struct bag *bag,
                            struct layer_table table, const char *combiner);

#endif
