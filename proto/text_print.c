#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "proto/message.h"
#include "proto/meta_graph.pb-c.h" /* google.protobuf.Any too */
#include "proto/text.h"
#include "proto/types.h"

static void print_fields(const ProtobufCMessage *message, int indent, struct buffer *out);

static void print_string(struct bytes bytes, struct buffer *out)
{
    static const char escapes[] = "\nn\rr\tt\"\"''\\\\";
    buffer_append_char(out, '"');
    for (size_t i = 0; i < bytes.size; i++) {
        char c = bytes.data[i];
        const char *letter = NULL;
        for (const char *pair = escapes; *pair != '\0' && letter == NULL; pair += 2)
            letter = *pair == c ? pair + 1 : NULL;
        if (letter != NULL)
            buffer_printf(out, "\\%c", *letter);
        else if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7f)
            buffer_printf(out, "\\%03o", (unsigned char)c);
        else
            buffer_append_char(out, c);
    }
    buffer_append_char(out, '"');
}

/* Prints `few` digits if they read back as the same number, otherwise `many`. */
static void print_real(double value, bool is_float, struct buffer *out)
{
    char text[32];
    if (isnan(value) || isinf(value)) {
        buffer_append_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    snprintf(text, sizeof text, "%.*g", is_float ? 6 : 15, value);
    double back = strtod(text, NULL);
    if (is_float ? (float)back != (float)value : back != value)
        snprintf(text, sizeof text, "%.*g", is_float ? 9 : 17, value);
    buffer_append_text(out, text);
}

static void print_enum(const ProtobufCEnumDescriptor *type, int number, struct buffer *out)
{
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, number);
    if (value != NULL)
        buffer_append_text(out, value->name);
    else
        buffer_printf(out, "%d", number);
}

static void print_scalar(const ProtobufCFieldDescriptor *field, const void *value,
                         struct buffer *out)
{
    const ProtobufCBinaryData *data = value;
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        buffer_printf(out, "%" PRId32, *(const int32_t *)value);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        buffer_printf(out, "%" PRId64, *(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        buffer_printf(out, "%" PRIu32, *(const uint32_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        buffer_printf(out, "%" PRIu64, *(const uint64_t *)value);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        print_real((double)*(const float *)value, true, out);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        print_real(*(const double *)value, false, out);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        buffer_append_text(out, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(field->descriptor, *(const int *)value, out);
        break;
    case PROTOBUF_C_TYPE_STRING:
        print_string(bytes_of(*(char *const *)value), out);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        print_string((struct bytes){ (const char *)data->data, data->len }, out);
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        break;
    }
}

static void print_value(const ProtobufCFieldDescriptor *field, const void *value, int indent,
                        struct buffer *out)
{
    buffer_printf(out, "%*s%s", 2 * indent, "", field->name);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        buffer_append_text(out, " {\n");
        print_fields(*(ProtobufCMessage *const *)value, indent + 1, out);
        buffer_printf(out, "%*s}\n", 2 * indent, "");
        return;
    }
    buffer_append_text(out, ": ");
    print_scalar(field, value, out);
    buffer_append_char(out, '\n');
}

/* In proto3, a singular field is set if it is not the default, a member of a oneof if it is the
 * chosen one. */
static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    static const char zeros[8];
    const char *member = (const char *)message + field->offset;
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)((const char *)message + field->quantifier_offset) == field->id;
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return *(ProtobufCMessage *const *)member != NULL;
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return *(char *const *)member != NULL && **(char *const *)member != '\0';
    if (field->type == PROTOBUF_C_TYPE_BYTES)
        return ((const ProtobufCBinaryData *)member)->len > 0;
    return memcmp(member, zeros, proto_value_size(field->type)) != 0;
}

/* Prints an Any of a known type with the fields of its message. */
static bool print_any(const Google__Protobuf__Any *any, int indent, struct buffer *out)
{
    const ProtobufCMessageDescriptor *type = proto_type_find(bytes_of(any->type_url));
    if (type == NULL)
        return false;
    struct arena *arena = arena_create(0);
    struct bytes value = { (const char *)any->value.data, any->value.len };
    ProtobufCMessage *message;
    bool known = status_is_ok(proto_unpack(type, value, arena, &message));
    if (known) {
        buffer_printf(out, "%*s[%s] {\n", 2 * indent, "", any->type_url);
        print_fields(message, indent + 1, out);
        buffer_printf(out, "%*s}\n", 2 * indent, "");
    }
    arena_destroy(arena);
    return known;
}

static void print_fields(const ProtobufCMessage *message, int indent, struct buffer *out)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    if (type == &google__protobuf__any__descriptor &&
        print_any((const Google__Protobuf__Any *)message, indent, out))
        return;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        const char *member = (const char *)message + field->offset;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t count = *(const size_t *)((const char *)message + field->quantifier_offset);
            const char *elements = *(char *const *)member;
            for (size_t k = 0; k < count; k++)
                print_value(field, elements + k * proto_value_size(field->type), indent, out);
        } else if (is_set(message, field)) {
            print_value(field, member, indent, out);
        }
    }
}

void proto_text_print(const void *message, struct buffer *out)
{
    print_fields(message, 0, out);
}
