/*
 * tensor_proto: TensorProto and TensorShapeProto to and from our own structs: the edge where
 * protobuf-c's types end. Source: savedmodel-format.md §3.3 and §4.
 */
#ifndef TENSOR_TENSOR_PROTO_H
#define TENSOR_TENSOR_PROTO_H

#include "tensor/tensor.h"

struct Tensorflow__TensorProto;
struct Tensorflow__TensorShapeProto;

/**
 * Decodes a constant, with TensorFlow's rules: tensor_content wins; else the last value given is
 * repeated; else zeros.
 *
 * Owner   numbers: a buffer of out's own. Strings: characters in `arena`
 * Errors  INVALID_ARGUMENT dtype, shape, length of tensor_content, a bool byte that is neither 0
 * nor 1; RESOURCE_EXHAUSTED a size that memory cannot hold (a tensor that claims 2^60 elements);
 *         UNIMPLEMENTED resource and variant
 */
struct status tensor_from_proto(const struct Tensorflow__TensorProto *proto, struct arena *arena,
                                struct tensor *out);

/* Absent (NULL) means unknown rank, as in signatures and attributes. INVALID_ARGUMENT: rank over
 * SHAPE_RANK_MAX. */
struct status shape_from_proto(const struct Tensorflow__TensorShapeProto *proto, struct shape *out);

/* The reverse, in `arena`. Numbers of more than one element as tensor_content, which borrows the
 * tensor's data. */
struct Tensorflow__TensorProto *tensor_to_proto(const struct tensor *tensor, struct arena *arena);
struct Tensorflow__TensorShapeProto *shape_to_proto(const struct shape *shape, struct arena *arena);

#endif
