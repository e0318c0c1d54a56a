/* MatrixBandPart: zeros off the band; a negative width keeps the whole side. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

static struct status band_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct tensor *out;
    if (x->shape.rank < 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "input must be at least 2-dim, received shape: %s",
                            shape_text(&x->shape));
    int64_t rows = x->shape.dims[x->shape.rank - 2], columns = x->shape.dims[x->shape.rank - 1];
    int64_t width[2];
    for (int i = 0; i < 2; i++) {
        if (kernel_input(k, 1 + i)->size != 1)
            return status_error(STATUS_INVALID_ARGUMENT, "%s must be scalar, got shape %s",
                                i == 0 ? "num_lower" : "num_upper",
                                shape_text(&kernel_input(k, 1 + i)->shape));
        width[i] = tensor_index(kernel_input(k, 1 + i), 0);
        if (width[i] > (i == 0 ? rows : columns))
            return status_error(STATUS_INVALID_ARGUMENT,
                                i == 0 ? "num_lower must be negative or less or equal to number of "
                                         "rows (%lld) got: %lld"
                                       : "num_upper must be negative or less or equal to number of "
                                         "columns (%lld) got: %lld",
                                (long long)(i == 0 ? rows : columns), (long long)width[i]);
    }
    TRY(kernel_output(k, 0, &x->shape, &out));
    size_t size = dtype_size(x->dtype);
    for (int64_t i = 0; i < x->size; i++) {
        int64_t column = i % columns, row = i / columns % rows;
        bool kept = (width[0] < 0 || row - column <= width[0]) &&
                    (width[1] < 0 || column - row <= width[1]);
        if (kept)
            memcpy(at_bytes(out->data, i, size), at_bytes_const(x->data, i, size), size);
        else
            memset(at_bytes(out->data, i, size), 0, size);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "MatrixBandPart", DTYPES_MOVED, "T", .compute = band_compute },
};
const struct kernel_table kernels_matrix_band_part = { rows, COUNT(rows) };
