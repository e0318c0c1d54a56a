#include "server/oip/elements.h"

#include "base/decimal.h"
#include "base/utf8.h"
#include "server/json/print.h"
#include "server/json/tensor.h"
#include "server/oip/datatype.h"

#define ELEMENT_TEXT_MIN 2  /* "0," */
#define COUNT_UNLIKELY   64 /* more than the shape has: the reader grows the buffer */

/* The type as which elements are read: JSON numbers are checked against the narrower one
 * afterwards. */
static enum dtype read_as(enum dtype dtype)
{
    switch (dtype) {
    case DT_INT8:
    case DT_INT16:
    case DT_UINT8:
    case DT_UINT16:
        return DT_INT32;
    case DT_HALF:
    case DT_BFLOAT16:
        return DT_FLOAT;
    default:
        return dtype;
    }
}

/* ---- loops over elements: the index of the first out-of-range element, or count ---- */

#define NARROW(name, type, min, max)                                 \
    static size_t name(const void *wide, void *narrow, size_t count) \
    {                                                                \
        for (size_t i = 0; i < count; i++) {                         \
            int32_t value = ((const int32_t *)wide)[i];              \
            if (value < (min) || value > (max))                      \
                return i;                                            \
            ((type *)narrow)[i] = (type)value;                       \
        }                                                            \
        return count;                                                \
    }
NARROW(narrow_int8, int8_t, INT8_MIN, INT8_MAX)
NARROW(narrow_int16, int16_t, INT16_MIN, INT16_MAX)
NARROW(narrow_uint8, uint8_t, 0, UINT8_MAX)
NARROW(narrow_uint16, uint16_t, 0, UINT16_MAX)

static size_t narrow_half(const void *wide, void *narrow, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint16_t *)narrow)[i] = float_to_half(((const float *)wide)[i]);
    return count;
}

static size_t narrow_bfloat16(const void *wide, void *narrow, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ((uint16_t *)narrow)[i] = float_to_bfloat16(((const float *)wide)[i]);
    return count;
}

static size_t narrow_elements(enum dtype dtype, const void *wide, void *narrow, size_t count)
{
    switch (dtype) {
    case DT_INT8:
        return narrow_int8(wide, narrow, count);
    case DT_INT16:
        return narrow_int16(wide, narrow, count);
    case DT_UINT8:
        return narrow_uint8(wide, narrow, count);
    case DT_UINT16:
        return narrow_uint16(wide, narrow, count);
    case DT_HALF:
        return narrow_half(wide, narrow, count);
    default:
        return narrow_bfloat16(wide, narrow, count);
    }
}

/* ---- reading ---- */

static struct status read_error(const struct json_tensor *elements, enum dtype dtype,
                                const struct shape *shape)
{
    if (elements->full)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "the request's tensors are over the limit of memory");
    return status_error(STATUS_INVALID_ARGUMENT,
                        "data is not a list of %s, flat or nested as %s: it goes wrong after %zu "
                        "elements",
                        datatype_show(dtype), shape_text(shape), elements->count);
}

static bool shapes_fit(const struct shape *given, const struct shape *declared)
{
    if (given->rank == 1 && given->dims[0] == shape_size(declared))
        return true;
    return shape_equal(given, declared);
}

static struct status narrow(struct arena *arena, enum dtype dtype, struct tensor *tensor)
{
    void *data;
    size_t count = (size_t)tensor->size, done;
    TRY(arena_reserve(arena, count * dtype_size(dtype), &data));
    done = narrow_elements(dtype, tensor->data, data, count);
    if (done < count)
        return status_error(STATUS_INVALID_ARGUMENT, "element %zu is %d, which %s does not hold",
                            done, ((const int32_t *)tensor->data)[done], datatype_show(dtype));
    *tensor = tensor_borrow(dtype, &tensor->shape, data);
    return status_ok();
}

struct status elements_read(const char **at, size_t left, enum dtype dtype,
                            const struct shape *shape, struct arena *arena, struct tensor *out)
{
    struct json_tensor elements;
    struct shape given;
    size_t count = (size_t)shape_size(shape), most = left / ELEMENT_TEXT_MIN + COUNT_UNLIKELY;
    json_tensor_init(&elements, arena, read_as(dtype), count < most ? count : most);
    const char *end = json_tensor_read(&elements, *at, &given);
    if (end == NULL)
        return read_error(&elements, dtype, shape);
    if (!shapes_fit(&given, shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "data has the shape %s, which is neither %s "
                            "nor a list of its %zu elements",
                            shape_text(&given), shape_text(shape), count);
    *at = end;
    *out = json_tensor_finish(&elements, shape);
    return read_as(dtype) == dtype ? status_ok() : narrow(arena, dtype, out);
}

/* ---- printing ---- */

static char *put_number(const struct tensor *tensor, int64_t i, char *at)
{
    const void *data = tensor->data;
    switch (tensor->dtype) {
    case DT_FLOAT:
        return json_put_float(at, ((const float *)data)[i]);
    case DT_DOUBLE:
        return json_put_double(at, ((const double *)data)[i]);
    case DT_HALF:
        return json_put_float(at, half_to_float(((const uint16_t *)data)[i]));
    case DT_BFLOAT16:
        return json_put_float(at, bfloat16_to_float(((const uint16_t *)data)[i]));
    case DT_UINT16:
        return decimal_put_uint64(at, ((const uint16_t *)data)[i]);
    case DT_UINT64:
        return decimal_put_uint64(at, ((const uint64_t *)data)[i]);
    case DT_BOOL: {
        const char *word = ((const bool *)data)[i] ? "true" : "false";
        size_t size = strlen(word);
        memcpy(at, word, size);
        return at + size;
    }
    default:
        return decimal_put_int64(at, tensor_index(tensor, i));
    }
}

size_t elements_size_max(const struct tensor *tensor)
{
    size_t size;
    if (__builtin_mul_overflow((size_t)tensor->size, (size_t)JSON_NUMBER_MAX, &size) ||
        __builtin_add_overflow(size, (size_t)JSON_NUMBER_MAX, &size))
        return SIZE_MAX;
    for (int64_t i = 0; tensor->dtype == DT_STRING && i < tensor->size; i++) {
        size_t text; /* \u0000 */
        if (__builtin_mul_overflow(tensor_strings(tensor)[i].size, (size_t)6, &text) ||
            __builtin_add_overflow(size, text, &size))
            return SIZE_MAX;
    }
    return size;
}

struct status elements_print(const struct tensor *tensor, struct buffer *out)
{
    buffer_append_char(out, '[');
    for (int64_t i = 0; i < tensor->size; i++) {
        if (i > 0)
            buffer_append_char(out, ',');
        if (tensor->dtype != DT_STRING) {
            buffer_reserve(out, JSON_NUMBER_MAX);
            out->size = (size_t)(put_number(tensor, i, out->data + out->size) - out->data);
            continue;
        }
        if (!utf8_is_valid(tensor_strings(tensor)[i]))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "element %lld is not UTF-8, so it is no JSON string; ask for "
                                "binary data",
                                (long long)i);
        json_print_string(out, tensor_strings(tensor)[i]);
    }
    buffer_append_char(out, ']');
    return status_ok();
}
