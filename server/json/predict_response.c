#include <stdlib.h>

#include "base/decimal.h"
#include "server/json/predict.h"
#include "server/json/print.h"

/* White space is TensorFlow Serving's: a row's values are on one line, everything else on
 * separate lines. */
#define INDENT   4
#define ONE_LINE (-1) /* instead of a depth: no line breaks */

static void new_line(struct buffer *out, int depth)
{
    buffer_append_char(out, '\n');
    buffer_reserve(out, (size_t)(depth * INDENT));
    memset(out->data + out->size, ' ', (size_t)(depth * INDENT));
    out->size += (size_t)(depth * INDENT);
}

static bool ends_in_bytes(const char *name)
{
    size_t size = strlen(name);
    return size >= 6 && strcmp(name + size - 6, "_bytes") == 0;
}

static void print_text(const struct tensor *tensor, int64_t i, bool base64, struct buffer *out)
{
    struct bytes text = tensor_strings(tensor)[i];
    if (base64)
        json_print_base64(out, text);
    else
        json_print_string(out, text);
}

/* Writes the number or the bool at i. The caller has reserved JSON_NUMBER_MAX bytes. */
static char *put_number(const struct tensor *tensor, int64_t i, char *at)
{
    switch (tensor->dtype) {
    case DT_FLOAT:
        return json_put_float(at, ((const float *)tensor->data)[i]);
    case DT_DOUBLE:
        return json_put_double(at, ((const double *)tensor->data)[i]);
    case DT_INT64:
        return decimal_put_int64(at, ((const int64_t *)tensor->data)[i]);
    case DT_INT32:
        return decimal_put_int64(at, ((const int32_t *)tensor->data)[i]);
    case DT_INT16:
        return decimal_put_int64(at, ((const int16_t *)tensor->data)[i]);
    case DT_INT8:
        return decimal_put_int64(at, ((const int8_t *)tensor->data)[i]);
    case DT_UINT8:
        return decimal_put_uint64(at, ((const uint8_t *)tensor->data)[i]);
    case DT_UINT32:
        return decimal_put_uint64(at, ((const uint32_t *)tensor->data)[i]);
    case DT_UINT64:
        return decimal_put_uint64(at, ((const uint64_t *)tensor->data)[i]);
    default: {
        const char *word = ((const bool *)tensor->data)[i] ? "true" : "false";
        size_t size = strlen(word);
        memcpy(at, word, size);
        return at + size;
    }
    }
}

static void print_leaf(const struct tensor *tensor, int64_t i, bool base64, struct buffer *out)
{
    if (tensor->dtype == DT_STRING) {
        print_text(tensor, i, base64, out);
        return;
    }
    buffer_reserve(out, JSON_NUMBER_MAX);
    out->size = (size_t)(put_number(tensor, i, out->data + out->size) - out->data);
}

static void separate(struct buffer *out, bool first, int depth)
{
    if (!first)
        buffer_append_char(out, ',');
    if (depth != ONE_LINE)
        new_line(out, depth);
    else if (!first)
        buffer_append_char(out, ' ');
}

/* An output, and how to print it. */
struct printed {
    const struct tensor *tensor;
    int rank;
    const int64_t *dims; /* [rank] */
    bool base64;
    struct buffer *out;
};

/* The first dimension of a shape that is not scalar. */
static int64_t first_dim(const struct shape *shape)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    if (shape->rank > 0)
        return shape->dims[0];
    shape_unpack(shape, dims);
    return dims[0];
}

/* Prints like print_level for each number, with a quarter of the instructions. Most answers are
 * rows. */
static void print_numbers(const struct printed *p, int64_t start, int64_t count)
{
    struct buffer *out = p->out;
    for (int64_t i = 0; i < count; i++) {
        buffer_reserve(out, JSON_NUMBER_MAX + 2);
        char *at = out->data + out->size;
        if (i > 0) {
            *at++ = ',';
            *at++ = ' ';
        }
        out->size = (size_t)(put_number(p->tensor, start + i, at) - out->data);
    }
}

