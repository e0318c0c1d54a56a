#include "tensor/tensor_wire.h"

#include "base/arena.h"
#include "proto/wire.h"
#include "tensor/tensor_values.h"

/* The fields of TensorProto other than values. */
enum { FIELD_DTYPE = 1, FIELD_SHAPE = 2, FIELD_CONTENT = 4 };
/* The fields of TensorShapeProto and of its Dim. */
enum { FIELD_DIM = 2, FIELD_DIM_SIZE = 1 };

/* The field of a dtype's values, and their encoding. */
struct value_field {
    uint32_t field;
    enum { NONE, FIXED, VARINTS, CHARACTERS, STRINGS } kind;
    bool is_signed;
};

static struct value_field values_of(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
        return (struct value_field){ 5, FIXED, false };
    case DT_DOUBLE:
        return (struct value_field){ 6, FIXED, false };
    case DT_INT32:
    case DT_INT16:
    case DT_INT8:
    case DT_QINT8:
    case DT_QINT16:
    case DT_QINT32:
    case DT_INT4:
    case DT_INT2:
        return (struct value_field){ 7, VARINTS, true };
    case DT_UINT8:
    case DT_UINT16:
    case DT_QUINT8:
    case DT_QUINT16:
    case DT_UINT4:
    case DT_UINT2:
        return (struct value_field){ 7, VARINTS, false };
    case DT_STRING:
        return (struct value_field){ 8, STRINGS, false };
    case DT_COMPLEX64:
        return (struct value_field){ 9, FIXED, false };
    case DT_INT64:
        return (struct value_field){ 10, VARINTS, true };
    case DT_BOOL:
        return (struct value_field){ 11, VARINTS, false };
    case DT_COMPLEX128:
        return (struct value_field){ 12, FIXED, false };
    case DT_HALF:
    case DT_BFLOAT16:
        return (struct value_field){ 13, VARINTS, false };
    case DT_UINT32:
        return (struct value_field){ 16, VARINTS, false };
    case DT_UINT64:
        return (struct value_field){ 17, VARINTS, false };
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E4M3FNUZ:
    case DT_FLOAT8_E4M3B11FNUZ:
    case DT_FLOAT8_E5M2FNUZ:
        return (struct value_field){ 18, CHARACTERS, false };
    default:
        return (struct value_field){ 0, NONE, false };
    }
}

/* ---- reading ---- */

static struct status damaged(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Failed to parse tensorflow.TensorProto");
}

static struct status scan_dim(struct bytes bytes, int64_t *out)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    *out = 0;
    while (wire_next(&wire, &field))
        if (wire_is(&field, FIELD_DIM_SIZE, WIRE_VARINT))
            *out = (int64_t)field.value;
    return wire.damaged ? damaged() : status_ok();
}

/* Appends the dimensions of a TensorShapeProto. TensorFlow ignores unknown_rank in the shape of a
 * TensorProto. */
static struct status scan_shape(struct bytes bytes, int64_t dims[SHAPE_RANK_TENSORFLOW], int *rank)
{
    struct wire wire = wire_of(bytes);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (!wire_is(&field, FIELD_DIM, WIRE_BYTES))
            continue;
        if (*rank == SHAPE_RANK_TENSORFLOW)
            return shape_check_rank(*rank + 1);
        TRY(scan_dim(field.bytes, &dims[(*rank)++]));
    }
    return wire.damaged ? damaged() : status_ok();
}

struct status tensor_wire_scan(struct bytes message, struct tensor_wire *out)
{
    struct wire wire = wire_of(message);
    struct wire_field field;
    int64_t number = 0, dims[SHAPE_RANK_TENSORFLOW];
    int rank = 0;
    *out = (struct tensor_wire){ .message = message };
    while (wire_next(&wire, &field)) {
        if (wire_is(&field, FIELD_DTYPE, WIRE_VARINT)) {
            number = (int32_t)field.value;
        } else if (wire_is(&field, FIELD_SHAPE, WIRE_BYTES)) {
            TRY(scan_shape(field.bytes, dims, &rank));
        } else if (wire_is(&field, FIELD_CONTENT, WIRE_BYTES)) {
            out->content = field.bytes;
            out->has_content = field.bytes.size > 0;
        }
    }
    if (wire.damaged)
        return damaged();
    out->dtype = number > 0 && number < DT_REF ? dtype_base((int)number) : DT_INVALID;
    if (out->dtype == DT_INVALID)
        return status_error(STATUS_INVALID_ARGUMENT, "TensorProto of no valid type (%lld)",
                            (long long)number);
    TRY(shape_check_any(rank, dims, &out->shape));
    if (__builtin_mul_overflow((size_t)shape_size(&out->shape), dtype_size(out->dtype),
                               &out->size_bytes))
        return status_error(STATUS_INVALID_ARGUMENT, "a tensor of shape %s does not fit",
                            shape_text(&out->shape));
    return status_ok();
}

