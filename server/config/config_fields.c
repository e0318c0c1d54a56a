#include "server/config/config_fields.h"

#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "proto/types.h"

struct checker {
    const struct config_field *rows;
    size_t count;
    struct buffer path; /* prefix of the message being checked, such as "gpu_options." */
};

static const char *member_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    return (const char *)message + field->offset;
}

static const void *pointer_of(const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field)
{
    const void *pointer;
    memcpy(&pointer, member_of(message, field), sizeof pointer);
    return pointer;
}

static bool is_set(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
    static const char zeros[sizeof(ProtobufCBinaryData)];
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        size_t count;
        memcpy(&count, (const char *)message + field->quantifier_offset, sizeof count);
        return count > 0;
    }
    if (field->type == PROTOBUF_C_TYPE_STRING)
        return *(const char *)pointer_of(message, field) != '\0';
    return memcmp(member_of(message, field), zeros, proto_value_size(field->type)) != 0;
}

static bool has_value(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                      int64_t wanted)
{
    const char *member = member_of(message, field);
    int64_t value = 0;
    int32_t narrow;
    if (field->label == PROTOBUF_C_LABEL_REPEATED)
        return false;
    if (proto_value_size(field->type) == sizeof value) {
        memcpy(&value, member, sizeof value);
    } else {
        memcpy(&narrow, member, sizeof narrow);
        value = narrow;
    }
    return value == wanted;
}

/* The row for the field whose path is in the buffer. */
static const struct config_field *find_row(const struct checker *checker,
                                           const ProtobufCMessage *message,
                                           const ProtobufCFieldDescriptor *field)
{
    struct bytes path = { checker->path.data, checker->path.size };
    for (size_t i = 0; i < checker->count; i++) {
        const struct config_field *row = &checker->rows[i];
        if (bytes_equal(path, bytes_of(row->path)) &&
            (row->value == FIELD_ANY || has_value(message, field, row->value)))
            return row;
    }
    return NULL;
}

static struct status check_fields(struct checker *checker, const ProtobufCMessage *message);

static struct status check_field(struct checker *checker, const ProtobufCMessage *message,
                                 const ProtobufCFieldDescriptor *field)
{
    const struct config_field *row = find_row(checker, message, field);
    if (row != NULL) {
        if (row->ignored != NULL)
            log_warning("%s has no effect: %s", row->path, row->ignored);
        return status_ok();
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED) {
        buffer_append_char(&checker->path, '.');
        return check_fields(checker, pointer_of(message, field));
    }
    return status_error(STATUS_UNIMPLEMENTED, "%.*s: this server does not do what it asks for",
                        (int)checker->path.size, checker->path.data);
}

static struct status check_fields(struct checker *checker, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;
    size_t size = checker->path.size;
    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        if (!is_set(message, field))
            continue;
        buffer_append_text(&checker->path, field->name);
        TRY(check_field(checker, message, field));
        checker->path.size = size;
    }
    return status_ok();
}

struct status config_fields_check(const void *message, const struct config_field *rows,
                                  size_t count)
{
    struct checker checker = { .rows = rows, .count = count };
    struct status status = check_fields(&checker, message);
    buffer_finish(&checker.path);
    return status;
}
