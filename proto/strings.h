/*
 * strings: checks what protobuf-c does not check of a message's strings. It ends them at the first
 * NUL, and takes bytes that are not UTF-8, which protobuf does not allow.
 */
#ifndef PROTO_STRINGS_H
#define PROTO_STRINGS_H

#include <protobuf-c/protobuf-c.h>

#include "base/bytes.h"

/**
 * Walks a message on the wire and everything in it that the descriptor declares.
 *
 * Errors  INVALID_ARGUMENT a string that is not UTF-8 or holds a NUL; as proto_check_depth for what
 *         is no message
 */
struct status proto_check_strings(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes);

#endif
