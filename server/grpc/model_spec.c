#include "server/grpc/model_spec.h"

#include "proto/wire.h"

/* Fields of ModelSpec, and of Int64Value. */
enum { NAME = 1, VERSION = 2, SIGNATURE_NAME = 3, VERSION_LABEL = 4, INT64_VALUE = 1 };

static bool read_version(struct bytes message, struct version_choice *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    *out = (struct version_choice){ .kind = VERSION_SPECIFIC };
    while (wire_next(&wire, &field))
        if (wire_is(&field, INT64_VALUE, WIRE_VARINT))
            out->number = (int64_t)field.value;
    return !wire.damaged;
}

struct status model_spec_read(struct bytes message, struct model_spec *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    bool whole = true;
    while (whole && wire_next(&wire, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == NAME)
            out->name = field.bytes;
        else if (field.number == SIGNATURE_NAME)
            out->signature_name = field.bytes;
        else if (field.number == VERSION_LABEL)
            out->version =
                (struct version_choice){ .kind = VERSION_LABELLED, .label = field.bytes };
        else if (field.number == VERSION)
            whole = read_version(field.bytes, &out->version);
    }
    if (wire.damaged || !whole)
        return status_error(STATUS_INTERNAL, "Failed to parse tensorflow.serving.ModelSpec");
    return status_ok();
}

void model_spec_put(struct buffer *out, uint32_t number, const struct servable *servable,
                    struct bytes signature_name)
{
    size_t spec = wire_open(out, number);
    wire_put_bytes(out, NAME, bytes_of(servable->name));
    size_t version = wire_open(out, VERSION);
    wire_put_varint(out, INT64_VALUE, (uint64_t)servable->version);
    wire_close(out, version);
    if (signature_name.size > 0)
        wire_put_bytes(out, SIGNATURE_NAME, signature_name);
    wire_close(out, spec);
}
