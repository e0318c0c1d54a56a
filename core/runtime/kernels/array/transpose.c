/* Transpose and ConjugateTranspose. */
#include <complex.h>
#include <stdio.h>

#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

static struct status permutation_error(const struct tensor *perm, int missing)
{
    char text[SHAPE_RANK_MAX * 24] = "";
    size_t used = 0;
    for (int64_t d = 0; d < perm->size; d++)
        used += (size_t)snprintf(text + used, sizeof text - used, d > 0 ? ",%lld" : "%lld",
                                 (long long)tensor_index(perm, d));
    return status_error(STATUS_INVALID_ARGUMENT, "%d is missing from {%s}.", missing, text);
}

static void conjugate(struct tensor *x)
{
    if (x->dtype == DT_COMPLEX64)
        for (int64_t i = 0; i < x->size; i++)
            ((float complex *)x->data)[i] = conjf(((float complex *)x->data)[i]);
    if (x->dtype == DT_COMPLEX128)
        for (int64_t i = 0; i < x->size; i++)
            ((double complex *)x->data)[i] = conj(((double complex *)x->data)[i]);
}

/* Transpose has no state. */
static struct status conjugate_prepare(struct prepare_context *p)
{
    prepare_state(p, 1, NULL);
    return status_ok();
}

static struct status transpose_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *perm = kernel_input(k, 1);
    int rank = x->shape.rank;
    int64_t strides[SHAPE_RANK_MAX];
    bool seen[SHAPE_RANK_MAX] = { false };
    struct strided strided = { 0 };
    struct shape shape = { 0 };
    struct tensor *out;
    bool same = true;
    if (perm->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "perm must be rank 1, got shape %s",
                            shape_text(&perm->shape));
    if (perm->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "transpose expects a vector of size %d. But input(1) is a vector of "
                            "size %lld",
                            rank, (long long)perm->size);
    dense_strides(&x->shape, strides);
    for (int d = 0; d < rank; d++) {
        int64_t given = tensor_index(perm, d), from = given < 0 ? given + rank : given;
        if (from < 0 || from >= rank)
            return status_error(STATUS_INVALID_ARGUMENT, "%lld is out of range [0 .. %d)",
                                (long long)given, rank);
        seen[from] = true;
        same &= from == d;
        shape_append(&shape, x->shape.dims[from]);
        strided_append(&strided, x->shape.dims[from], strides[from]);
    }
    for (int d = 0; d < rank; d++)
        if (!seen[d])
            return permutation_error(perm, d);
    if (same && kernel_state(k) == NULL) {
        kernel_output_set(k, 0, kernel_take_input(k, 0));
        return status_ok();
    }
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        strided_read(&strided, dtype_size(x->dtype), x->data, out->data);
    if (kernel_state(k) != NULL)
        conjugate(out);
    return status_ok();
}

static const struct kernel rows[] = {
    { "Transpose", DTYPES_MOVED, .compute = transpose_compute },
    { "ConjugateTranspose", DTYPES_COMPLEX, .prepare = conjugate_prepare,
      .compute = transpose_compute },
    { "ConjugateTranspose", DTYPES_MOVED, .compute = transpose_compute },
};
const struct kernel_table kernels_transpose = { rows, COUNT(rows) };
