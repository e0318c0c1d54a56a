/*
 * spectral: SpectralNormalization, a layer around another one, whose kernel it divides by its
 * largest singular value. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_SPECTRAL_H
#define LAYERS_CLASSES_SPECTRAL_H

#include "layers/layer.h"

/* A SpectralNormalization around the current layer. */
struct spectral_wrapper {
    const struct layer *layer, *inner;
    bool found; /* the inner layer has a kernel */
};

/* Is this variable of the inner layer the one that SpectralNormalization divides? */
bool spectral_divides(const struct layer_context *context, const struct layer *layer,
                      const char *name);
/* Builds the value of variable `number` of the graph that the layer uses in this call: in training,
 * the divided one. Adds the vector of the power iteration, which is the next variable. */
struct endpoint spectral_build_divided(struct layer_context *context, int number);
/* TRAIN: adds the penalties of divided variables, which are those after the last call. */
void spectral_penalise(struct layer_context *context);

#endif
