#include "proto/message.h"

#include "proto/arena_allocator.h"
#include "proto/depth.h"

struct status proto_unpack(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes,
                           struct arena *arena, void *out)
{
    if (bytes.size == 0)
        bytes.data = ""; /* it may be NULL */
    TRY(proto_check_depth(descriptor, bytes));
    struct arena_allocator allocator;
    arena_allocator_init(&allocator, arena);
    ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator.base, bytes.size,
                                                          (const uint8_t *)bytes.data);
    if (message == NULL && !status_is_ok(allocator.failure))
        return status_in(allocator.failure, "%s", descriptor->name);
    if (message == NULL)
        return status_error(STATUS_INTERNAL, "Failed to parse %s: wrong type of a field",
                            descriptor->name);
    memcpy(out, &message, sizeof message);
    return status_ok();
}

void proto_pack(const void *message, struct buffer *buffer)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    buffer_reserve(buffer, size + 1);
    protobuf_c_message_pack(message, (uint8_t *)buffer->data + buffer->size);
    buffer->size += size;
}

void *proto_new(struct arena *arena, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = arena_alloc(arena, descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}
