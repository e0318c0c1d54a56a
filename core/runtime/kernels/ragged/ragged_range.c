/* ragged_range: RaggedRange, a row of evenly spaced numbers for each start, limit and delta. */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

/* ---- numbers: integers are read as int64, all others as double ---- */

struct span {
    int64_t start, limit, delta;
    double start_real, limit_real, delta_real;
};

static bool is_real(enum dtype dtype)
{
    return dtype_is_floating(dtype);
}

static struct span span_of(struct kernel_context *k, int64_t row)
{
    struct span span = { 0 };
    int64_t *whole[] = { &span.start, &span.limit, &span.delta };
    double *real[] = { &span.start_real, &span.limit_real, &span.delta_real };

    for (int i = 0; i < 3; i++) {
        const struct tensor *x = kernel_input(k, i);
        int64_t at = x->shape.rank == 0 ? 0 : row;
        if (is_real(x->dtype))
            *real[i] = floating_element(x, at);
        else
            *whole[i] = tensor_index(x, at);
    }
    return span;
}

static struct status no_delta(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Requires delta != 0");
}

static struct status too_many(void)
{
    return status_error(STATUS_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= 2^63 - 1");
}

static struct status count_whole(const struct span *span, int64_t *out)
{
    if (span->delta == 0)
        return no_delta();
    *out = 0;
    if (span->delta > 0 ? span->limit <= span->start : span->limit >= span->start)
        return status_ok();
    uint64_t step = span->delta > 0 ? (uint64_t)span->delta : -(uint64_t)span->delta;
    uint64_t distance = span->delta > 0 ? (uint64_t)span->limit - (uint64_t)span->start
                                        : (uint64_t)span->start - (uint64_t)span->limit;
    uint64_t count = (distance - 1) / step + 1;
    if (count > INT64_MAX)
        return too_many();
    *out = (int64_t)count;
    return status_ok();
}

static struct status count_real(enum dtype dtype, const struct span *span, int64_t *out)
{
    if (span->delta_real == 0)
        return no_delta();
    *out = 0;
    if (span->delta_real > 0 ? !(span->limit_real > span->start_real)
                             : !(span->limit_real < span->start_real))
        return status_ok();
    double count = (span->limit_real - span->start_real) / span->delta_real;
    if (dtype != DT_DOUBLE)
        count = ((float)span->limit_real - (float)span->start_real) / (float)span->delta_real;
    count = ceil(fabs(count));
    if (!(count < 0x1p63))
        return too_many();
    *out = (int64_t)count;
    return status_ok();
}

static struct status count_row(struct kernel_context *k, int64_t row, int64_t *out)
{
    struct span span = span_of(k, row);
    enum dtype dtype = kernel_input(k, 0)->dtype;

    return is_real(dtype) ? count_real(dtype, &span, out) : count_whole(&span, out);
}

/* Each number is the last one plus delta, rounded as its type is. */
static void fill_row(const struct span *span, struct tensor *out, int64_t begin, int64_t end)
{
    float value = (float)span->start_real;
    double wide = span->start_real;
    uint64_t whole = (uint64_t)span->start;

    for (int64_t i = begin; i < end; i++) {
        if (out->dtype == DT_DOUBLE)
            tensor_doubles_mut(out)[i] = wide;
        else if (out->dtype == DT_FLOAT)
            tensor_floats_mut(out)[i] = value;
        else if (dtype_is_half(out->dtype))
            half_block_store(out->dtype, &value, (uint16_t *)out->data + i, 1);
        else
            tensor_set_index(out, i, (int64_t)whole);
        wide += span->delta_real;
        value += (float)span->delta_real;
        if (dtype_is_half(out->dtype))
            value = half_round(out->dtype, value);
        whole += (uint64_t)span->delta;
    }
}

/* ---- the op ---- */

static struct status count_rows(struct kernel_context *k, int64_t *out)
{
    static const char *const names[] = { "starts", "limits", "deltas" };

    *out = 1;
    for (int i = 0, vectors = 0; i < 3; i++) {
        const struct shape *shape = &kernel_input(k, i)->shape;
        if (shape->rank > 1)
            return status_error(STATUS_INVALID_ARGUMENT, "%s must be a scalar or vector", names[i]);
        if (shape->rank == 0)
            continue;
        if (vectors++ > 0 && shape->dims[0] != *out)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "starts, limits, and deltas must have the same shape");
        *out = shape->dims[0];
    }
    return status_ok();
}

static struct status range_compute(struct kernel_context *k)
{
    struct tensor *splits, *out;
    int64_t rows, total = 0;

    TRY(count_rows(k, &rows));
    struct shape shape = shape_of(rows + 1);
    TRY(kernel_output(k, 0, &shape, &splits));
    tensor_set_index(splits, 0, 0);
    for (int64_t row = 0; row < rows; row++) {
        int64_t count, most = splits->dtype == DT_INT32 ? INT32_MAX : INT64_MAX;
        TRY(count_row(k, row, &count));
        if (count > most - total)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "the ranges have more numbers than Tsplits can count");
        total += count;
        tensor_set_index(splits, row + 1, total);
    }
    shape = shape_of(total);
    TRY(kernel_output(k, 1, &shape, &out));
    for (int64_t row = 0; row < rows; row++) {
        struct span span = span_of(k, row);
        fill_row(&span, out, tensor_index(splits, row), tensor_index(splits, row + 1));
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "RaggedRange",
      DTYPES(DT_BFLOAT16) | DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_INT32) |
          DTYPES(DT_INT64),
      "T", .compute = range_compute },
};
const struct kernel_table kernels_ragged_range = { rows, COUNT(rows) };
