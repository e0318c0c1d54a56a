/*
 * gather: rows chosen by index: Gather, GatherV2 (any axis, batch dimensions), GatherNd.
 */

#include "base/parallel.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"

struct gather_state {
    int64_t batch_dims;
};

static struct status gather_prepare(struct prepare_context *p)
{
    struct gather_state *state = prepare_state(p, sizeof *state, NULL);
    if (node_attr(prepare_node(p), "batch_dims") == NULL)
        return status_ok();
    return node_attr_int32(prepare_node(p), "batch_dims", &state->batch_dims);
}

#define SLICE_NS     20
#define BYTES_PER_NS 8

struct gather_size {
    int64_t batch, outer, axis, inner, indices; /* params [batch, outer, axis, inner] */
};

struct gather_run {
    const struct gather_size *size;
    const struct tensor *params, *indices;
    struct tensor *out;
};

/* Slices [first, end) of out [batch, outer, indices], `inner` elements each. Most slices are one or
 * two numbers: a copy whose size the compiler knows is a move instead of a call. */
static void gather_slices(void *context, int64_t first, int64_t end)
{
    const struct gather_run *run = context;
    const struct gather_size *size = run->size;
    size_t bytes = (size_t)size->inner * dtype_size(run->params->dtype);
    const int32_t *narrow = run->indices->dtype == DT_INT32 ? tensor_int32s(run->indices) : NULL;
    char *to = at_bytes(run->out->data, first, bytes);
    int64_t outer = first / size->indices, skipped = first % size->indices;
    for (int64_t left = end - first; left > 0; outer++, skipped = 0) {
        int64_t count = left < size->indices - skipped ? left : size->indices - skipped;
        int64_t i = outer / size->outer * size->indices + skipped, last = i + count;
        const char *params = at_bytes_const(run->params->data, outer * size->axis, bytes);
        left -= count;
        for (; i < last; i++, to += bytes) {
            int64_t index = narrow != NULL ? narrow[i] : tensor_index(run->indices, i);
            const char *from = at_bytes_const(params, index, bytes);
            if (bytes == 4)
                memcpy(to, from, 4);
            else if (bytes == 8)
                memcpy(to, from, 8);
            else
                memcpy(to, from, bytes);
        }
    }
    hold_elements(run->params->dtype, at_bytes_const(run->out->data, first, bytes),
                  (end - first) * size->inner);
}

static void gather_all(const struct gather_size *size, const struct tensor *params,
                       const struct tensor *indices, struct tensor *out)
{
    struct gather_run run = { size, params, indices, out };
    int64_t slices = size->batch * size->outer * size->indices;
    /* a slice somewhere in memory, and its bytes */
    double cost_ns = (double)slices * SLICE_NS + (double)tensor_bytes(out) / BYTES_PER_NS;
    parallel_for(slices, cost_ns, gather_slices, &run);
}

static struct status gather_axis(struct kernel_context *k, int64_t *axis, int64_t *batch_dims)
{
    const struct gather_state *state = kernel_state(k);
    const struct shape *params = &kernel_input(k, 0)->shape, *indices = &kernel_input(k, 1)->shape;
    *axis = 0;
    if (kernel_inputs_count(k) > 2) {
        const struct tensor *given = kernel_input(k, 2);
        if (given->shape.rank != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "axis must be scalar");
        *axis = tensor_index(given, 0);
    }
    if (params->rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "params must be at least 1 dimensional");
    if (*axis < -params->rank || *axis >= params->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected axis in the range [%d, %d), but got %lld", -params->rank,
                            params->rank, (long long)*axis);
    *axis += *axis < 0 ? params->rank : 0;
    *batch_dims = state->batch_dims;
    if (*batch_dims < -indices->rank || *batch_dims > indices->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected batch_dims in the range [%d, %d], but got %lld",
                            -indices->rank, indices->rank, (long long)*batch_dims);
    *batch_dims += *batch_dims < 0 ? indices->rank : 0;
    if (*batch_dims > *axis)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "batch_dims (%lld) must be less than or equal to axis (%lld).",
                            (long long)*batch_dims, (long long)*axis);
    for (int d = 0; d < *batch_dims; d++)
        if (params->dims[d] != indices->dims[d])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld",
                                d, (long long)params->dims[d], d, (long long)indices->dims[d]);
    return status_ok();
}

