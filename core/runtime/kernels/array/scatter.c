/*
 * scatter: values written or added where an index says: ScatterNd, DynamicStitch, DynamicPartition,
 * Bincount, DenseBincount, RaggedBincount.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/nd_index.h"

/* ---- ScatterNd: updates added at indices ---- */

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

/* ---- DynamicStitch: data[n][i] goes to indices[n][i]; the last one wins ---- */

static struct status stitch_shape(struct kernel_context *k, int count, struct shape *out)
{
    const struct shape *first = &kernel_input(k, 0)->shape, *data = &kernel_input(k, count)->shape;
    int64_t greatest = -1;
    for (int n = 0; n < count; n++) {
        const struct tensor *indices = kernel_input(k, n), *values = kernel_input(k, count + n);
        bool prefix = indices->shape.rank <= values->shape.rank;
        for (int d = 0; d < indices->shape.rank && prefix; d++)
            prefix = indices->shape.dims[d] == values->shape.dims[d];
        if (!prefix)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "data[%d].shape = %s does not start with indices[%d].shape = %s", n,
                                shape_text(&values->shape), n, shape_text(&indices->shape));
        bool same = values->shape.rank - indices->shape.rank == data->rank - first->rank;
        for (int d = 0; same && d < data->rank - first->rank; d++)
            same = values->shape.dims[indices->shape.rank + d] == data->dims[first->rank + d];
        if (!same)
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Need data[0].shape[%d:] = data[%d].shape[%d:], got data[0].shape = "
                "%s, data[%d].shape = %s",
                first->rank, n, indices->shape.rank, shape_text(data), n,
                shape_text(&values->shape));
        for (int64_t i = 0; i < indices->size; i++)
            greatest = tensor_index(indices, i) > greatest ? tensor_index(indices, i) : greatest;
    }
    *out = (struct shape){ 0 };
    shape_append(out, greatest + 1);
    for (int d = first->rank; d < data->rank && out->rank < SHAPE_RANK_MAX; d++)
        shape_append(out, data->dims[d]);
    return shape_check(out->rank, out->dims, out);
}

static struct status stitch_compute(struct kernel_context *k)
{
    int count = kernel_inputs_count(k) / 2;
    struct shape shape;
    struct tensor *out;
    TRY(stitch_shape(k, count, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out)); /* for elements that no index names */
    int64_t inner = shape_inner(&shape, 0);
    size_t size = dtype_size(out->dtype);
    for (int n = 0; n < count; n++) {
        const struct tensor *indices = kernel_input(k, n), *values = kernel_input(k, count + n);
        for (int64_t i = 0; i < indices->size; i++) {
            int64_t at = tensor_index(indices, i);
            if (at < 0)
                return status_error(STATUS_INVALID_ARGUMENT, "indices[%lld] is out of range",
                                    (long long)i);
            if (inner > 0)
                copy_elements(out->dtype, at_bytes(out->data, at * inner, size),
                              at_bytes_const(values->data, i * inner, size), inner);
        }
    }
    return status_ok();
}

/* ---- DynamicPartition: data[i] goes to the output that partitions[i] names ---- */

static struct status partition_sizes(struct kernel_context *k, int64_t *sizes)
{
    const struct shape *data = &kernel_input(k, 0)->shape, *prefix = &kernel_input(k, 1)->shape;
    const struct tensor *partitions = kernel_input(k, 1);
    int count = kernel_outputs_count(k);
    bool starts = prefix->rank <= data->rank;
    for (int d = 0; starts && d < prefix->rank; d++)
        starts = data->dims[d] == prefix->dims[d];
    if (!starts)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "data.shape must start with partitions.shape, got data.shape = %s, "
                            "partitions.shape = %s",
                            shape_text(data), shape_text(prefix));
    for (int64_t i = 0; i < partitions->size; i++) {
        int64_t partition = tensor_index(partitions, i);
        if (partition < 0 || partition >= count)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "partitions[%lld] = %lld is not in [0, %d)", (long long)i,
                                (long long)partition, count);
        sizes[partition]++;
    }
    return status_ok();
}

