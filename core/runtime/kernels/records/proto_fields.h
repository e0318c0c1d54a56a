/*
 * proto_fields: what DecodeProtoV2 and EncodeProto do to fields of a message that is known only
 * when the plan is made: finding them, and their types as tensors.
 */
#ifndef KERNELS_PROTO_FIELDS_H
#define KERNELS_PROTO_FIELDS_H

#include "proto/described.h"
#include "proto/wire.h"
#include "runtime/kernel.h"

struct proto_fields {
    const struct described_message *message;
    const struct described_field **fields; /* in the order of the attribute `field_names` */
    int count;
    int *by_number; /* indices into `fields`, in the order of their numbers */
};

/**
 * Reads the attributes `descriptor_source`, `message_type` and `field_names`.
 *
 * Owner   the result lives in the plan's arena
 * Errors  INVALID_ARGUMENT as in TensorFlow; UNIMPLEMENTED a file as the source, or a message of
 *         TensorFlow's own that is not compiled in
 */
struct status proto_fields_prepare(struct prepare_context *p, bool extensions,
                                   struct proto_fields *out);

/* May a tensor of that type hold the field? */
bool proto_field_fits(const struct described_field *field, enum dtype dtype);

/* The wire type of a single value. */
enum wire_type proto_field_wire(const struct described_field *field);

#endif
