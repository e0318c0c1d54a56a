/* partition: DynamicPartition deals rows to its outputs; DynamicStitch joins such parts again. */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

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

static const struct kernel rows[] = {
    { "DynamicStitch", DTYPES_MOVED, "T", .compute = stitch_compute },
    { "ParallelDynamicStitch", DTYPES_MOVED, "T", .compute = stitch_compute },
    { "DynamicPartition", DTYPES_ALL, "T", .compute = partition_compute },
};
const struct kernel_table kernels_partition = { rows, COUNT(rows) };
