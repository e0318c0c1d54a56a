/*
 * types: message types by name, for google.protobuf.Any, and the sizes of values.
 */
#ifndef PROTO_TYPES_H
#define PROTO_TYPES_H

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

/* Finds "tensorflow.VariableDef", or a URL that ends in "/tensorflow.VariableDef". NULL: not a type
 * that an Any may contain here. */
const ProtobufCMessageDescriptor *proto_type_find(struct bytes name_or_url);

/* The bytes of one value of a field of this type in a message's struct. */
size_t proto_value_size(ProtobufCType type);

#endif
