/*
 * segment: rows combined into the segment that their id names. The ids of Segment… are sorted, and
 * the last one determines the number of segments; those of UnsortedSegment… are not, and a negative
 * one leaves its row out.
 */
#include "runtime/kernels/combine.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/types.h"

static const struct segment_op {
    const char *name;
    enum combine combine;
    bool mean;
} ops[] = {
    { "UnsortedSegmentSum", COMBINE_ADD, false },
    { "UnsortedSegmentProd", COMBINE_MULTIPLY, false },
    { "UnsortedSegmentMax", COMBINE_MAX, false },
    { "UnsortedSegmentMin", COMBINE_MIN, false },
    { "SegmentSum", COMBINE_ADD, false },
    { "SegmentMean", COMBINE_ADD, true },
    { "SegmentProd", COMBINE_MULTIPLY, false },
    { "SegmentMax", COMBINE_MAX, false },
    { "SegmentMin", COMBINE_MIN, false },
};

static struct status segment_prepare(struct prepare_context *p)
{
    return PREPARE_ROW(p, ops);
}

/* ---- UnsortedSegment… ---- */

static struct status unsorted_shape(const struct tensor *data, const struct tensor *ids,
                                    const struct tensor *segments, struct shape *out)
{
    bool prefix = ids->shape.rank <= data->shape.rank;
    if (segments->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_segments should be a scalar, not shape %s",
                            shape_text(&segments->shape));
    for (int d = 0; d < ids->shape.rank && prefix; d++)
        prefix = ids->shape.dims[d] == data->shape.dims[d];
    if (!prefix)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "data.shape = %s does not start with segment_ids.shape = %s",
                            shape_text(&data->shape), shape_text(&ids->shape));
    int64_t count = tensor_index(segments, 0);
    if (count < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input num_segments == %lld must not be negative.", (long long)count);
    *out = (struct shape){ 0 };
    shape_append(out, count);
    for (int d = ids->shape.rank; d < data->shape.rank && out->rank < SHAPE_RANK_MAX; d++)
        shape_append(out, data->shape.dims[d]);
    return shape_check(out->rank, out->dims, out);
}

static struct status unsorted_compute(struct kernel_context *k)
{
    const struct segment_op *op = kernel_row(k);
    const struct tensor *data = kernel_input(k, 0), *ids = kernel_input(k, 1);
    struct shape shape;
    struct tensor *out;
    TRY(unsorted_shape(data, ids, kernel_input(k, 2), &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    combine_start(op->combine, out->dtype, out->data, out->size);
    int64_t inner = shape_inner(&shape, 0);
    size_t size = dtype_size(data->dtype);
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i);
        if (id >= shape.dims[0])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
                                (long long)id, (long long)shape.dims[0]);
        if (id >= 0 && inner > 0)
            combine_elements(op->combine, data->dtype, at_bytes_const(data->data, i * inner, size),
                             at_bytes(out->data, id * inner, size), inner);
    }
    return status_ok();
}

/* ---- Segment… ---- */

static struct status count_sorted(const struct tensor *data, const struct tensor *ids, int64_t *out)
{
    if (data->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "input must be at least rank 1");
    if (ids->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "segment_ids should be a vector.");
    if (ids->size != data->shape.dims[0])
        return status_error(STATUS_INVALID_ARGUMENT,
                            "segment_ids should be the same size as dimension 0 of input.");
    int64_t last = ids->size > 0 ? tensor_index(ids, ids->size - 1) : -1;
    if (ids->size > 0 && (last < 0 || last == INT64_MAX))
        return status_error(STATUS_INVALID_ARGUMENT, "segment ids must be >= 0");
    *out = last + 1;
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i);
        if (i > 0 && id < tensor_index(ids, i - 1))
            return status_error(STATUS_INVALID_ARGUMENT, "segment ids are not increasing");
        if (id < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Segment id %lld out of range [0, %lld), possibly because "
                                "'segment_ids' input is not sorted.",
                                (long long)id, (long long)*out);
    }
    return status_ok();
}