/* Prints the sub-tensor of dimensions level, level + 1, …, whose first element is `start`. */
static void print_level(const struct printed *p, int level, int64_t start, int depth)
{
    const int64_t *dims = p->dims;
    if (level == p->rank) {
        print_leaf(p->tensor, start, p->base64, p->out);
        return;
    }
    int64_t stride = 1;
    for (int i = level + 1; i < p->rank; i++)
        stride *= dims[i];
    int inner = depth == ONE_LINE ? ONE_LINE : depth + 1;
    buffer_append_char(p->out, '[');
    if (inner == ONE_LINE && level + 1 == p->rank && p->tensor->dtype != DT_STRING)
        print_numbers(p, start, dims[level]);
    else
        for (int64_t i = 0; i < dims[level]; i++) {
            separate(p->out, i == 0, inner);
            print_level(p, level + 1, start + i * stride, inner);
        }
    if (depth != ONE_LINE && dims[level] > 0)
        new_line(p->out, depth);
    buffer_append_char(p->out, ']');
}

static void print_key(struct buffer *out, const char *key)
{
    json_print_string(out, bytes_of(key));
    buffer_append_text(out, ": ");
}

static struct status check_dtype(const struct tensor *tensor)
{
    switch (tensor->dtype) {
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_INT64:
    case DT_INT32:
    case DT_INT16:
    case DT_INT8:
    case DT_UINT8:
    case DT_UINT32:
    case DT_UINT64:
    case DT_BOOL:
    case DT_STRING:
        return status_ok();
    default:
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Failed to write JSON value for tensor type: %s",
                            dtype_name(tensor->dtype));
    }
}

static struct status check_rows(const struct signature *signature, const struct tensor *outputs)
{
    for (int i = 0; i < signature->outputs_count; i++) {
        const struct shape *shape = &outputs[i].shape;
        if (shape->rank == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tensor name: %s has no shape information ",
                                signature->outputs[i].key);
        if (first_dim(shape) != first_dim(&outputs[0].shape))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Tensor name: %s has inconsistent batch size: %lld expecting: %lld",
                                signature->outputs[i].key, (long long)first_dim(shape),
                                (long long)first_dim(&outputs[0].shape));
    }
    return status_ok();
}

static void print_row(const struct printed *printed, int64_t row)
{
    const struct tensor *tensor = printed->tensor;
    print_level(printed, 1, row * (tensor->size / printed->dims[0]), ONE_LINE);
}

static void print_row_object(const struct signature *signature, const struct printed *printed,
                             int64_t row, struct buffer *out)
{
    separate(out, row == 0, 2);
    buffer_append_char(out, '{');
    for (int i = 0; i < signature->outputs_count; i++) {
        separate(out, i == 0, 3);
        print_key(out, signature->outputs[i].key);
        print_row(&printed[i], row);
    }
    new_line(out, 2);
    buffer_append_char(out, '}');
}

static void print_rows(const struct signature *signature, const struct printed *printed,
                       struct buffer *out)
{
    int64_t rows = printed[0].dims[0];
    buffer_append_text(out, "{\n    \"predictions\": [");
    for (int64_t row = 0; row < rows; row++) {
        if (signature->outputs_count > 1) {
            print_row_object(signature, printed, row, out);
        } else {
            separate(out, row == 0, ONE_LINE);
            print_row(&printed[0], row);
        }
    }
    buffer_append_text(out, rows > 0 ? "\n    ]\n}" : "]\n}");
}

static void print_columns(const struct signature *signature, const struct printed *printed,
                          struct buffer *out)
{
    buffer_append_text(out, "{\n    \"outputs\": ");
    if (signature->outputs_count == 1) {
        print_level(&printed[0], 0, 0, 1);
    } else {
        buffer_append_char(out, '{');
        for (int i = 0; i < signature->outputs_count; i++) {
            separate(out, i == 0, 2);
            print_key(out, signature->outputs[i].key);
            print_level(&printed[i], 0, 0, 2);
        }
        new_line(out, 1);
        buffer_append_char(out, '}');
    }
    buffer_append_text(out, "\n}");
}

/* ---- the size of a response, before it is printed ---- */

