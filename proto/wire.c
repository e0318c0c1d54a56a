#include "proto/wire.h"

#include "base/float_bits.h"

#define NUMBER_MAX      0x1fffffff
#define GROUP_DEPTH_MAX 100 /* as protobuf's parsers */

static bool damaged(struct wire *wire)
{
    wire->damaged = true;
    return false;
}

static bool take(struct wire *wire, size_t size, struct bytes *out)
{
    if (size > (size_t)(wire->end - wire->at))
        return damaged(wire);
    *out = (struct bytes){ wire->at, size };
    wire->at += size;
    return true;
}

static bool read_tag(struct wire *wire, struct wire_field *out)
{
    uint64_t tag;
    if (!varint_get(&wire->at, wire->end, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
        return damaged(wire);
    out->number = (uint32_t)(tag >> 3);
    out->type = (enum wire_type)(tag & 7);
    return true;
}

/* Reads what follows the tag of a field that is not a group. */
static bool read_value(struct wire *wire, struct wire_field *out)
{
    uint64_t size;
    struct bytes fixed;
    switch (out->type) {
    case WIRE_VARINT:
        return varint_get(&wire->at, wire->end, &out->value) || damaged(wire);
    case WIRE_FIXED64:
        if (!take(wire, 8, &fixed))
            return false;
        out->value = get_u64le(fixed.data);
        return true;
    case WIRE_FIXED32:
        if (!take(wire, 4, &fixed))
            return false;
        out->value = get_u32le(fixed.data);
        return true;
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        break;
    case WIRE_BYTES:
        if (!varint_get(&wire->at, wire->end, &size) || size > SIZE_MAX)
            return damaged(wire);
        return take(wire, (size_t)size, &out->bytes);
    }
    return damaged(wire);
}

/* Skips the fields of a group, after its first tag, up to its end tag. */
static bool skip_group(struct wire *wire, uint32_t number)
{
    uint32_t open[GROUP_DEPTH_MAX] = { number };
    struct wire_field field;
    int depth = 1;
    while (depth > 0) {
        if (!read_tag(wire, &field))
            return false;
        if (field.type == WIRE_GROUP) {
            if (depth == GROUP_DEPTH_MAX)
                return damaged(wire);
            open[depth++] = field.number;
        } else if (field.type == WIRE_GROUP_END) {
            if (open[--depth] != field.number)
                return damaged(wire);
        } else if (!read_value(wire, &field)) {
            return false;
        }
    }
    return true;
}

bool wire_next_any(struct wire *wire, struct wire_field *out)
{
    const char *start = wire->at;
    if (wire->at == wire->end || wire->damaged || !read_tag(wire, out))
        return false;
    if (out->type != WIRE_GROUP)
        return read_value(wire, out);
    if (!skip_group(wire, out->number))
        return false;
    out->bytes = (struct bytes){ start, (size_t)(wire->at - start) };
    return true;
}

bool wire_next(struct wire *wire, struct wire_field *out)
{
    while (wire_next_any(wire, out))
        if (out->type != WIRE_GROUP)
            return true;
    return false;
}

bool wire_is_whole(struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field))
        ;
    return !wire.damaged;
}

static uint64_t tag_of(uint32_t number, enum wire_type type)
{
    return (uint64_t)number << 3 | type;
}

void wire_put_varint(struct buffer *out, uint32_t number, uint64_t value)
{
    if (value == 0)
        return;
    buffer_append_varint(out, tag_of(number, WIRE_VARINT));
    buffer_append_varint(out, value);
}

void wire_put_float(struct buffer *out, uint32_t number, float value)
{
    uint32_t bits = bits_of_float(value);
    char fixed[4];
    if (bits == 0)
        return;
    buffer_append_varint(out, tag_of(number, WIRE_FIXED32));
    put_u32le(fixed, bits);
    buffer_append(out, fixed, sizeof fixed);
}

void wire_put_head(struct buffer *out, uint32_t number, size_t size)
{
    buffer_append_varint(out, tag_of(number, WIRE_BYTES));
    buffer_append_varint(out, size);
}

size_t wire_head_size(uint32_t number, size_t size)
{
    return wire_varint_size(tag_of(number, WIRE_BYTES)) + wire_varint_size(size);
}

void wire_put_bytes(struct buffer *out, uint32_t number, struct bytes bytes)
{
    wire_put_head(out, number, bytes.size);
    if (bytes.size > 0)
        buffer_append(out, bytes.data, bytes.size);
}

/* Leaves one byte for the length; most nested messages need no more. */
size_t wire_open(struct buffer *out, uint32_t number)
{
    wire_put_head(out, number, 0);
    return out->size;
}

void wire_close(struct buffer *out, size_t opened)
{
    size_t size = out->size - opened;
    size_t more = wire_varint_size(size) - 1;
    if (more > 0) {
        buffer_reserve(out, more);
        memmove(out->data + opened + more, out->data + opened, size);
        out->size += more;
    }
    varint_put(out->data + opened - 1, size);
}
