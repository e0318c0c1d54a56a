#include "runtime/kernels/array/slice_plan.h"

struct status slice_masks_prepare(struct prepare_context *p)
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
    TRY(shape_check_rank(plan->out.rank + 1));
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

struct status slice_plan_make(const struct slice_spec *spec, const struct shape *input,
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
    /* A missing ellipsis is taken to be at the end. */
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

int64_t slice_walk(const struct slice_plan *plan, const struct shape *shape, struct strided *out)
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
