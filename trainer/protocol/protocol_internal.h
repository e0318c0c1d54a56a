/* protocol_internal: helpers of the protocol's files, which alone see protobuf-c's types. */
#ifndef TRAINER_PROTOCOL_PROTOCOL_INTERNAL_H
#define TRAINER_PROTOCOL_PROTOCOL_INTERNAL_H

#include "proto/message.h"
#include "proto/training.pb-c.h"
#include "trainer/protocol/protocol.h"

/* Short names for the types that protoc-c generates: PROTO(Ticket) is a type. */
#define PROTO(type) Slipway__Training__##type

/* protobuf-c has no const: casts a text that is only packed. */
#define TEXT(text) ((char *)(uintptr_t)(text))

/* Packs a message without payload. The message owns its header. `header` is a protobuf-c
 * message. */
struct message protocol_pack(const void *header);

/* Reads a header into `arena`; *out is a pointer to a message of type `name`. */
#define PROTOCOL_UNPACK(message, name, arena, out) \
    protocol_unpack((message), &slipway__training__##name##__descriptor, (arena), (out))
struct status protocol_unpack(const struct message *message,
                              const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                              void *out);

/* Fills *out for packing and returns it; NULL for NULL. */
PROTO(Identity) * identity_to_proto(const struct identity *identity, PROTO(Identity) * out);
PROTO(Ticket) * ticket_to_proto(const struct ticket *ticket, PROTO(Ticket) * out);

/* NULL for a job without loss scaling, in both directions. */
PROTO(LossScale) * loss_scale_to_proto(const struct loss_scale *state, PROTO(LossScale) * out);
struct loss_scale loss_scale_from_proto(const PROTO(LossScale) * state);

/* In `arena`; NULL for NULL. */
const struct identity *identity_from_proto(const PROTO(Identity) * identity, struct arena *arena);
const struct ticket *ticket_from_proto(const PROTO(Ticket) * ticket, struct arena *arena);

#endif
