#include "runtime/kernels/sparse_input.h"

static struct status check_sizes(const struct sparse_input *sparse)
{
    int64_t count = 1;

    for (int64_t d = 0; d < sparse->rank; d++) {
        if (sparse->sizes[d] < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Dimension %lld of a sparse tensor's shape must be >= 0, not %lld",
                                (long long)d, (long long)sparse->sizes[d]);
        if (__builtin_mul_overflow(count, sparse->sizes[d], &count))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "a sparse tensor's shape has more than 2^63 elements");
    }
    return status_ok();
}

struct status sparse_input_read(const struct kernel_context *k, int indices, int values, int shape,
                                struct sparse_input *out)
{
    const struct tensor *places = kernel_input(k, indices), *sizes = kernel_input(k, shape);

    *out = (struct sparse_input){ .values = kernel_input(k, values) };
    if (places->shape.rank != 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected the indices of a sparse tensor to be a matrix, got shape %s",
                            shape_text(&places->shape));
    if (out->values->shape.rank != 1 || sizes->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected the values and the shape of a sparse tensor to be vectors, "
                            "got shapes %s and %s",
                            shape_text(&out->values->shape), shape_text(&sizes->shape));
    if (out->values->size != places->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of values must match first dimension of indices. Got %lld "
                            "values, indices shape: %s",
                            (long long)out->values->size, shape_text(&places->shape));
    if (sizes->size != places->shape.dims[1])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of dimensions must match second dimension of indices. Got %lld "
                            "dimensions, indices shape: %s",
                            (long long)sizes->size, shape_text(&places->shape));
    out->indices = tensor_int64s(places);
    out->sizes = tensor_int64s(sizes);
    out->count = out->values->size;
    out->rank = sizes->size;
    return check_sizes(out);
}

int sparse_compare(const int64_t *a, const int64_t *b, int64_t dims)
{
    for (int64_t d = 0; d < dims; d++)
        if (a[d] != b[d])
            return a[d] < b[d] ? -1 : 1;
    return 0;
}

struct status sparse_input_check_bounds(const struct sparse_input *sparse)
{
    if (sparse->rank == 0)
        return status_ok();
    for (int64_t i = 0; i < sparse->count; i++) {
        const int64_t *index = sparse_input_index(sparse, i);
        for (int64_t d = 0; d < sparse->rank; d++)
            if (index[d] < 0 || index[d] >= sparse->sizes[d])
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "indices[%lld,%lld] = %lld is out of bounds: need 0 <= index < "
                                    "%lld",
                                    (long long)i, (long long)d, (long long)index[d],
                                    (long long)sparse->sizes[d]);
    }
    return status_ok();
}

struct status sparse_input_check_order(const struct sparse_input *sparse)
{
    TRY(sparse_input_check_bounds(sparse));
    for (int64_t i = 1; i < sparse->count; i++) {
        int order = sparse_compare(sparse_input_index(sparse, i - 1), sparse_input_index(sparse, i),
                                   sparse->rank);
        if (order > 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "indices[%lld] is out of order. Many sparse ops require sorted "
                                "indices. Use `tf.sparse.reorder` to create a correctly ordered "
                                "copy.",
                                (long long)i);
        if (order == 0)
            return status_error(STATUS_INVALID_ARGUMENT, "indices[%lld] is repeated", (long long)i);
        if (sparse->rank == 0)
            break;
    }
    return status_ok();
}

int64_t sparse_input_run_end(const struct sparse_input *sparse, int64_t begin, int64_t dims)
{
    int64_t end = begin + 1;

    while (end < sparse->count && sparse_compare(sparse_input_index(sparse, begin),
                                                 sparse_input_index(sparse, end), dims) == 0)
        end++;
    return end;
}

int64_t sparse_place(const int64_t *index, const int64_t *sizes, int64_t dims)
{
    int64_t place = 0;

    for (int64_t d = 0; d < dims; d++)
        place = place * sizes[d] + index[d];
    return place;
}
