/*
 * described_internal: what the described*.c share.
 *
 * A FileDescriptorSet is read in three passes: the names of messages and enums, the extensions,
 * which go to the messages that they extend (described.c), and the fields (described_fields.c).
 */
#ifndef PROTO_DESCRIBED_INTERNAL_H
#define PROTO_DESCRIBED_INTERNAL_H

#include "base/map.h"
#include "proto/described.h"
#include "proto/descriptor.pb-c.h"

/* reserved_flags of a field */
enum {
    FIELD_UTF8 = 1,     /* a string of proto3 */
    FIELD_NOT_ZERO = 2, /* a float of proto3: protobuf-c would leave out -0, too */
};

typedef Google__Protobuf__DescriptorProto message_proto;
typedef Google__Protobuf__FieldDescriptorProto field_proto;

/* A message while the set is read. */
struct described_draft {
    struct described_message message;      /* first: the two have one address */
    ProtobufCMessageDescriptor descriptor; /* strings are bytes, because a string may hold NULs */
    const message_proto *proto;
    bool is_proto3;
    const field_proto **extensions; /* that extend it, with their full names */
    const char **extension_names;
    int extensions_count, extensions_capacity;
};

struct described_set {
    struct arena *arena;
    struct map messages; /* struct described_draft, by full name */
    struct map enums;    /* ProtobufCEnumDescriptor, by full name */
    bool has_groups;
};

struct status described_invalid(const char *what, const char *name); /* INVALID_ARGUMENT */

/* Finds ".a.B" or, seen from `scope`, "B" in the innermost scope that has it. NULL: none has. */
void *described_resolve(const struct map *map, const char *scope, const char *name);

/* Completes the message and its descriptor. The names of all messages must be known. */
struct status described_make_fields(struct described_set *set, struct described_draft *draft);

#endif
