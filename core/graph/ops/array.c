/* Shapes of constants, placeholders and ops that rearrange elements. */
#include "graph/arguments.h"
#include "graph/ops/infer.h"

struct status infer_const(struct infer_context *context)
{
    const struct tensor *value;
    TRY(node_attr_tensor(context->node, "value", &value));
    infer_output(context, 0, &value->shape);
    return status_ok();
}

struct status infer_declared(struct infer_context *context)
{
    struct shape shape;
    TRY(node_declared_shape(context->graph, context->node, &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

static struct status infer_attribute(struct infer_context *context, const char *name)
{
    const struct shape *wanted;
    struct shape shape;
    TRY(node_attr_shape(context->node, name, &wanted));
    TRY(infer_merge(infer_input(context, 0), wanted, &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_ensure_shape(struct infer_context *context)
{
    return infer_attribute(context, "shape");
}

struct status infer_spmd_full(struct infer_context *context)
{
    return infer_attribute(context, "full_shape");
}

struct status infer_shape(struct infer_context *context)
{
    for (int i = 0; i < context->node->outputs_count; i++) {
        struct shape vector = shape_of(infer_input(context, i)->rank); /* -1 for an unknown rank */
        infer_output(context, i, &vector);
    }
    return status_ok();
}

/* The number of elements, or -1. */
static int64_t known_size(const struct shape *shape)
{
    int64_t size = 1;
    if (shape->rank < 0)
        return -1;
    for (int i = 0; i < shape->rank; i++)
        if (shape->dims[i] < 0 || __builtin_mul_overflow(size, shape->dims[i], &size))
            return -1;
    return size;
}

struct status infer_reshape(struct infer_context *context)
{
    struct values values;
    struct shape shape = infer_shape_value(context, 1);
    int64_t size = known_size(infer_input(context, 0)), rest = 1;
    int open = -1, opens = 0;

    infer_values(context, 1, &values);
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) {
            open = i;
            opens++;
        } else if (__builtin_mul_overflow(rest, shape.dims[i], &rest)) {
            return status_error(STATUS_INVALID_ARGUMENT, "shape %s has too many elements",
                                shape_text(&shape));
        }
    }
    if (shape.rank >= 0 && opens == 0 && size >= 0 && size != rest)
        return status_error(STATUS_INVALID_ARGUMENT, "cannot reshape %s to %s",
                            shape_text(infer_input(context, 0)), shape_text(&shape));
    if (opens == 1 && size >= 0 && rest > 0) {
        if (size % rest != 0)
            return status_error(STATUS_INVALID_ARGUMENT, "cannot reshape %s to %s",
                                shape_text(infer_input(context, 0)), shape_text(&shape));
        shape.dims[open] = size / rest;
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_expand_dims(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    int64_t given;
    int axis;
    if (input->rank < 0)
        return status_ok();
    if (input->rank + 1 > SHAPE_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "shape %s has the highest rank already",
                            shape_text(input));
    struct shape shape = shape_unknown_dims(input->rank + 1);
    if (infer_int(context, 1, &given)) {
        TRY(infer_axis(given, shape.rank, &axis));
        for (int i = 0; i < shape.rank; i++)
            shape.dims[i] = i < axis ? input->dims[i] : i == axis ? 1 : input->dims[i - 1];
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_squeeze(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    const struct attr_value *dims;
    bool squeezed[SHAPE_RANK_MAX] = { false };

    TRY(node_attr_list(context->node, "squeeze_dims", &dims));
    if (input->rank < 0)
        return status_ok();
    for (int i = 0; i < dims->count; i++) {
        int axis;
        TRY(infer_axis(dims->elements[i].i, input->rank, &axis));
        if (input->dims[axis] >= 0 && input->dims[axis] != 1)
            return status_error(STATUS_INVALID_ARGUMENT, "cannot squeeze dimension %d of %s", axis,
                                shape_text(input));
        squeezed[axis] = true;
    }
    struct shape shape = { 0 };
    for (int i = 0; i < input->rank; i++) {
        if (dims->count == 0 && input->dims[i] < 0)
            return status_ok(); /* may be 1: the rank is not known */
        if (dims->count == 0 ? input->dims[i] != 1 : !squeezed[i])
            shape_append(&shape, input->dims[i]);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_filled(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 0);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* XlaRngBitGenerator: a state like input 1, and numbers in the shape that input 2 holds. */
struct status infer_random_bits(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 2), state, vector = shape_of(-1);
    TRY(infer_merge(infer_input(context, 1), &vector, &state));
    infer_output(context, 0, &state);
    infer_output(context, 1, &shape);
    return status_ok();
}

/* The shape in input 0, followed by that of input 1. */
struct status infer_appended(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 0), behind = *infer_input(context, 1);
    if (shape.rank < 0 || behind.rank < 0)
        return status_ok();
    if (shape.rank + behind.rank > SHAPE_RANK_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%d dimensions, over %d",
                            shape.rank + behind.rank, SHAPE_RANK_MAX);
    for (int i = 0; i < behind.rank; i++)
        shape_append(&shape, behind.dims[i]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_filled_by_second(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 1);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_filled_by_fourth(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 3);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_scatter_nd(struct infer_context *context)
{
    struct shape shape = infer_shape_value(context, 2);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_broadcast_args(struct infer_context *context)
{
    return infer_vector(context);
}

struct status infer_transpose(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct values perm;
    infer_values(context, 1, &perm);
    if (input->rank < 0 && perm.rank == 1 && perm.count <= SHAPE_RANK_MAX) {
        struct shape only_rank = shape_unknown_dims(perm.count);
        infer_output(context, 0, &only_rank);
    }
    if (input->rank < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(input->rank);
    if (perm.rank == 1 && perm.count != input->rank)
        return status_error(STATUS_INVALID_ARGUMENT, "permutation has %d entries for shape %s",
                            perm.count, shape_text(input));
    for (int i = 0; perm.rank == 1 && i < perm.count; i++) {
        int axis;
        if (perm.at[i] == VALUE_UNKNOWN)
            continue;
        TRY(infer_axis(perm.at[i], input->rank, &axis));
        shape.dims[i] = input->dims[axis];
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_tile(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    struct values multiples;
    infer_values(context, 1, &multiples);
    if (input->rank < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(input->rank);
    for (int i = 0; multiples.rank == 1 && i < multiples.count && i < input->rank; i++)
        if (multiples.at[i] >= 0 && input->dims[i] >= 0 &&
            __builtin_mul_overflow(multiples.at[i], input->dims[i], &shape.dims[i]))
            shape.dims[i] = -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_pad(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);
    const struct tensor *paddings = infer_constant(context, 1);
    const struct shape *rows = infer_input(context, 1);
    int rank = input->rank;

    if (rank < 0 && rows->rank == 2 && rows->dims[0] <= SHAPE_RANK_MAX)
        rank = (int)rows->dims[0];
    if (rank < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(rank);
    bool known = paddings != NULL && input->rank == rank && paddings->size == 2 * rank &&
                 (paddings->dtype == DT_INT32 || paddings->dtype == DT_INT64);
    for (int i = 0; known && i < rank; i++)
        if (input->dims[i] >= 0 &&
            (__builtin_add_overflow(input->dims[i], tensor_index(paddings, 2 * i),
                                    &shape.dims[i]) ||
             __builtin_add_overflow(shape.dims[i], tensor_index(paddings, 2 * i + 1),
                                    &shape.dims[i]) ||
             shape.dims[i] < 0))
            shape.dims[i] = -1;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* MirrorPadGrad: the shape without its paddings. */
struct status infer_unpad(struct infer_context *context)
{
    const struct shape *input = infer_input(context, 0);

    if (input->rank < 0)
        return status_ok();
    struct shape shape = shape_unknown_dims(input->rank);
    const struct tensor *paddings = infer_constant(context, 1);
    bool known = paddings != NULL && paddings->size == 2 * input->rank;
    for (int i = 0; known && i < input->rank; i++) {
        int64_t before = tensor_index(paddings, 2 * i), after = tensor_index(paddings, 2 * i + 1);
        bool fits = before >= 0 && before <= input->dims[i] && after >= 0 &&
                    after <= input->dims[i] - before;
        shape.dims[i] = fits ? input->dims[i] - before - after : -1;
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_range(struct infer_context *context)
{
    struct shape vector = shape_unknown_dims(1);
    int64_t start, limit, delta;
    const int64_t far = (int64_t)1 << 40;
    if (infer_int(context, 0, &start) && infer_int(context, 1, &limit) &&
        infer_int(context, 2, &delta) && start > -far && start < far && limit > -far &&
        limit < far && delta > -far && delta < far && delta != 0) {
        int64_t span = delta > 0 ? limit - start : start - limit, step = delta > 0 ? delta : -delta;
        vector.dims[0] = span > 0 ? (span + step - 1) / step : 0;
    }
    infer_output(context, 0, &vector);
    return status_ok();
}

struct status infer_lin_space(struct infer_context *context)
{
    struct shape vector = shape_unknown_dims(1);
    int64_t count;
    if (infer_int(context, 2, &count) && count >= 0)
        vector.dims[0] = count;
    infer_output(context, 0, &vector);
    return status_ok();
}

struct status infer_sobol_sample(struct infer_context *context)
{
    struct shape matrix = shape_unknown_dims(2);
    int64_t dim, count;
    if (infer_int(context, 0, &dim) && dim >= 1)
        matrix.dims[1] = dim;
    if (infer_int(context, 1, &count) && count >= 1)
        matrix.dims[0] = count;
    infer_output(context, 0, &matrix);
    return status_ok();
}

struct status infer_one_hot(struct infer_context *context)
{
    const struct shape *indices = infer_input(context, 0);
    int64_t given, depth;
    int axis;
    if (indices->rank < 0 || indices->rank + 1 > SHAPE_RANK_MAX)
        return status_ok();
    TRY(node_attr_int(context->node, "axis", &given));
    TRY(infer_axis(given, indices->rank + 1, &axis));
    if (!infer_int(context, 1, &depth))
        depth = -1;
    struct shape shape = { 0 };
    for (int i = 0; i <= indices->rank; i++)
        shape_append(&shape, i == axis ? depth : indices->dims[i < axis ? i : i - 1]);
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The dimensions twice. */
struct status infer_diag(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    int rank = shape.rank;
    if (rank < 0 || 2 * rank > SHAPE_RANK_MAX)
        return status_ok();
    for (int d = 0; d < rank; d++)
        shape_append(&shape, shape.dims[d]);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_diag_part(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    if (shape.rank < 0 || shape.rank % 2 != 0)
        return status_ok();
    shape.rank /= 2;
    infer_output(context, 0, &shape);
    return status_ok();
}

/* The shape of the input. The range is a scalar, or a vector if there is an axis. */
struct status infer_quantize(struct infer_context *context)
{
    struct shape scalar = shape_scalar();
    int64_t axis = -1;
    if (node_attr(context->node, "axis") != NULL)
        TRY(node_attr_int(context->node, "axis", &axis));
    infer_output(context, 0, infer_input(context, 0));
    for (int i = 1; i < 3 && axis == -1; i++)
        infer_output(context, i, &scalar);
    return status_ok();
}