static struct status partition_compute(struct kernel_context *k)
{
    const struct tensor *data = kernel_input(k, 0), *partitions = kernel_input(k, 1);
    int count = kernel_outputs_count(k), prefix = partitions->shape.rank;
    struct tensor **outputs = ARENA_ARRAY(kernel_arena(k), struct tensor *, count);
    int64_t *sizes = ARENA_ARRAY(kernel_arena(k), int64_t, count), inner = 1;
    size_t bytes = dtype_size(data->dtype);
    TRY(partition_sizes(k, sizes));
    for (int n = 0; n < count; n++) {
        struct shape shape = shape_of(sizes[n]);
        for (int d = prefix; d < data->shape.rank && shape.rank < SHAPE_RANK_MAX; d++)
            shape_append(&shape, data->shape.dims[d]);
        TRY(kernel_output(k, n, &shape, &outputs[n]));
        sizes[n] = 0;
    }
    for (int d = prefix; d < data->shape.rank; d++)
        inner *= data->shape.dims[d];
    for (int64_t i = 0; inner > 0 && i < partitions->size; i++) {
        int64_t n = tensor_index(partitions, i);
        copy_elements(data->dtype, at_bytes(outputs[n]->data, sizes[n]++ * inner, bytes),
                      at_bytes_const(data->data, i * inner, bytes), inner);
    }
    return status_ok();
}

/* ---- Bincount, DenseBincount: weights added, or ones ---- */

/* A weight of 1. */
static const void *unit_of(enum dtype dtype)
{
    static const float one_f32 = 1;
    static const double one_f64 = 1;
    static const int64_t one = 1; /* its first half is the int32 */

    return dtype == DT_FLOAT    ? (const void *)&one_f32
           : dtype == DT_DOUBLE ? (const void *)&one_f64
                                : (const void *)&one;
}

static struct status bincount_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    const struct tensor *weights = kernel_input(k, 2);
    struct tensor *out;
    if (size->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                            size->shape.rank);
    int64_t bins = tensor_index(size, 0);
    if (bins < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                            (long long)bins);
    if (weights->size != 0 && !shape_equal(&weights->shape, &x->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input indices and weights must have the same size, or weights none");
    struct shape shape = shape_of(bins);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    const void *unit = unit_of(out->dtype);
    size_t bytes = dtype_size(out->dtype);
    for (int64_t i = 0; i < x->size; i++) {
        int64_t bin = tensor_index(x, i);
        if (bin < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Input arr must be non-negative!");
        if (bin < bins)
            add_elements(out->dtype, weights->size ? at_bytes_const(weights->data, i, bytes) : unit,
                         at_bytes(out->data, bin, bytes), 1);
    }
    return status_ok();
}

static struct status dense_bincount_prepare(struct prepare_context *p)
{
    bool *binary = prepare_state(p, sizeof *binary, NULL);

    return node_attr_bool(prepare_node(p), "binary_output", binary);
}

static struct status check_dense_bincount(const struct tensor *x, const struct tensor *size,
                                          const struct tensor *weights)
{
    if (size->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be rank 0 but is rank %d",
                            size->shape.rank);
    if (tensor_index(size, 0) < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "size (%lld) must be non-negative",
                            (long long)tensor_index(size, 0));
    if (x->shape.rank > 2)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be at most rank 2 but is rank %d",
                            x->shape.rank);
    if (weights->size != 0 && !shape_equal(&weights->shape, &x->shape))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in "
                            "which case it acts as all weights equal to 1. Received %s",
                            shape_text(&weights->shape));
    for (int64_t i = 0; i < x->size; i++)
        if (tensor_index(x, i) < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Input 'in' must be non-negative! Negative input value found: %lld",
                                (long long)tensor_index(x, i));
    return status_ok();
}

