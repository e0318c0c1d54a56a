#include "server/oip/contents.h"

#include "proto/wire.h"
#include "server/oip/datatype.h"

/* The field of a datatype's elements, and the range of its integers. */
static const struct contents_field {
    enum dtype dtype;
    uint32_t number;
    enum { VARINTS, FIXED, STRINGS } kind;
    int64_t min;
    uint64_t max;
} fields[] = {
    { DT_BOOL, 1, VARINTS, 0, 1 },
    { DT_INT8, 2, VARINTS, INT8_MIN, INT8_MAX },
    { DT_INT16, 2, VARINTS, INT16_MIN, INT16_MAX },
    { DT_INT32, 2, VARINTS, INT32_MIN, INT32_MAX },
    { DT_INT64, 3, VARINTS, INT64_MIN, INT64_MAX },
    { DT_UINT8, 4, VARINTS, 0, UINT8_MAX },
    { DT_UINT16, 4, VARINTS, 0, UINT16_MAX },
    { DT_UINT32, 4, VARINTS, 0, UINT32_MAX },
    { DT_UINT64, 5, VARINTS, 0, UINT64_MAX },
    { DT_FLOAT, 6, FIXED, 0, 0 },
    { DT_DOUBLE, 7, FIXED, 0, 0 },
    { DT_STRING, 8, STRINGS, 0, 0 },
};

static const struct contents_field *find_field(enum dtype dtype)
{
    for (size_t i = 0; i < COUNT(fields); i++)
        if (fields[i].dtype == dtype)
            return &fields[i];
    return NULL;
}

/* ---- reading ---- */

struct contents_reader {
    const struct contents_field *field;
    char *data;
    size_t given, room;
};

static struct status damaged(void)
{
    return status_error(STATUS_INTERNAL, "Failed to parse inference.InferTensorContents");
}

static struct status count_error(size_t room)
{
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the contents have more or fewer than the %zu elements of the shape", room);
}

static bool holds(const struct contents_field *field, uint64_t value)
{
    if (field->min < 0)
        return (int64_t)value >= field->min && (int64_t)value <= (int64_t)field->max;
    return value <= field->max;
}

static struct status store(struct contents_reader *to, uint64_t value)
{
    if (to->given == to->room)
        return count_error(to->room);
    if (!holds(to->field, value))
        return status_error(STATUS_INVALID_ARGUMENT, "element %zu is %lld, which %s does not hold",
                            to->given, (long long)value, datatype_show(to->field->dtype));
    size_t i = to->given++;
    switch (dtype_size(to->field->dtype)) {
    case 1:
        ((uint8_t *)to->data)[i] = (uint8_t)value;
        break;
    case 2:
        ((uint16_t *)to->data)[i] = (uint16_t)value;
        break;
    case 4:
        ((uint32_t *)to->data)[i] = (uint32_t)value;
        break;
    default:
        ((uint64_t *)to->data)[i] = value;
    }
    return status_ok();
}

static struct status read_varints(struct contents_reader *to, const struct wire_field *field)
{
    if (field->type == WIRE_VARINT)
        return store(to, field->value);
    const char *at = field->bytes.data, *end = at + field->bytes.size;
    while (at < end) {
        uint64_t value;
        if (!varint_get(&at, end, &value))
            return damaged();
        TRY(store(to, value));
    }
    return status_ok();
}

/* A packed run, or one number. */
static struct status read_fixed(struct contents_reader *to, const struct wire_field *field)
{
    size_t width = dtype_size(to->field->dtype);
    bool packed = field->type == WIRE_BYTES;
    const char *from = packed ? field->bytes.data : (const char *)&field->value;
    size_t size = packed ? field->bytes.size : width;
    if (size % width != 0 || (!packed && width != (field->type == WIRE_FIXED32 ? 4 : 8)))
        return damaged();
    if (size / width > to->room - to->given)
        return count_error(to->room);
    if (size > 0)
        memcpy(to->data + to->given * width, from, size);
    to->given += size / width;
    return status_ok();
}

