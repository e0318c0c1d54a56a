/*
 * tensor_wire: reads and writes serialized TensorProtos, for requests and answers. A request's
 * numbers are used in place if their alignment allows it; an answer is written in one pass. The
 * rules are those of tensor_proto.h.
 */
#ifndef TENSOR_TENSOR_WIRE_H
#define TENSOR_TENSOR_WIRE_H

#include "tensor/tensor.h"

/* The description of a TensorProto, before its elements are read. */
struct tensor_wire {
    enum dtype dtype;
    struct shape shape;
    struct bytes message, content;
    bool has_content;
    bool any_address;  /* set by a caller that copies the elements anyway (tensor_is_aligned) */
    size_t size_bytes; /* of the elements in memory; a short message may claim many */
};

/* INVALID_ARGUMENT: damaged, an invalid type, a shape that is not known or does not fit. */
struct status tensor_wire_scan(struct bytes message, struct tensor_wire *out);

/**
 * Makes the tensor. It borrows from the message, or lives in `arena` if the message has the
 * elements in another form (packed varints, one value for all) or unaligned (unless any_address).
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

/* Can the dtype be written? Not resource and variant. */
bool tensor_wire_can_put(enum dtype dtype);

/* The serialized size, and the bytes. The dtype must pass tensor_wire_can_put. */
size_t tensor_wire_size(const struct tensor *tensor, enum tensor_wire_form form);
void tensor_wire_put(const struct tensor *tensor, enum tensor_wire_form form, struct buffer *out);

#endif
