#include "runtime/kernels/records/proto_fields.h"

#include <stdlib.h>

#include "runtime/kernels/kernel_tools.h"

extern const unsigned char proto_local_descriptors[];
extern const size_t proto_local_descriptors_size;

/* The wire type of each type of field, and the tensors that may hold it. */
static const struct {
    enum wire_type wire;
    dtype_set dtypes;
} types[] = {
    [DESCRIBED_DOUBLE] = { WIRE_FIXED64, DTYPES(DT_DOUBLE) },
    [DESCRIBED_FLOAT] = { WIRE_FIXED32, DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) },
    [DESCRIBED_INT64] = { WIRE_VARINT, DTYPES(DT_INT64) },
    [DESCRIBED_UINT64] = { WIRE_VARINT, DTYPES(DT_UINT64) },
    [DESCRIBED_INT32] = { WIRE_VARINT, DTYPES(DT_INT32) | DTYPES(DT_INT64) },
    [DESCRIBED_FIXED64] = { WIRE_FIXED64, DTYPES(DT_UINT64) },
    [DESCRIBED_FIXED32] = { WIRE_FIXED32, DTYPES(DT_UINT32) | DTYPES(DT_UINT64) },
    [DESCRIBED_BOOL] = { WIRE_VARINT, DTYPES(DT_BOOL) },
    [DESCRIBED_STRING] = { WIRE_BYTES, DTYPES(DT_STRING) },
    [DESCRIBED_GROUP] = { WIRE_GROUP, DTYPES(DT_STRING) },
    [DESCRIBED_MESSAGE] = { WIRE_BYTES, DTYPES(DT_STRING) },
    [DESCRIBED_BYTES] = { WIRE_BYTES, DTYPES(DT_STRING) },
    [DESCRIBED_UINT32] = { WIRE_VARINT, DTYPES(DT_UINT32) | DTYPES(DT_UINT64) },
    [DESCRIBED_ENUM] = { WIRE_VARINT, DTYPES(DT_INT32) },
    [DESCRIBED_SFIXED32] = { WIRE_FIXED32, DTYPES(DT_INT32) | DTYPES(DT_INT64) },
    [DESCRIBED_SFIXED64] = { WIRE_FIXED64, DTYPES(DT_INT64) },
    [DESCRIBED_SINT32] = { WIRE_VARINT, DTYPES(DT_INT32) | DTYPES(DT_INT64) },
    [DESCRIBED_SINT64] = { WIRE_VARINT, DTYPES(DT_INT64) },
};

bool proto_field_fits(const struct described_field *field, enum dtype dtype)
{
    return (types[field->type].dtypes & DTYPES(dtype)) != 0;
}

enum wire_type proto_field_wire(const struct described_field *field)
{
    return types[field->type].wire;
}

static bool has_prefix(struct bytes text, const char *prefix)
{
    size_t size = strlen(prefix);
    return text.size >= size && memcmp(text.data, prefix, size) == 0;
}

/* The source's bytes. A file stays unread: a model may not read the server's files. */
static struct status find_source(const struct node *node, struct bytes *out, bool *is_local)
{
    struct bytes source;
    TRY(node_attr_string(node, "descriptor_source", &source));
    *is_local = source.size == 0 || bytes_equal(source, bytes_of("local://"));
    if (*is_local) {
        *out =
            (struct bytes){ (const char *)proto_local_descriptors, proto_local_descriptors_size };
        return status_ok();
    }
    if (!has_prefix(source, "bytes://"))
        return status_error(STATUS_UNIMPLEMENTED,
                            "descriptor_source '%.*s' of node '%s' is a file; only bytes:// and "
                            "local:// are read",
                            (int)(source.size < 200 ? source.size : 200), source.data, node->name);
    *out = (struct bytes){ source.data + strlen("bytes://"), source.size - strlen("bytes://") };
    return status_ok();
}

static struct status find_message(struct prepare_context *p, struct bytes type,
                                  const struct described_message **out)
{
    const struct node *node = prepare_node(p);
    const struct described_set *set;
    struct bytes source;
    bool is_local;
    TRY(find_source(node, &source, &is_local));
    struct status status = described_set_read(source, prepare_arena(p), &set);
    if (status.code == STATUS_INTERNAL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Source does not represent serialized file descriptor set proto: %s",
                            status.message);
    TRY(status);
    *out = described_message_find(set, type);
    if (*out == NULL && is_local && has_prefix(type, "tensorflow."))
        return status_error(STATUS_UNIMPLEMENTED,
                            "message type %.*s of local:// of node '%s' is not compiled in",
                            (int)type.size, type.data, node->name);
    if (*out == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "No descriptor found for message type %.*s",
                            (int)type.size, type.data);
    return status_ok();
}

static int compare(const void *a, const void *b, void *context)
{
    const struct proto_fields *fields = context;
    int i = *(const int *)a, j = *(const int *)b;
    uint32_t x = fields->fields[i]->number, y = fields->fields[j]->number;
    return x != y ? (x > y) - (x < y) : i - j;
}

struct status proto_fields_prepare(struct prepare_context *p, bool extensions,
                                   struct proto_fields *out)
{
    const struct node *node = prepare_node(p);
    const struct attr_value *names;
    struct bytes type;
    TRY(node_attr_string(node, "message_type", &type));
    TRY(node_attr_list_of(node, "field_names", ATTR_STRING, &names));
    TRY(find_message(p, type, &out->message));
    out->count = names->count;
    out->fields = ARENA_ARRAY(prepare_arena(p), const struct described_field *, names->count + 1);
    out->by_number = ARENA_ARRAY(prepare_arena(p), int, names->count + 1);
    for (int i = 0; i < names->count; i++) {
        struct bytes name = names->elements[i].s;
        out->fields[i] = described_field_find(out->message, name);
        out->by_number[i] = i;
        if (out->fields[i] == NULL || (out->fields[i]->is_extension && !extensions))
            return status_error(STATUS_INVALID_ARGUMENT, "Unknown field: %.*s in message type %.*s",
                                (int)name.size, name.data, (int)type.size, type.data);
    }
    qsort_r(out->by_number, (size_t)out->count, sizeof *out->by_number, compare, out);
    return status_ok();
}
