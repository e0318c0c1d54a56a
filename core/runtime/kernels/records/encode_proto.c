/*
 * encode_proto: EncodeProto, tensors as fields of serialized messages.
 *
 *     sizes [..., fields], and for each field values [..., most] -> bytes [...]
 */
#include "base/float_bits.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/records/proto_fields.h"
#include "runtime/kernels/text/text_block.h"

static struct status encode_prepare(struct prepare_context *p)
{
    struct proto_fields *fields = prepare_state(p, sizeof *fields, NULL);
    return proto_fields_prepare(p, false, fields);
}

static struct status put_varint(struct text_block *out, uint64_t value)
{
    char bytes[VARINT_MAX];
    return text_block_add(out, bytes, varint_put(bytes, value));
}

static struct status put_tag(struct text_block *out, const struct described_field *field,
                             enum wire_type type)
{
    return put_varint(out, (uint64_t)field->number << 3 | type);
}

static uint64_t zigzag(int64_t x)
{
    return (uint64_t)x << 1 ^ (uint64_t)(x >> 63);
}

/* The bits of a number on the wire. A value that the field's type is too narrow for keeps its low
 * bits. */
static uint64_t wire_bits(const struct described_field *field, const struct tensor *x, int64_t at)
{
    size_t size = dtype_size(x->dtype);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x->data + (size_t)at * size, size); /* little-endian */
    switch (field->type) {
    case DESCRIBED_FLOAT:
        return x->dtype == DT_DOUBLE ? bits_of_float((float)tensor_doubles(x)[at]) : bits;
    case DESCRIBED_INT32:
    case DESCRIBED_ENUM:
        return (uint64_t)(int64_t)(int32_t)bits;
    case DESCRIBED_UINT32:
        return (uint32_t)bits;
    case DESCRIBED_SINT32:
        return (uint32_t)zigzag((int32_t)bits);
    case DESCRIBED_SINT64:
        return zigzag((int64_t)bits);
    default:
        return bits;
    }
}

static size_t number_size(const struct described_field *field, uint64_t bits)
{
    switch (proto_field_wire(field)) {
    case WIRE_FIXED64:
        return 8;
    case WIRE_FIXED32:
        return 4;
    default:
        return wire_varint_size(bits);
    }
}

static struct status put_number(struct text_block *out, const struct described_field *field,
                                uint64_t bits)
{
    if (proto_field_wire(field) == WIRE_VARINT)
        return put_varint(out, bits);
    return text_block_add(out, &bits, number_size(field, bits)); /* little-endian */
}

static struct status put_numbers(struct text_block *out, const struct described_field *field,
                                 const struct tensor *x, int64_t first, int64_t count)
{
    size_t size = 0;
    if (field->is_packed) {
        for (int64_t i = 0; i < count; i++)
            size += number_size(field, wire_bits(field, x, first + i));
        TRY(put_tag(out, field, WIRE_BYTES));
        TRY(put_varint(out, size));
    }
    for (int64_t i = 0; i < count; i++) {
        if (!field->is_packed)
            TRY(put_tag(out, field, proto_field_wire(field)));
        TRY(put_number(out, field, wire_bits(field, x, first + i)));
    }
    return status_ok();
}

static struct status put_texts(struct text_block *out, const struct described_field *field,
                               const struct tensor *x, int64_t first, int64_t count)
{
    bool is_group = field->type == DESCRIBED_GROUP;
    for (int64_t i = 0; i < count; i++) {
        struct bytes text = tensor_strings(x)[first + i];
        TRY(put_tag(out, field, is_group ? WIRE_GROUP : WIRE_BYTES));
        if (!is_group)
            TRY(put_varint(out, text.size));
        TRY(text_block_add(out, text.data, text.size));
        if (is_group)
            TRY(put_tag(out, field, WIRE_GROUP_END));
    }
    return status_ok();
}

/* Sets *messages to how many there are, and *prefix to their shape. */
static struct status check_values(const struct kernel_context *k, const struct proto_fields *fields,
                                  struct shape *prefix)
{
    if (kernel_inputs_count(k) != fields->count + 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Length of inputs list must match field_names");
    for (int f = 0; f < fields->count; f++) {
        const struct described_field *field = fields->fields[f];
        const struct tensor *x = kernel_input(k, f + 1);
        if (!proto_field_fits(field, x->dtype))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Incompatible type for field %s.  Saw dtype: %s but field type "
                                "is: %s",
                                field->name, dtype_name(x->dtype),
                                described_type_name(field->type));
        if (x->shape.rank < 2)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Invalid shape for field %s.  Saw shape %s but it should be at "
                                "least a matrix.",
                                field->name, shape_text(&x->shape));
        struct shape shape = x->shape;
        shape.rank--;
        if (f > 0 && !shape_equal(&shape, prefix))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Values must match up to the last dimension");
        *prefix = shape;
    }
    return status_ok();
}

static int64_t last_dim(const struct tensor *x)
{
    return x->shape.dims[x->shape.rank - 1];
}

static struct status check_sizes(const struct kernel_context *k, const struct proto_fields *fields,
                                 const struct shape *prefix)
{
    const struct tensor *sizes = kernel_input(k, 0);
    struct shape expected = *prefix;
    expected.dims[expected.rank++] = fields->count;
    if (!shape_equal(&sizes->shape, &expected))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "sizes should be batch_size + [len(field_names)].  Saw: %s but "
                            "expected: %s",
                            shape_text(&sizes->shape), shape_text(&expected));
    for (int f = 0; f < fields->count; f++) {
        int64_t most = last_dim(kernel_input(k, f + 1));
        for (int64_t i = f; i < sizes->size; i += fields->count)
            if (tensor_int32s(sizes)[i] > most)
                return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                    "Size to write must not be larger than value tensor; but saw: "
                                    "%d > %lld at message %lld field %d",
                                    tensor_int32s(sizes)[i], (long long)most,
                                    (long long)(i / fields->count), f);
    }
    return status_ok();
}

static struct status encode_compute(struct kernel_context *k)
{
    const struct proto_fields *fields = kernel_state(k);
    struct text_block text = { .arena = kernel_arena(k) };
    struct shape prefix = shape_scalar();
    struct tensor *out;
    TRY(check_values(k, fields, &prefix));
    TRY(check_sizes(k, fields, &prefix));
    TRY(kernel_output(k, 0, &prefix, &out));
    const int32_t *sizes = tensor_int32s(kernel_input(k, 0));
    for (int64_t i = 0; i < out->size; i++) {
        TRY(kernel_check(k));
        for (int j = 0; j < fields->count; j++) {
            int f = fields->by_number[j];
            const struct tensor *x = kernel_input(k, f + 1);
            int64_t count = sizes[i * fields->count + f], first = i * last_dim(x);
            if (count == 0)
                continue;
            TRY((x->dtype == DT_STRING ? put_texts : put_numbers)(&text, fields->fields[f], x,
                                                                  first, count));
        }
        tensor_strings_mut(out)[i] = text_block_end(&text);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "EncodeProto", DTYPES_ALL, .prepare = encode_prepare, .compute = encode_compute,
      .costly = true },
};
const struct kernel_table kernels_encode_proto = { rows, COUNT(rows) };
