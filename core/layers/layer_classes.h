/*
 * layer_classes: every class of layer, by the file that defines it; layer.c has the table. Internal
 * to layers/.
 */
#ifndef LAYERS_LAYER_CLASSES_H
#define LAYERS_LAYER_CLASSES_H

#include "layers/layer.h"

/* layer_core.c */
extern const struct layer_class layer_input, layer_dense, layer_flatten, layer_reshape,
    layer_dropout, layer_rescaling;
/* layer_image.c */
extern const struct layer_class layer_conv2d, layer_max_pooling, layer_average_pooling,
    layer_global_max_pooling, layer_global_average_pooling, layer_zero_padding;
/* layer_activation.c */
extern const struct layer_class layer_activation, layer_relu, layer_leaky_relu, layer_softmax;

#endif
