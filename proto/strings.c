#include "proto/strings.h"

#include <string.h>

#include "base/utf8.h"
#include "proto/depth.h"
#include "proto/wire.h"

static struct status check_string(const ProtobufCFieldDescriptor *field, struct bytes text)
{
    if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "Field \"%s\" holds a NUL character.",
                            field->name);
    if (!utf8_is_valid(text))
        return status_error(STATUS_INVALID_ARGUMENT, "Field \"%s\" holds bytes that are not UTF-8.",
                            field->name);
    return status_ok();
}

/* Recurses as deep as messages nest, which was checked. */
static struct status check(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field value;
    while (wire_next(&wire, &value)) {
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(descriptor, value.number);
        if (field == NULL || value.type != WIRE_BYTES)
            continue;
        if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            TRY(check(field->descriptor, value.bytes));
        else if (field->type == PROTOBUF_C_TYPE_STRING)
            TRY(status_in(check_string(field, value.bytes), "%s", descriptor->name));
    }
    return status_ok();
}

struct status proto_check_strings(const ProtobufCMessageDescriptor *descriptor, struct bytes bytes)
{
    TRY(proto_check_depth(descriptor, bytes));
    return check(descriptor, bytes);
}
