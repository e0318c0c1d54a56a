/*
 * infer_wire: inference.ModelInferRequest and ModelInferResponse (proto/open_inference.proto), read
 * in place and written in one pass. Elements are raw contents, after the inputs and in their order,
 * or contents of each input; a message has only one of the two.
 */
#ifndef SERVER_OIP_INFER_WIRE_H
#define SERVER_OIP_INFER_WIRE_H

#include "server/oip/infer.h"

/**
 * Reads a message, which must live as long as the request.
 *
 * Errors  INTERNAL damaged; INVALID_ARGUMENT a datatype, a shape, elements that do not match it;
 *         UNIMPLEMENTED shared memory, classification; RESOURCE_EXHAUSTED the arena's limit
 */
struct status infer_wire_read(struct bytes message, struct arena *arena, struct infer_request *out);

/* Upper bound of the bytes that infer_wire_put writes; SIZE_MAX if it overflows. The outputs
 * must have passed infer_check_outputs. */
size_t infer_wire_size_max(const struct infer_answer *answer, const struct tensor *outputs);

/* Writes the answer; `outputs` are in the signature's order. It has raw contents if answer->raw
 * is set, or if an output has no other form. */
void infer_wire_put(const struct infer_answer *answer, const struct tensor *outputs,
                    struct buffer *out);

#endif