static struct status gather_compute(struct kernel_context *k)
{
    const struct tensor *params = kernel_input(k, 0), *indices = kernel_input(k, 1);
    int64_t axis = 0, batch_dims = 0;
    TRY(gather_axis(k, &axis, &batch_dims));
    TRY(kernel_check_rank(k, params->shape.rank - 1 + indices->shape.rank - batch_dims));
    struct gather_size size = { .batch = shape_outer(&params->shape, (int)batch_dims),
                                .outer = 1,
                                .axis = params->shape.dims[axis],
                                .inner = shape_inner(&params->shape, (int)axis),
                                .indices = 1 };
    struct shape shape = { 0 };
    struct tensor *out;
    for (int d = 0; d < axis; d++) {
        size.outer *= d < batch_dims ? 1 : params->shape.dims[d];
        shape_append(&shape, params->shape.dims[d]);
    }
    for (int d = (int)batch_dims; d < indices->shape.rank; d++) {
        size.indices *= indices->shape.dims[d];
        shape_append(&shape, indices->shape.dims[d]);
    }
    for (int d = (int)axis + 1; d < params->shape.rank; d++)
        shape_append(&shape, params->shape.dims[d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0) /* TensorFlow checks no index then */
        return status_ok();
    TRY(nd_index_check_rows(indices, size.axis));
    gather_all(&size, params, indices, out);
    return status_ok();
}

/* ---- GatherNd: the last dimension of indices is a place in params ---- */

struct gather_nd_state {
    bool skips; /* a place that is not there gives zeros */
};

static struct status gather_nd_prepare(struct prepare_context *p)
{
    struct gather_nd_state *state = prepare_state(p, sizeof *state, NULL);

    return nd_index_prepare(p, &state->skips);
}

static struct status place_error(struct kernel_context *k, const struct tensor *params, int64_t i,
                                 int64_t depth)
{
    const struct tensor *indices = kernel_input(k, 1);
    struct shape outer = shape_make(indices->shape.rank - 1, indices->shape.dims);

    return status_error(STATUS_INVALID_ARGUMENT,
                        "indices[%s] = %s does not index into param shape %s, node name: %s",
                        nd_index_place(&outer, i), nd_index_text(indices, i, depth),
                        shape_text(&params->shape), kernel_node(k)->name);
}

struct status gather_nd(struct kernel_context *k, const struct tensor *params, bool skips,
                        struct tensor **out)
{
    const struct tensor *indices = kernel_input(k, 1);
    if (params->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "params must be at least a vector");
    if (indices->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "indices must be at least a vector");
    int64_t depth = indices->shape.dims[indices->shape.rank - 1];
    if (depth > params->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "index innermost dimension length must be <= params rank; saw: %lld "
                            "vs. %d",
                            (long long)depth, params->shape.rank);
    struct shape shape = { 0 };
    int64_t places = shape_outer(&indices->shape, indices->shape.rank - 1), inner = 1;
    TRY(kernel_check_rank(k, indices->shape.rank - 1 + params->shape.rank - depth));
    for (int d = 0; d < indices->shape.rank - 1; d++)
        shape_append(&shape, indices->shape.dims[d]);
    for (int d = (int)depth; d < params->shape.rank; d++) {
        inner *= params->shape.dims[d];
        shape_append(&shape, params->shape.dims[d]);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    if (places > 0 && params->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Requested more than 0 entries, but params is empty.  Params shape: %s",
                            shape_text(&params->shape));
    TRY(kernel_output(k, 0, &shape, out));
    size_t bytes = dtype_size(params->dtype);
    for (int64_t i = 0; i < places; i++) {
        int64_t at;
        bool found = nd_index_find(indices, i, depth, &params->shape, &at);
        if (!found && !skips)
            return place_error(k, params, i, depth);
        void *slice = at_bytes((*out)->data, i * inner, bytes);
        if (found)
            copy_elements(params->dtype, slice, at_bytes_const(params->data, at * inner, bytes),
                          inner);
        else
            memset(slice, 0, (size_t)inner * bytes);
    }
    return status_ok();
}

static struct status gather_nd_compute(struct kernel_context *k)
{
    const struct gather_nd_state *state = kernel_state(k);
    struct tensor *out;

    return gather_nd(k, kernel_input(k, 0), state->skips, &out);
}

static const struct kernel rows[] = {
    { "Gather", DTYPES_ALL, .prepare = gather_prepare, .compute = gather_compute },
    { "GatherV2", DTYPES_ALL, .prepare = gather_prepare, .compute = gather_compute },
    { "GatherNd", DTYPES_ALL, .prepare = gather_nd_prepare, .compute = gather_nd_compute },
};
const struct kernel_table kernels_gather = { rows, COUNT(rows) };
