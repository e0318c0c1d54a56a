#include "tensor/tensor_proto.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "proto/message.h"
#include "proto/tensor.pb-c.h"
#include "tensor/tensor_values.h"

struct status shape_from_proto(const struct Tensorflow__TensorShapeProto *proto, struct shape *out)
{
    if (proto == NULL || proto->unknown_rank) {
        *out = shape_unknown();
        return status_ok();
    }
    TRY(shape_check_rank((int64_t)proto->n_dim));
    struct shape shape = { .rank = (int)proto->n_dim };
    for (int i = 0; i < shape.rank; i++) {
        shape.dims[i] = proto->dim[i]->size;
        if (shape.dims[i] < -1)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "dimension %d of a shape is %" PRId64 ", must be >= -1", i,
                                shape.dims[i]);
    }
    *out = shape;
    return status_ok();
}

struct Tensorflow__TensorShapeProto *shape_to_proto(const struct shape *shape, struct arena *arena)
{
    Tensorflow__TensorShapeProto *proto =
        PROTO_NEW(arena, Tensorflow__TensorShapeProto, tensorflow__tensor_shape_proto);
    if (shape->rank < 0) {
        proto->unknown_rank = true;
        return proto;
    }
    proto->n_dim = (size_t)shape->rank;
    proto->dim = ARENA_ARRAY(arena, Tensorflow__TensorShapeProto__Dim *, shape->rank);
    for (int i = 0; i < shape->rank; i++) {
        proto->dim[i] = PROTO_NEW(arena, Tensorflow__TensorShapeProto__Dim,
                                  tensorflow__tensor_shape_proto__dim);
        proto->dim[i]->size = shape->dims[i];
    }
    return proto;
}

struct status tensor_strings_from_content(struct bytes content, struct tensor *tensor)
{
    const char *at = content.data, *end = at + content.size;
    struct bytes *strings = tensor->data;
    uint64_t total = 0;
    for (int64_t i = 0; i < tensor->size; i++) {
        uint64_t size;
        if (!varint_get(&at, end, &size) || size > (uint64_t)(end - at) ||
            (total += size) > (uint64_t)(end - at))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "tensor_content is too short for %" PRId64 " strings",
                                tensor->size);
        strings[i].size = (size_t)size;
    }
    if (total != (uint64_t)(end - at))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "tensor_content has %zu bytes of characters, its strings %" PRIu64,
                            (size_t)(end - at), total);
    for (int64_t i = 0; i < tensor->size; i++) {
        strings[i].data = at;
        at += strings[i].size;
    }
    return status_ok();
}

static struct status strings_from_content(const struct Tensorflow__TensorProto *proto,
                                          struct arena *arena, struct tensor *out)
{
    size_t size = proto->tensor_content.len;
    void *content;
    TRY(arena_reserve(arena, size + 1, &content));
    memcpy(content, proto->tensor_content.data, size);
    return tensor_strings_from_content((struct bytes){ content, size }, out);
}

static struct status numbers_from_content(const struct Tensorflow__TensorProto *proto,
                                          struct tensor *out)
{
    size_t want = (size_t)out->size * dtype_file_size(out->dtype);
    if (proto->tensor_content.len != want)
        return status_error(
            STATUS_INVALID_ARGUMENT, "tensor_content of %zu bytes, type %s and shape %s want %zu",
            proto->tensor_content.len, dtype_name(out->dtype), shape_text(&out->shape), want);
    struct bytes content = { (const char *)proto->tensor_content.data, want };
    if (out->dtype == DT_BOOL)
        TRY(tensor_check_bools(content, "tensor_content"));
    memcpy(out->data, content.data, want);
    return status_ok();
}

struct status tensor_check_bools(struct bytes elements, const char *source)
{
    for (size_t i = 0; i < elements.size; i++)
        if ((unsigned char)elements.data[i] > 1)
            return status_error(STATUS_INVALID_ARGUMENT, "%s has a bool of value %d at element %zu",
                                source, (unsigned char)elements.data[i], i);
    return status_ok();
}

void tensor_repeat_last(struct tensor *out, size_t given)
{
    size_t size = dtype_size(out->dtype), count = (size_t)out->size;
    char *data = out->data;
    if (given == 0)
        memset(data, 0, count * size);
    for (size_t filled = given, step = 1; given > 0 && filled < count; filled += step) {
        step = filled - given + 1; /* copies the last value and its copies: doubles each time */
        step = step < count - filled ? step : count - filled;
        memcpy(data + filled * size, data + (given - 1) * size, step * size);
    }
}

