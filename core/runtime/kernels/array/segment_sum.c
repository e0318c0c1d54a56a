/*
 * segment_sum: SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN, each also with a given
 * number of segments, and their gradients. Rows, chosen by their index, are added to the segment
 * that their id names; a mean is divided by the number n of the segment's rows, SqrtN by the root
 * of n.
 */
#include <math.h>
#include <stdlib.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/sort.h"

enum divisor { DIVIDE_BY_ONE, DIVIDE_BY_COUNT, DIVIDE_BY_ROOT };

struct sparse_segment_state {
    enum divisor divisor;
    bool counted; /* input 3 is the number of segments */
};

static struct status segment_prepare(struct prepare_context *p)
{
    struct sparse_segment_state *state = prepare_state(p, sizeof *state, NULL);
    const struct node *node = prepare_node(p);

    state->divisor = strstr(node->op_name, "Mean") != NULL    ? DIVIDE_BY_COUNT
                     : strstr(node->op_name, "SqrtN") != NULL ? DIVIDE_BY_ROOT
                                                              : DIVIDE_BY_ONE;
    state->counted = strstr(node->op_name, "WithNumSegments") != NULL;
    return status_ok();
}

static double factor_of(enum divisor divisor, int64_t count)
{
    return divisor == DIVIDE_BY_COUNT  ? 1 / (double)count
           : divisor == DIVIDE_BY_ROOT ? 1 / sqrt((double)count)
                                       : 1;
}

static struct status check_segments(const struct tensor *data, const struct tensor *indices,
                                    const struct tensor *ids)
{
    if (indices->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "indices should be a vector.");
    if (ids->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "segment_ids should be a vector.");
    if (indices->size != ids->size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "segment_ids and indices should have same size.");
    if (data->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "Shape must be at least rank 1");
    return status_ok();
}

/* ---- forward: ids are sorted ---- */

/* The number that is given, or the last id plus 1. */
static struct status count_segments(struct kernel_context *k, const struct tensor *ids,
                                    int64_t *out)
{
    const struct sparse_segment_state *state = kernel_state(k);
    int64_t last = ids->size > 0 ? tensor_index(ids, ids->size - 1) : -1;

    if (ids->size > 0 && last < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "segment ids must be >= 0");
    if (last == INT64_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "segment id %lld is too large",
                            (long long)last);
    *out = last + 1;
    if (!state->counted)
        return status_ok();
    const struct tensor *given = kernel_input(k, 3);
    if (given->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "num_segments should be a scalar, not shape %s",
                            shape_text(&given->shape));
    if (tensor_index(given, 0) < *out)
        return status_error(STATUS_INVALID_ARGUMENT, "segment ids must be < num_segments");
    *out = tensor_index(given, 0);
    return status_ok();
}

static struct status check_ids(const struct tensor *data, const struct tensor *indices,
                               const struct tensor *ids, int64_t count)
{
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i), row = tensor_index(indices, i);
        if (id < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Segment id %lld out of range [0, %lld), possibly because "
                                "'segment_ids' input is not sorted.",
                                (long long)id, (long long)count);
        if (i > 0 && id < tensor_index(ids, i - 1))
            return status_error(STATUS_INVALID_ARGUMENT, "segment ids are not increasing");
        if (row < 0 || row >= data->shape.dims[0])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Bad: indices[%lld] == %lld out of range [0, %lld)", (long long)i,
                                (long long)row, (long long)data->shape.dims[0]);
    }
    return status_ok();
}

static void divide(enum divisor divisor, enum dtype dtype, void *sum, int64_t inner, int64_t count)
{
    double by = divisor == DIVIDE_BY_COUNT ? (double)count : sqrt((double)count);

    for (int64_t i = 0; i < inner; i++)
        if (dtype == DT_DOUBLE)
            ((double *)sum)[i] /= by;
        else
            ((float *)sum)[i] /= (float)by;
}

/* Adds up the rows begin to end - 1. `wide`, for half and bfloat16: the sum and one row as
 * floats. */
static struct status add_segment(struct kernel_context *k, int64_t begin, int64_t end,
                                 int64_t inner, float *wide, void *out, int64_t *work)
{
    const struct sparse_segment_state *state = kernel_state(k);
    const struct tensor *data = kernel_input(k, 0), *indices = kernel_input(k, 1);
    enum dtype dtype = wide != NULL ? DT_FLOAT : data->dtype;
    void *sum = wide != NULL ? wide : out;

    memset(sum, 0, (size_t)inner * dtype_size(dtype));
    for (int64_t i = begin; i < end; i++) {
        const void *row =
            at_bytes_const(data->data, tensor_index(indices, i) * inner, dtype_size(data->dtype));
        if (wide != NULL)
            half_block_load(data->dtype, row, wide + inner, inner);
        add_elements(dtype, wide != NULL ? wide + inner : row, sum, inner);
        TRY(kernel_work(k, work, inner));
    }
    if (state->divisor != DIVIDE_BY_ONE)
        divide(state->divisor, dtype, sum, inner, end - begin);
    if (wide != NULL)
        half_block_store(data->dtype, wide, out, inner);
    return status_ok();
}

