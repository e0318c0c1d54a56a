/*
 * concat: joins and splits along one axis: Pack, Unpack, Concat, ConcatV2, Split, SplitV. Each
 * copies runs of bytes: outer × (the axis and the dimensions inside it).
 */
#include "runtime/kernels/array/concat.h"

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

struct axis_state {
    int64_t axis;
};

static struct status axis_prepare(struct prepare_context *p)
{
    struct axis_state *state = prepare_state(p, sizeof *state, NULL);
    return node_attr_int32(prepare_node(p), "axis", &state->axis);
}

/* Copies `outer` runs of `run` elements. A step is the distance from one run to the next. */
static void copy_runs(enum dtype dtype, void *out, int64_t out_step, const void *x, int64_t x_step,
                      int64_t run, int64_t outer)
{
    size_t size = dtype_size(dtype);
    if (run == 1 && x_step == 1 && (DTYPES(dtype) & DTYPES_MOVED) != 0) {
        struct strided column = { 0 };
        strided_append(&column, outer, out_step);
        strided_write(&column, size, x, out);
        return;
    }
    for (int64_t o = 0; o < outer; o++)
        copy_elements(dtype, at_bytes(out, o * out_step, size), at_bytes_const(x, o * x_step, size),
                      run);
}

static struct status pack_compute(struct kernel_context *k)
{
    const struct axis_state *state = kernel_state(k);
    const struct shape *each = &kernel_input(k, 0)->shape;
    int count = kernel_inputs_count(k), rank = each->rank + 1;
    if (state->axis < -rank || state->axis >= rank)
        return status_error(STATUS_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                            (long long)state->axis, -rank, rank);
    TRY(kernel_check_rank(k, rank));
    int axis = (int)(state->axis < 0 ? state->axis + rank : state->axis);
    struct shape shape = { 0 };
    for (int d = 0; d < rank; d++)
        shape_append(&shape, d == axis ? count : each->dims[d > axis ? d - 1 : d]);
    for (int i = 1; i < count; i++)
        if (!shape_equal(&kernel_input(k, i)->shape, each))
            return status_error(
                STATUS_INVALID_ARGUMENT,
                "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = %s",
                shape_text(each), i, shape_text(&kernel_input(k, i)->shape));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    struct tensor *out;
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    int64_t run = shape_inner(&shape, axis), outer = shape_outer(&shape, axis);
    for (int i = 0; i < count; i++)
        copy_runs(out->dtype, at_bytes(out->data, i * run, dtype_size(out->dtype)), run * count,
                  kernel_input(k, i)->data, run, run, outer);
    return status_ok();
}

static struct status unpack_compute(struct kernel_context *k)
{
    const struct axis_state *state = kernel_state(k);
    const struct tensor *x = kernel_input(k, 0);
    int rank = x->shape.rank, count = kernel_outputs_count(k);
    if (state->axis < -rank || state->axis >= rank)
        return status_error(STATUS_INVALID_ARGUMENT, "axis = %lld not in [%d, %d)",
                            (long long)state->axis, -rank, rank);
    int axis = (int)(state->axis < 0 ? state->axis + rank : state->axis);
    if (x->shape.dims[axis] != count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Input shape axis %d must equal %d, got shape %s", axis, count,
                            shape_text(&x->shape));
    struct shape shape = { 0 };
    for (int d = 0; d < rank; d++)
        if (d != axis)
            shape_append(&shape, x->shape.dims[d]);
    int64_t run = shape_inner(&x->shape, axis), outer = shape_outer(&x->shape, axis);
    for (int i = 0; i < count; i++) {
        struct tensor *out;
        if (!kernel_output_wanted(k, i))
            continue;
        TRY(kernel_output(k, i, &shape, &out));
        if (out->size > 0)
            copy_runs(x->dtype, out->data, run,
                      at_bytes_const(x->data, i * run, dtype_size(x->dtype)), run * count, run,
                      outer);
    }
    return status_ok();
}

/* ---- concat: values are inputs [first, first + count) ---- */