static struct status strings_from_values(const struct Tensorflow__TensorProto *proto,
                                         struct arena *arena, struct tensor *out)
{
    struct bytes *strings = tensor_strings_mut(out);
    size_t given =
        proto->n_string_val < (size_t)out->size ? proto->n_string_val : (size_t)out->size;
    size_t total = 0;
    for (size_t i = 0; i < given; i++)
        total += proto->string_val[i].len;
    void *characters;
    TRY(arena_reserve(arena, total + 1, &characters));
    char *next = characters;
    for (size_t i = 0; i < given; i++) {
        size_t size = proto->string_val[i].len;
        if (size > 0)
            memcpy(next, proto->string_val[i].data, size);
        strings[i] = (struct bytes){ next, size };
        next += size;
    }
    tensor_repeat_last(out, given);
    return status_ok();
}

/* Integers wrap into the narrow types, as in TensorFlow (300 is uint8 44). */
#define VALUES(type, field)                                          \
    do {                                                             \
        type *to = out->data;                                        \
        given = proto->n_##field < count ? proto->n_##field : count; \
        for (size_t i = 0; i < given; i++)                           \
            to[i] = (type)proto->field[i];                           \
    } while (0)

/* Real and imaginary parts alternate; half a pair at the end is ignored. */
#define PAIRS(type, field)                                                   \
    do {                                                                     \
        given = proto->n_##field / 2 < count ? proto->n_##field / 2 : count; \
        if (given > 0)                                                       \
            memcpy(out->data, proto->field, given * 2 * sizeof(type));       \
    } while (0)

static struct status numbers_from_values(const struct Tensorflow__TensorProto *proto,
                                         struct tensor *out)
{
    size_t given = 0, count = (size_t)out->size;
    switch (out->dtype) {
    case DT_FLOAT:
        VALUES(float, float_val);
        break;
    case DT_DOUBLE:
        VALUES(double, double_val);
        break;
    case DT_INT32:
    case DT_QINT32:
        VALUES(int32_t, int_val);
        break;
    case DT_INT16:
    case DT_UINT16:
    case DT_QINT16:
    case DT_QUINT16:
        VALUES(uint16_t, int_val);
        break;
    case DT_INT8:
    case DT_UINT8:
    case DT_QINT8:
    case DT_QUINT8:
    case DT_INT4:
    case DT_UINT4:
    case DT_INT2:
    case DT_UINT2:
        VALUES(uint8_t, int_val);
        break;
    case DT_HALF:
    case DT_BFLOAT16:
        VALUES(uint16_t, half_val);
        break;
    case DT_INT64:
        VALUES(int64_t, int64_val);
        break;
    case DT_UINT32:
        VALUES(uint32_t, uint32_val);
        break;
    case DT_UINT64:
        VALUES(uint64_t, uint64_val);
        break;
    case DT_BOOL:
        VALUES(bool, bool_val);
        break;
    case DT_COMPLEX64:
        PAIRS(float, scomplex_val);
        break;
    case DT_COMPLEX128:
        PAIRS(double, dcomplex_val);
        break;
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E4M3FNUZ:
    case DT_FLOAT8_E4M3B11FNUZ:
    case DT_FLOAT8_E5M2FNUZ:
        given = proto->float8_val.len < count ? proto->float8_val.len : count;
        if (given > 0)
            memcpy(out->data, proto->float8_val.data, given);
        break;
    default:
        return status_error(STATUS_UNIMPLEMENTED, "constants of type %s", dtype_name(out->dtype));
    }
    tensor_repeat_last(out, given);
    return status_ok();
}

static struct status fill(const struct Tensorflow__TensorProto *proto, struct arena *arena,
                          struct tensor *out)
{
    bool content = proto->tensor_content.len > 0;
    if (out->dtype == DT_STRING)
        return content ? strings_from_content(proto, arena, out)
                       : strings_from_values(proto, arena, out);
    return content && dtype_file_size(out->dtype) != 0 ? numbers_from_content(proto, out)
                                                       : numbers_from_values(proto, out);
}

struct status tensor_from_proto(const struct Tensorflow__TensorProto *proto, struct arena *arena,
                                struct tensor *out)
{
    enum dtype dtype = dtype_base((int)proto->dtype);
    if (dtype == DT_INVALID || (int)proto->dtype > DT_REF)
        return status_error(STATUS_INVALID_ARGUMENT, "TensorProto of no valid type (%d)",
                            (int)proto->dtype);
    if (dtype == DT_RESOURCE || dtype == DT_VARIANT)
        return status_error(STATUS_UNIMPLEMENTED, "constants of type %s", dtype_name(dtype));

    struct shape shape = shape_scalar();
    if (proto->tensor_shape != NULL)
        TRY(shape_from_proto(proto->tensor_shape, &shape));
    if (!shape_is_known(&shape))
        return status_error(STATUS_INVALID_ARGUMENT, "TensorProto of shape %s, not fully known",
                            shape_text(&shape));
    TRY(shape_check(shape.rank, shape.dims, &shape));

    struct tensor tensor;
    TRY(tensor_create(dtype, &shape, &tensor));
    struct status status = fill(proto, arena, &tensor);
    if (!status_is_ok(status)) {
        tensor_release(&tensor);
        return status;
    }
    *out = tensor;
    return status_ok();
}