static size_t sum(size_t a, size_t b)
{
    return __builtin_add_overflow(a, b, &a) ? SIZE_MAX : a;
}

static size_t product(size_t a, size_t b)
{
    return __builtin_mul_overflow(a, b, &a) ? SIZE_MAX : a;
}

static size_t text_size_max(struct bytes text)
{
    return sum(product(text.size, 6), strlen("{\"b64\": \"\"}") + 3); /* \u0000; padding */
}

/* The longest text that put_number writes for the dtype. */
static size_t leaf_size_max(enum dtype dtype)
{
    switch (dtype) {
    case DT_FLOAT:
        return strlen("-1.23456789e-38");
    case DT_BOOL:
        return strlen("false");
    case DT_INT8:
    case DT_UINT8:
        return strlen("-128");
    default:
        return strlen("-1.2345678901234567e-308");
    }
}

static size_t tensor_size_max(const struct tensor *tensor, bool rows)
{
    int64_t dims[SHAPE_RANK_TENSORFLOW];
    int rank = shape_unpack(&tensor->shape, dims);
    size_t between = rows ? strlen(", ") : strlen(",\n") + (size_t)(rank + 2) * INDENT;
    size_t size = 0, lists = 1;
    for (int i = 0; i < rank; i++) {
        size = sum(size, product(lists, strlen("[]") + 2 * between));
        lists = product(lists, (size_t)dims[i]);
    }
    if (tensor->dtype != DT_STRING)
        return sum(size, product((size_t)tensor->size, leaf_size_max(tensor->dtype) + between));
    for (int64_t i = 0; i < tensor->size; i++)
        size = sum(size, sum(text_size_max(tensor_strings(tensor)[i]), between));
    return size;
}

size_t predict_response_size_max(const struct signature *signature, const struct tensor *outputs,
                                 bool rows)
{
    size_t size = 64; /* the text around the outputs */
    for (int i = 0; i < signature->outputs_count; i++) {
        size_t key = sum(text_size_max(bytes_of(signature->outputs[i].key)), 64);
        bool repeated = rows && outputs[i].shape.rank != 0;
        size_t times = repeated ? (size_t)first_dim(&outputs[i].shape) : 1;
        size = sum(size, sum(tensor_size_max(&outputs[i], rows), product(times, key)));
    }
    return size;
}

static struct printed printed_of(const struct tensor *tensor, const char *key, struct buffer *out)
{
    return (struct printed){ tensor, tensor->shape.rank, tensor->shape.dims, ends_in_bytes(key),
                             out };
}

/* Unpacks packed shapes. Returns memory to free, usually NULL. */
static int64_t *unpack(struct printed *printed, int count)
{
    int64_t *room = NULL;
    for (int i = 0; i < count; i++) {
        if (printed[i].rank != SHAPE_PACKED)
            continue;
        if (room == NULL)
            room = zalloc((size_t)count * SHAPE_RANK_TENSORFLOW * sizeof *room);
        int64_t *dims = &room[i * SHAPE_RANK_TENSORFLOW];
        printed[i].rank = shape_unpack(&printed[i].tensor->shape, dims);
        printed[i].dims = dims;
    }
    return room;
}

struct status predict_response_print(const struct signature *signature,
                                     const struct tensor *outputs, bool rows, struct buffer *out)
{
    int count = signature->outputs_count;
    if (count == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Cannot convert empty tensor map to JSON");
    struct printed local[8],
        *printed = count <= 8 ? local : zalloc((size_t)count * sizeof *printed);
    struct status status = rows ? check_rows(signature, outputs) : status_ok();
    for (int i = 0; i < count && status_is_ok(status); i++) {
        printed[i] = printed_of(&outputs[i], signature->outputs[i].key, out);
        status = check_dtype(&outputs[i]);
    }
    int64_t *unpacked = status_is_ok(status) ? unpack(printed, count) : NULL;
    if (status_is_ok(status) && rows)
        print_rows(signature, printed, out);
    else if (status_is_ok(status))
        print_columns(signature, printed, out);
    free(unpacked);
    if (printed != local)
        free(printed);
    return status;
}
