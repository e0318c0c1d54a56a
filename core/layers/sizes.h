/*
 * sizes: checks and computes sizes, axes and shapes in the functions that build layers. A size may
 * be open (-1): the graph computes it. Internal to layers/.
 */
#ifndef LAYERS_SIZES_H
#define LAYERS_SIZES_H

#include "layers/layer.h"

/* Checks that the product of `sizes`, each at least 1 or unknown (-1), fits into an int32, the type
 * in which kernels count the elements of a row. `what` names the sizes in the error. */
bool layer_check_size(struct layer_context *context, const struct layer *layer, const char *what,
                      int count, const int64_t *sizes);

/* Check the rank of a layer's input and that its dimensions from `known` on are known. Those before
 * it may be open: their sizes are those of the batch that the graph runs on. layer_check_rank: only
 * the rows may be open, 1. layer_check_known: of any rank. Return false on failure. */
bool layer_check_open(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank, int known);
bool layer_check_rank(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int rank);
bool layer_check_known(struct layer_context *context, const struct layer *layer, struct endpoint x,
                       int first);
/* Checks that the sizes of these axes are known. Returns false on failure. */
bool layer_check_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      int count, const int32_t *axes);
/* Are two sizes equal, as far as they are known? */
bool may_be_equal(int64_t a, int64_t b);

/* In a list of sizes: that of dimension `axis` of the tensor `like`, known or not. */
#define SIZE_OF(axis) (-2 - (int64_t)(axis))
/* In a list of sizes of build_reshape, once: what the other sizes leave. */
#define SIZE_REST     ((int64_t)-1)

/* Sizes as an int32 tensor [count], a constant if all are known. */
struct endpoint build_sizes(struct builder *b, struct endpoint like, int count,
                            const int64_t *sizes);
/* x in the shape of these sizes; SIZE_OF is of `like`. */
struct endpoint build_reshape(struct builder *b, struct endpoint x, struct endpoint like, int count,
                              const int64_t *sizes);
/* The size of a dimension, an int32 scalar. */
struct endpoint build_size(struct builder *b, struct endpoint x, int axis);

/* Checks that two inputs of the same rank broadcast: each pair of dimensions is equal, or one of
 * them is 1. Returns false on failure. */
bool layer_check_broadcast(struct layer_context *context, const struct layer *layer,
                           struct endpoint a, struct endpoint b);

/* Reshapes x to [rows, dims[0], …, dims[count - 1]]. */
struct endpoint build_reshape_rows(struct builder *b, struct endpoint x, int count,
                                   const int64_t *dims);

/* An axis of an input of this rank, counted from the front; 0, the batch: failure. */
int layer_axis(struct layer_context *context, const struct layer *layer, int64_t axis, int rank);
/* The error of an argument "axis" that stands for all axes. */
#define AXIS_IS_NULL "argument 'axis' is null: it would mix rows of the batch"
/* The same of the argument "axis" (ARG_NULL_OR_INT) if null stands for all axes: also a failure. */
int layer_one_axis(struct layer_context *context, const struct layer *layer, int rank);
/* The argument "axis", an integer or a list, as axes of x in rising order. Returns their number;
 * 0: failure. */
int layer_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
               int32_t axes[SHAPE_RANK_MAX]);

/* The same of another argument. */
int layer_axes_of(struct layer_context *context, const struct layer *layer, const char *name,
                  struct endpoint x, int32_t axes[SHAPE_RANK_MAX]);

/* Is the argument "data_format" of a layer "channels_first"? */
bool layer_is_channels_first(const struct layer *layer);
/* Moves the channels of an image [batch, …] from the first place after the batch to the last one,
 * or back. */
struct endpoint build_channels_moved(struct builder *b, struct endpoint x, bool to_first);

#endif
