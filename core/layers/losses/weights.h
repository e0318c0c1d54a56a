/*
 * weights: the weights of a batch's examples, and the mask of an output. Internal to layers/.
 */
#ifndef LAYERS_LOSSES_WEIGHTS_H
#define LAYERS_LOSSES_WEIGHTS_H

#include "layers/layer.h"

/* The shape of the weights of examples: [-1], or [-1, steps…] if the model's only output has
 * losses of steps. In the second case a row may also have a single weight, of shape [1, …], for
 * all its steps. */
struct shape weights_shape(const struct layers_model *model);
/* Adds the placeholder of the weights if the graph is weighted. */
void place_weights(struct layer_context *context, const struct layers_model *model);

/* The weights of a weighted graph, reshaped to the rank of `losses` so that they broadcast over
 * a row or over the outputs of a step. */
struct endpoint spread_weights(struct layer_context *context, const struct shape *losses);

/* Multiplies losses [batch, …] by the examples' weights. Returns the losses unchanged unless the
 * graph is weighted. */
struct endpoint build_weights(struct layer_context *context, struct endpoint losses);

/* Multiplies losses by the mask of the output (a null node: none), so that their mean or sum
 * covers only the unmasked steps. `by_output`: the losses have one more dimension
 * than the mask. `mean`: they will be reduced to their mean. */
struct endpoint build_loss_mask(struct layer_context *context, struct endpoint mask,
                                struct endpoint losses, bool by_output, bool mean);

#endif
