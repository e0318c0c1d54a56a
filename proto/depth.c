#include "proto/depth.h"

enum { VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5 };

static struct status damaged(const ProtobufCMessageDescriptor *descriptor, const char *what)
{
    return status_error(STATUS_INTERNAL, "Failed to parse %s: %s", descriptor->name, what);
}

/* Reads the value of one field and moves *at past it. *out is the content of a delimited one. */
static bool skip(const char **at, const char *end, unsigned wire, struct bytes *held)
{
    uint64_t size;
    switch (wire) {
    case VARINT:
        return varint_get(at, end, &size);
    case FIXED64:
        size = 8;
        break;
    case FIXED32:
        size = 4;
        break;
    case DELIMITED:
        if (!varint_get(at, end, &size))
            return false;
        break;
    default: /* groups: none of our messages has one */
        return false;
    }
    if (size > (uint64_t)(end - *at))
        return false;
    *held = (struct bytes){ *at, (size_t)size };
    *at += size;
    return true;
}

static struct status check(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes,
                           int depth)
{
    if (depth > PROTO_DEPTH_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Failed to parse %s: messages are nested deeper than %d",
                            descriptor->name, PROTO_DEPTH_MAX);
    const char *at = bytes.data, *end = bytes.data + bytes.size;
    while (at < end) {
        uint64_t tag;
        struct bytes held = { NULL, 0 };
        if (!varint_get(&at, end, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
            return damaged(descriptor, "bad tag");
        if (!skip(&at, end, tag & 7, &held))
            return damaged(descriptor, "truncated or bad field");
        if ((tag & 7) != DELIMITED)
            continue;
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
        if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE)
            TRY(check(field->descriptor, held, depth + 1));
    }
    return status_ok();
}

struct status proto_check_depth(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes)
{
    return check(descriptor, bytes, 1);
}
