/* Parses a described message and serializes it. */
#include "base/utf8.h"
#include "proto/described_internal.h"
#include "proto/message.h"
#include "proto/text.h"
#include "proto/types.h"

static bool settle(ProtobufCMessage *message);

static bool settle_value(const ProtobufCFieldDescriptor *field, const void *value)
{
    ProtobufCMessage *message;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        ProtobufCBinaryData text;
        memcpy(&text, value, sizeof text);
        return utf8_is_valid((struct bytes){ (const char *)text.data, text.len });
    }
    memcpy(&message, value, sizeof message);
    return message == NULL || settle(message);
}

static void leave_out_zero(const ProtobufCFieldDescriptor *field, ProtobufCMessage *message)
{
    static const char zero[sizeof(double)];
    const char *value = (const char *)message + field->offset;
    if (memcmp(value, zero, proto_value_size(field->type)) == 0)
        memset((char *)message + field->quantifier_offset, 0, sizeof(protobuf_c_boolean));
}

/* Leaves out floats of proto3 that are 0, which protobuf-c does not do. False: a string of
 * proto3 is not UTF-8. Recurses as deep as messages nest, which their parsers limit. */
static bool settle(ProtobufCMessage *message)
{
    bool right = true;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *value = (const char *)message + field->offset, *elements;
        size_t count = 1, size = proto_value_size(field->type);
        uint32_t chosen = field->id;
        if (field->reserved_flags & FIELD_NOT_ZERO)
            leave_out_zero(field, message);
        if (field->type != PROTOBUF_C_TYPE_MESSAGE && !(field->reserved_flags & FIELD_UTF8))
            continue;
        if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            memcpy(&chosen, (const char *)message + field->quantifier_offset, sizeof chosen);
        if (chosen != field->id)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            memcpy(&count, (const char *)message + field->quantifier_offset, sizeof count);
            memcpy(&elements, value, sizeof elements);
            value = elements;
        }
        for (size_t j = 0; j < count; j++)
            right = settle_value(field, value + j * size) && right;
    }
    return right;
}

static struct status unpack(const ProtobufCMessageDescriptor *type, enum described_format format,
                            struct bytes in, struct arena *arena, ProtobufCMessage **out)
{
    bool is_text = format == DESCRIBED_TEXT;
    struct status status =
        is_text ? proto_text_read(type, in, 0, arena, out) : proto_unpack(type, in, arena, out);
    if (status.code == STATUS_RESOURCE_EXHAUSTED || status.code == STATUS_CANCELLED)
        return status;
    if (!status_is_ok(status) || !protobuf_c_message_check(*out) || (!settle(*out) && !is_text))
        return status_error(STATUS_DATA_LOSS, "Unable to parse %s protobuf",
                            is_text ? "text" : "binary");
    return status_ok();
}

struct status described_reserialize(const struct described_message *message,
                                    enum described_format format, struct bytes in,
                                    struct arena *arena, struct bytes *out)
{
    const struct described_draft *draft = (const struct described_draft *)message;
    ProtobufCMessage *unpacked;
    void *packed;
    if (message->has_groups)
        return status_error(STATUS_UNIMPLEMENTED, "message type %s holds groups",
                            message->full_name);
    TRY(unpack(&draft->descriptor, format, in, arena, &unpacked));
    size_t size = protobuf_c_message_get_packed_size(unpacked);
    TRY(arena_reserve(arena, size + 1, &packed));
    protobuf_c_message_pack(unpacked, packed);
    *out = (struct bytes){ packed, size };
    return status_ok();
}
