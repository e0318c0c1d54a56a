#include "tensor/value_json.h"

#include <inttypes.h>
#include <math.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/json_value.h"
#include "base/text_print.h"

/* ---- reading ---- */

/* The sizes of the first lists. Others may be shorter, and the whole far smaller than the product.
 */
static struct status find_shape(const struct json_value *value, struct shape *shape)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = 0;
    while (value != NULL && value->kind == JSON_VALUE_LIST) {
        if (rank == SHAPE_RANK_TENSORFLOW)
            return status_error(STATUS_INVALID_ARGUMENT, "lists nested deeper than %d",
                                SHAPE_RANK_TENSORFLOW);
        dims[rank++] = value->count;
        value = value->count > 0 ? &value->members[0] : NULL;
    }
    return shape_check_any(rank, dims, shape);
}

/* Compares all lists with the shape, so that the tensor is no larger than the text. */
static struct status check_lists(const struct json_value *value, int rank, const int64_t *dims,
                                 int axis)
{
    if (axis == rank)
        return status_ok();
    if (value->kind != JSON_VALUE_LIST || value->count != dims[axis])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "lists of different sizes at level %d, expected %" PRId64, axis,
                            dims[axis]);
    for (int i = 0; i < value->count; i++)
        TRY(check_lists(&value->members[i], rank, dims, axis + 1));
    return status_ok();
}

static bool set_integer(struct tensor *out, int64_t at, int64_t value)
{
#define CASE(dt, type)                         \
    case dt:                                   \
        ((type *)out->data)[at] = (type)value; \
        return (int64_t)(type)value == value;
    switch (out->dtype) {
        CASE(DT_INT8, int8_t)
        CASE(DT_INT16, int16_t)
        CASE(DT_INT32, int32_t)
        CASE(DT_INT64, int64_t)
        CASE(DT_UINT8, uint8_t)
        CASE(DT_UINT16, uint16_t)
        CASE(DT_UINT32, uint32_t)
    case DT_UINT64: /* has the same width, so a cast and back proves nothing */
        ((uint64_t *)out->data)[at] = (uint64_t)value;
        return value >= 0;
    default:
        return false;
    }
#undef CASE
}

static bool set_floating(struct tensor *out, int64_t at, double value)
{
    if (out->dtype == DT_FLOAT)
        ((float *)out->data)[at] = (float)value;
    else if (out->dtype == DT_DOUBLE)
        ((double *)out->data)[at] = value;
    else if (out->dtype == DT_HALF)
        ((uint16_t *)out->data)[at] = float_to_half((float)value);
    else if (out->dtype == DT_BFLOAT16)
        ((uint16_t *)out->data)[at] = float_to_bfloat16((float)value);
    else
        return false;
    return true;
}

/* "text", or {"b64": "bytes"} as in a request to modelserver. */
static bool read_string(const struct json_value *leaf, struct arena *arena, struct bytes *out)
{
    bool is_object = leaf->kind == JSON_VALUE_OBJECT && leaf->count == 1;
    const struct json_value *coded = is_object ? json_value_get(leaf, "b64") : NULL;
    const struct json_value *string = coded != NULL ? coded : leaf;
    if (string->kind != JSON_VALUE_TEXT)
        return false;
    struct bytes text = json_value_bytes(string);
    if (coded != NULL)
        return status_is_ok(base64_decode(text, arena, out));
    *out = (struct bytes){ arena_memdup(arena, text.data, text.size), text.size };
    return true;
}

static bool set_leaf(struct tensor *out, int64_t at, const struct json_value *leaf,
                     struct arena *arena)
{
    double number;
    if (out->dtype == DT_STRING)
        return read_string(leaf, arena, &tensor_strings_mut(out)[at]);
    if (out->dtype == DT_BOOL) {
        ((bool *)out->data)[at] = leaf->kind == JSON_VALUE_BOOL && leaf->boolean;
        return leaf->kind == JSON_VALUE_BOOL;
    }
    if (dtype_is_floating(out->dtype))
        return json_value_number(leaf, &number) && set_floating(out, at, number);
    return leaf->kind == JSON_VALUE_INT && set_integer(out, at, leaf->integer);
}

static struct status fill(struct tensor *out, int levels, int64_t *at,
                          const struct json_value *value, struct arena *arena)
{
    if (levels == 0) {
        if (!set_leaf(out, (*at)++, value, arena))
            return status_error(STATUS_INVALID_ARGUMENT, "element %" PRId64 " is not a %s%s",
                                *at - 1, dtype_name(out->dtype),
                                value->kind == JSON_VALUE_OBJECT ? " nor {\"b64\": BASE64}" : "");
        return status_ok();
    }
    for (int i = 0; i < value->count; i++)
        TRY(fill(out, levels - 1, at, &value->members[i], arena));
    return status_ok();
}

