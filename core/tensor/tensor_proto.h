/*
 * tensor_proto: converts TensorProto and TensorShapeProto to and from our own structs. protobuf-c's
 * types end here.
 */
#ifndef TENSOR_TENSOR_PROTO_H
#define TENSOR_TENSOR_PROTO_H

#include "tensor/tensor.h"

struct Tensorflow__TensorProto;
struct Tensorflow__TensorShapeProto;

/**
 * Decodes a constant by TensorFlow's rules (Tensor::FromProto): tensor_content if it is set;
 * otherwise the values, of which the last one is repeated; zeros if there are none.
 *
 * Owner   numbers: a buffer of out's own. Strings: characters in `arena`
 * Errors  INVALID_ARGUMENT dtype, shape, length of tensor_content, a bool byte that is neither 0
 *         nor 1; RESOURCE_EXHAUSTED no memory, as for a tensor that claims 2^60 elements;
 *         UNIMPLEMENTED resource and variant
 */
struct status tensor_from_proto(const struct Tensorflow__TensorProto *proto, struct arena *arena,
                                struct tensor *out);

/* NULL means unknown rank, as in signatures and attributes. INVALID_ARGUMENT: rank over
 * SHAPE_RANK_MAX. */
struct status shape_from_proto(const struct Tensorflow__TensorShapeProto *proto, struct shape *out);

/* The reverse, in `arena`. Numbers of more than one element become tensor_content. The message
 * borrows the tensor's data. */
struct Tensorflow__TensorProto *tensor_to_proto(const struct tensor *tensor, struct arena *arena);
/* Only the elements, in the list of their type (float_val, int_val, …), without dtype and shape, as
 * checkpoints of format V1 hold them. It may borrow the tensor's data. NULL: a type without a
 * list. */
struct Tensorflow__TensorProto *tensor_to_values(const struct tensor *tensor, struct arena *arena);
/* The number of elements in the list of that type. */
size_t tensor_values_count(const struct Tensorflow__TensorProto *proto, enum dtype dtype);
struct Tensorflow__TensorShapeProto *shape_to_proto(const struct shape *shape, struct arena *arena);

#endif