/* Puts the elements into the list of their type, as copies in `arena` if the list's elements are
 * wider. */
#define WIDEN(field, type, from)                               \
    do {                                                       \
        proto->n_##field = (size_t)tensor->size;               \
        proto->field = ARENA_ARRAY(arena, type, tensor->size); \
        for (int64_t i = 0; i < tensor->size; i++)             \
            proto->field[i] = ((const from *)tensor->data)[i]; \
    } while (0)

#define LEND(field, per_element)                                 \
    do {                                                         \
        proto->n_##field = (size_t)tensor->size * (per_element); \
        proto->field = tensor->data;                             \
    } while (0)

static bool numbers_to_values(const struct tensor *tensor, struct arena *arena,
                              Tensorflow__TensorProto *proto)
{
    switch (tensor->dtype) {
    case DT_FLOAT:
        LEND(float_val, 1);
        return true;
    case DT_DOUBLE:
        LEND(double_val, 1);
        return true;
    case DT_INT32:
    case DT_QINT32:
        LEND(int_val, 1);
        return true;
    case DT_INT16:
    case DT_QINT16:
        WIDEN(int_val, int32_t, int16_t);
        return true;
    case DT_UINT16:
    case DT_QUINT16:
        WIDEN(int_val, int32_t, uint16_t);
        return true;
    case DT_INT8:
    case DT_QINT8:
        WIDEN(int_val, int32_t, int8_t);
        return true;
    case DT_UINT8:
    case DT_QUINT8:
        WIDEN(int_val, int32_t, uint8_t);
        return true;
    case DT_HALF:
    case DT_BFLOAT16:
        WIDEN(half_val, int32_t, uint16_t);
        return true;
    case DT_INT64:
        LEND(int64_val, 1);
        return true;
    case DT_UINT32:
        LEND(uint32_val, 1);
        return true;
    case DT_UINT64:
        LEND(uint64_val, 1);
        return true;
    case DT_BOOL:
        WIDEN(bool_val, protobuf_c_boolean, bool);
        return true;
    case DT_COMPLEX64:
        LEND(scomplex_val, 2);
        return true;
    case DT_COMPLEX128:
        LEND(dcomplex_val, 2);
        return true;
    default:
        return false;
    }
}

static void strings_to_values(const struct tensor *tensor, struct arena *arena,
                              Tensorflow__TensorProto *proto)
{
    const struct bytes *strings = tensor_strings(tensor);
    proto->n_string_val = (size_t)tensor->size;
    proto->string_val = ARENA_ARRAY(arena, ProtobufCBinaryData, tensor->size);
    for (int64_t i = 0; i < tensor->size; i++)
        proto->string_val[i] = (ProtobufCBinaryData){ strings[i].size, (uint8_t *)strings[i].data };
}

size_t tensor_values_count(const struct Tensorflow__TensorProto *proto, enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
        return proto->n_float_val;
    case DT_DOUBLE:
        return proto->n_double_val;
    case DT_HALF:
    case DT_BFLOAT16:
        return proto->n_half_val;
    case DT_INT64:
        return proto->n_int64_val;
    case DT_UINT32:
        return proto->n_uint32_val;
    case DT_UINT64:
        return proto->n_uint64_val;
    case DT_BOOL:
        return proto->n_bool_val;
    case DT_STRING:
        return proto->n_string_val;
    case DT_COMPLEX64:
        return proto->n_scomplex_val / 2;
    case DT_COMPLEX128:
        return proto->n_dcomplex_val / 2;
    default: /* all smaller integers */
        return proto->n_int_val;
    }
}

struct Tensorflow__TensorProto *tensor_to_values(const struct tensor *tensor, struct arena *arena)
{
    Tensorflow__TensorProto *proto =
        PROTO_NEW(arena, Tensorflow__TensorProto, tensorflow__tensor_proto);
    if (tensor->dtype == DT_STRING)
        strings_to_values(tensor, arena, proto);
    else if (!numbers_to_values(tensor, arena, proto))
        return NULL;
    return proto;
}

struct Tensorflow__TensorProto *tensor_to_proto(const struct tensor *tensor, struct arena *arena)
{
    assert(tensor->dtype != DT_RESOURCE);
    assert(tensor->dtype != DT_VARIANT);
    Tensorflow__TensorProto *proto =
        PROTO_NEW(arena, Tensorflow__TensorProto, tensorflow__tensor_proto);
    proto->dtype = (Tensorflow__DataType)tensor->dtype;
    proto->tensor_shape = shape_to_proto(&tensor->shape, arena);
    if (tensor->dtype == DT_STRING) {
        strings_to_values(tensor, arena, proto);
        return proto;
    }
    if (tensor->size == 1 && numbers_to_values(tensor, arena, proto))
        return proto;
    proto->tensor_content = (ProtobufCBinaryData){ tensor_bytes(tensor), tensor->data };
    return proto;
}
