/*
 * classes: every class of layer, from the list in classes.def; the macros that define one; and what
 * their files share. Internal to layers/.
 */
#ifndef LAYERS_CLASSES_CLASSES_H
#define LAYERS_CLASSES_CLASSES_H

#include "layers/layer.h"
#include "layers/layer_variable.h"
#include "layers/sizes.h"

/* Defines the row of a class: its arguments, and then its other members. */
#define LAYER_ROW(noun, class_name, class_args, ...) \
    const struct layer_class layer_##noun = {        \
        .name = class_name,                          \
        .args = class_args,                          \
        .args_count = (int)COUNT(class_args),        \
        __VA_ARGS__,                                 \
    }

/* A class with one input, and a class with a list of inputs. */
#define LAYER_CLASS(noun, class_name, class_args, function) \
    LAYER_ROW(noun, class_name, class_args, .build = function)
#define MERGE_CLASS(noun, class_name, class_args, function) \
    LAYER_ROW(noun, class_name, class_args, .merge = function)
/* Like LAYER_CLASS, for a layer that computes in float32 also under a policy of 16 bits. */
#define FLOAT_LAYER_CLASS(noun, class_name, class_args, function) \
    LAYER_ROW(noun, class_name, class_args, .build = function, .precision = LAYER_COMPUTES_FLOATS)
/* Like LAYER_CLASS, for a layer that passes its input's mask on. */
#define MASKED_LAYER_CLASS(noun, class_name, class_args, function) \
    LAYER_ROW(noun, class_name, class_args, .build = function, .mask = mask_passed_on)
/* Like LAYER_CLASS, for a layer that only moves elements, of any type. */
#define ALIKE_LAYER_CLASS(noun, class_name, class_args, function) \
    LAYER_ROW(noun, class_name, class_args, .build = function, .inputs = LAYER_TAKES_ALIKE)

#define LAYER(noun)     extern const struct layer_class layer_##noun;
#define OPERATION(noun) extern const struct layer_class layer_op_##noun;
#include "layers/classes/classes.def"
#undef LAYER
#undef OPERATION

/* Not in the list. A model inside a model, of Keras' classes Functional and Sequential; and a class
 * of KerasCV, which has the name of another one. */
extern const struct layer_class layer_model, layer_depth_of_cv;

/* Can this layer be inside a layer that calls it once? */
bool layer_can_be_inside(struct layer_context *context, const struct layer *inner);

/* x with this axis and the last one swapped. */
struct endpoint build_swap_last(struct builder *b, struct endpoint x, int axis);

/* Scales x to unit length along the axes: UnitNormalization, and Dot if it normalises.
 * `epsilon`: Keras 3 multiplies shorter vectors by 1 / epsilon. */
struct endpoint build_unit_vectors(struct layer_context *context, struct endpoint x, int count,
                                   const int32_t *axes, float epsilon);

#endif
