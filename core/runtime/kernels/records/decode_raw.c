/*
 * decode_raw: DecodeRaw and DecodePaddedRaw, which take the bytes of strings for numbers.
 */
#include "runtime/kernels/kernel_tools.h"

static struct status raw_prepare(struct prepare_context *p)
{
    bool *little_endian = prepare_state(p, sizeof *little_endian, NULL);
    return node_attr_bool(prepare_node(p), "little_endian", little_endian);
}

/* Turns each number around; a complex one is two. */
static void swap_bytes(enum dtype dtype, char *data, size_t size)
{
    size_t each = dtype_size(dtype) / (dtype_is_complex(dtype) ? 2 : 1);
    for (char *at = data; at < data + size; at += each)
        for (size_t i = 0; i < each / 2; i++) {
            char byte = at[i];
            at[i] = at[each - 1 - i];
            at[each - 1 - i] = byte;
        }
}

/* A bool is 0 or 1 here. */
static void store(const struct kernel_context *k, struct tensor *out, size_t at, struct bytes raw)
{
    const bool *little_endian = kernel_state(k);
    char *to = (char *)out->data + at;
    if (raw.size == 0)
        return;
    memcpy(to, raw.data, raw.size);
    if (!*little_endian)
        swap_bytes(out->dtype, to, raw.size);
    for (size_t i = 0; i < raw.size && out->dtype == DT_BOOL; i++)
        to[i] = to[i] != 0;
}

static struct status make_output(struct kernel_context *k, int64_t count, struct tensor **out)
{
    struct shape shape = kernel_input(k, 0)->shape;
    TRY(kernel_check_rank(k, shape.rank + 1));
    shape.dims[shape.rank++] = count;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    return kernel_output(k, 0, &shape, out);
}

static struct status raw_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    const struct bytes *strings = tensor_strings(x);
    size_t size = x->size > 0 ? strings[0].size : 0;
    enum dtype dtype;
    struct tensor *out;
    TRY(node_attr_type(kernel_node(k), "out_type", &dtype));
    for (int64_t i = 1; i < x->size; i++)
        if (strings[i].size != size)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "DecodeRaw requires input strings to all be the same size, but "
                                "element %lld has size %zu != %zu",
                                (long long)i, size, strings[i].size);
    size_t element = dtype_size(dtype);
    if (size % element != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input to DecodeRaw has length %zu that is not a multiple of %zu, the "
                            "size of %s",
                            size, element, dtype_name(dtype));
    TRY(make_output(k, (int64_t)(size / element), &out));
    for (int64_t i = 0; i < x->size; i++)
        store(k, out, (size_t)i * size, strings[i]);
    return status_ok();
}

static struct status padded_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *length = kernel_input(k, 1);
    enum dtype dtype;
    struct tensor *out;
    TRY(node_attr_type(kernel_node(k), "out_type", &dtype));
    if (length->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "k must be scalar, got shape %s",
                            shape_text(&length->shape));
    int64_t size = tensor_int32s(length)[0], element = (int64_t)dtype_size(dtype);
    if (size <= 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "`fixed_length` must be positive, but got %lld", (long long)size);
    if (size % element != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "fixed_length (%lld) must be a multiple of the size of out_type (%lld)",
                            (long long)size, (long long)element);
    TRY(make_output(k, size / element, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i++) {
        struct bytes raw = tensor_strings(x)[i];
        raw.size = raw.size < (size_t)size ? raw.size : (size_t)size;
        /* the last number may be cut short: it is byte-swapped with the zeros after it */
        struct bytes whole = { raw.data, raw.size - raw.size % (size_t)element };
        char last[16] = { 0 };
        size_t at = (size_t)(i * size);
        store(k, out, at, whole);
        if (whole.size < raw.size) {
            memcpy(last, raw.data + whole.size, raw.size - whole.size);
            store(k, out, at + whole.size, (struct bytes){ last, (size_t)element });
        }
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "DecodeRaw", DTYPES_ALL, .prepare = raw_prepare, .compute = raw_compute },
    { "DecodePaddedRaw", DTYPES_ALL, .prepare = raw_prepare, .compute = padded_compute },
};
const struct kernel_table kernels_decode_raw = { rows, COUNT(rows) };
