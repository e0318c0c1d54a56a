/*
 * op: helpers of the files op*.c. Keras 3 prints an operation on tensors (keras.ops, x + y, x[:,
 * 0]) as a layer of a Functional model, whose module is keras.src.ops.something. Inputs and outputs
 * need not be floats, and some call arguments are numbers. Dimension 0 stays the batch. Internal to
 * layers/.
 */
#ifndef LAYERS_CLASSES_OP_H
#define LAYERS_CLASSES_OP_H

#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

/* Define the row of an operation, without and with arguments. `inputs` is call_args of layer.h. */
#define OP_CLASS(noun, class_name, inputs, function) \
    const struct layer_class layer_op_##noun = {     \
        .name = class_name,                          \
        .call = function,                            \
        .call_args = inputs,                         \
        .any_dtype = true,                           \
        .precision = LAYER_HAS_NO_POLICY,            \
    }
#define OP_ARGS_CLASS(noun, class_name, class_args, inputs, function)                   \
    LAYER_ROW(op_##noun, class_name, class_args, .call = function, .call_args = inputs, \
              .any_dtype = true, .precision = LAYER_HAS_NO_POLICY)
/* Like OP_ARGS_CLASS, for an operation with the argument "dtype" of its output. */
#define OP_DTYPE_CLASS(noun, class_name, class_args, inputs, function)                  \
    LAYER_ROW(op_##noun, class_name, class_args, .call = function, .call_args = inputs, \
              .any_dtype = true, .precision = LAYER_HAS_NO_POLICY | LAYER_KEEPS_OUTPUTS)

/* Floats represent all integers up to this one exactly. */
#define FLOAT_INTEGER_MAX 16777216.0f

/* The call arguments of most operations: "x"; "x1" and "x2"; a list "xs". */
extern const char *const op_x[], *const op_x1_x2[], *const op_xs[];

/* Sets the only output. */
void op_give(struct layer_io *io, struct endpoint value);
/* A scalar of the dtype of `like`. */
struct endpoint op_number_like(struct layer_context *context, struct endpoint like, double value);
/* Adds a reduction over these axes. */
struct endpoint op_over_axes(struct builder *b, const char *op, struct endpoint x, int count,
                             const int32_t *axes, bool keep);
/* bool [rows, columns], of the last two dimensions of x: true where column - row is at most k. */
struct endpoint op_lower_triangle(struct builder *b, struct endpoint x, int32_t k);
/* Checks that an input is not text. Returns false on failure. */
bool op_check_numbers(struct layer_context *context, const struct layer *layer, struct endpoint x);
/* The input as floats. Returns false on failure, such as for text. */
bool op_floats(struct layer_context *context, const struct layer *layer, struct endpoint *x);

/* Float x with these numbers in the place of NaN, -∞ and ∞. */
struct endpoint op_finite(struct builder *b, struct endpoint x, double nan, double least,
                          double most);
/* The constant of a call argument that is not a tensor; NULL: none. */
const struct json_value *op_constant(const struct layer_io *io, const char *argument);

/* Reads a constant call argument as a float tensor: a number, nested lists, or an array as Keras
 * prints it. Returns false if it is none of these. */
bool op_numbers(struct layer_context *context, const struct layer_io *io, const char *argument,
                struct tensor *out);
/* The same as a tensor of floats or, of integers, int32. Returns false on failure. */
bool op_table(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
              const char *argument, struct endpoint *out);
/* Reads a call argument that is one number into *out, which keeps its value if there is none.
 * Returns false on failure, such as for a tensor. */
bool op_number(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
               const char *argument, double *out);
/* Casts to the type that the argument "dtype" names; null: no cast. */
struct endpoint op_in_dtype(struct layer_context *context, const struct layer *layer,
                            struct endpoint x);

/* The operands x1 and x2, tensors of one rank or numbers, in Keras' result type. At least one is a
 * tensor. Returns false on failure. */
bool op_operands(struct layer_context *context, const struct layer *layer,
                 const struct layer_io *io, struct endpoint out[2]);

#endif
