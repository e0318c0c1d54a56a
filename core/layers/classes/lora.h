/*
 * lora: Keras' enable_lora(): a layer with the argument lora_rank trains a change of low rank of
 * its kernel instead of the kernel. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_LORA_H
#define LAYERS_CLASSES_LORA_H

#include "layers/layer.h"

#define LORA_ARGS                                \
    { "lora_rank", ARG_NULL_OR_INT, "null" },    \
    {                                            \
        "lora_alpha", ARG_NULL_OR_NUMBER, "null" \
    }
/* Does the layer train a change of low rank instead of its kernel? */
bool layer_has_lora(const struct layer *layer);
/* The kernel with that change, or the kernel itself. Its arguments and the factors are named by
 * `noun`: "kernel" or "embeddings". Keras lists the factors after all other variables. */
struct endpoint lora_change(struct layer_context *context, const struct layer *layer,
                            const char *noun, struct endpoint kernel);
/* The factors of the change of a kernel of this shape. Returns false on failure. */
bool lora_factors(struct layer_context *context, const struct layer *layer, const char *noun,
                  struct shape shape, struct endpoint *a, struct endpoint *b);
/* The factor of the product of the two factors. */
double lora_scale(const struct layer *layer);

#endif
