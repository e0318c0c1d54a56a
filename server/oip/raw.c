#include "server/oip/raw.h"

#include "tensor/tensor_values.h"

#define LENGTH_BYTES 4

static struct status size_error(struct bytes raw, enum dtype dtype, const struct shape *shape)
{
    return status_error(STATUS_INVALID_ARGUMENT, "%zu bytes are not the elements of %s of type %s",
                        raw.size, shape_text(shape), dtype_name(dtype));
}

static struct status read_strings(struct bytes raw, const struct shape *shape, struct arena *arena,
                                  struct tensor *out)
{
    const char *at = raw.data, *end = raw.data + raw.size;
    size_t count = (size_t)shape_size(shape);
    void *strings;
    if (count > raw.size / LENGTH_BYTES) /* a short body may claim many elements */
        return size_error(raw, DT_STRING, shape);
    TRY(arena_reserve(arena, count * sizeof(struct bytes), &strings));
    for (size_t i = 0; i < count; i++) {
        if ((size_t)(end - at) < LENGTH_BYTES)
            return size_error(raw, DT_STRING, shape);
        size_t size = get_u32le(at);
        at += LENGTH_BYTES;
        if (size > (size_t)(end - at))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "element %zu is to have %zu bytes, but only %zu follow", i, size,
                                (size_t)(end - at));
        ((struct bytes *)strings)[i] = (struct bytes){ at, size };
        at += size;
    }
    if (at != end)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu bytes follow the last of %zu elements",
                            (size_t)(end - at), count);
    *out = tensor_borrow(DT_STRING, shape, strings);
    return status_ok();
}

struct status raw_read(struct bytes raw, enum dtype dtype, const struct shape *shape,
                       struct arena *arena, struct tensor *out)
{
    size_t want;
    if (dtype == DT_STRING)
        return read_strings(raw, shape, arena, out);
    if (__builtin_mul_overflow((size_t)shape_size(shape), dtype_size(dtype), &want) ||
        want != raw.size)
        return size_error(raw, dtype, shape);
    if (dtype == DT_BOOL)
        TRY(tensor_check_bools(raw, "the data"));
    *out = tensor_borrow(dtype, shape, raw.data);
    return status_ok();
}

uint64_t raw_size(const struct tensor *tensor)
{
    if (tensor->dtype != DT_STRING)
        return tensor_bytes(tensor);
    uint64_t size = (uint64_t)tensor->size * LENGTH_BYTES;
    for (int64_t i = 0; i < tensor->size; i++) {
        if (tensor_strings(tensor)[i].size > UINT32_MAX)
            return UINT64_MAX;
        size += tensor_strings(tensor)[i].size;
    }
    return size;
}

void raw_put(const struct tensor *tensor, struct buffer *out)
{
    if (tensor->dtype != DT_STRING) {
        if (tensor->size > 0)
            buffer_append(out, tensor->data, tensor_bytes(tensor));
        return;
    }
    for (int64_t i = 0; i < tensor->size; i++) {
        struct bytes text = tensor_strings(tensor)[i];
        char length[LENGTH_BYTES];
        put_u32le(length, (uint32_t)text.size);
        buffer_append(out, length, sizeof length);
        if (text.size > 0)
            buffer_append(out, text.data, text.size);
    }
}
