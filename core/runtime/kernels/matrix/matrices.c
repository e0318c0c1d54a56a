#include "runtime/kernels/matrix/matrices.h"

#include <assert.h>
#include <complex.h>
#include <limits.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/blas_buffers.h"

struct status matrices_find(const struct kernel_context *k, int input, bool square,
                            struct matrices *out)
{
    const struct shape *shape = &kernel_input(k, input)->shape;
    if (shape->rank < 2)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Input tensor %d must have rank >= 2, got %d", input, shape->rank);
    out->rows = shape->dims[shape->rank - 2];
    out->columns = shape->dims[shape->rank - 1];
    out->count = shape_outer(shape, shape->rank - 2);
    if (square && out->rows != out->columns)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input matrix must be square.");
    if (out->rows > INT_MAX || out->columns > INT_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "a matrix of %lld x %lld is too large",
                            (long long)out->rows, (long long)out->columns);
    return status_ok();
}

struct status matrices_check_right_sides(const struct kernel_context *k, int64_t rows)
{
    const struct shape *a = &kernel_input(k, 0)->shape, *b = &kernel_input(k, 1)->shape;
    if (a->rank != b->rank)
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "All input tensors must have the same rank.");
    for (int d = 0; d < a->rank - 2; d++)
        if (a->dims[d] != b->dims[d])
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "All input tensors must have the same outer dimensions.");
    if (rows != b->dims[b->rank - 2])
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Input matrix and rhs are incompatible.");
    return status_ok();
}

struct status matrices_begin(const struct kernel_context *k)
{
    TRY(kernel_check(k));
    return blas_buffer_take()
               ? status_ok()
               : kernel_error(k, STATUS_RESOURCE_EXHAUSTED, "no work buffer of OpenBLAS is free");
}

void matrices_end(void)
{
    blas_buffer_give_back();
}

void matrix_transpose(enum dtype dtype, int64_t rows, int64_t columns, const void *x, void *out)
{
    size_t size = dtype_size(dtype);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            memcpy(at_bytes(out, j * rows + i, size), at_bytes_const(x, i * columns + j, size),
                   size);
}

double complex matrix_element(enum dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case DT_FLOAT:
        return (double)((const float *)x)[i];
    case DT_DOUBLE:
        return ((const double *)x)[i];
    case DT_COMPLEX64:
        return ((const float complex *)x)[i];
    default:
        assert(dtype == DT_COMPLEX128);
        return ((const double complex *)x)[i];
    }
}

void matrix_set(enum dtype dtype, void *x, int64_t i, double complex value)
{
    switch (dtype) {
    case DT_FLOAT:
        ((float *)x)[i] = (float)creal(value);
        break;
    case DT_DOUBLE:
        ((double *)x)[i] = creal(value);
        break;
    case DT_COMPLEX64:
        ((float complex *)x)[i] = (float complex)value;
        break;
    default:
        assert(dtype == DT_COMPLEX128);
        ((double complex *)x)[i] = value;
    }
}

void matrix_set_identity(enum dtype dtype, int64_t n, void *out)
{
    memset(out, 0, (size_t)(n * n) * dtype_size(dtype));
    for (int64_t i = 0; i < n; i++)
        matrix_set(dtype, out, i * n + i, 1);
}
