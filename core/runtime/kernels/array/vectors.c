/*
 * vectors: Cross, the product of vectors of three; Diag and DiagPart, a tensor as the diagonal of
 * one with twice the dimensions; UnravelIndex, a place as an index for each dimension.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

/* ---- Cross ---- */

#define CROSS(s, T, W)                                                       \
    static void cross_##s(const void *a_, const void *b_, void *out_)        \
    {                                                                        \
        const T *a = a_, *b = b_;                                            \
        T *out = out_;                                                       \
        for (int i = 0; i < 3; i++) {                                        \
            int j = (i + 1) % 3, l = (i + 2) % 3;                            \
            T left = (T)((W)a[j] * (W)b[l]), right = (T)((W)a[l] * (W)b[j]); \
            out[i] = (T)((W)left - (W)right);                                \
        }                                                                    \
    }
REAL_TYPES(CROSS)

typedef void cross(const void *a, const void *b, void *out);
static cross *const crosses[DTYPE_COUNT] = { ROWS_REAL(cross) };

/* Each step is rounded to the type. */
static void cross_half(enum dtype dtype, const void *a_, const void *b_, void *out)
{
    float a[3], b[3], product[3];
    half_block_load(dtype, a_, a, 3);
    half_block_load(dtype, b_, b, 3);
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        product[i] = half_round(dtype, a[j] * b[l]) - half_round(dtype, a[l] * b[j]);
    }
    half_block_store(dtype, product, out, 3);
}

static struct status cross_compute(struct kernel_context *k)
{
    const struct tensor *a = kernel_input(k, 0), *b = kernel_input(k, 1);
    struct tensor *out;
    if (!shape_equal(&a->shape, &b->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "Both inputs must be of same shape: %s vs. %s",
                            shape_text(&a->shape), shape_text(&b->shape));
    if (a->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Input must be at least 1D%s",
                            shape_text(&a->shape));
    if (a->shape.dims[a->shape.rank - 1] != 3)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Cross-products are only defined for 3-element vectors.");
    TRY(kernel_output(k, 0, &a->shape, &out));
    size_t size = dtype_size(a->dtype);
    for (int64_t i = 0; i < a->size; i += 3) {
        const void *x = at_bytes_const(a->data, i, size), *y = at_bytes_const(b->data, i, size);
        if (dtype_is_half(a->dtype))
            cross_half(a->dtype, x, y, at_bytes(out->data, i, size));
        else
            crosses[a->dtype](x, y, at_bytes(out->data, i, size));
    }
    return status_ok();
}

/* ---- Diag, DiagPart ---- */

static struct status diag_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct shape shape = x->shape;
    struct tensor *out;
    if (x->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Input must be at least rank 1, got 0");
    TRY(kernel_check_rank(k, 2 * (int64_t)x->shape.rank));
    for (int d = 0; d < x->shape.rank; d++)
        shape_append(&shape, x->shape.dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i++)
        copy_element(x, i, out, i * (x->size + 1));
    return status_ok();
}

static struct status diag_part_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    int half = x->shape.rank / 2;
    struct tensor *out;
    if (x->shape.rank % 2 != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The rank of the tensor should be even, got shape %s",
                            shape_text(&x->shape));
    for (int d = 0; d < half; d++)
        if (x->shape.dims[d] != x->shape.dims[half + d])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Invalid shape %s: dimensions %d and %d do not match.",
                                shape_text(&x->shape), d, half + d);
    struct shape shape = shape_make(half, x->shape.dims);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++)
        copy_element(x, i * (out->size + 1), out, i);
    return status_ok();
}

/* ---- UnravelIndex: negative indices give negative remainders, as in TensorFlow ---- */

/* The number of positions; over INT64_MAX is refused, as no index could tell them apart. */
static struct status count_places(const struct tensor *dims, int64_t *out)
{
    *out = 1;
    for (int64_t d = 0; d < dims->size; d++) {
        int64_t size = tensor_index(dims, d);
        if (size == 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input dims cannot contain a dim of zero, but contains zero at "
                                "index %lld",
                                (long long)d);
        if (size < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input dims cannot be negative. Got dim = %lld at index %lld",
                                (long long)size, (long long)d);
        if (__builtin_mul_overflow(*out, size, out))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input dims product is causing integer overflow");
    }
    return status_ok();
}

static struct status unravel_compute(struct kernel_context *k)
{
    const struct tensor *indices = kernel_input(k, 0), *dims = kernel_input(k, 1);
    int64_t places, step = 1;
    struct tensor *out;
    if (dims->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "The dims should be 1-D. Got: %s",
                            shape_text(&dims->shape));
    if (indices->shape.rank > 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The indices can only be scalar or vector. Got: %s",
                            shape_text(&indices->shape));
    if (indices->size == 0 || dims->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "received empty tensor %s",
                            indices->size == 0 ? "indices" : "dims");
    TRY(count_places(dims, &places));
    for (int64_t i = 0; i < indices->size; i++)
        if (tensor_index(indices, i) >= places)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "index is out of bound as with dims: %lld is not below %lld",
                                (long long)tensor_index(indices, i), (long long)places);
    struct shape shape = shape_of(dims->size);
    if (indices->shape.rank == 1)
        shape_append(&shape, indices->size);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t d = dims->size - 1; d >= 0; d--) {
        int64_t size = tensor_index(dims, d);
        for (int64_t i = 0; i < indices->size; i++)
            tensor_set_index(out, d * indices->size + i, tensor_index(indices, i) / step % size);
        step *= size;
    }
    return status_ok();
}

#define TYPES_DIAG (DTYPES_FLOATING | DTYPES_COMPLEX | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "Cross", DTYPES_REAL, .compute = cross_compute },
    { "Diag", TYPES_DIAG, .compute = diag_compute },
    { "DiagPart", TYPES_DIAG, .compute = diag_part_compute },
    { "UnravelIndex", DTYPES(DT_INT32) | DTYPES(DT_INT64), .compute = unravel_compute },
};
const struct kernel_table kernels_vectors = { rows, COUNT(rows) };
