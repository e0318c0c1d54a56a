/* Gradients of ops that rearrange elements. Source: TensorFlow's array_grad.py. */
#include "graph/gradients/emit.h"

static struct status reshaped(struct gradient_context *c)
{
    return flow(c, 0, reshape_like(c, dy(c), input(c, 0)));
}

struct status gradient_reshape(struct gradient_context *c)
{
    return reshaped(c);
}

struct status gradient_expand_dims(struct gradient_context *c)
{
    return reshaped(c);
}

struct status gradient_squeeze(struct gradient_context *c)
{
    return reshaped(c);
}

/* The value gets the sum of all gradients. */
struct status gradient_fill(struct gradient_context *c)
{
    const int32_t flat = -1;
    struct endpoint all = build_const_ints(c->builder, NULL, 1, &flat);
    struct endpoint axis = build_const_int(c->builder, 0);

    return flow(c, 1, binary(c, "Sum", binary(c, "Reshape", dy(c), all), axis));
}

struct status gradient_broadcast_to(struct gradient_context *c)
{
    struct endpoint shape = unary(c, "Shape", input(c, 0));
    struct endpoint axes = binary(c, "BroadcastGradientArgs", shape, unary(c, "Shape", output(c)));

    return flow(c, 0, binary(c, "Reshape", binary(c, "Sum", dy(c), axes), shape));
}

/* ---- joining and taking apart ---- */

struct status gradient_pack(struct gradient_context *c)
{
    struct endpoint gradient = dy(c);
    int count = c->node->inputs_count;
    struct node *parts =
        build_node(c->builder, "Unpack", NULL, 1, &gradient, 0, NULL,
                   (const struct attr[]){ attr_int("num", count), same_attr(c, "axis"), ATTR_END });

    for (int i = 0; i < count; i++)
        send(c, i, (struct endpoint){ parts, i });
    return status_ok();
}

/* The gradients of all outputs, zeros for those that have none. */
static struct endpoint *all_dys(struct gradient_context *c, int room)
{
    int count = c->node->outputs_count;
    struct endpoint *all = ARENA_ARRAY(c->builder->graph->arena, struct endpoint, count + room);

    for (int i = 0; i < count; i++)
        all[i] = dy_or_zeros(c, i);
    return all;
}

struct status gradient_unpack(struct gradient_context *c)
{
    return flow(c, 0,
                build(c->builder, "Pack", NULL, c->node->outputs_count, all_dys(c, 0),
                      (const struct attr[]){ same_attr(c, "axis"), ATTR_END }));
}

static struct status joined(struct gradient_context *c, int value, struct endpoint axis)
{
    int count = c->node->outputs_count;
    struct endpoint *inputs = all_dys(c, 1);

    inputs[count] = axis;
    return flow(c, value, build(c->builder, "ConcatV2", NULL, count + 1, inputs, NULL));
}

struct status gradient_split(struct gradient_context *c)
{
    return joined(c, 1, input(c, 0));
}

struct status gradient_split_v(struct gradient_context *c)
{
    return joined(c, 0, input(c, 2));
}

/* x[begin, begin + size); a size of -1 is the rest. */
static struct endpoint slice(struct gradient_context *c, struct endpoint x, int rank,
                             const int32_t *begin, const int32_t *size)
{
    return build_slice(c->builder, NULL, x, rank, begin, size);
}

/* The gradients of parts whose sizes are known only when the graph runs. */
static struct status cut_apart(struct gradient_context *c, int first, int values, int32_t axis)
{
    struct arena *arena = c->builder->graph->arena;
    struct endpoint *inputs = ARENA_ARRAY(arena, struct endpoint, values + 1);

    inputs[0] = build_const_int(c->builder, axis);
    for (int i = 0; i < values; i++)
        inputs[i + 1] = shape_tensor(c, input(c, first + i));
    struct node *offsets =
        build_node(c->builder, "ConcatOffset", NULL, values + 1, inputs, 0, NULL, NULL);
    for (int i = 0; i < values; i++) {
        const struct endpoint part[] = { dy(c), { offsets, i }, inputs[i + 1] };
        if (c->wanted[first + i])
            send(c, first + i, build(c->builder, "Slice", NULL, 3, part, NULL));
    }
    return status_ok();
}

/* The values are inputs from `first` on, and input `axis_at` is the axis. */
static struct status of_concat(struct gradient_context *c, int first, int axis_at)
{
    int values = c->node->inputs_count - 1, rank = endpoint_shape(output(c))->rank, count;
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, size[SHAPE_RANK_MAX];
    int64_t axis;

