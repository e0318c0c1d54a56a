/* fingerprint_rows: Fingerprint, a hash of each row of a tensor, as eight bytes. */
#include "base/fingerprint.h"
#include "runtime/kernels/kernel_tools.h"

static void put_fingerprint(struct bytes bytes, struct tensor *out, int64_t row)
{
    put_u64le((char *)out->data + 8 * row, fingerprint64(bytes));
}

/* A row of several strings is hashed as the fingerprints of its strings. */
static struct status hash_strings(struct kernel_context *k, const struct tensor *data,
                                  int64_t width, struct tensor *out)
{
    struct shape shape = shape_of(8 * width);
    struct tensor row;
    TRY(kernel_scratch(k, DT_UINT8, &shape, &row));
    for (int64_t r = 0; r < out->shape.dims[0]; r++) {
        for (int64_t i = 0; i < width; i++)
            put_fingerprint(tensor_strings(data)[r * width + i], &row, i);
        put_fingerprint((struct bytes){ row.data, (size_t)(8 * width) }, out, r);
    }
    tensor_release(&row);
    return status_ok();
}

static struct status check_method(const struct tensor *method)
{
    struct bytes name = method->size == 1 ? tensor_strings(method)[0] : bytes_of("");
    if (method->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "`method` should be a scalar string: %s",
                            shape_text(&method->shape));
    if (!bytes_equal(name, bytes_of("farmhash64")))
        return status_error(STATUS_INVALID_ARGUMENT, "Unsupported fingerprint method: %.*s",
                            (int)name.size, name.data);
    return status_ok();
}

static struct status fingerprint_compute(struct kernel_context *k)
{
    const struct tensor *data = kernel_input(k, 0);
    struct tensor *out;
    TRY(check_method(kernel_input(k, 1)));
    if (data->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "`data` should have at least one dimension: %s",
                            shape_text(&data->shape));
    int64_t rows = data->shape.dims[0], width = rows > 0 ? data->size / rows : 0;
    struct shape shape = shape_of(rows, 8);
    TRY(kernel_output(k, 0, &shape, &out));
    if (data->dtype == DT_STRING && width != 1)
        return hash_strings(k, data, width, out);
    size_t size = (size_t)width * dtype_size(data->dtype);
    for (int64_t r = 0; r < rows; r++) {
        struct bytes row = { (const char *)data->data + (size_t)r * size, size };
        put_fingerprint(data->dtype == DT_STRING ? tensor_strings(data)[r] : row, out, r);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Fingerprint", DTYPES_MOVED, "T", .compute = fingerprint_compute },
};
const struct kernel_table kernels_fingerprint_rows = { rows, COUNT(rows) };
