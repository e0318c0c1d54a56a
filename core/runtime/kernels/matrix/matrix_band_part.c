/* MatrixBandPart: zeros off the band; a negative width keeps the whole side. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* The columns [first, end) of a row that are kept. */
struct band {
    int64_t first, end;
};

static struct band band_of(int64_t row, int64_t columns, const int64_t width[2])
{
    struct band band = { 0, columns };
    if (width[0] >= 0 && row - width[0] > 0)
        band.first = row - width[0] < columns ? row - width[0] : columns;
    if (width[1] >= 0 && row + 1 + width[1] < columns)
        band.end = row + 1 + width[1];
    if (band.end < band.first)
        band.end = band.first;
    return band;
}

static void copy_band(const void *in, void *out, size_t size, struct band band, int64_t columns)
{
    memset(out, 0, (size_t)band.first * size);
    memcpy(at_bytes(out, band.first, size), at_bytes_const(in, band.first, size),
           (size_t)(band.end - band.first) * size);
    memset(at_bytes(out, band.end, size), 0, (size_t)(columns - band.end) * size);
}

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
        if (kernel_input(k, 1 + i)->shape.rank != 0)
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
    for (int64_t i = 0; i < x->size; i += columns)
        copy_band(at_bytes_const(x->data, i, size), at_bytes(out->data, i, size), size,
                  band_of(i / columns % rows, columns, width), columns);
    return status_ok();
}

static const struct kernel rows[] = {
    { "MatrixBandPart", DTYPES_MOVED, "T", .compute = band_compute },
    { "BatchMatrixBandPart", DTYPES_MOVED, "T", .compute = band_compute },
};
const struct kernel_table kernels_matrix_band_part = { rows, COUNT(rows) };