static struct status borrow_or_copy(const struct tensor_wire *wire, const char *data,
                                    struct arena *arena, struct tensor *out)
{
    void *copy;
    *out = tensor_borrow(wire->dtype, &wire->shape, data);
    if (wire->any_address || tensor_is_aligned(out))
        return status_ok();
    TRY(arena_reserve(arena, wire->size_bytes, &copy));
    memcpy(copy, data, wire->size_bytes);
    *out = tensor_borrow(wire->dtype, &wire->shape, copy);
    return status_ok();
}

static struct status read_content(const struct tensor_wire *wire, struct arena *arena,
                                  struct tensor *out)
{
    if (wire->content.size != wire->size_bytes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_content of %zu bytes, type %s and shape %s want %zu",
                            wire->content.size, dtype_name(wire->dtype), shape_text(&wire->shape),
                            wire->size_bytes);
    if (wire->dtype == DT_BOOL)
        TRY(tensor_check_bools(wire->content, "tensor_content"));
    return borrow_or_copy(wire, wire->content.data, arena, out);
}

static struct status new_elements(const struct tensor_wire *wire, struct arena *arena,
                                  struct tensor *out)
{
    void *data;
    TRY(arena_reserve(arena, wire->size_bytes, &data));
    *out = tensor_borrow(wire->dtype, &wire->shape, data);
    return status_ok();
}

static struct status read_string_content(const struct tensor_wire *wire, struct arena *arena,
                                         struct tensor *out)
{
    TRY(new_elements(wire, arena, out));
    return tensor_strings_from_content(wire->content, out);
}

static void store(char *data, size_t index, size_t size, uint64_t value, bool is_bool)
{
    if (is_bool)
        ((bool *)data)[index] = value != 0;
    else if (size == 1)
        ((uint8_t *)data)[index] = (uint8_t)value;
    else if (size == 2)
        ((uint16_t *)data)[index] = (uint16_t)value;
    else if (size == 4)
        ((uint32_t *)data)[index] = (uint32_t)value;
    else
        ((uint64_t *)data)[index] = value;
}

/* The elements given so far, and the room for them. The two parts of a complex element count
 * separately. */
struct element_writer {
    char *data;
    size_t width; /* of one number */
    size_t given, room;
    bool is_bool;
};

static bool fill_varints(struct element_writer *to, struct bytes packed)
{
    const char *at = packed.data, *end = at + packed.size;
    uint64_t value;
    while (at < end) {
        if (!varint_get(&at, end, &value))
            return false;
        if (to->given < to->room)
            store(to->data, to->given++, to->width, value, to->is_bool);
    }
    return true;
}

static bool fill_fixed(struct element_writer *to, struct bytes packed)
{
    size_t count = packed.size / to->width;
    if (packed.size % to->width != 0)
        return false;
    count = count < to->room - to->given ? count : to->room - to->given;
    memcpy(to->data + to->given * to->width, packed.data, count * to->width);
    to->given += count;
    return true;
}

static bool fill(struct element_writer *to, const struct value_field *values,
                 const struct wire_field *field)
{
    switch (field->type) {
    case WIRE_BYTES:
        if (values->kind == VARINTS)
            return fill_varints(to, field->bytes);
        if (values->kind == CHARACTERS)
            to->given = 0; /* not a repeated field: the last one counts */
        return fill_fixed(to, field->bytes);
    case WIRE_VARINT:
        if (values->kind == VARINTS && to->given < to->room)
            store(to->data, to->given++, to->width, field->value, to->is_bool);
        return true;
    case WIRE_FIXED32:
    case WIRE_FIXED64:
        if (values->kind == FIXED && to->width == (field->type == WIRE_FIXED32 ? 4 : 8) &&
            to->given < to->room)
            store(to->data, to->given++, to->width, field->value, false);
        return true;
    case WIRE_GROUP:
    case WIRE_GROUP_END:
        break;
    }
    return true;
}

