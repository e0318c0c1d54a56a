/*
 * decode_proto: DecodeProtoV2, fields of serialized messages as tensors.
 *
 *     bytes [...] -> sizes [..., fields], and for each field values [..., the greatest size]
 *
 * A message is read twice, as TensorFlow does: first to count, then to store. Its rules differ from
 * protobuf's in places: a singular field that is packed counts as present but has its default, and
 * a negative int32 that is packed becomes a positive int64.
 */
#include "base/float_bits.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/records/proto_fields.h"

struct decode_proto_state {
    struct proto_fields fields;
    bool is_text, sanitize;
};

static struct status decode_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct decode_proto_state *state = prepare_state(p, sizeof *state, NULL);
    const struct attr_value *dtypes;
    struct bytes format;
    TRY(proto_fields_prepare(p, true, &state->fields));
    TRY(node_attr_list_of(node, "output_types", ATTR_TYPE, &dtypes));
    TRY(node_attr_string(node, "message_format", &format));
    TRY(node_attr_bool(node, "sanitize", &state->sanitize));
    if (dtypes->count != state->fields.count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "field_names and output_types attributes must have the same length");
    for (int i = 0; i < dtypes->count; i++) {
        const struct described_field *field = state->fields.fields[i];
        enum dtype dtype = dtype_base(dtypes->elements[i].type);
        if (!proto_field_fits(field, dtype))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Unexpected output type for %s.%s: %s to %s",
                                state->fields.message->full_name, field->name,
                                described_type_cpp_name(field->type), dtype_enum_name(dtype));
    }
    state->is_text = bytes_equal(format, bytes_of("text"));
    if (!state->is_text && !bytes_equal(format, bytes_of("binary")))
        return status_error(STATUS_INVALID_ARGUMENT, "format must be one of binary or text");
    if ((state->is_text || state->sanitize) && state->fields.message->has_groups)
        return status_error(STATUS_UNIMPLEMENTED,
                            "op 'DecodeProtoV2' of node '%s' is not implemented for text or "
                            "sanitize with messages that hold groups",
                            node->name);
    return status_ok();
}

static struct status data_loss(const struct kernel_context *k, const char *text)
{
    return kernel_error(k, STATUS_DATA_LOSS, "%s", text);
}

/* ---- values ---- */

static int64_t unzigzag(uint64_t x)
{
    return (int64_t)(x >> 1 ^ (0 - (x & 1)));
}

/* The value of a field, from the bits on the wire, as an integer of 64 bits. */
static uint64_t integer_of(const struct described_field *field, uint64_t wire, bool packed_as_64)
{
    switch (field->type) {
    case DESCRIBED_INT32:
        return packed_as_64 ? (uint32_t)wire : (uint64_t)(int64_t)(int32_t)wire;
    case DESCRIBED_SFIXED32:
    case DESCRIBED_ENUM:
        return (uint64_t)(int64_t)(int32_t)wire;
    case DESCRIBED_UINT32:
    case DESCRIBED_FIXED32:
        return (uint32_t)wire;
    case DESCRIBED_SINT32:
        return (uint64_t)unzigzag((uint32_t)wire);
    case DESCRIBED_SINT64:
        return (uint64_t)unzigzag(wire);
    case DESCRIBED_BOOL:
        return wire != 0;
    default:
        return wire;
    }
}

static double real_of(const struct described_field *field, uint64_t wire)
{
    return field->type == DESCRIBED_FLOAT ? (double)float_of_bits((uint32_t)wire)
                                          : double_of_bits(wire);
}

static void put_real(struct tensor *out, int64_t at, double value)
{
    if (out->dtype == DT_FLOAT)
        tensor_floats_mut(out)[at] = (float)value;
    else
        tensor_doubles_mut(out)[at] = value;
}

static void put_integer(struct tensor *out, int64_t at, uint64_t value)
{
    size_t size = dtype_size(out->dtype);
    memcpy(at_bytes(out->data, at, size), &value, size); /* little-endian */
}

static bool is_real(const struct tensor *out)
{
    return out->dtype == DT_FLOAT || out->dtype == DT_DOUBLE;
}

static void put_wire(const struct described_field *field, uint64_t wire, bool packed,
                     struct tensor *out, int64_t at)
{
    if (is_real(out))
        put_real(out, at, real_of(field, wire));
    else
        put_integer(out, at, integer_of(field, wire, packed && out->dtype == DT_INT64));
}

