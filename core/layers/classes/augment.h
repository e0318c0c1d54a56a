/*
 * augment: what layers share that change the images of each training batch at random.
 * Internal to layers/.
 */
#ifndef LAYERS_CLASSES_AUGMENT_H
#define LAYERS_CLASSES_AUGMENT_H

#include "layers/classes/image.h"

/* A range as Keras takes it: [lower, upper], or f for [-f, f] without what is below `least`. False:
 * it failed. */
bool augment_range(struct layer_context *context, const struct layer *layer, const char *name,
                   double least, double range[2]);

/* The argument "value_range", which must not be empty. False: it failed. */
bool augment_value_range(struct layer_context *context, const struct layer *layer, double range[2]);

/* Checks the input. False: it failed. */
bool augment_has_pixels(struct layer_context *context, const struct layer *layer,
                        struct endpoint x);
/* The same. False: it failed, or images are passed on, as those of an evaluation and a request. */
bool augment_changes(struct layer_context *context, const struct layer *layer, struct endpoint x);
/* For layers whose graph holds a number for each place along a side. False: it failed. */
bool augment_sides_fit(struct layer_context *context, const struct layer *layer, struct endpoint x);

/* The seed of what a layer draws next, from its argument "seed". */
struct endpoint augment_seed(struct layer_context *context, const struct layer *layer);
/* A number for each image, uniform in the range: [batch, 1, 1, 1]. */
struct endpoint augment_draw(struct layer_context *context, const struct layer *layer,
                             struct endpoint x, const double range[2]);

/* The floats first, first + 1, …, of a shape of one dimension, or with sides of 1 beside it. */
struct endpoint augment_places(struct layer_context *context, struct shape shape, double first);

/* Weights exp(-place² / 2σ²) at these places, scaled to a sum of 1: [size]. inside: the places that
 * count; its node is NULL if all do. */
struct endpoint augment_bell(struct layer_context *context, struct endpoint places,
                             struct endpoint sigma, struct endpoint inside);

/* bool: a random span of the places along dimension `dim`, 1 or 2, of each image, as long as this
 * share of them: [batch, size, 1, 1], or [batch, 1, size, 1]. */
struct endpoint augment_draw_span(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x, int dim, struct endpoint share);

struct endpoint augment_clip(struct builder *b, struct endpoint x, const double range[2]);
/* Reduces each row of [n, m] by the op, to [n, 1]. */
struct endpoint augment_of_rows(struct builder *b, const char *op, struct endpoint x);
/* Moves numbers from one range to the other, with the roundings of Keras' layers. */
struct endpoint augment_move_range(struct builder *b, struct endpoint x, const double from[2],
                                   const double to[2]);

#endif