    if (rank < 1 || !constant_ints(c, axis_at, 1, &axis, &count) || count != 1)
        return not_constant(c, "rank and axis");
    axis += axis < 0 ? rank : 0;
    for (int i = 0; i < rank; i++)
        size[i] = -1;
    for (int i = first; i < first + values; i++) {
        int64_t dim = endpoint_shape(input(c, i))->rank == rank
                          ? endpoint_shape(input(c, i))->dims[axis]
                          : -1;
        if (dim < 0)
            return values > 1 ? cut_apart(c, first, values, (int32_t)axis) : flow(c, first, dy(c));
        size[axis] = (int32_t)dim;
        if (c->wanted[i])
            send(c, i, slice(c, dy(c), rank, begin, size));
        begin[axis] += (int32_t)dim;
    }
    return status_ok();
}

struct status gradient_concat(struct gradient_context *c)
{
    return of_concat(c, 1, 0);
}

struct status gradient_concat_v2(struct gradient_context *c)
{
    return of_concat(c, 0, c->node->inputs_count - 1);
}

/* ---- cutting out and padding ---- */

/* dy, padded with zeros to the shape of the input. */
struct status gradient_slice(struct gradient_context *c)
{
    struct endpoint begin = input(c, 1), x = input(c, 0);

    if (endpoint_dtype(begin) != DT_INT32)
        begin = as_type(c, begin, DT_INT32);
    struct endpoint behind = binary(c, "Sub", shape_tensor(c, x), shape_tensor(c, output(c)));
    behind = binary(c, "Sub", behind, begin);
    const struct endpoint columns[] = { begin, behind };
    struct endpoint paddings = build(c->builder, "Pack", NULL, 2, columns,
                                     (const struct attr[]){ attr_int("axis", 1), ATTR_END });
    return flow(c, 0, binary(c, "Pad", dy(c), paddings));
}

struct endpoint with_masks(struct gradient_context *c, const char *op, int count,
                           const struct endpoint *inputs)
{
    const struct attr attrs[] = {
        same_attr(c, "begin_mask"),       same_attr(c, "end_mask"),
        same_attr(c, "ellipsis_mask"),    same_attr(c, "new_axis_mask"),
        same_attr(c, "shrink_axis_mask"), ATTR_END,
    };
    return build(c->builder, op, NULL, count, inputs, attrs);
}

struct status gradient_strided_slice(struct gradient_context *c)
{
    struct endpoint shape = shape_tensor(c, input(c, 0));

    if (endpoint_dtype(input(c, 1)) != DT_INT32)
        shape = as_type(c, shape, endpoint_dtype(input(c, 1)));
    const struct endpoint inputs[] = { shape, input(c, 1), input(c, 2), input(c, 3), dy(c) };
    return flow(c, 0, with_masks(c, "StridedSliceGrad", 5, inputs));
}

/* The slice that was set passes no gradient to the tensor. The value gets the gradient of the
 * slice, summed to the value's shape. */
struct status gradient_tensor_strided_slice_update(struct gradient_context *c)
{
    const struct endpoint slice[] = { dy(c), input(c, 1), input(c, 2), input(c, 3) };
    const struct endpoint cleared[] = { dy(c), input(c, 1), input(c, 2), input(c, 3),
                                        unary(c, "ZerosLike", input(c, 4)) };

    if (c->wanted[0])
        send(c, 0, with_masks(c, "TensorStridedSliceUpdate", 5, cleared));
    if (!c->wanted[4])
        return status_ok();
    struct endpoint part = with_masks(c, "StridedSlice", 4, slice);
    return flow(c, 4, reduce_from(c, part, endpoint_shape(part), 4));
}

/* Cuts the padding off; the padding value gets no gradient. */
struct status gradient_pad(struct gradient_context *c)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    int64_t paddings[2 * SHAPE_RANK_MAX];
    int32_t begin[SHAPE_RANK_MAX];
    int count;

    if (!constant_ints(c, 1, 2 * SHAPE_RANK_MAX, paddings, &count) || shape->rank != count / 2)
        return not_constant(c, "paddings");
    for (int i = 0; i < shape->rank; i++)
        begin[i] = (int32_t)paddings[2 * i];
    const struct endpoint inputs[] = { dy(c), build_const_ints(c->builder, NULL, count / 2, begin),
                                       shape_tensor(c, input(c, 0)) };
    return flow(c, 0, build(c->builder, "Slice", NULL, 3, inputs, NULL));
}

/* ---- moving ---- */

/* By `op`, which is Transpose or ConjugateTranspose. */
static struct status of_transpose(struct gradient_context *c, const char *op)
{
    int64_t perm[SHAPE_RANK_MAX];
    int32_t inverse[SHAPE_RANK_MAX] = { 0 };
    int count;