static struct status concat_shape(struct kernel_context *k, int first, int count, int axis,
                                  struct shape *out)
{
    const struct shape *each = &kernel_input(k, first)->shape;
    int64_t total = each->dims[axis];
    for (int i = 1; i < count; i++) {
        const struct shape *shape = &kernel_input(k, first + i)->shape;
        if (shape->rank != each->rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "ConcatOp : Ranks of all input tensors should match: shape[0] = %s "
                                "vs. shape[%d] = %s",
                                shape_text(each), i, shape_text(shape));
        for (int d = 0; d < shape->rank; d++)
            if (d != axis && shape->dims[d] != each->dims[d])
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "ConcatOp : Dimension %d in both shapes must be equal: "
                                    "shape[0] = %s vs. shape[%d] = %s",
                                    d, shape_text(each), i, shape_text(shape));
        if (__builtin_add_overflow(total, shape->dims[axis], &total))
            return kernel_error(k, STATUS_INVALID_ARGUMENT, "dimension %d would not fit int64",
                                axis);
    }
    *out = *each;
    out->dims[axis] = total;
    return shape_check(out->rank, out->dims, out);
}

struct status concat_plan(struct kernel_context *k, int first, int count, int axis_input, int *axis,
                          struct shape *out)
{
    const struct tensor *axis_tensor = kernel_input(k, axis_input);
    int rank = kernel_input(k, first)->shape.rank;
    if (axis_tensor->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Concat dim tensor should be a scalar, but got shape %s",
                            shape_text(&axis_tensor->shape));
    int64_t given = tensor_index(axis_tensor, 0);
    if (given < -rank || given >= rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "ConcatOp : Expected concatenating dimensions in the range [%d, %d), "
                            "but got %lld",
                            -rank, rank, (long long)given);
    *axis = (int)(given < 0 ? given + rank : given);
    return concat_shape(k, first, count, *axis, out);
}

static struct status concat(struct kernel_context *k, int first, int count, int axis_input)
{
    int axis;
    struct shape shape;
    struct tensor *out;
    TRY(concat_plan(k, first, count, axis_input, &axis, &shape));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    int64_t inner = shape_inner(&shape, axis), outer = shape_outer(&shape, axis);
    int64_t step = shape.dims[axis] * inner, at = 0;
    for (int i = 0; i < count; i++) {
        const struct tensor *x = kernel_input(k, first + i);
        int64_t run = x->shape.dims[axis] * inner;
        if (run > 0)
            copy_runs(out->dtype, at_bytes(out->data, at, dtype_size(out->dtype)), step, x->data,
                      run, run, outer);
        at += run;
    }
    return status_ok();
}

static struct status concat_v2_compute(struct kernel_context *k)
{
    int count = kernel_inputs_count(k) - 1;
    return concat(k, 0, count, count);
}

static struct status concat_compute(struct kernel_context *k)
{
    return concat(k, 1, kernel_inputs_count(k) - 1, 0);
}

/* Concatenates values of one row each. In TensorFlow's graphs, each is written as soon as it is
 * computed. */
static struct status parallel_concat_compute(struct kernel_context *k)
{
    const struct shape *declared;
    struct shape shape;
    struct tensor *out;
    int count = kernel_inputs_count(k);
    TRY(node_attr_shape(kernel_node(k), "shape", &declared));
    for (int i = 0; i < count; i++)
        if (kernel_input(k, i)->shape.rank < 1 || kernel_input(k, i)->shape.dims[0] != 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "value %d has the shape %s, not one row", i,
                                shape_text(&kernel_input(k, i)->shape));
    TRY(concat_shape(k, 0, count, 0, &shape));
    if (!shape_compatible(&shape, declared))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "the values make a tensor of shape %s",
                            shape_text(&shape));
    TRY(kernel_output(k, 0, &shape, &out));
    int64_t row = shape_inner(&shape, 0);
    for (int i = 0; i < count && row > 0; i++)
        copy_elements(out->dtype, at_bytes(out->data, i * row, dtype_size(out->dtype)),
                      kernel_input(k, i)->data, row);
    return status_ok();
}

/* ---- split ---- */

static struct status split_axis(struct kernel_context *k, const struct tensor *x, int input,
                                int *out)
{
    const struct tensor *dim = kernel_input(k, input);
    int rank = x->shape.rank;
    if (dim->size != 1)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "split_dim_tensor must have exactly one element.");
    int64_t axis = tensor_index(dim, 0);
    if (axis < -rank || axis >= rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "-input rank(-%d) <= split_dim < input rank (%d), but got %lld", rank,
                            rank, (long long)axis);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return status_ok();
}

