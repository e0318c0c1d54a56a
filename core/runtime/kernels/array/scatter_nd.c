/* ScatterNd: updates added where indices say. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"

static struct status read_shape(struct kernel_context *k, const struct tensor *vector,
                                struct shape *out)
{
    if (vector->shape.rank != 1)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "shape must be a vector, not %s",
                            shape_text(&vector->shape));
    TRY(kernel_check_rank(k, vector->size));
    *out = (struct shape){ 0 };
    for (int64_t i = 0; i < vector->size; i++)
        shape_append(out, tensor_index(vector, i));
    return shape_check(out->rank, out->dims, out);
}

static struct status scatter_nd_check(struct kernel_context *k, const struct shape *shape,
                                      int64_t depth)
{
    const struct shape *indices = &kernel_input(k, 0)->shape, *updates = &kernel_input(k, 1)->shape;
    struct shape wanted = shape_make(indices->rank - 1, indices->dims);
    if (depth == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            kernel_input(k, 1)->size > 0
                                ? "Indices and updates specified for empty output shape"
                                : "Only indices.shape[-1] values between 1 and 5 are currently "
                                  "supported.  Requested rank: 0");
    if (depth > shape->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "The inner %lld dimensions of output.shape=%s must match",
                            (long long)depth, shape_text(shape));
    for (int d = (int)depth; d < shape->rank && wanted.rank < SHAPE_RANK_MAX; d++)
        shape_append(&wanted, shape->dims[d]);
    if (!shape_equal(&wanted, updates))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "updates must have shape %s for indices %s and output %s, not %s",
                            shape_text(&wanted), shape_text(indices), shape_text(shape),
                            shape_text(updates));
    return status_ok();
}

struct scatter_nd_state {
    bool skips; /* an update of a place that is not there is left out */
};

static struct status scatter_nd_prepare(struct prepare_context *p)
{
    struct scatter_nd_state *state = prepare_state(p, sizeof *state, NULL);

    return nd_index_prepare(p, &state->skips);
}

/* The sum of truth values is their or. */
static void scatter_add(enum dtype dtype, const void *x, void *sum, int64_t count)
{
    if (dtype == DT_COMPLEX64)
        add_elements(DT_FLOAT, x, sum, 2 * count);
    else if (dtype == DT_COMPLEX128)
        add_elements(DT_DOUBLE, x, sum, 2 * count);
    else if (dtype == DT_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((bool *)sum)[i] |= ((const bool *)x)[i];
    else
        add_elements(dtype, x, sum, count);
}

/* Strings are added by concatenation. */
static struct status scatter_strings(struct kernel_context *k, const struct bytes *x,
                                     struct bytes *sum, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        void *joined;
        if (x[i].size == 0)
            continue;
        TRY(arena_reserve(kernel_arena(k), sum[i].size + x[i].size, &joined));
        if (sum[i].size > 0)
            memcpy(joined, sum[i].data, sum[i].size);
        memcpy((char *)joined + sum[i].size, x[i].data, x[i].size);
        sum[i] = (struct bytes){ joined, sum[i].size + x[i].size };
    }
    return status_ok();
}

static struct status scatter_nd_compute(struct kernel_context *k)
{
    const struct scatter_nd_state *state = kernel_state(k);
    const struct tensor *indices = kernel_input(k, 0), *updates = kernel_input(k, 1);
    struct shape shape;
    struct tensor *out;
    TRY(read_shape(k, kernel_input(k, 2), &shape));
    if (indices->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Indices shape must have rank at least one. Found:%s",
                            shape_text(&indices->shape));
    int64_t depth = indices->shape.dims[indices->shape.rank - 1], inner = 1;
    TRY(scatter_nd_check(k, &shape, depth));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int d = (int)depth; d < shape.rank; d++)
        inner *= shape.dims[d];
    size_t size = dtype_size(out->dtype);
    int64_t places = shape_outer(&indices->shape, indices->shape.rank - 1);
    for (int64_t i = 0; i < places; i++) {
        int64_t at;
        TRY(nd_index_read(indices, i, depth, &shape, state->skips, &at));
        if (at >= 0 && inner > 0 && out->dtype == DT_STRING)
            TRY(scatter_strings(k, tensor_strings(updates) + i * inner,
                                tensor_strings_mut(out) + at * inner, inner));
        else if (at >= 0 && inner > 0)
            scatter_add(out->dtype, at_bytes_const(updates->data, i * inner, size),
                        at_bytes(out->data, at * inner, size), inner);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "ScatterNd", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL) | DTYPES(DT_STRING), "T",
      .prepare = scatter_nd_prepare, .compute = scatter_nd_compute },
};
const struct kernel_table kernels_scatter_nd = { rows, COUNT(rows) };