static struct status read_one(struct contents_reader *to, const struct wire_field *field)
{
    if (to->field->kind == STRINGS) {
        if (field->type != WIRE_BYTES)
            return damaged();
        if (to->given == to->room)
            return count_error(to->room);
        ((struct bytes *)to->data)[to->given++] = field->bytes;
        return status_ok();
    }
    if (to->field->kind == VARINTS)
        return field->type == WIRE_VARINT || field->type == WIRE_BYTES ? read_varints(to, field)
                                                                       : damaged();
    return field->type == WIRE_VARINT ? damaged() : read_fixed(to, field);
}

struct status contents_read(struct bytes message, enum dtype dtype, const struct shape *shape,
                            struct arena *arena, struct tensor *out)
{
    struct contents_reader to = { .field = find_field(dtype), .room = (size_t)shape_size(shape) };
    struct wire wire = wire_of(message);
    struct wire_field field;
    void *data;
    if (to.field == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be sent as raw contents",
                            datatype_show(dtype));
    if (to.room > message.size) /* each element takes at least a byte */
        return count_error(to.room);
    TRY(arena_reserve(arena, to.room * dtype_size(dtype), &data));
    to.data = data;
    while (wire_next(&wire, &field)) {
        if (field.number == to.field->number)
            TRY(read_one(&to, &field));
        else if (field.type == WIRE_BYTES && field.bytes.size > 0 && field.number <= 8)
            return status_error(STATUS_INVALID_ARGUMENT, "contents of another datatype than %s",
                                datatype_show(dtype));
    }
    if (wire.damaged)
        return damaged();
    if (to.given != to.room)
        return count_error(to.room);
    *out = tensor_borrow(dtype, shape, data);
    return status_ok();
}

/* ---- writing ---- */

bool contents_can_put(enum dtype dtype)
{
    return find_field(dtype) != NULL;
}

/* Integers below 32 bits and int32 are extended to 64 bits, as protobuf does. */
static uint64_t load(const struct tensor *tensor, int64_t i)
{
    if (tensor->dtype == DT_BOOL)
        return ((const uint8_t *)tensor->data)[i];
    if (tensor->dtype == DT_UINT64)
        return ((const uint64_t *)tensor->data)[i];
    return (uint64_t)tensor_index(tensor, i);
}

static size_t packed_size(const struct tensor *tensor, const struct contents_field *field)
{
    size_t size = 0;
    if (field->kind == FIXED)
        return tensor_bytes(tensor);
    for (int64_t i = 0; i < tensor->size; i++)
        size += wire_varint_size(load(tensor, i));
    return size;
}

size_t contents_size(const struct tensor *tensor)
{
    const struct contents_field *field = find_field(tensor->dtype);
    size_t size = 0;
    if (tensor->size == 0)
        return 0;
    if (field->kind != STRINGS) {
        size = packed_size(tensor, field);
        return wire_head_size(field->number, size) + size;
    }
    for (int64_t i = 0; i < tensor->size; i++) {
        size_t text = tensor_strings(tensor)[i].size;
        size += wire_head_size(field->number, text) + text;
    }
    return size;
}

void contents_put(const struct tensor *tensor, struct buffer *out)
{
    const struct contents_field *field = find_field(tensor->dtype);
    if (tensor->size == 0)
        return;
    for (int64_t i = 0; field->kind == STRINGS && i < tensor->size; i++)
        wire_put_bytes(out, field->number, tensor_strings(tensor)[i]);
    if (field->kind == STRINGS)
        return;
    wire_put_head(out, field->number, packed_size(tensor, field));
    if (field->kind == FIXED) {
        buffer_append(out, tensor->data, tensor_bytes(tensor));
        return;
    }
    for (int64_t i = 0; i < tensor->size; i++) {
        buffer_reserve(out, VARINT_MAX);
        out->size += varint_put(out->data + out->size, load(tensor, i));
    }
}