/* Output i gets lengths[i] elements of the axis. */
static struct status split(struct kernel_context *k, const struct tensor *x, int axis,
                           int64_t (*length)(const void *lengths, int i), const void *lengths)
{
    int64_t inner = shape_inner(&x->shape, axis), outer = shape_outer(&x->shape, axis), at = 0;
    for (int i = 0; i < kernel_outputs_count(k); i++) {
        struct shape shape = x->shape;
        struct tensor *out;
        shape.dims[axis] = length(lengths, i);
        int64_t run = shape.dims[axis] * inner;
        if (kernel_output_wanted(k, i)) {
            TRY(kernel_output(k, i, &shape, &out));
            if (out->size > 0)
                copy_runs(x->dtype, out->data, run,
                          at_bytes_const(x->data, at, dtype_size(x->dtype)),
                          x->shape.dims[axis] * inner, run, outer);
        }
        at += run;
    }
    return status_ok();
}

static int64_t equal_length(const void *lengths, int i)
{
    (void)i;
    return *(const int64_t *)lengths;
}

static struct status split_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 1);
    int axis, count = kernel_outputs_count(k);
    if (kernel_input(k, 0)->shape.rank != 0) /* SplitV takes a vector of one element, too */
        return status_error(STATUS_INVALID_ARGUMENT, "split_dim must be a scalar but has rank %d",
                            kernel_input(k, 0)->shape.rank);
    TRY(split_axis(k, x, 0, &axis));
    if (x->shape.dims[axis] % count != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Number of ways to split should evenly divide the split dimension, "
                            "but got split_dim %d (size = %lld) and num_split %d",
                            axis, (long long)x->shape.dims[axis], count);
    int64_t length = x->shape.dims[axis] / count;
    return split(k, x, axis, equal_length, &length);
}

struct lengths {
    const struct tensor *sizes;
    int unknown; /* index of the size that is -1; -1: none */
    int64_t rest;
};

static int64_t given_length(const void *lengths_, int i)
{
    const struct lengths *lengths = lengths_;
    return i == lengths->unknown ? lengths->rest : tensor_index(lengths->sizes, i);
}

static struct status read_lengths(const struct tensor *sizes, int count, int64_t dim,
                                  struct lengths *out)
{
    *out = (struct lengths){ .sizes = sizes, .unknown = -1, .rest = dim };
    if (sizes->shape.rank != 1 || sizes->size != count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "size of the split_tensor must be 1-D and have the same elements as "
                            "outputs got %s and %d outputs",
                            shape_text(&sizes->shape), count);
    for (int i = 0; i < count; i++) {
        int64_t size = tensor_index(sizes, i);
        if (size == -1 && out->unknown == -1) {
            out->unknown = i;
            continue;
        }
        if (size < 0 || size > out->rest)
            return status_error(STATUS_INVALID_ARGUMENT,
                                size == -1 ? "There can only be one -1 in the input."
                                           : "Split size at index %d must be >= 0 and sum up to "
                                             "the size of the split dimension. Got: %lld",
                                i, (long long)size);
        out->rest -= size;
    }
    if (out->unknown == -1 && out->rest != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Determined shape must either match input shape along split_dim "
                            "exactly if fully specified, or be less than the size of the input "
                            "along split_dim if not fully specified.  Got: %lld",
                            (long long)(dim - out->rest));
    return status_ok();
}

static struct status split_v_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct lengths lengths;
    int axis;
    TRY(split_axis(k, x, 2, &axis));
    TRY(read_lengths(kernel_input(k, 1), kernel_outputs_count(k), x->shape.dims[axis], &lengths));
    return split(k, x, axis, given_length, &lengths);
}

static const struct kernel rows[] = {
    { "Pack", DTYPES_ALL, .prepare = axis_prepare, .compute = pack_compute },
    { "Unpack", DTYPES_ALL, .prepare = axis_prepare, .compute = unpack_compute },
    { "Concat", DTYPES_ALL, .compute = concat_compute },
    { "ConcatV2", DTYPES_ALL, .compute = concat_v2_compute },
    { "ParallelConcat", DTYPES_MOVED, .compute = parallel_concat_compute },
    { "Split", DTYPES_ALL, .compute = split_compute },
    { "SplitV", DTYPES_ALL, .compute = split_v_compute },
};
const struct kernel_table kernels_concat = { rows, COUNT(rows) };
