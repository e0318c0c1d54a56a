/*
 * fill: tensors made from a few values: Fill, ZerosLike, OnesLike, Range, LinSpace, OneHot.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"

static struct status fill_compute(struct kernel_context *k)
{
    const struct tensor *dims = kernel_input(k, 0), *value = kernel_input(k, 1);
    struct shape shape = { 0 };
    struct tensor *out;
    if (dims->shape.rank > 1 || (dims->shape.rank == 0 && dims->size != 1))
        return status_error(STATUS_INVALID_ARGUMENT, "dims must represent a vector, got shape %s",
                            shape_text(&dims->shape));
    if (value->shape.rank != 0 && value->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "value must represent a scalar, got shape %s",
                            shape_text(&value->shape));
    TRY(kernel_check_rank(k, dims->size));
    for (int64_t d = 0; d < dims->size; d++) {
        int64_t dim = tensor_index(dims, d);
        if (dim < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "Dimension %lld must be >= 0",
                                (long long)dim);
        shape_append(&shape, dim);
    }
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    repeat_element(out->data, dtype_size(out->dtype), value->data, out->size);
    return status_ok();
}

static struct status zeros_like_compute(struct kernel_context *k)
{
    struct tensor *out;
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    if (out->size > 0)
        memset(out->data, 0, tensor_bytes(out)); /* an empty string is all zeros as well */
    return status_ok();
}

static struct status ones_like_compute(struct kernel_context *k)
{
    struct tensor *out;
    TRY(kernel_output(k, 0, &kernel_input(k, 0)->shape, &out));
    const float one_f32 = 1;
    const double one_f64 = 1;
    const uint64_t one = 1; /* its first bytes are a 1 of every integer type (little-endian) */
    const uint16_t one_f16 = float_to_half(1), one_bf16 = float_to_bfloat16(1);
    const float one_c64[] = { 1, 0 };
    const double one_c128[] = { 1, 0 };
    const void *value = out->dtype == DT_FLOAT        ? (const void *)&one_f32
                        : out->dtype == DT_DOUBLE     ? (const void *)&one_f64
                        : out->dtype == DT_HALF       ? (const void *)&one_f16
                        : out->dtype == DT_BFLOAT16   ? (const void *)&one_bf16
                        : out->dtype == DT_COMPLEX64  ? (const void *)one_c64
                        : out->dtype == DT_COMPLEX128 ? (const void *)one_c128
                                                      : (const void *)&one;
    repeat_element(out->data, dtype_size(out->dtype), value, out->size);
    return status_ok();
}

/* ---- Range ---- */

static struct status range_error(const char *name, const struct tensor *tensor)
{
    return status_error(STATUS_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", name,
                        shape_text(&tensor->shape));
}

static struct status range_direction(bool positive, bool zero, double start, double limit)
{
    if (zero)
        return status_error(STATUS_INVALID_ARGUMENT, "Requires delta != 0: 0");
    if (positive && start > limit)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Requires start <= limit when delta > 0: %g/%g", start, limit);
    if (!positive && start < limit)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Requires start >= limit when delta < 0: %g/%g", start, limit);
    return status_ok();
}

static struct status range_integers(struct kernel_context *k, int64_t start, int64_t limit,
                                    int64_t delta)
{
    struct tensor *out;
    if (delta == 0 || (delta > 0 ? start > limit : start < limit)) {
        if (delta == 0)
            return range_direction(false, true, 0, 0);
        return status_error(STATUS_INVALID_ARGUMENT,
                            delta > 0 ? "Requires start <= limit when delta > 0: %lld/%lld"
                                      : "Requires start >= limit when delta < 0: %lld/%lld",
                            (long long)start, (long long)limit);
    }
    uint64_t span =
        delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = span / step + (span % step != 0);
    if (count > INT64_MAX)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the range has too many elements");
    struct shape shape = shape_of((int64_t)count);
    TRY(shape_check(1, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        int64_t value = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
        tensor_set_index(out, i, value);
    }
    return status_ok();
}

static struct status range_doubles(struct kernel_context *k, double start, double limit,
                                   double delta)
{
    struct tensor *out;
    if (isnan(start) || isnan(limit) || isnan(delta))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "start, limit and delta must not be NaN");
    TRY(range_direction(delta > 0, delta == 0, start, limit));
    double count = ceil(fabs((limit - start) / delta));
    if (!(count < 9.2e18))
        return status_error(STATUS_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld",
                            (long long)INT64_MAX);
    struct shape shape = shape_of((int64_t)count);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        if (out->dtype == DT_FLOAT)
            tensor_floats_mut(out)[i] = (float)start + (float)i * (float)delta;
        else
            tensor_doubles_mut(out)[i] = start + (double)i * delta;
    }
    return status_ok();
}

/* Every operation rounds to the type, the number of elements included, as in TensorFlow. */
static struct status range_halves(struct kernel_context *k, enum dtype dtype, float start,
                                  float limit, float delta)
{
    struct tensor *out;
    if (isnan(start) || isnan(limit) || isnan(delta))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "start, limit and delta must not be NaN");
    TRY(range_direction(delta > 0, delta == 0, (double)start, (double)limit));
    float count = ceilf(fabsf(half_round(dtype, half_round(dtype, limit - start) / delta)));
    if (!(count < 9.2e18f))
        return status_error(STATUS_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld",
                            (long long)INT64_MAX);
    struct shape shape = shape_of((int64_t)count);
    TRY(kernel_output(k, 0, &shape, &out));
    for (int64_t i = 0; i < out->size; i++) {
        float value = start + half_round(dtype, half_round(dtype, (float)i) * delta);
        half_block_store(dtype, &value, (uint16_t *)out->data + i, 1);
    }
    return status_ok();
}