static struct status segment_compute(struct kernel_context *k)
{
    const struct tensor *data = kernel_input(k, 0), *ids = kernel_input(k, 2);
    struct tensor *out, wide = { 0 };
    struct shape shape = data->shape;
    struct status status = status_ok();
    int64_t count, work = 0;

    TRY(check_segments(data, kernel_input(k, 1), ids));
    TRY(count_segments(k, ids, &count));
    TRY(check_ids(data, kernel_input(k, 1), ids, count));
    shape.dims[0] = count;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    int64_t inner = out->size / count;
    struct shape two_rows = shape_of(2, inner);
    if (dtype_is_half(data->dtype))
        TRY(kernel_scratch(k, DT_FLOAT, &two_rows, &wide));
    for (int64_t begin = 0, end = 1; begin < ids->size && status_is_ok(status); begin = end++) {
        int64_t id = tensor_index(ids, begin);
        while (end < ids->size && tensor_index(ids, end) == id)
            end++;
        status = add_segment(k, begin, end, inner, wide.data,
                             at_bytes(out->data, id * inner, dtype_size(data->dtype)), &work);
    }
    tensor_release(&wide);
    return status;
}

/* ---- gradients: a row gets the gradients of the segments that it was added to ---- */

static struct status check_gradient(const struct tensor *gradient, const struct tensor *indices,
                                    const struct tensor *ids, const struct tensor *rows)
{
    TRY(check_segments(gradient, indices, ids));
    if (rows->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "output_dim0 should be a scalar.");
    for (int64_t i = 0; i < ids->size; i++) {
        int64_t id = tensor_index(ids, i), row = tensor_index(indices, i);
        if (id < 0 || id >= gradient->shape.dims[0])
            return status_error(STATUS_INVALID_ARGUMENT, "Segment id %lld out of range [0, %lld).",
                                (long long)id, (long long)gradient->shape.dims[0]);
        if (row < 0 || row >= tensor_index(rows, 0))
            return status_error(STATUS_INVALID_ARGUMENT, "Index %lld out of range [0, %lld).",
                                (long long)row, (long long)tensor_index(rows, 0));
    }
    return status_ok();
}

static void add_scaled(enum dtype dtype, const void *x, double factor, void *sum, int64_t count)
{
    if (dtype == DT_DOUBLE) {
        for (int64_t i = 0; i < count; i++)
            ((double *)sum)[i] += ((const double *)x)[i] * factor;
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        float part, whole;
        if (dtype == DT_FLOAT) {
            ((float *)sum)[i] += ((const float *)x)[i] * (float)factor;
            continue;
        }
        half_block_load(dtype, (const uint16_t *)x + i, &part, 1);
        half_block_load(dtype, (uint16_t *)sum + i, &whole, 1);
        whole += part * (float)factor;
        half_block_store(dtype, &whole, (uint16_t *)sum + i, 1);
    }
}

static struct status gradient_compute(struct kernel_context *k)
{
    const struct sparse_segment_state *state = kernel_state(k);
    const struct tensor *gradient = kernel_input(k, 0), *indices = kernel_input(k, 1);
    const struct tensor *ids = kernel_input(k, 2);
    struct tensor *out, counts;
    struct shape shape = gradient->shape;
    struct status status = status_ok();
    int64_t work = 0;

    TRY(check_gradient(gradient, indices, ids, kernel_input(k, 3)));
    struct shape segments = shape_of(gradient->shape.dims[0]);
    shape.dims[0] = tensor_index(kernel_input(k, 3), 0);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    TRY(kernel_scratch(k, DT_INT64, &segments, &counts));
    memset(counts.data, 0, tensor_bytes(&counts));
    for (int64_t i = 0; i < ids->size; i++)
        tensor_int64s_mut(&counts)[tensor_index(ids, i)]++;
    int64_t inner = out->size / shape.dims[0];
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < ids->size && status_is_ok(status); i++) {
        int64_t id = tensor_index(ids, i);
        add_scaled(out->dtype, at_bytes_const(gradient->data, id * inner, size),
                   factor_of(state->divisor, tensor_int64s(&counts)[id]),
                   at_bytes(out->data, tensor_index(indices, i) * inner, size), inner);
        status = kernel_work(k, &work, inner);
    }
    tensor_release(&counts);
    return status;
}

/* ---- the same, but only of the rows that are in `indices` ---- */