/* As in TensorFlow, the divisor is the count in the type of the elements. A count that is 0 in it,
 * such as 256 in eight bits, gives 0: the division would end the process. */
#define DIVIDE(name, T, W)                                           \
    static void divide_##name(void *x_, int64_t size, int64_t count) \
    {                                                                \
        T *x = x_, by = (T)count;                                    \
        for (int64_t i = 0; i < size; i++)                           \
            x[i] = by == 0 ? 0 : (T)(x[i] / by);                     \
    }
FLOAT_TYPES(DIVIDE)
INTEGER_TYPES(DIVIDE)

typedef void divide_row(void *x, int64_t size, int64_t count);
static divide_row *const divides[DTYPE_COUNT] = { ROWS_REAL(divide) };

/* Sums become means. */
static void divide_elements(enum dtype dtype, void *x, int64_t size, int64_t count)
{
    if (dtype_is_half(dtype)) {
        for (int64_t i = 0; i < size; i++) {
            float value;
            half_block_load(dtype, (uint16_t *)x + i, &value, 1);
            value /= (float)count;
            half_block_store(dtype, &value, (uint16_t *)x + i, 1);
        }
        return;
    }
    bool parts = dtype_is_complex(dtype);
    if (parts)
        dtype = dtype == DT_COMPLEX64 ? DT_FLOAT : DT_DOUBLE;
    divides[dtype](x, parts ? 2 * size : size, count);
}

/* Segments without rows are 0; 1 for a product. */
static struct status sorted_compute(struct kernel_context *k)
{
    const struct segment_op *op = kernel_row(k);
    const struct tensor *data = kernel_input(k, 0), *ids = kernel_input(k, 1);
    struct shape shape = data->shape;
    struct tensor *out;
    int64_t count;
    TRY(count_sorted(data, ids, &count));
    shape.dims[0] = count;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    combine_start(op->combine == COMBINE_MULTIPLY ? COMBINE_MULTIPLY : COMBINE_ADD, out->dtype,
                  out->data, out->size);
    int64_t inner = shape_inner(&shape, 0), begin = 0;
    size_t size = dtype_size(data->dtype);
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i);
        void *into = at_bytes(out->data, id * inner, size);
        bool first = i == 0 || tensor_index(ids, i - 1) != id;
        begin = first ? i : begin;
        if (first)
            copy_elements(data->dtype, into, at_bytes_const(data->data, i * inner, size), inner);
        else
            combine_elements(op->combine, data->dtype, at_bytes_const(data->data, i * inner, size),
                             into, inner);
        bool ends = i + 1 == ids->size || tensor_index(ids, i + 1) != id;
        if (ends && op->mean)
            divide_elements(data->dtype, into, inner, i + 1 - begin);
    }
    return status_ok();
}

#define SEGMENT(op, dtypes, function)                                    \
    {                                                                    \
        op, dtypes, "T", .prepare = segment_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    SEGMENT("UnsortedSegmentSum", DTYPES_COMBINED, unsorted_compute),
    SEGMENT("UnsortedSegmentProd", DTYPES_COMBINED, unsorted_compute),
    SEGMENT("UnsortedSegmentMax", DTYPES_REAL, unsorted_compute),
    SEGMENT("UnsortedSegmentMin", DTYPES_REAL, unsorted_compute),
    SEGMENT("SegmentSum", DTYPES_COMBINED, sorted_compute),
    SEGMENT("SegmentMean", DTYPES_COMBINED, sorted_compute),
    SEGMENT("SegmentProd", DTYPES_COMBINED, sorted_compute),
    SEGMENT("SegmentMax", DTYPES_REAL, sorted_compute),
    SEGMENT("SegmentMin", DTYPES_REAL, sorted_compute),
};
const struct kernel_table kernels_segment = { rows, COUNT(rows) };