static struct status range_compute(struct kernel_context *k)
{
    static const char *const names[] = { "start", "limit", "delta" };
    const struct tensor *in[3];
    for (int i = 0; i < 3; i++) {
        in[i] = kernel_input(k, i);
        if (in[i]->size != 1)
            return range_error(names[i], in[i]);
    }
    if (in[0]->dtype == DT_FLOAT || in[0]->dtype == DT_DOUBLE)
        return range_doubles(k, floating_element(in[0], 0), floating_element(in[1], 0),
                             floating_element(in[2], 0));
    if (dtype_is_half(in[0]->dtype))
        return range_halves(k, in[0]->dtype, (float)floating_element(in[0], 0),
                            (float)floating_element(in[1], 0), (float)floating_element(in[2], 0));
    return range_integers(k, tensor_index(in[0], 0), tensor_index(in[1], 0),
                          tensor_index(in[2], 0));
}

static struct status lin_space_compute(struct kernel_context *k)
{
    const struct tensor *start = kernel_input(k, 0), *stop = kernel_input(k, 1);
    const struct tensor *num = kernel_input(k, 2);
    struct tensor *out;
    if (start->shape.rank != 0 || stop->shape.rank != 0 || num->shape.rank != 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "start, stop and num must be scalars");
    int64_t count = tensor_index(num, 0);
    if (count <= 0)
        return status_error(STATUS_INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)count);
    struct shape shape = shape_of(count);
    TRY(shape_check(1, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    double from = floating_element(start, 0), to = floating_element(stop, 0);
    double step = count > 1 ? (to - from) / (double)(count - 1) : 0;
    for (int64_t i = 0; i < count; i++) {
        double value = i == 0 ? from : i == count - 1 ? to : from + step * (double)i;
        floating_store(out, i, value);
    }
    return status_ok();
}

/* ---- OneHot ---- */

struct one_hot_state {
    int64_t axis;
};

static struct status one_hot_prepare(struct prepare_context *p)
{
    struct one_hot_state *state = prepare_state(p, sizeof *state, NULL);
    return node_attr_int32(prepare_node(p), "axis", &state->axis);
}

static struct status one_hot_compute(struct kernel_context *k)
{
    const struct one_hot_state *state = kernel_state(k);
    const struct tensor *indices = kernel_input(k, 0), *depth_tensor = kernel_input(k, 1);
    const struct tensor *on = kernel_input(k, 2), *off = kernel_input(k, 3);
    struct tensor *out;
    int rank = indices->shape.rank;
    if (state->axis != -1 && (state->axis < 0 || state->axis > rank))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected axis to be -1 or between [0, %d).  But received: %lld",
                            rank + 1, (long long)state->axis);
    if (depth_tensor->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "depth must be a scalar, but got: %s",
                            shape_text(&depth_tensor->shape));
    if (on->shape.rank != 0 || off->shape.rank != 0)
        return status_error(STATUS_INVALID_ARGUMENT, "%s must be a scalar, but got: %s",
                            on->shape.rank != 0 ? "on_value" : "off_value",
                            shape_text(on->shape.rank != 0 ? &on->shape : &off->shape));
    int64_t depth = tensor_index(depth_tensor, 0);
    if (depth < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "depth must be non-negative, got: %lld",
                            (long long)depth);
    TRY(kernel_check_rank(k, rank + 1));
    int axis = state->axis == -1 ? rank : (int)state->axis;
    struct shape shape = { 0 };
    for (int d = 0; d <= rank; d++)
        shape_append(&shape, d == axis ? depth : indices->shape.dims[d > axis ? d - 1 : d]);
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    size_t size = dtype_size(out->dtype);
    repeat_element(out->data, size, off->data, out->size);
    int64_t inner = shape_inner(&shape, axis);
    for (int64_t i = 0; i < indices->size && out->size > 0; i++) {
        int64_t hot = tensor_index(indices, i);
        if (hot >= 0 && hot < depth)
            memcpy(at_bytes(out->data, (i / inner * depth + hot) * inner + i % inner, size),
                   on->data, size);
    }
    return status_ok();
}

static const struct kernel rows[] = {
    { "Fill", DTYPES_MOVED, .compute = fill_compute },
    { "ZerosLike", DTYPES_MOVED, .compute = zeros_like_compute, .any_rank = true },
    { "OnesLike", DTYPES_REAL | DTYPES_COMPLEX | DTYPES(DT_BOOL), .compute = ones_like_compute,
      .any_rank = true },
    { "Range", DTYPES(DT_INT32) | DTYPES(DT_INT64) | DTYPES_FLOATING, .compute = range_compute },
    { "LinSpace", DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE), .compute = lin_space_compute },
    { "OneHot", DTYPES_MOVED, .prepare = one_hot_prepare, .compute = one_hot_compute },
};
const struct kernel_table kernels_fill = { rows, COUNT(rows) };
