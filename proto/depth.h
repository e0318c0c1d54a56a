/*
 * depth: checks how deep a message nests before protobuf-c parses it, which recurses without a
 * limit: 12 000 nested messages, a body of 26 KB, overflow the stack. Only fields that the
 * descriptor declares as messages count; bytes and unknown fields do not nest.
 */
#ifndef PROTO_DEPTH_H
#define PROTO_DEPTH_H

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

#define PROTO_DEPTH_MAX 100 /* as in Google's own parsers */

/**
 * Walks the message and everything in it.
 *
 * Errors  INVALID_ARGUMENT nested deeper than PROTO_DEPTH_MAX; INTERNAL the wire is damaged
 */
struct status proto_check_depth(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes);

#endif
