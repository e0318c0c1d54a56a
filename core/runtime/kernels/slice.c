/*
 * slice: StridedSlice with all its masks, its gradient, Slice, Reverse and ReverseV2.
 */
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/plain/strided.h"

/* ---- StridedSlice ---- */

struct slice_masks {
    int64_t begin, end, ellipsis, new_axis, shrink_axis;
};

/* The specification with one entry per dimension of the input. */
struct slice_plan {
    int64_t begin[SHAPE_RANK_MAX], stride[SHAPE_RANK_MAX], count[SHAPE_RANK_MAX];
    struct shape out; /* with new axes, without shrunk ones */
};

static struct status masks_prepare(struct prepare_context *p)
{
    const struct node *node = prepare_node(p);
    struct slice_masks *masks = prepare_state(p, sizeof *masks, NULL);
    TRY(node_attr_int32(node, "begin_mask", &masks->begin));
    TRY(node_attr_int32(node, "end_mask", &masks->end));
    TRY(node_attr_int32(node, "ellipsis_mask", &masks->ellipsis));
    TRY(node_attr_int32(node, "new_axis_mask", &masks->new_axis));
    TRY(node_attr_int32(node, "shrink_axis_mask", &masks->shrink_axis));
    if (masks->ellipsis != 0 && (masks->ellipsis & (masks->ellipsis - 1)) != 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): Multiple ellipses in slice spec not allowed: "
                            "ellipsis_mask is %lld",
                            node->name, node->op_name, (long long)masks->ellipsis);
    return status_ok();
}

static bool has(int64_t mask, int bit)
{
    return bit < 63 && (mask & ((int64_t)1 << bit)) != 0;
}

/* Clamps a begin or end, negative ones counted from the end, to a valid position. */
static int64_t canonical(int64_t x, bool masked, bool is_begin, int64_t stride, int64_t dim)
{
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
    if (masked)
        return (stride > 0) == is_begin ? low : high;
    if (x < 0)
        x = x < -dim - 1 ? -dim - 1 + dim : x + dim;
    return x < low ? low : x > high ? high : x;
}

struct slice_spec {
    const struct tensor *begin, *end, *strides;
    const struct slice_masks *masks;
};

/* One dimension of the input, by entry i of the specification. */
static struct status slice_dim(const struct slice_spec *spec, int i, int d, int64_t dim,
                               struct slice_plan *plan)
{
    int64_t begin = tensor_index(spec->begin, i), end = tensor_index(spec->end, i);
    int64_t stride = tensor_index(spec->strides, i);
    bool shrink = has(spec->masks->shrink_axis, i);
    if (stride == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "strides[%d] must be non-zero", i);
    if (stride == INT64_MIN)
        stride = -INT64_MAX;
    if (shrink) {
        if (stride < 0)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "only stride 1 allowed on non-range indexing.");
        int64_t at = begin < 0 ? begin + dim : begin;
        if (at < 0 || at >= dim)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "slice index %lld of dimension %d out of bounds.", (long long)begin,
                                d);
        plan->begin[d] = at;
        plan->count[d] = 1;
        plan->stride[d] = 1;
        return status_ok();
    }
    begin = canonical(begin, has(spec->masks->begin, i), true, stride, dim);
    end = canonical(end, has(spec->masks->end, i), false, stride, dim);
    int64_t length = stride > 0 ? end - begin : begin - end;
    int64_t step = stride > 0 ? stride : -stride;
    plan->begin[d] = begin;
    plan->count[d] = length <= 0 ? 0 : (length - 1) / step + 1;
    plan->stride[d] = plan->count[d] > 1 ? stride : 1; /* a step that is never taken may be huge */
    return status_ok();
}

static struct status slice_whole(struct slice_plan *plan, int d, int64_t dim)
{
    plan->begin[d] = 0;
    plan->stride[d] = 1;
    plan->count[d] = dim;
    shape_append(&plan->out, dim);
    return status_ok();
}

static struct status check_spec(const struct slice_spec *spec)
{
    if (spec->begin->shape.rank != 1 || spec->end->shape.rank != 1 ||
        spec->strides->shape.rank != 1 || spec->begin->size != spec->end->size ||
        spec->begin->size != spec->strides->size || spec->begin->size >= 32)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected begin, end, and strides to be 1D equal size tensors, but got "
                            "shapes %s, %s, and %s instead.",
                            shape_text(&spec->begin->shape), shape_text(&spec->end->shape),
                            shape_text(&spec->strides->shape));
    return status_ok();
}

