/*
 * types: message types by name, for google.protobuf.Any; the sizes of values.
 */
#ifndef PROTO_TYPES_H
#define PROTO_TYPES_H

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

/* Of "tensorflow.VariableDef", or of a URL that ends in "/tensorflow.VariableDef"; NULL: not one
 * that an Any may hold. */
const ProtobufCMessageDescriptor *proto_type_find(struct bytes name_or_url);

/* What one value of such a field takes in a message's struct. */
size_t proto_value_size(ProtobufCType type);

#endif
