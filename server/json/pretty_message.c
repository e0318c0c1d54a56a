#include "server/json/pretty_message.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "proto/message.h"
#include "proto/types.h"
#include "server/json/print.h"

static void print_real(struct json_pretty *pretty, const char *key, double value, bool is_float)
{
    char text[JSON_NUMBER_MAX];
    if (!isfinite(value)) {
        json_pretty_text(pretty, key, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    *(is_float ? json_put_float(text, (float)value) : json_put_double(text, value)) = '\0';
    json_pretty_word(pretty, key, text);
}

static void print_bytes(struct json_pretty *pretty, const char *key, struct bytes bytes)
{
    struct buffer text = { 0 };
    json_print_base64_text(&text, bytes);
    buffer_append_char(&text, '\0');
    json_pretty_word(pretty, key, text.data);
    buffer_finish(&text);
}

static void print_enum(struct json_pretty *pretty, const char *key,
                       const ProtobufCEnumDescriptor *type, int number)
{
    char digits[16];
    const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, number);
    snprintf(digits, sizeof digits, "%d", number);
    if (value != NULL)
        json_pretty_text(pretty, key, value->name);
    else
        json_pretty_word(pretty, key, digits);
}

static void print_value(struct json_pretty *pretty, const char *key,
                        const ProtobufCFieldDescriptor *field, const void *value)
{
    const ProtobufCBinaryData *data = value;
    char digits[24];
    switch (field->type) {
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_SINT32:
    case PROTOBUF_C_TYPE_SFIXED32:
        snprintf(digits, sizeof digits, "%" PRId32, *(const int32_t *)value);
        json_pretty_word(pretty, key, digits);
        break;
    case PROTOBUF_C_TYPE_UINT32:
    case PROTOBUF_C_TYPE_FIXED32:
        snprintf(digits, sizeof digits, "%" PRIu32, *(const uint32_t *)value);
        json_pretty_word(pretty, key, digits);
        break;
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
        json_pretty_number(pretty, key, *(const int64_t *)value);
        break;
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
        snprintf(digits, sizeof digits, "%" PRIu64, *(const uint64_t *)value);
        json_pretty_text(pretty, key, digits);
        break;
    case PROTOBUF_C_TYPE_FLOAT:
        print_real(pretty, key, (double)*(const float *)value, true);
        break;
    case PROTOBUF_C_TYPE_DOUBLE:
        print_real(pretty, key, *(const double *)value, false);
        break;
    case PROTOBUF_C_TYPE_BOOL:
        json_pretty_word(pretty, key, *(const protobuf_c_boolean *)value ? "true" : "false");
        break;
    case PROTOBUF_C_TYPE_ENUM:
        print_enum(pretty, key, field->descriptor, *(const int *)value);
        break;
    case PROTOBUF_C_TYPE_STRING:
        json_pretty_text(pretty, key, *(char *const *)value);
        break;
    case PROTOBUF_C_TYPE_BYTES:
        print_bytes(pretty, key, (struct bytes){ (const char *)data->data, data->len });
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        json_pretty_message(pretty, key, *(ProtobufCMessage *const *)value);
        break;
    }
}

/* protobuf-c has maps as lists of messages NameEntry { key, value }. Only keys that are strings
 * occur. */
static bool is_map(const ProtobufCFieldDescriptor *field)
{
    static const char suffix[] = "Entry";
    if (field->type != PROTOBUF_C_TYPE_MESSAGE)
        return false;
    const ProtobufCMessageDescriptor *type = field->descriptor;
    size_t size = strlen(type->short_name), end = sizeof suffix - 1;
    return size > end && strcmp(type->short_name + size - end, suffix) == 0 &&
           type->n_fields == 2 && strcmp(type->fields[0].name, "key") == 0 &&
           type->fields[0].type == PROTOBUF_C_TYPE_STRING;
}

static void print_entry(struct json_pretty *pretty, const ProtobufCMessage *entry)
{
    const ProtobufCFieldDescriptor *fields = entry->descriptor->fields;
    const char *key = *(char *const *)((const char *)entry + fields[0].offset);
    print_value(pretty, key, &fields[1], (const char *)entry + fields[1].offset);
}

static void print_repeated(struct json_pretty *pretty, const ProtobufCMessage *message,
                           const ProtobufCFieldDescriptor *field)
{
    size_t count = *(const size_t *)((const char *)message + field->quantifier_offset);
    const char *elements = *(char *const *)((const char *)message + field->offset);
    bool map = is_map(field);
    json_pretty_open(pretty, field->name, map ? '{' : '[');
    for (size_t i = 0; i < count; i++) {
        const char *element = elements + i * proto_value_size(field->type);
        if (map)
            print_entry(pretty, *(ProtobufCMessage *const *)element);
        else
            print_value(pretty, NULL, field, element);
    }
    json_pretty_close(pretty, map ? '}' : ']');
}

/* A field that knows whether it is set is printed only then. */
static bool is_printed(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
        return *(const uint32_t *)((const char *)message + field->quantifier_offset) == field->id;
    return field->type != PROTOBUF_C_TYPE_MESSAGE ||
           *(ProtobufCMessage *const *)((const char *)message + field->offset) != NULL;
}

/* protobuf prints the members of a oneof after the other fields. */
void json_pretty_message(struct json_pretty *pretty, const char *key, const void *message)
{
    const ProtobufCMessage *base = message;
    const ProtobufCMessageDescriptor *type = base->descriptor;
    json_pretty_open(pretty, key, '{');
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < type->n_fields; i++) {
            const ProtobufCFieldDescriptor *field = &type->fields[i];
            bool in_oneof = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
            if (in_oneof != (pass == 1))
                continue;
            if (field->label == PROTOBUF_C_LABEL_REPEATED)
                print_repeated(pretty, base, field);
            else if (is_printed(base, field))
                print_value(pretty, field->name, field, (const char *)base + field->offset);
        }
    }
    json_pretty_close(pretty, '}');
}
