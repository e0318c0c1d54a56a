/*
 * embedding: what the layers share that look up rows of a table by ids. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_EMBEDDING_H
#define LAYERS_CLASSES_EMBEDDING_H

#include "layers/layer.h"

/* The argument mask_zero: which ids are not 0, which stands for a step that does not count. */
struct endpoint embedding_mask(struct layer_context *context, const struct layer *layer,
                               const struct layer_io *io);

/* Sparse or ragged ids, and the weight of each. */
struct bag {
    const struct layer_lists *lists;
    struct endpoint ids, weights; /* [n]: int64, float */
};

extern const char *const bag_call_args[]; /* "inputs", "weights" */

/* A sparse input has ids and weights; of a ragged one, the values are ids. False: it failed. */
bool bag_read(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
              struct bag *out);

/* The rows of each list as one: combiner "mean", "sum" or "sqrtn". [batch, width] */
struct endpoint bag_combine(struct layer_context *context, const struct bag *bag,
                            struct layer_table table, const char *combiner);

#endif
