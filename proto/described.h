/*
 * described: messages that a FileDescriptorSet describes when the program runs.
 *
 *     const struct described_set *set;
 *     TRY(described_set_read(bytes, arena, &set));
 *     const struct described_message *type = described_message_find(set, bytes_of("a.Message"));
 *
 * They become descriptors of protobuf-c, which parses and serializes them. It knows no groups: if a
 * message holds one (`has_groups`), nothing is parsed. The file wire.h reads fields without it.
 */
#ifndef PROTO_DESCRIBED_H
#define PROTO_DESCRIBED_H

#include "base/arena.h"
#include "base/bytes.h"

/* FieldDescriptorProto.Type */
enum described_type {
    DESCRIBED_DOUBLE = 1,
    DESCRIBED_FLOAT,
    DESCRIBED_INT64,
    DESCRIBED_UINT64,
    DESCRIBED_INT32,
    DESCRIBED_FIXED64,
    DESCRIBED_FIXED32,
    DESCRIBED_BOOL,
    DESCRIBED_STRING,
    DESCRIBED_GROUP,
    DESCRIBED_MESSAGE,
    DESCRIBED_BYTES,
    DESCRIBED_UINT32,
    DESCRIBED_ENUM,
    DESCRIBED_SFIXED32,
    DESCRIBED_SFIXED64,
    DESCRIBED_SINT32,
    DESCRIBED_SINT64,
};

const char *described_type_name(enum described_type type);     /* "sint32", "message", … */
const char *described_type_cpp_name(enum described_type type); /* "int32", "message", … */

struct described_field {
    const char *name; /* of an extension, the full name */
    uint32_t number;
    enum described_type type;
    bool is_repeated, is_packed, is_extension;
    /* what a message without the field has: of strings and bytes, of float and double, of integers
     * (as 64 bits), bools and enums */
    struct bytes default_text;
    double default_real;
    uint64_t default_integer;
};

struct described_message {
    const char *full_name;
    const struct described_field *fields;
    int fields_count;
    bool has_groups; /* in any message of the set */
};

struct described_set;

/**
 * Reads a serialized FileDescriptorSet.
 *
 * Owner   everything lives in `arena`
 * Errors  INVALID_ARGUMENT not such a set, or one that contradicts itself; UNIMPLEMENTED a file of
 *         an edition
 */
struct status described_set_read(struct bytes set, struct arena *arena,
                                 const struct described_set **out);

/* "package.Message.Inner"; NULL: there is none. */
const struct described_message *described_message_find(const struct described_set *set,
                                                       struct bytes full_name);

/* Its own fields by name, and then extensions by full name. NULL: there is none. */
const struct described_field *described_field_find(const struct described_message *message,
                                                   struct bytes name);

enum described_format { DESCRIBED_BINARY, DESCRIBED_TEXT };

/**
 * Parses a message and serializes it: fields in the order of their numbers, the last of several
 * values of a singular field, unknown fields at the end.
 *
 * Owner   the result lives in `arena`
 * Errors  DATA_LOSS not such a message; UNIMPLEMENTED a message with groups; RESOURCE_EXHAUSTED the
 *         arena's limit
 */
struct status described_reserialize(const struct described_message *message,
                                    enum described_format format, struct bytes in,
                                    struct arena *arena, struct bytes *out);

#endif
