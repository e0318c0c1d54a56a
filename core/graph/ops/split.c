/* Shapes of ops that join, split and slice. */
#include "graph/ops/infer.h"

struct status infer_pack(struct infer_context *context)
{
    struct shape part = shape_unknown();
    int64_t given;
    int axis;
    for (int i = 0; i < context->node->inputs_count; i++)
        TRY(infer_merge(&part, infer_input(context, i), &part));
    if (part.rank < 0 || part.rank + 1 > SHAPE_RANK_MAX)
        return status_ok();
    TRY(node_attr_int(context->node, "axis", &given));
    TRY(infer_axis(given, part.rank + 1, &axis));
    struct shape shape = { 0 };
    for (int i = 0; i <= part.rank; i++)
        shape_append(&shape,
                     i == axis ? context->node->inputs_count : part.dims[i < axis ? i : i - 1]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_unpack(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    int64_t given;
    int axis;
    if (input->rank < 0)
        return status_ok();
    TRY(node_attr_int(context->node, "axis", &given));
    TRY(infer_axis(given, input->rank, &axis));
    struct shape shape = { 0 };
    for (int i = 0; i < input->rank; i++)
        if (i != axis)
            shape_append(&shape, input->dims[i]);
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &shape);
    return status_ok();
}

/* The parts of Concat and ConcatV2 are inputs [first, first + count), the axis is input `at`. */
static struct status concat(struct infer_context *context, int first, int count, int at)
{
    struct shape shape = shape_unknown();
    int64_t given, total = 0;
    int axis = -1;

    for (int i = first; i < first + count; i++)
        if (infer_input(context, i)->rank >= 0)
            shape.rank = infer_input(context, i)->rank;
    if (shape.rank < 0)
        return status_ok();
    shape = shape_unknown_dims(shape.rank);
    bool known = infer_int(context, at, &given);
    if (known)
        TRY(infer_axis(given, shape.rank, &axis));
    for (int i = first; i < first + count; i++) {
        struct shape part = *infer_input(context, i);
        if (part.rank < 0) {
            total = -1;
            continue;
        }
        TRY(infer_rank(&part, shape.rank, "a part"));
        if (axis < 0)
            continue;
        if (total < 0 || part.dims[axis] < 0 ||
            __builtin_add_overflow(total, part.dims[axis], &total))
            total = -1;
        part.dims[axis] = -1;
        TRY(infer_merge(&shape, &part, &shape));
    }
    if (axis >= 0)
        shape.dims[axis] = total;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_concat(struct infer_context *context)
{
    int parts = context->node->inputs_count - 1;
    bool axis_first = strcmp(context->node->op_name, "Concat") == 0;
    return axis_first ? concat(context, 1, parts, 0) : concat(context, 0, parts, parts);
}

struct status infer_split(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 1);
    int64_t given, parts = context->node->outputs_count;
    int axis;
    if (shape.rank < 0)
        return status_ok();
    if (infer_int(context, 0, &given)) {
        TRY(infer_axis(given, shape.rank, &axis));
        if (shape.dims[axis] >= 0 && parts > 0) {
            if (shape.dims[axis] % parts != 0)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "dimension %d of %s does not split into %lld", axis,
                                    shape_text(&shape), (long long)parts);
            shape.dims[axis] /= parts;
        }
    } else {
        shape = shape_unknown_dims(shape.rank);
    }
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &shape);
    return status_ok();
}

struct status infer_split_v(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct values sizes;
    int64_t given;
    int axis = -1;
    if (input->rank < 0)
        return status_ok();
    infer_values(context, 1, &sizes);
    if (infer_int(context, 2, &given))
        TRY(infer_axis(given, input->rank, &axis));
    for (int i = 0; i < context->node->outputs_count; i++) {
        struct shape shape = axis >= 0 ? *input : shape_unknown_dims(input->rank);
        if (axis >= 0)
            shape.dims[axis] =
                sizes.rank == 1 && i < sizes.count && sizes.at[i] >= 0 ? sizes.at[i] : -1;
        infer_output(context, i, &shape);
    }
    return status_ok();
}