    if (!constant_ints(c, 1, SHAPE_RANK_MAX, perm, &count))
        return flow(c, 0, binary(c, op, dy(c), unary(c, "InvertPermutation", input(c, 1))));
    for (int i = 0; i < count; i++)
        if (perm[i] >= 0 && perm[i] < count)
            inverse[perm[i]] = i;
    return flow(c, 0, binary(c, op, dy(c), build_const_ints(c->builder, NULL, count, inverse)));
}

struct status gradient_transpose(struct gradient_context *c)
{
    return of_transpose(c, "Transpose");
}

struct status gradient_conjugate_transpose(struct gradient_context *c)
{
    return of_transpose(c, "ConjugateTranspose");
}

struct status gradient_reverse_v2(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "ReverseV2", dy(c), input(c, 1)));
}

/* [m, d] for each dimension of the input: the multiple, and the size. False: more than one size or
 * a multiple is unknown. */
static bool constant_copies(struct gradient_context *c, struct endpoint *out)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    int64_t multiples[SHAPE_RANK_MAX];
    int32_t dims[SHAPE_RANK_MAX];
    int count, unknown = 0;

    if (!constant_ints(c, 1, SHAPE_RANK_MAX / 2, multiples, &count) || count != shape->rank)
        return false;
    for (int i = 0; i < count; i++) {
        dims[2 * i] = (int32_t)multiples[i];
        dims[2 * i + 1] = (int32_t)shape->dims[i];
        unknown += shape->dims[i] < 0;
    }
    *out = build_const_ints(c->builder, NULL, 2 * count, dims);
    return unknown <= 1;
}

/* The same at run time. */
static struct endpoint count_copies(struct gradient_context *c)
{
    const int32_t flat = -1, swap[] = { 1, 0 };
    const struct endpoint rows[] = { as_type(c, input(c, 1), DT_INT32),
                                     shape_tensor(c, input(c, 0)) };
    struct endpoint columns = binary(c, "Transpose", build(c->builder, "Pack", NULL, 2, rows, NULL),
                                     build_const_ints(c->builder, NULL, 2, swap));

    return binary(c, "Reshape", columns, build_const_ints(c->builder, NULL, 1, &flat));
}

/* Sums the copies: [m·d] is reshaped to [m, d]. */
struct status gradient_tile(struct gradient_context *c)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    int32_t axes[SHAPE_RANK_MAX];
    struct endpoint copies;

    if (shape->rank < 0 || shape->rank > SHAPE_RANK_MAX / 2)
        return not_constant(c, "the rank of its input");
    for (int i = 0; i < shape->rank; i++)
        axes[i] = 2 * i;
    if (!constant_copies(c, &copies))
        copies = count_copies(c);
    return flow(c, 0,
                binary(c, "Sum", binary(c, "Reshape", dy(c), copies),
                       build_const_ints(c->builder, NULL, shape->rank, axes)));
}

/* ---- gathering: each row gets the sum of the gradients of its copies ---- */

/* A dimension of x, which may be known only when x is fed. */
static struct endpoint dim_of(struct gradient_context *c, struct endpoint x, int32_t axis)
{
    const int32_t end = axis + 1, one = 1;
    int64_t dim = endpoint_shape(x)->dims[axis];

    if (dim >= 0)
        return build_const_int(c->builder, (int32_t)dim);
    const struct endpoint inputs[] = { unary(c, "Shape", x),
                                       build_const_ints(c->builder, NULL, 1, &axis),
                                       build_const_ints(c->builder, NULL, 1, &end),
                                       build_const_ints(c->builder, NULL, 1, &one) };
    return build(c->builder, "StridedSlice", NULL, 4, inputs,
                 (const struct attr[]){ attr_int("shrink_axis_mask", 1), ATTR_END });
}

static struct endpoint transpose(struct gradient_context *c, struct endpoint x, int rank,
                                 const int32_t *perm)
{
    return binary(c, "Transpose", x, build_const_ints(c->builder, NULL, rank, perm));
}

/* The places of the ids in one table of all entries, if the first `batch_dims` dimensions of table
 * and ids are a batch: entry i begins at row i * size. */
static struct endpoint places_in_batch(struct gradient_context *c, int batch_dims)
{
    struct builder *b = c->builder;
    struct endpoint dims[SHAPE_RANK_MAX], entries = build_const_int(b, 1);
    int rank = endpoint_shape(input(c, 1))->rank;

