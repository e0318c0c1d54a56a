/*
 * augment: helpers of the layers that randomly change the images of each training batch. Internal
 * to layers/.
 */
#ifndef LAYERS_CLASSES_AUGMENT_H
#define LAYERS_CLASSES_AUGMENT_H

#include "layers/classes/image.h"

/* Reads a range as Keras does: [lower, upper], or f for [-f, f] clipped below at `least`.
 * Returns false on failure. */
bool augment_range(struct layer_context *context, const struct layer *layer, const char *name,
                   double least, double range[2]);

/* Reads the argument "value_range", which must not be empty. Returns false on failure. */
bool augment_value_range(struct layer_context *context, const struct layer *layer, double range[2]);

/* Checks the input, whose height and width may be open. Returns false on failure. */
bool augment_has_pixels(struct layer_context *context, const struct layer *layer,
                        struct endpoint x);
/* Checks the input. Returns false on failure, or when images pass unchanged, as in evaluation
 * and serving. */
bool augment_changes(struct layer_context *context, const struct layer *layer, struct endpoint x);
/* Checks the known sides, for layers that make a number for each position along a side. Returns
 * false on failure. */
bool augment_sides_fit(struct layer_context *context, const struct layer *layer, struct endpoint x);

/* The seed of the layer's next draw, from its argument "seed". */
struct endpoint augment_seed(struct layer_context *context, const struct layer *layer);
/* A uniform random number in the range for each image: [batch, 1, 1, 1]. */
struct endpoint augment_draw(struct layer_context *context, const struct layer *layer,
                             struct endpoint x, const double range[2]);

/* The size of a side of x, a float scalar. */
struct endpoint augment_side(struct builder *b, struct endpoint x, int dim);

/* The floats first, first + 1, …, as a vector, or with extra dimensions of 1. */
struct endpoint augment_places(struct layer_context *context, struct shape shape, double first);

/* Weights exp(-place² / 2σ²) at these positions, scaled to a sum of 1: [size]. inside: the
 * positions to use; all if its node is NULL. */
struct endpoint augment_bell(struct layer_context *context, struct endpoint places,
                             struct endpoint sigma, struct endpoint inside);

/* bool: a random span along dimension `dim`, 1 or 2, of each image, covering this share of the
 * side: [batch, size, 1, 1], or [batch, 1, size, 1]. */
struct endpoint augment_draw_span(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x, int dim, struct endpoint share);

struct endpoint augment_clip(struct builder *b, struct endpoint x, const double range[2]);
/* Reduces each row of [n, m] with the op, to [n, 1]. */
struct endpoint augment_of_rows(struct builder *b, const char *op, struct endpoint x);
/* Maps numbers from one range to the other, with the rounding of Keras' layers. */
struct endpoint augment_move_range(struct builder *b, struct endpoint x, const double from[2],
                                   const double to[2]);

#endif