struct status infer_slice(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct values begin, size;
    int rank = input->rank;

    infer_values(context, 1, &begin);
    infer_values(context, 2, &size);
    if (rank < 0 && size.rank == 1 && size.count <= SHAPE_RANK_MAX)
        rank = size.count;
    if (rank < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(rank);
    for (int i = 0; size.rank == 1 && i < rank && i < size.count; i++) {
        if (size.at[i] >= 0)
            shape.dims[i] = size.at[i];
        else if (size.at[i] == -1 && input->rank == rank && input->dims[i] >= 0 &&
                 begin.rank == 1 && i < begin.count && begin.at[i] >= 0 &&
                 begin.at[i] <= input->dims[i])
            shape.dims[i] = input->dims[i] - begin.at[i];
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The masks of StridedSlice and the contents of its index vectors. */
struct strided_slice {
    struct values begin, end, strides;
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    int count; /* entries of the index vectors */
};

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* The number of elements that begin:end:stride takes out of `size`; -1: unknown. */
static int64_t strided_dim(const struct strided_slice *s, int i, int64_t size)
{
    bool has_begin = !(s->begin_mask >> i & 1), has_end = !(s->end_mask >> i & 1);
    int64_t stride = s->strides.rank == 1 ? s->strides.at[i] : VALUE_UNKNOWN;
    if (stride == VALUE_UNKNOWN || stride == 0 || size < 0 || stride < -INT32_MAX)
        return -1;
    if ((has_begin && (s->begin.rank != 1 || s->begin.at[i] == VALUE_UNKNOWN)) ||
        (has_end && (s->end.rank != 1 || s->end.at[i] == VALUE_UNKNOWN)))
        return -1;
    int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? size : size - 1;
    int64_t first = stride > 0 ? low : high, last = stride > 0 ? high : low;
    if (has_begin)
        first = clamp(s->begin.at[i] < 0 ? s->begin.at[i] + size : s->begin.at[i], low, high);
    if (has_end)
        last = clamp(s->end.at[i] < 0 ? s->end.at[i] + size : s->end.at[i], low, high);
    int64_t span = stride > 0 ? last - first : first - last, step = stride > 0 ? stride : -stride;
    return span > 0 ? (span - 1) / step + 1 : 0;
}

static struct status read_strided(struct infer_context *context, struct strided_slice *s)
{
    TRY(node_attr_int(context->node, "begin_mask", &s->begin_mask));
    TRY(node_attr_int(context->node, "end_mask", &s->end_mask));
    TRY(node_attr_int(context->node, "ellipsis_mask", &s->ellipsis_mask));
    TRY(node_attr_int(context->node, "new_axis_mask", &s->new_axis_mask));
    TRY(node_attr_int(context->node, "shrink_axis_mask", &s->shrink_axis_mask));
    infer_values(context, 1, &s->begin);
    infer_values(context, 2, &s->end);
    infer_values(context, 3, &s->strides);
    s->count = -1;
    for (int i = 1; i <= 3; i++) {
        const struct shape *vector = infer_input(context, i);
        if (vector->rank == 1 && vector->dims[0] >= 0 && vector->dims[0] <= VALUES_MAX)
            s->count = (int)vector->dims[0];
    }
    if ((s->begin.rank == 1 && s->begin.count != s->count) ||
        (s->end.rank == 1 && s->end.count != s->count) ||
        (s->strides.rank == 1 && s->strides.count != s->count))
        return status_error(STATUS_INVALID_ARGUMENT, "begin, end and strides differ in length");
    return status_ok();
}

struct status infer_strided_slice(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct strided_slice s;
    struct shape shape = { 0 };
    int dense = 0, at = 0;
    bool seen_ellipsis = false;

    TRY(read_strided(context, &s));
    if (input->rank < 0 || s.count < 0)
        return status_ok();
    for (int i = 0; i < s.count; i++)
        dense += !(s.new_axis_mask >> i & 1) && !(s.ellipsis_mask >> i & 1);
    for (int i = 0; i < s.count; i++) {
        if (shape.rank == SHAPE_RANK_MAX)
            return status_ok();
        if (s.ellipsis_mask >> i & 1 && !seen_ellipsis) {
            seen_ellipsis = true;
            for (int k = input->rank - dense; k > 0 && shape.rank < SHAPE_RANK_MAX; k--)
                shape_append(&shape, input->dims[at++]);
        } else if (s.new_axis_mask >> i & 1) {
            shape_append(&shape, 1);
        } else if (at >= input->rank) {
            return status_error(STATUS_INVALID_ARGUMENT, "%d indices for shape %s", dense,
                                shape_text(input));
        } else {
            if (!(s.shrink_axis_mask >> i & 1))
                shape_append(&shape, strided_dim(&s, i, input->dims[at]));
            at++;
        }
    }
    while (at < input->rank && shape.rank < SHAPE_RANK_MAX)
        shape_append(&shape, input->dims[at++]);
    infer_output(context, 0, &shape);
    return status_ok();
}
