/*
 * wire: protobuf's wire format, field by field, for messages that are frequent or large. They are
 * read in place and written in one pass; a generated struct would copy everything twice.
 *
 *     struct wire wire = wire_of(bytes);
 *     struct wire_field field;
 *     while (wire_next(&wire, &field))
 *         if (wire_is(&field, 2, WIRE_BYTES))
 *             … field.bytes
 *     if (wire.damaged) …
 *
 * Unknown fields and fields of an unexpected type are skipped, as protobuf does. wire_next skips
 * groups, because none of our messages has one; wire_next_any does not.
 */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "base/bytes.h"

enum wire_type {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_GROUP_END = 4,
    WIRE_FIXED32 = 5
};

struct wire {
    const char *at, *end;
    bool damaged; /* cut short, or not a field */
};

struct wire_field {
    uint32_t number;
    enum wire_type type;
    uint64_t value;     /* of a varint or a fixed number */
    struct bytes bytes; /* of WIRE_BYTES; of WIRE_GROUP, with both its tags */
};

static inline struct wire wire_of(struct bytes bytes)
{
    return (struct wire){ bytes.data, bytes.data + bytes.size, false };
}

/* Reads the next field that is no group. False: there is none, or it is damaged. */
bool wire_next(struct wire *wire, struct wire_field *out);
/* Reads the next field, which may be a group. */
bool wire_next_any(struct wire *wire, struct wire_field *out);

static inline bool wire_is(const struct wire_field *field, uint32_t number, enum wire_type type)
{
    return field->number == number && field->type == type;
}

/* Do the bytes consist of whole fields? Messages inside are not checked. */
bool wire_is_whole(struct bytes bytes);

static inline size_t wire_varint_size(uint64_t value)
{
    return 1 + (size_t)(63 - __builtin_clzll(value | 1)) / 7;
}

/* Append a field. The first two leave out a value of 0, as proto3 does. */
void wire_put_varint(struct buffer *out, uint32_t number, uint64_t value);
void wire_put_float(struct buffer *out, uint32_t number, float value);
void wire_put_bytes(struct buffer *out, uint32_t number, struct bytes bytes);

/* Appends the tag and the length of a field whose `size` bytes follow. */
void wire_put_head(struct buffer *out, uint32_t number, size_t size);
size_t wire_head_size(uint32_t number, size_t size);

/* A nested message is opened, filled and closed. Closing one of more than 127 bytes moves it by a
 * few bytes, so large messages use wire_put_head instead. */
size_t wire_open(struct buffer *out, uint32_t number);
void wire_close(struct buffer *out, size_t opened);

#endif