/* The bytes of all elements if they are one packed run in the layout of memory, as in large
 * tensors; or NULL. */
static const char *whole_run(const struct tensor_wire *wire, const struct value_field *values)
{
    struct wire at = wire_of(wire->message);
    struct wire_field field;
    while (values->kind == FIXED && wire_next(&at, &field))
        if (field.number == values->field)
            return field.type == WIRE_BYTES && field.bytes.size == wire->size_bytes
                       ? field.bytes.data
                       : NULL;
    return NULL;
}

static struct status read_values(const struct tensor_wire *wire, const struct value_field *values,
                                 struct arena *arena, struct tensor *out)
{
    const char *whole = whole_run(wire, values);
    if (whole != NULL)
        return borrow_or_copy(wire, whole, arena, out);
    TRY(new_elements(wire, arena, out));
    size_t parts = dtype_is_complex(wire->dtype) ? 2 : 1;
    struct element_writer to = { .data = out->data,
                                 .width = dtype_size(wire->dtype) / parts,
                                 .room = (size_t)out->size * parts,
                                 .is_bool = wire->dtype == DT_BOOL };
    struct wire at = wire_of(wire->message);
    struct wire_field field;
    while (wire_next(&at, &field))
        if (field.number == values->field && !fill(&to, values, &field))
            return damaged();
    tensor_repeat_last(out, to.given / parts);
    return status_ok();
}

static struct status read_strings(const struct tensor_wire *wire, const struct value_field *values,
                                  struct arena *arena, struct tensor *out)
{
    struct wire at = wire_of(wire->message);
    struct wire_field field;
    size_t given = 0;
    TRY(new_elements(wire, arena, out));
    struct bytes *strings = out->data;
    while (given < (size_t)out->size && wire_next(&at, &field))
        if (wire_is(&field, values->field, WIRE_BYTES))
            strings[given++] = field.bytes;
    tensor_repeat_last(out, given);
    return status_ok();
}

struct status tensor_wire_read(const struct tensor_wire *wire, struct arena *arena,
                               struct tensor *out)
{
    struct value_field values = values_of(wire->dtype);
    if (values.kind == NONE)
        return status_error(STATUS_UNIMPLEMENTED, "tensors of type %s", dtype_name(wire->dtype));
    if (wire->size_bytes == 0) {
        *out = tensor_borrow(wire->dtype, &wire->shape, NULL);
        return status_ok();
    }
    if (values.kind == STRINGS)
        return wire->has_content ? read_string_content(wire, arena, out)
                                 : read_strings(wire, &values, arena, out);
    return wire->has_content ? read_content(wire, arena, out)
                             : read_values(wire, &values, arena, out);
}

/* ---- writing ---- */

bool tensor_wire_can_put(enum dtype dtype)
{
    return values_of(dtype).kind != NONE;
}

/* Element i as a varint; signed ones are extended to 64 bits. */
static uint64_t load(const struct tensor *tensor, int64_t i, bool is_signed)
{
    switch (dtype_size(tensor->dtype)) {
    case 1:
        return is_signed ? (uint64_t)(int64_t)((const int8_t *)tensor->data)[i]
                         : ((const uint8_t *)tensor->data)[i];
    case 2:
        return is_signed ? (uint64_t)(int64_t)((const int16_t *)tensor->data)[i]
                         : ((const uint16_t *)tensor->data)[i];
    case 4:
        return is_signed ? (uint64_t)(int64_t)((const int32_t *)tensor->data)[i]
                         : ((const uint32_t *)tensor->data)[i];
    default:
        return ((const uint64_t *)tensor->data)[i];
    }
}

static size_t varints_size(const struct tensor *tensor, bool is_signed)
{
    size_t size = 0;
    for (int64_t i = 0; i < tensor->size; i++)
        size += wire_varint_size(load(tensor, i, is_signed));
    return size;
}

static size_t string_lengths_size(const struct tensor *tensor)
{
    size_t size = 0;
    for (int64_t i = 0; i < tensor->size; i++)
        size += wire_varint_size(tensor_strings(tensor)[i].size);
    return size;
}

