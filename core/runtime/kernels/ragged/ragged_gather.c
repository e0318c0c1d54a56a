/*
 * ragged_gather: RaggedGather, rows of a ragged tensor by their index. Splits of one level divide
 * the rows of the next one; the last level divides the dense values.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* The rows of the current level that belong to each index: begin[i] to end[i] - 1. */
struct row_ranges {
    int64_t *begin, *end;
    int64_t count;
};

static struct status levels_prepare(struct prepare_context *p)
{
    int64_t *levels = prepare_state(p, sizeof *levels, NULL);

    return node_attr_int(prepare_node(p), "PARAMS_RAGGED_RANK", levels);
}

/* ---- the input ---- */

static struct status check_splits(const struct tensor *splits, int64_t next_rows)
{
    if (splits->shape.rank != 1 || splits->size == 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Split tensor must be a vector with at least one element, got shape %s",
                            shape_text(&splits->shape));
    for (int64_t i = 0; i < splits->size; i++)
        if (tensor_index(splits, i) < (i > 0 ? tensor_index(splits, i - 1) : 0))
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Ragged splits must be non-negative and sorted");
    if (tensor_index(splits, splits->size - 1) > next_rows)
        return status_error(
            STATUS_INVALID_ARGUMENT, "Ragged splits must not point past values: %lld > %lld",
            (long long)tensor_index(splits, splits->size - 1), (long long)next_rows);
    return status_ok();
}

static struct status check_params(struct kernel_context *k, int64_t levels)
{
    const struct tensor *values = kernel_input(k, (int)levels);

    if (values->shape.rank < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "params.rank must be nonzero");
    for (int i = 0; i < levels; i++) {
        const struct tensor *next = kernel_input(k, i + 1);
        bool last = i + 1 == levels;
        TRY(check_splits(kernel_input(k, i), last ? next->shape.dims[0] : next->size - 1));
    }
    return status_ok();
}

static struct status read_indices(struct kernel_context *k, const struct tensor *indices,
                                  struct row_ranges *out)
{
    int64_t rows = kernel_input(k, 0)->size - 1;
    size_t bytes = ((size_t)indices->size + 1) * sizeof(int64_t);
    void *begin, *end;

    TRY(arena_reserve(kernel_arena(k), bytes, &begin));
    TRY(arena_reserve(kernel_arena(k), bytes, &end));
    *out = (struct row_ranges){ begin, end, indices->size };
    for (int64_t i = 0; i < indices->size; i++) {
        int64_t index = tensor_index(indices, i);
        if (index < 0 || index >= rows)
            return status_error(STATUS_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)",
                                (long long)i, (long long)index, (long long)rows);
        out->begin[i] = index;
        out->end[i] = index + 1;
    }
    return status_ok();
}

/* ---- the output ---- */

/* Indices of several dimensions add levels of rows of one length. */
static struct status put_regular_splits(struct kernel_context *k, const struct shape *indices)
{
    int64_t rows = 1;

    for (int d = 0; d + 1 < indices->rank; d++) {
        struct tensor *splits;
        rows *= indices->dims[d];
        if (rows == INT64_MAX)
            return kernel_error(k, STATUS_RESOURCE_EXHAUSTED,
                                "indices of shape %s have too many rows", shape_text(indices));
        struct shape shape = shape_of(rows + 1);
        TRY(kernel_output(k, d, &shape, &splits));
        for (int64_t i = 0; i <= rows; i++)
            tensor_set_index(splits, i, i * indices->dims[d + 1]);
    }
    return status_ok();
}

static int64_t count_rows(const struct row_ranges *ranges)
{
    int64_t count = 0;

    for (int64_t i = 0; i < ranges->count; i++)
        count += ranges->end[i] - ranges->begin[i];
    return count;
}

/* Writes the splits of one level. */
static struct status put_splits(struct kernel_context *k, const struct tensor *splits, int output,
                                const struct row_ranges *ranges)
{
    struct shape shape = shape_of(count_rows(ranges) + 1);
    struct tensor *out;
    int64_t at = 0, total = 0;

    TRY(kernel_output(k, output, &shape, &out));
    tensor_set_index(out, 0, 0);
    for (int64_t i = 0; i < ranges->count; i++) {
        for (int64_t row = ranges->begin[i]; row < ranges->end[i]; row++) {
            total += tensor_index(splits, row + 1) - tensor_index(splits, row);
            if (out->dtype == DT_INT32 && total > INT32_MAX)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "the result has more values than Tsplits can count");
            tensor_set_index(out, ++at, total);
        }
    }
    return status_ok();
}

/* Turns the rows of one level into those of the next. */
static void descend(const struct tensor *splits, struct row_ranges *ranges)
{
    for (int64_t i = 0; i < ranges->count; i++) {
        ranges->begin[i] = tensor_index(splits, ranges->begin[i]);
        ranges->end[i] = tensor_index(splits, ranges->end[i]);
    }
}

static struct status put_values(struct kernel_context *k, const struct tensor *values, int output,
                                const struct row_ranges *ranges)
{
    struct shape shape = values->shape;
    struct tensor *out;
    int64_t inner = shape_inner(&values->shape, 0), at = 0;
    size_t size = dtype_size(values->dtype);

    shape.dims[0] = count_rows(ranges);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, output, &shape, &out));
    if (out->size == 0)
        return status_ok();
    for (int64_t i = 0; i < ranges->count; i++) {
        int64_t count = (ranges->end[i] - ranges->begin[i]) * inner;
        copy_elements(values->dtype, at_bytes(out->data, at, size),
                      at_bytes_const(values->data, ranges->begin[i] * inner, size), count);
        at += count;
    }
    return status_ok();
}

static struct status gather_compute(struct kernel_context *k)
{
    int levels = (int)*(const int64_t *)kernel_state(k);
    const struct tensor *indices = kernel_input(k, levels + 1);
    struct row_ranges ranges;
    int extra = indices->shape.rank - 1; /* levels that the indices add; a scalar takes one away */

    if (kernel_outputs_count(k) != levels + extra + 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "OUTPUT_RAGGED_RANK should be %d: PARAMS_RAGGED_RANK and the rank of "
                            "indices, less 1",
                            levels + extra);
    TRY(check_params(k, levels));
    TRY(read_indices(k, indices, &ranges));
    TRY(put_regular_splits(k, &indices->shape));
    for (int i = 0; i < levels; i++) {
        if (i + extra >= 0)
            TRY(put_splits(k, kernel_input(k, i), i + extra, &ranges));
        descend(kernel_input(k, i), &ranges);
    }
    return put_values(k, kernel_input(k, levels), levels + extra, &ranges);
}

static const struct kernel rows[] = {
    { "RaggedGather", DTYPES_MOVED, "Tvalues", .prepare = levels_prepare,
      .compute = gather_compute },
};
const struct kernel_table kernels_ragged_gather = { rows, COUNT(rows) };