static struct status slice_plan_make(const struct slice_spec *spec, const struct shape *input,
                                     struct slice_plan *plan)
{
    TRY(check_spec(spec));
    const struct slice_masks *masks = spec->masks;
    int entries = (int)spec->begin->size, d = 0, taken = 0;
    bool ellipsis = false;
    for (int i = 0; i < entries; i++) {
        ellipsis |= has(masks->ellipsis, i);
        taken += !has(masks->ellipsis, i) && !has(masks->new_axis, i);
    }
    if (taken > input->rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Index out of range using input dim %d; input has only %d dims",
                            input->rank, input->rank);
    *plan = (struct slice_plan){ 0 };
    /* A missing ellipsis stands at the end. */
    for (int i = 0; i < entries + !ellipsis; i++) {
        if (i == entries || has(masks->ellipsis, i)) {
            for (int whole = input->rank - taken; whole > 0; whole--, d++)
                TRY(slice_whole(plan, d, input->dims[d]));
            continue;
        }
        TRY(shape_check_rank(plan->out.rank + 1));
        if (has(masks->new_axis, i)) {
            shape_append(&plan->out, 1);
            continue;
        }
        TRY(slice_dim(spec, i, d, input->dims[d], plan));
        if (!has(masks->shrink_axis, i))
            shape_append(&plan->out, plan->count[d]);
        d++;
    }

    return status_ok();
}

/* The walk over an array of `shape`; returns where it starts. */
static int64_t slice_walk(const struct slice_plan *plan, const struct shape *shape,
                          struct strided *out)
{
    int64_t strides[SHAPE_RANK_MAX], start = 0;
    *out = (struct strided){ 0 };
    dense_strides(shape, strides);
    for (int d = 0; d < shape->rank; d++) {
        strided_append(out, plan->count[d], plan->stride[d] * strides[d]);
        start += plan->begin[d] * strides[d];
    }
    return start;
}

static struct status slice_read(struct kernel_context *k, const struct tensor *x,
                                const struct slice_plan *plan)
{
    struct strided strided;
    struct tensor *out;
    TRY(kernel_output(k, 0, &plan->out, &out));
    if (out->size == 0)
        return status_ok();
    int64_t start = slice_walk(plan, &x->shape, &strided);
    size_t size = dtype_size(x->dtype);
    strided_read(&strided, size, at_bytes_const(x->data, start, size), out->data);
    return status_ok();
}

static struct status strided_slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct slice_spec spec = { kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3),
                               kernel_state(k) };
    struct slice_plan plan;
    TRY(slice_plan_make(&spec, &x->shape, &plan));
    return slice_read(k, x, &plan);
}

/* The gradient: zeros of the shape of the input, with dy at the slice. */
static struct status strided_slice_grad_compute(struct kernel_context *k)
{
    const struct tensor *wanted = kernel_input(k, 0), *dy = kernel_input(k, 4);
    struct slice_spec spec = { kernel_input(k, 1), kernel_input(k, 2), kernel_input(k, 3),
                               kernel_state(k) };
    struct slice_plan plan;
    struct strided strided;
    struct tensor *out;
    struct shape shape = { 0 };
    TRY(kernel_check_rank(k, wanted->size));
    for (int64_t i = 0; i < wanted->size; i++)
        shape_append(&shape, tensor_index(wanted, i));
    TRY(shape_check(shape.rank, shape.dims, &shape));
    TRY(slice_plan_make(&spec, &shape, &plan));
    if (!shape_equal(&plan.out, &dy->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "shape of dy was %s instead of %s",
                            shape_text(&dy->shape), shape_text(&plan.out));
    TRY(kernel_output(k, 0, &shape, &out));
    if (out->size == 0)
        return status_ok();
    memset(out->data, 0, tensor_bytes(out));
    int64_t start = slice_walk(&plan, &shape, &strided);
    size_t size = dtype_size(dy->dtype);
    if (dy->size > 0)
        strided_write(&strided, size, dy->data, at_bytes(out->data, start, size));
    return status_ok();
}

/* ---- Slice ---- */

static struct status slice_bounds(const struct tensor *x, const struct tensor *begin,
                                  const struct tensor *size, struct slice_plan *plan)
{
    int rank = x->shape.rank;
    if (begin->shape.rank != 1 || size->shape.rank != 1 || begin->size != rank ||
        size->size != rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Expected begin and size arguments to be 1-D tensors of size %d, but "
                            "got shapes %s and %s instead.",
                            rank, shape_text(&begin->shape), shape_text(&size->shape));
    *plan = (struct slice_plan){ 0 };
    for (int d = 0; d < rank; d++) {
        int64_t dim = x->shape.dims[d], b = tensor_index(begin, d);
        int64_t s = tensor_index(size, d);
        if (b < 0 || b > dim)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected begin[%d] in [0, %lld], but got %lld", d, (long long)dim,
                                (long long)b);
        if (s == -1)
            s = dim - b;
        if (s < 0 || s > dim - b)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected size[%d] in [0, %lld], but got %lld", d,
                                (long long)(dim - b), (long long)s);
        plan->begin[d] = b;
        plan->stride[d] = 1;
        plan->count[d] = s;
    }
    plan->out = shape_make(rank, plan->count);
    return status_ok();
}

