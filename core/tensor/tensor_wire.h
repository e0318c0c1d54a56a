/*
 * tensor_wire: TensorProto in the wire's own bytes, for requests and answers: numbers of a request
 * are read where they lie whenever their alignment allows it, and an answer is written in one pass.
 * The rules are those of tensor_proto.h (savedmodel-format.md §3.3).
 */
#ifndef TENSOR_TENSOR_WIRE_H
#define TENSOR_TENSOR_WIRE_H

#include "tensor/tensor.h"

/* What a TensorProto says of itself, before its elements are read. */
struct tensor_wire {
    enum dtype dtype;
    struct shape shape;
    struct bytes message, content;
    bool has_content;
    bool any_address;  /* set by a caller who copies the elements anyway (tensor_is_aligned) */
    size_t size_bytes; /* of the tensor's elements in memory: a few bytes may claim many */
};

/* INVALID_ARGUMENT damaged, no valid type, a shape that is not fully known or does not fit. */
struct status tensor_wire_scan(struct bytes message, struct tensor_wire *out);

/**
 * The tensor. It borrows from the message, or lives in `arena` where the elements are not there as
 * such (packed varints, one value for all; addresses that do not fit, unless any_address).
 *
 * Errors  INVALID_ARGUMENT as tensor_from_proto; UNIMPLEMENTED resource and variant;
 *         RESOURCE_EXHAUSTED the arena's limit
 */
struct status tensor_wire_read(const struct tensor_wire *wire, struct arena *arena,
                               struct tensor *out);

enum tensor_wire_form {
    TENSOR_WIRE_VALUES,  /* float_val, int_val, …: what every client reads */
    TENSOR_WIRE_CONTENT, /* tensor_content */
};

/* A dtype that a TensorProto can hold here: not resource, variant. */
bool tensor_wire_can_put(enum dtype dtype);

/* The TensorProto's bytes, and how many they are. The dtype is one of tensor_wire_can_put. */
size_t tensor_wire_size(const struct tensor *tensor, enum tensor_wire_form form);
void tensor_wire_put(const struct tensor *tensor, enum tensor_wire_form form, struct buffer *out);

#endif