static int compare_rows(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int compare_for_sort(const void *a, const void *b, void *context)
{
    (void)context;
    return compare_rows(a, b);
}

/* The rows in ascending order, each once, into `rows`. */
static struct status unique_rows(struct kernel_context *k, int64_t *rows, int64_t *count)
{
    const struct tensor *indices = kernel_input(k, 1);
    for (int64_t i = 0; i < indices->size; i++)
        rows[i] = tensor_index(indices, i);
    TRY(kernel_sort(k, rows, indices->size, sizeof *rows, compare_for_sort, NULL));
    *count = 0;
    for (int64_t i = 0; i < indices->size; i++)
        if (i == 0 || rows[i] != rows[*count - 1])
            rows[(*count)++] = rows[i];
    return status_ok();
}

static struct status add_unique(struct kernel_context *k, const int64_t *rows, int64_t count,
                                const int64_t *counts, struct tensor *out)
{
    const struct sparse_segment_state *state = kernel_state(k);
    const struct tensor *gradient = kernel_input(k, 0), *indices = kernel_input(k, 1),
                        *ids = kernel_input(k, 2);
    int64_t inner = count > 0 ? out->size / count : 0, work = 0;
    size_t size = dtype_size(out->dtype);
    for (int64_t i = 0; i < ids->size && inner > 0; i++) {
        int64_t id = tensor_index(ids, i), row = tensor_index(indices, i);
        const int64_t *place = bsearch(&row, rows, (size_t)count, sizeof row, compare_rows);
        add_scaled(out->dtype, at_bytes_const(gradient->data, id * inner, size),
                   factor_of(state->divisor, counts[id]),
                   at_bytes(out->data, (place - rows) * inner, size), inner);
        TRY(kernel_work(k, &work, inner));
    }
    return status_ok();
}

static struct status make_unique(struct kernel_context *k, int64_t *rows, int64_t *counts)
{
    const struct tensor *ids = kernel_input(k, 2);
    struct shape shape = kernel_input(k, 0)->shape;
    struct tensor *out, *out_rows;
    int64_t count;
    TRY(unique_rows(k, rows, &count));
    struct shape vector = shape_of(count);
    shape.dims[0] = count;
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    TRY(kernel_output(k, 1, &vector, &out_rows));
    for (int64_t i = 0; i < count; i++)
        tensor_set_index(out_rows, i, rows[i]);
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out));
    for (int64_t i = 0; i < ids->size; i++)
        counts[tensor_index(ids, i)]++;
    return add_unique(k, rows, count, counts, out);
}

static struct status unique_gradient_compute(struct kernel_context *k)
{
    const struct tensor *gradient = kernel_input(k, 0), *indices = kernel_input(k, 1);
    struct tensor rows, counts = { 0 };
    TRY(check_gradient(gradient, indices, kernel_input(k, 2), kernel_input(k, 3)));
    struct shape vector = shape_of(indices->size + 1), segments = shape_of(gradient->shape.dims[0]);
    TRY(kernel_scratch(k, DT_INT64, &vector, &rows));
    struct status status = kernel_scratch(k, DT_INT64, &segments, &counts);
    if (status_is_ok(status)) {
        if (counts.size > 0)
            memset(counts.data, 0, tensor_bytes(&counts));
        status = make_unique(k, tensor_int64s_mut(&rows), tensor_int64s_mut(&counts));
    }
    tensor_release(&rows);
    tensor_release(&counts);
    return status;
}

#define SEGMENT(op, dtypes, function)                                    \
    {                                                                    \
        op, dtypes, "T", .prepare = segment_prepare, .compute = function \
    }
static const struct kernel rows[] = {
    SEGMENT("SparseSegmentSum", DTYPES_REAL, segment_compute),
    SEGMENT("SparseSegmentSumWithNumSegments", DTYPES_REAL, segment_compute),
    SEGMENT("SparseSegmentMean", DTYPES_FLOATING, segment_compute),
    SEGMENT("SparseSegmentMeanWithNumSegments", DTYPES_FLOATING, segment_compute),
    SEGMENT("SparseSegmentSqrtN", DTYPES_FLOATING, segment_compute),
    SEGMENT("SparseSegmentSqrtNWithNumSegments", DTYPES_FLOATING, segment_compute),
    SEGMENT("SparseSegmentSumGrad", DTYPES_FLOATING, gradient_compute),
    SEGMENT("SparseSegmentMeanGrad", DTYPES_FLOATING, gradient_compute),
    SEGMENT("SparseSegmentSqrtNGrad", DTYPES_FLOATING, gradient_compute),
    SEGMENT("SparseSegmentSumGradV2", DTYPES_FLOATING, unique_gradient_compute),
    SEGMENT("SparseSegmentMeanGradV2", DTYPES_FLOATING, unique_gradient_compute),
    SEGMENT("SparseSegmentSqrtNGradV2", DTYPES_FLOATING, unique_gradient_compute),
};
const struct kernel_table kernels_segment_sum = { rows, COUNT(rows) };