static void put_default(const struct described_field *field, struct tensor *out, int64_t at)
{
    if (out->dtype == DT_STRING)
        tensor_strings_mut(out)[at] = field->default_text;
    else if (is_real(out))
        put_real(out, at, field->default_real);
    else
        put_integer(out, at, field->default_integer);
}

/* ---- reading a message ---- */

struct decoder {
    struct kernel_context *k;
    const struct proto_fields *fields;
    int32_t *counts;        /* of this message, for each field */
    struct tensor **values; /* NULL: only count */
    int64_t message;        /* its index */
};

/* If several names stand for one field, the first gets the values. -1: not requested. */
static int find_field(const struct proto_fields *fields, uint32_t number)
{
    int low = 0, high = fields->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (fields->fields[fields->by_number[middle]]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < fields->count && fields->fields[fields->by_number[low]]->number == number;
    return found ? fields->by_number[low] : -1;
}

/* The next value of a packed field. Before, the bytes were found to hold whole values. */
static uint64_t next_packed(enum wire_type wire, const char **at, const char *end)
{
    uint64_t value = 0;
    if (wire == WIRE_VARINT) {
        (void)varint_get(at, end, &value);
        return value;
    }
    size_t size = wire == WIRE_FIXED64 ? 8 : 4;
    value = size == 8 ? get_u64le(*at) : get_u32le(*at);
    *at += size;
    return value;
}

static bool count_packed(enum wire_type wire, struct bytes bytes, int64_t *out)
{
    const char *at = bytes.data, *end = bytes.data + bytes.size;
    uint64_t value;
    *out = 0;
    if (wire != WIRE_VARINT) {
        size_t size = wire == WIRE_FIXED64 ? 8 : 4;
        *out = (int64_t)(bytes.size / size);
        return bytes.size % size == 0;
    }
    for (; at < end; ++*out)
        if (!varint_get(&at, end, &value))
            return false;
    return true;
}

static struct status take_packed(struct decoder *d, int index, struct bytes bytes)
{
    const struct described_field *field = d->fields->fields[index];
    enum wire_type wire = proto_field_wire(field);
    int32_t *count = &d->counts[index];
    int64_t more;
    if (wire == WIRE_GROUP)
        return data_loss(d->k, "TYPE_GROUP encountered as packed");
    if (d->values == NULL) {
        if (!count_packed(wire, bytes, &more) || more > INT32_MAX - *count)
            return data_loss(d->k, "Corrupt packed values");
        *count = !field->is_repeated && *count + more > 1 ? 1 : (int32_t)(*count + more);
        return status_ok();
    }
    struct tensor *out = d->values[index];
    int64_t most = out->shape.dims[out->shape.rank - 1];
    if (*count >= most)
        return data_loss(d->k, "ReadPackedValues: Tried to write more entries than allowed.");
    const char *at = bytes.data, *end = bytes.data + bytes.size;
    while (field->is_repeated && at < end)
        put_wire(field, next_packed(wire, &at, end), true, out, d->message * most + (*count)++);
    return status_ok(); /* a singular field is not stored, and gets its default */
}

static struct status take_value(struct decoder *d, int index, const struct wire_field *value)
{
    const struct described_field *field = d->fields->fields[index];
    int32_t *count = &d->counts[index];
    if (d->values == NULL) {
        if (*count == INT32_MAX)
            return data_loss(d->k, "too many values of a field");
        *count += *count == 0 || field->is_repeated;
        return status_ok();
    }
    struct tensor *out = d->values[index];
    int64_t most = out->shape.dims[out->shape.rank - 1];
    int32_t at = field->is_repeated ? *count : 0;
    *count = at + 1;
    if (at >= most)
        return data_loss(d->k, "Tried to write more entries than allowed.");
    if (out->dtype == DT_STRING)
        tensor_strings_mut(out)[d->message * most + at] = value->bytes;
    else
        put_wire(field, value->value, false, out, d->message * most + at);
    return status_ok();
}

static struct status read_message(struct decoder *d, struct bytes bytes)
{
    struct wire wire = wire_of(bytes);
    struct wire_field value;
    memset(d->counts, 0, (size_t)d->fields->count * sizeof *d->counts);
    while (wire_next_any(&wire, &value)) {
        int index = find_field(d->fields, value.number);
        if (index < 0)
            continue;
        enum wire_type expected = proto_field_wire(d->fields->fields[index]);
        if (value.type == expected)
            TRY(take_value(d, index, &value));
        else if (value.type == WIRE_BYTES)
            TRY(take_packed(d, index, value.bytes));
    }
    return wire.damaged ? data_loss(d->k, "Failed to consume entire buffer") : status_ok();
}

/* The texts of results may be parts of the messages, which the run's arena need not hold. */
static struct status keep_message(struct kernel_context *k, struct bytes in, struct bytes *out)
{
    const struct decode_proto_state *state = kernel_state(k);
    void *kept;
    if (state->is_text || state->sanitize)
        return described_reserialize(state->fields.message,
                                     state->is_text ? DESCRIBED_TEXT : DESCRIBED_BINARY, in,
                                     kernel_arena(k), out);
    TRY(arena_reserve(kernel_arena(k), in.size + 1, &kept));
    if (in.size > 0)
        memcpy(kept, in.data, in.size);
    *out = (struct bytes){ kept, in.size };
    return status_ok();
}

static struct status count_all(struct decoder *d, struct bytes *messages, int64_t *most)
{
    const struct tensor *x = kernel_input(d->k, 0);
    struct shape shape = x->shape;
    struct tensor *sizes;
    TRY(kernel_check_rank(d->k, x->shape.rank + 1));
    shape.dims[shape.rank++] = d->fields->count;
    TRY(kernel_output(d->k, 0, &shape, &sizes));
    for (int64_t i = 0; i < x->size; i++) {
        TRY(kernel_check(d->k));
        TRY(keep_message(d->k, tensor_strings(x)[i], &messages[i]));
        d->counts = tensor_int32s_mut(sizes) + i * d->fields->count;
        TRY(read_message(d, messages[i]));
        for (int f = 0; f < d->fields->count; f++)
            most[f] = d->counts[f] > most[f] ? d->counts[f] : most[f];
    }
    return status_ok();
}

static struct status store_all(struct decoder *d, const struct bytes *messages, const int64_t *most,
                               void *counts)
{
    int64_t count = kernel_input(d->k, 0)->size;
    d->counts = counts;
    for (d->message = 0; d->message < count; d->message++) {
        TRY(kernel_check(d->k));
        TRY(read_message(d, messages[d->message]));
        for (int f = 0; f < d->fields->count; f++)
            for (int64_t i = d->counts[f]; i < most[f]; i++)
                put_default(d->fields->fields[f], d->values[f], d->message * most[f] + i);
    }
    return status_ok();
}

static struct status reserve_array(struct kernel_context *k, int64_t count, size_t size, void **out)
{
    TRY(arena_reserve(kernel_arena(k), ((size_t)count + 1) * size, out));
    memset(*out, 0, ((size_t)count + 1) * size);
    return status_ok();
}

static struct status decode_compute(struct kernel_context *k)
{
    const struct decode_proto_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    struct decoder decoder = { .k = k, .fields = &state->fields };
    int count = state->fields.count;
    void *messages, *most, *values, *counts;
    if (x->size == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Bufs argument must contain at least one value");
    TRY(reserve_array(k, x->size, sizeof(struct bytes), &messages));
    TRY(reserve_array(k, count, sizeof(int64_t), &most));
    TRY(reserve_array(k, count, sizeof(struct tensor *), &values));
    TRY(reserve_array(k, count, sizeof(int32_t), &counts));
    for (int f = 0; f < count; f++)
        ((int64_t *)most)[f] = 1; /* room for the default */
    TRY(count_all(&decoder, messages, most));
    decoder.values = values;
    for (int f = 0; f < count; f++) {
        struct shape shape = x->shape;
        shape.dims[shape.rank++] = ((int64_t *)most)[f];
        TRY(kernel_output(k, f + 1, &shape, &decoder.values[f]));
    }
    return store_all(&decoder, messages, most, counts);
}

static const struct kernel rows[] = {
    { "DecodeProtoV2", DTYPES_ALL, .prepare = decode_prepare, .compute = decode_compute,
      .costly = true },
};
const struct kernel_table kernels_decode_proto = { rows, COUNT(rows) };