static struct status slice_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0);
    struct slice_plan plan;
    TRY(slice_bounds(x, kernel_input(k, 1), kernel_input(k, 2), &plan));
    return slice_read(k, x, &plan);
}

/* ---- Reverse, ReverseV2 ---- */

static void reverse_axis(const struct shape *x, int axis, struct slice_plan *plan)
{
    plan->stride[axis] = -1;
    plan->begin[axis] = x->dims[axis] - 1;
}

static struct status put_reversed(struct kernel_context *k, struct slice_plan *plan)
{
    const struct tensor *x = kernel_input(k, 0);
    plan->out = x->shape;
    for (int d = 0; d < x->shape.rank; d++) {
        plan->stride[d] = plan->stride[d] != 0 ? plan->stride[d] : 1;
        plan->count[d] = x->shape.dims[d];
    }
    return slice_read(k, x, plan);
}

static struct status reverse_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *axes = kernel_input(k, 1);
    int rank = x->shape.rank;
    struct slice_plan plan = { 0 };
    for (int64_t i = 0; i < axes->size; i++) {
        int64_t given = tensor_index(axes, i), axis = given < 0 ? given + rank : given;
        if (axis < 0 || axis >= rank)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "'axis'[%lld] = %lld is out of valid range [%d, %d]", (long long)i,
                                (long long)given, 0, rank - 1);
        if (plan.stride[axis] == -1)
            return status_error(STATUS_INVALID_ARGUMENT, "axis %lld specified more than once.",
                                (long long)axis);
        reverse_axis(&x->shape, (int)axis, &plan);
    }
    return put_reversed(k, &plan);
}

/* The first version has a truth value for each dimension. */
static struct status reverse_flags_compute(struct kernel_context *k)
{
    const struct tensor *x = kernel_input(k, 0), *flags = kernel_input(k, 1);
    struct slice_plan plan = { 0 };
    if (x->shape.rank > 0 && flags->shape.rank != 1)
        return status_error(STATUS_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d",
                            flags->shape.rank);
    if (x->shape.rank > 0 && flags->size != x->shape.rank)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'dims' must have the same number of values as 'input' has "
                            "dimensions. 'input' has %d'dims' has %lld values",
                            x->shape.rank, (long long)flags->size);
    if (x->shape.rank > 8)
        return status_error(STATUS_UNIMPLEMENTED,
                            "reverse is not implemented for tensors of rank > 8.");
    for (int d = 0; d < x->shape.rank; d++)
        if (tensor_bools(flags)[d])
            reverse_axis(&x->shape, d, &plan);
    return put_reversed(k, &plan);
}

static const struct kernel rows[] = {
    { "StridedSlice", DTYPES_MOVED, .prepare = masks_prepare, .compute = strided_slice_compute },
    { "StridedSliceGrad", DTYPES_REAL, .prepare = masks_prepare,
      .compute = strided_slice_grad_compute },
    { "Slice", DTYPES_MOVED, .compute = slice_compute },
    { "Reverse", DTYPES_MOVED, .compute = reverse_flags_compute },
    { "ReverseV2", DTYPES_MOVED, .compute = reverse_compute },
};
const struct kernel_table kernels_slice = { rows, COUNT(rows) };