    for (int i = 0; i < rank; i++) {
        dims[i] = i < batch_dims ? dim_of(c, input(c, 0), i) : build_const_int(b, 1);
        entries = i < batch_dims ? binary(c, "Mul", entries, dims[i]) : entries;
    }
    struct endpoint begins =
        binary(c, "Mul", build_range(b, entries), dim_of(c, input(c, 0), batch_dims));
    begins = binary(c, "Reshape", begins, build(b, "Pack", NULL, rank, dims, NULL));
    return binary(c, "AddV2", input(c, 1),
                  build_cast(b, NULL, begins, endpoint_dtype(input(c, 1))));
}

static struct status gather_of_batch(struct gradient_context *c, int batch_dims)
{
    const int32_t flat = -1;
    struct builder *b = c->builder;
    struct endpoint dims[SHAPE_RANK_MAX], size = build_const_int(b, 1);
    int rank = endpoint_shape(input(c, 0))->rank, count = 1;

    dims[0] = unary(c, "Size", input(c, 1));
    for (int i = 0; i < rank; i++)
        if (i > batch_dims)
            dims[count++] = dim_of(c, input(c, 0), i);
        else
            size = binary(c, "Mul", size, dim_of(c, input(c, 0), i));
    const struct endpoint inputs[] = {
        binary(c, "Reshape", dy(c), build(b, "Pack", NULL, count, dims, NULL)),
        binary(c, "Reshape", places_in_batch(c, batch_dims), build_const_ints(b, NULL, 1, &flat)),
        size,
    };
    return flow(c, 0,
                binary(c, "Reshape", build(b, "UnsortedSegmentSum", NULL, 3, inputs, NULL),
                       unary(c, "Shape", input(c, 0))));
}

static struct endpoint sum_rows(struct gradient_context *c, struct endpoint rows, int axis)
{
    const int32_t flat = -1;
    struct endpoint indices =
        binary(c, "Reshape", input(c, 1), build_const_ints(c->builder, NULL, 1, &flat));
    const struct endpoint inputs[] = { rows, indices, dim_of(c, input(c, 0), axis) };

    return build(c->builder, "UnsortedSegmentSum", NULL, 3, inputs, NULL);
}

/* Moves the axis to the front for the sum, and then back. */
static struct status gather_along(struct gradient_context *c, int axis)
{
    int rank = endpoint_shape(input(c, 0))->rank;
    int32_t there[SHAPE_RANK_MAX], back[SHAPE_RANK_MAX];
    struct endpoint dims[SHAPE_RANK_MAX];

    for (int i = 0; i < rank; i++) {
        dims[i] = i == axis ? unary(c, "Size", input(c, 1)) : dim_of(c, input(c, 0), i);
        there[i] = i == 0 ? axis : i <= axis ? i - 1 : i;
        back[i] = i == axis ? 0 : i < axis ? i + 1 : i;
    }
    struct endpoint rows =
        binary(c, "Reshape", dy(c), build(c->builder, "Pack", NULL, rank, dims, NULL));
    struct endpoint sums = sum_rows(c, axis == 0 ? rows : transpose(c, rows, rank, there), axis);
    return flow(c, 0, axis == 0 ? sums : transpose(c, sums, rank, back));
}

static struct status gather_rows_of(struct gradient_context *c, int64_t axis)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    struct shape rows = *shape;
    bool known = axis == 0;

    for (int i = 1; known && i < shape->rank; i++)
        known = shape->dims[i] >= 0;
    if (!known)
        return gather_along(c, (int)(axis < 0 ? axis + shape->rank : axis));
    rows.dims[0] = -1;
    return flow(c, 0, sum_rows(c, reshape_to(c, dy(c), &rows), 0));
}

struct status gradient_gather(struct gradient_context *c)
{
    if (endpoint_shape(input(c, 0))->rank < 1)
        return not_constant(c, "the rank of the table");
    return gather_rows_of(c, 0);
}

struct status gradient_gather_v2(struct gradient_context *c)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    int64_t axis, batch_dims;
    int count;

    TRY(node_attr_int(c->node, "batch_dims", &batch_dims));
    if (shape->rank < 1 || !constant_ints(c, 2, 1, &axis, &count) || axis < -shape->rank ||
        axis >= shape->rank)
        return not_constant(c, "the rank of the table, and the axis");
    if (batch_dims != 0) {
        int ids_rank = endpoint_shape(input(c, 1))->rank;
        axis += axis < 0 ? shape->rank : 0;
        batch_dims += batch_dims < 0 ? ids_rank : 0;
        if (axis != batch_dims || batch_dims < 0 || batch_dims > ids_rank)
            return not_constant(c, "the rank of the ids, and an axis that is batch_dims");
        return gather_of_batch(c, (int)batch_dims);
    }
    return gather_rows_of(c, axis);
}