static size_t characters_size(const struct tensor *tensor)
{
    size_t size = 0;
    for (int64_t i = 0; i < tensor->size; i++)
        size += tensor_strings(tensor)[i].size;
    return size;
}

/* The size of the packed values or of tensor_content; for strings only of content. */
static size_t body_size(const struct tensor *tensor, const struct value_field *values, bool content)
{
    if (values->kind == STRINGS)
        return string_lengths_size(tensor) + characters_size(tensor);
    if (!content && values->kind == VARINTS)
        return varints_size(tensor, values->is_signed);
    return tensor_bytes(tensor);
}

static void put_shape(const struct shape *shape, struct buffer *out)
{
    size_t opened = wire_open(out, FIELD_SHAPE);
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    for (int i = 0; i < rank; i++) {
        size_t dim = wire_open(out, FIELD_DIM);
        wire_put_varint(out, FIELD_DIM_SIZE, (uint64_t)dims[i]);
        wire_close(out, dim);
    }
    wire_close(out, opened);
}

static size_t shape_wire_size(const struct shape *shape)
{
    size_t size = 0;
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(shape, dims);
    for (int i = 0; i < rank; i++) {
        uint64_t dim = (uint64_t)dims[i];
        size_t held = dim == 0 ? 0 : 1 + wire_varint_size(dim);
        size += wire_head_size(FIELD_DIM, held) + held;
    }
    return wire_head_size(FIELD_SHAPE, size) + size;
}

static size_t values_wire_size(const struct tensor *tensor, enum tensor_wire_form form)
{
    struct value_field values = values_of(tensor->dtype);
    bool content = form == TENSOR_WIRE_CONTENT;
    size_t size = 0;
    if (tensor->size == 0)
        return 0;
    if (values.kind == STRINGS && !content) {
        for (int64_t i = 0; i < tensor->size; i++) {
            size_t held = tensor_strings(tensor)[i].size;
            size += wire_head_size(values.field, held) + held;
        }
        return size;
    }
    size = body_size(tensor, &values, content);
    return wire_head_size(content ? FIELD_CONTENT : values.field, size) + size;
}

size_t tensor_wire_size(const struct tensor *tensor, enum tensor_wire_form form)
{
    return 1 + wire_varint_size((uint64_t)tensor->dtype) + shape_wire_size(&tensor->shape) +
           values_wire_size(tensor, form);
}

static void put_varints(const struct tensor *tensor, bool is_signed, size_t size,
                        struct buffer *out)
{
    buffer_reserve(out, size);
    char *at = out->data + out->size;
    for (int64_t i = 0; i < tensor->size; i++)
        at += varint_put(at, load(tensor, i, is_signed));
    out->size += size;
}

static void put_strings(const struct tensor *tensor, uint32_t field, struct buffer *out)
{
    for (int64_t i = 0; i < tensor->size; i++)
        wire_put_bytes(out, field, tensor_strings(tensor)[i]);
}

static void put_string_content(const struct tensor *tensor, struct buffer *out)
{
    buffer_reserve(out, string_lengths_size(tensor) + characters_size(tensor) + VARINT_MAX);
    for (int64_t i = 0; i < tensor->size; i++)
        out->size += varint_put(out->data + out->size, tensor_strings(tensor)[i].size);
    for (int64_t i = 0; i < tensor->size; i++)
        if (tensor_strings(tensor)[i].size > 0)
            buffer_append(out, tensor_strings(tensor)[i].data, tensor_strings(tensor)[i].size);
}

void tensor_wire_put(const struct tensor *tensor, enum tensor_wire_form form, struct buffer *out)
{
    struct value_field values = values_of(tensor->dtype);
    bool content = form == TENSOR_WIRE_CONTENT;
    assert(values.kind != NONE);
    wire_put_varint(out, FIELD_DTYPE, (uint64_t)tensor->dtype);
    put_shape(&tensor->shape, out);
    if (tensor->size == 0)
        return;
    if (values.kind == STRINGS && !content) {
        put_strings(tensor, values.field, out);
        return;
    }
    size_t size = body_size(tensor, &values, content);
    wire_put_head(out, content ? FIELD_CONTENT : values.field, size);
    if (values.kind == STRINGS)
        put_string_content(tensor, out);
    else if (values.kind == VARINTS && !content)
        put_varints(tensor, values.is_signed, size, out);
    else
        buffer_append(out, tensor->data, size);
}