/* Counts value i of x in the bins of a row; a bin beyond the last one does not count. */
static void count_value(struct kernel_context *k, const struct tensor *x,
                        const struct tensor *weights, int64_t row, int64_t i, struct tensor *out)
{
    const bool *binary = kernel_state(k);
    int64_t bins = out->shape.dims[out->shape.rank - 1], bin = tensor_index(x, i);
    size_t bytes = dtype_size(out->dtype);

    if (bin >= bins)
        return;
    void *total = at_bytes(out->data, row * bins + bin, bytes);
    if (*binary)
        memcpy(total, unit_of(out->dtype), bytes);
    else
        add_elements(out->dtype,
                     weights->size > 0 ? at_bytes_const(weights->data, i, bytes)
                                       : unit_of(out->dtype),
                     total, 1);
}

/* Each row of a matrix has bins of its own. */
static struct status dense_bincount_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *size = kernel_input(k, 1);
    const struct tensor *weights = kernel_input(k, 2);
    struct tensor *out;

    TRY(check_dense_bincount(x, size, weights));
    int64_t bins = tensor_index(size, 0);
    int64_t width = x->shape.rank == 0 ? 1 : x->shape.dims[x->shape.rank - 1];
    struct shape shape = x->shape.rank == 2 ? shape_of(x->shape.dims[0], bins) : shape_of(bins);
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < x->size; i++)
        count_value(k, x, weights, i / width, i, out);
    return status_ok();
}

/* ---- RaggedBincount ---- */

static struct status check_bincount_splits(const struct tensor *splits, int64_t values)
{
    if (splits->shape.rank != 1 || splits->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Splits must be a vector that is not empty");
    if (tensor_index(splits, 0) != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Splits must start with 0, not with %lld",
                            (long long)tensor_index(splits, 0));
    for (int64_t i = 1; i < splits->size; i++)
        if (tensor_index(splits, i) < tensor_index(splits, i - 1))
            return status_error(STATUS_INVALID_ARGUMENT, "Splits must not descend");
    if (tensor_index(splits, splits->size - 1) != values)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Splits must end with the number of values, got %lld instead of %lld",
                            (long long)tensor_index(splits, splits->size - 1), (long long)values);
    return status_ok();
}

static struct status ragged_bincount_compute(struct kernel_context *k)
{
    const struct tensor *splits = kernel_input(k, 0), *x = kernel_input(k, 1);
    const struct tensor *size = kernel_input(k, 2), *weights = kernel_input(k, 3);
    struct tensor *out;

    TRY(check_bincount_splits(splits, x->size));
    TRY(check_dense_bincount(x, size, weights));
    struct shape shape = shape_of(splits->size - 1, tensor_index(size, 0));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t row = 0; row + 1 < splits->size; row++)
        for (int64_t i = tensor_index(splits, row); i < tensor_index(splits, row + 1); i++)
            count_value(k, x, weights, row, i, out);
    return status_ok();
}

static const struct kernel rows[] = {
    { "ScatterNd", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL) | DTYPES(DT_STRING), "T",
      .prepare = scatter_nd_prepare, .compute = scatter_nd_compute },
    { "DynamicStitch", DTYPES_MOVED, "T", .compute = stitch_compute },
    { "ParallelDynamicStitch", DTYPES_MOVED, "T", .compute = stitch_compute },
    { "DynamicPartition", DTYPES_ALL, "T", .compute = partition_compute },
    { "Bincount", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64), "T",
      .compute = bincount_compute },
    { "DenseBincount", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64),
      "T", .prepare = dense_bincount_prepare, .compute = dense_bincount_compute },
    { "RaggedBincount", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) | DTYPES(DT_INT64),
      "T", .prepare = dense_bincount_prepare, .compute = ragged_bincount_compute },
};
const struct kernel_table kernels_scatter = { rows, COUNT(rows) };
