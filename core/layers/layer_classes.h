/*
 * layer_classes: every class of layer, by the file that defines it; layer.c has the table. Internal
 * to layers/.
 */
#ifndef LAYERS_LAYER_CLASSES_H
#define LAYERS_LAYER_CLASSES_H

#include "layers/layer.h"

/* The row of a class: with one input, and with a list of inputs. */
#define LAYER_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {               \
        .name = class_name,                                 \
        .args = class_args,                                 \
        .args_count = (int)COUNT(class_args),               \
        .build = function,                                  \
    }
#define MERGE_CLASS(noun, class_name, class_args, function) \
    const struct layer_class layer_##noun = {               \
        .name = class_name,                                 \
        .args = class_args,                                 \
        .args_count = (int)COUNT(class_args),               \
        .merge = function,                                  \
    }

/* layer_core.c */
extern const struct layer_class layer_input, layer_dense, layer_flatten, layer_reshape,
    layer_dropout, layer_rescaling;
/* layer_image.c */
extern const struct layer_class layer_conv2d, layer_max_pooling, layer_average_pooling,
    layer_global_max_pooling, layer_global_average_pooling, layer_zero_padding;
/* layer_merge.c */
extern const struct layer_class layer_add, layer_subtract, layer_multiply, layer_average,
    layer_maximum, layer_minimum, layer_concatenate, layer_dot;
/* layer_activation.c */
extern const struct layer_class layer_activation, layer_relu, layer_leaky_relu, layer_softmax;

#endif