struct status value_from_json_value(const struct json_value *json, enum dtype dtype,
                                    struct arena *arena, struct tensor *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW], at = 0;
    struct shape shape;
    TRY(find_shape(json, &shape));
    int rank = shape_unpack(&shape, dims);
    TRY(check_lists(json, rank, dims, 0));
    TRY(tensor_create(dtype, &shape, out));
    struct status status = fill(out, rank, &at, json, arena);
    if (!status_is_ok(status))
        tensor_release(out);
    return status;
}

struct status value_from_json(const char *text, enum dtype dtype, struct arena *arena,
                              struct tensor *out)
{
    struct arena *scratch = arena_create(0);
    const struct json_value *json;
    struct status status = dtype_is_floating(dtype)
                               ? json_value_read_reals(bytes_of(text), scratch, &json)
                               : json_value_read(bytes_of(text), scratch, &json);
    status = status_is_ok(status) ? value_from_json_value(json, dtype, arena, out)
                                  : status_in(status, "not JSON");
    arena_destroy(scratch);
    return status;
}

/* ---- printing ---- */

static void print_floating(double value, int digits, struct buffer *out)
{
    if (isnan(value))
        buffer_append_text(out, "NaN");
    else if (isinf(value))
        buffer_append_text(out, value < 0 ? "-Infinity" : "Infinity");
    else
        buffer_printf(out, "%.*g", digits, value);
}

void value_element_to_text(const struct tensor *tensor, int64_t i, struct buffer *out)
{
    switch (tensor->dtype) {
    case DT_FLOAT:
        print_floating((double)tensor_floats(tensor)[i], 9, out);
        break;
    case DT_DOUBLE:
        print_floating(tensor_doubles(tensor)[i], 17, out);
        break;
    case DT_HALF:
        print_floating((double)half_to_float(((const uint16_t *)tensor->data)[i]), 5, out);
        break;
    case DT_BFLOAT16:
        print_floating((double)bfloat16_to_float(((const uint16_t *)tensor->data)[i]), 4, out);
        break;
    case DT_BOOL:
        buffer_append_text(out, tensor_bools(tensor)[i] ? "true" : "false");
        break;
    case DT_STRING:
        json_print_visible(out, tensor_strings(tensor)[i]);
        break;
#define CASE(dt, type, format)                                           \
    case dt:                                                             \
        buffer_printf(out, "%" format, ((const type *)tensor->data)[i]); \
        break;
        CASE(DT_INT8, int8_t, PRId8)
        CASE(DT_INT16, int16_t, PRId16)
        CASE(DT_INT32, int32_t, PRId32)
        CASE(DT_INT64, int64_t, PRId64)
        CASE(DT_UINT8, uint8_t, PRIu8)
        CASE(DT_UINT16, uint16_t, PRIu16)
        CASE(DT_UINT32, uint32_t, PRIu32)
        CASE(DT_UINT64, uint64_t, PRIu64)
#undef CASE
    default:
        buffer_printf(out, "<%s>", dtype_name(tensor->dtype));
    }
}

static void print_axis(const struct tensor *tensor, int rank, const int64_t *dims, int axis,
                       int64_t *at, struct buffer *out)
{
    if (axis == rank) {
        value_element_to_text(tensor, (*at)++, out);
        return;
    }
    buffer_append_char(out, '[');
    for (int64_t i = 0; i < dims[axis]; i++) {
        if (i > 0)
            buffer_append_text(out, axis == 0 && rank > 1 ? ",\n " : ", ");
        print_axis(tensor, rank, dims, axis + 1, at, out);
    }
    buffer_append_char(out, ']');
}

/* A tensor without elements may have any number of lists: [2^40,0] are 2^40 empty ones. */
static bool has_too_many_lists(const struct tensor *tensor, int rank, const int64_t *dims)
{
    int64_t lists = 1;
    for (int i = 0; i < rank && tensor->size == 0 && lists <= VALUE_EMPTY_LISTS_MAX; i++) {
        if (dims[i] == 0)
            return false;
        lists = dims[i] > VALUE_EMPTY_LISTS_MAX ? INT64_MAX : lists * dims[i];
    }
    return lists > VALUE_EMPTY_LISTS_MAX;
}

static void print_from(const struct tensor *tensor, int axis, int64_t row, struct buffer *out)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(&tensor->shape, dims);
    int64_t at = axis == 0 ? 0 : row * (tensor->size / dims[0]);
    if (has_too_many_lists(tensor, rank, dims))
        buffer_append_text(out, "[]");
    else
        print_axis(tensor, rank, dims, axis, &at, out);
}

void value_to_text(const struct tensor *tensor, struct buffer *out)
{
    print_from(tensor, 0, 0, out);
}

void value_row_to_text(const struct tensor *tensor, int64_t row, struct buffer *out)
{
    print_from(tensor, 1, row, out); /* of a whole tensor, axis 0 has the line breaks */
}
