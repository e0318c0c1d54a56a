/*
 * message: protobuf-c messages in arenas. All bytes from files and from peers are parsed here.
 *
 *     Tensorflow__SavedModel *model;
 *     TRY(proto_unpack(&tensorflow__saved_model__descriptor, bytes, arena, &model));
 *
 * A message in an arena is never freed with protobuf-c's free_unpacked.
 */
#ifndef PROTO_MESSAGE_H
#define PROTO_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/bytes.h"

/**
 * Parses a message. Unknown fields are kept, for a later proto_pack. `out` points to a pointer to
 * the message's struct.
 *
 * Owner   everything lives in `arena`; bytes are copied
 * Errors  INTERNAL not such a message; INVALID_ARGUMENT nested deeper than PROTO_DEPTH_MAX;
 *         RESOURCE_EXHAUSTED the arena's limit
 */
struct status proto_unpack(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes,
                           struct arena *arena, void *out);

/* Appends the message's bytes. */
void proto_pack(const void *message, struct buffer *buffer);

/* A message of defaults in `arena`: PROTO_NEW(arena, Tensorflow__NodeDef, tensorflow__node_def). */
#define PROTO_NEW(arena, type, name) ((type *)proto_new(arena, &name##__descriptor))
void *proto_new(struct arena *arena, const ProtobufCMessageDescriptor *descriptor);

#endif
