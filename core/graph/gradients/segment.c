/* Gradients of segments, partitions, the greatest elements, and scattered extremes. Source:
 * TensorFlow's math_grad.py, array_grad.py, data_flow_grad.py and nn_grad.py. */
#include "graph/gradients/emit.h"

/* ---- segments, sorted or not ---- */

/* The segments of the op. An unsorted segment below 0 is dropped. */
struct segment_grad {
    const char *sum, *product; /* the ops of that kind */
    struct endpoint ids;       /* at least 0 */
    struct endpoint kept;      /* for each element: is its segment kept? null: all are */
};

static struct endpoint reduced(struct gradient_context *c, const char *op, struct endpoint x)
{
    const struct endpoint inputs[] = { x, input(c, 1),
                                       c->node->inputs_count > 2 ? input(c, 2)
                                                                 : (struct endpoint){ 0 } };

    return build(c->builder, op, NULL, c->node->inputs_count, inputs, NULL);
}

static struct status read_segments(struct gradient_context *c, struct segment_grad *out)
{
    const struct shape *shape = endpoint_shape(input(c, 1)), *rows = endpoint_shape(input(c, 0));
    struct endpoint ids = input(c, 1);

    if (c->node->inputs_count == 2) {
        *out = (struct segment_grad){ "SegmentSum", "SegmentProd", ids, { 0 } };
        return status_ok();
    }
    if (shape->rank < 0 || rows->rank < shape->rank)
        return not_constant(c, "the rank of its inputs");
    struct endpoint zero = number(c, ids, 0), kept = binary(c, "GreaterEqual", ids, zero);
    for (int i = shape->rank; i < rows->rank; i++)
        kept = build_expand_dims(c->builder, kept, i);
    *out = (struct segment_grad){ "UnsortedSegmentSum", "UnsortedSegmentProd",
                                  binary(c, "Maximum", ids, zero), kept };
    return status_ok();
}

/* For each element, the value of its segment; 0 if that was dropped. */
static struct endpoint of_segment(struct gradient_context *c, const struct segment_grad *s,
                                  struct endpoint x)
{
    struct endpoint y = gather_rows(c, x, s->ids);

    return s->kept.node == NULL ? y : build_select(c->builder, s->kept, y, number(c, y, 0));
}

/* The elements equal to the extreme share the gradient. */
static struct status segment_extreme(struct gradient_context *c)
{
    struct segment_grad s;

    TRY(read_segments(c, &s));
    struct endpoint is = binary(c, "Equal", input(c, 0), of_segment(c, &s, output(c)));
    if (s.kept.node != NULL)
        is = binary(c, "LogicalAnd", is, s.kept);
    struct endpoint count = reduced(c, s.sum, as_type(c, is, endpoint_dtype(dy(c))));
    struct endpoint share = of_segment(c, &s, binary(c, "RealDiv", dy(c), count));
    return flow(c, 0, build_select(c->builder, is, share, number(c, share, 0)));
}

struct status gradient_segment_max(struct gradient_context *c)
{
    return segment_extreme(c);
}

struct status gradient_segment_min(struct gradient_context *c)
{
    return segment_extreme(c);
}

struct status gradient_unsorted_segment_max(struct gradient_context *c)
{
    return segment_extreme(c);
}

struct status gradient_unsorted_segment_min(struct gradient_context *c)
{
    return segment_extreme(c);
}

struct status gradient_segment_mean(struct gradient_context *c)
{
    struct segment_grad s;

    TRY(read_segments(c, &s));
    struct endpoint count = reduced(c, s.sum, unary(c, "OnesLike", input(c, 0)));
    return flow(c, 0, of_segment(c, &s, binary(c, "RealDiv", dy(c), count)));
}

/* The gradient is the product of the other elements, by division if the segment has no 0. With one
 * 0, only that element has a gradient, the product of the rest; with several, none has. */
static struct status segment_product(struct gradient_context *c)
{
    struct segment_grad s;
    struct endpoint x = input(c, 0);

    TRY(read_segments(c, &s));
    struct endpoint is_zero = binary(c, "Equal", x, number(c, x, 0));
    struct endpoint zeros = reduced(c, s.sum, as_type(c, is_zero, DT_INT32));
    struct endpoint several = binary(c, "Greater", zeros, build_const_int(c->builder, 1));
    struct endpoint gradient = build_select(c->builder, several, number(c, dy(c), 0), dy(c));
    struct endpoint rest = build_select(c->builder, is_zero, number(c, x, 1), x);
    struct endpoint of_rest = gather_rows(c, reduced(c, s.product, rest), s.ids);
    struct endpoint others = binary(c, "RealDiv", gather_rows(c, output(c), s.ids), rest);
    struct endpoint slope = build_select(c->builder, is_zero, of_rest, others);
    return flow(c, 0, binary(c, "Mul", of_segment(c, &s, gradient), slope));
}

struct status gradient_segment_prod(struct gradient_context *c)
{
    return segment_product(c);
}

struct status gradient_unsorted_segment_prod(struct gradient_context *c)
{
    return segment_product(c);
}

/* ---- TopKV2 ---- */

static struct endpoint const_vector(struct gradient_context *c, int64_t value)
{
    const struct shape one = shape_of(1);
    struct tensor tensor = tensor_borrow(DT_INT64, &one, &value);

    return build_const(c->builder, NULL, &tensor);
}

/* The last dimension, as an int64. */
static struct endpoint last_dim(struct gradient_context *c, struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);

    if (shape->dims[shape->rank - 1] >= 0)
        return build_const_int64(c->builder, shape->dims[shape->rank - 1]);
    struct endpoint dims = as_type(c, unary(c, "Shape", x), DT_INT64);
    return gather_rows(c, dims, build_const_int(c->builder, shape->rank - 1));
}

/* The shape [rows, k] of the indices, as a vector of int64. */
static struct endpoint matrix_shape(struct gradient_context *c, struct endpoint indices, int rank)
{
    const struct endpoint last[] = { as_type(c, unary(c, "Shape", indices), DT_INT64),
                                     const_vector(c, rank - 1), const_vector(c, 1) };
    const struct endpoint both[] = { const_vector(c, -1),
                                     build(c->builder, "Slice", NULL, 3, last, NULL),
                                     build_const_int(c->builder, 0) };

    return build(c->builder, "ConcatV2", NULL, 3, both, NULL);
}

/* Scatters the gradients to row · n + index, in the flat input. */
struct status gradient_top_k(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), indices = { c->node, 1 };
    int rank = endpoint_shape(x)->rank;

    if (dy(c).node == NULL)
        return status_ok();
    if (rank < 1)
        return not_constant(c, "the rank of its input");
    struct endpoint n = last_dim(c, x), size = as_type(c, unary(c, "Size", x), DT_INT64);
    const struct endpoint range[] = { build_const_int64(c->builder, 0), size, n };
    struct endpoint starts = build(c->builder, "Range", NULL, 3, range, NULL);
    struct endpoint at =
        binary(c, "Reshape", as_type(c, indices, DT_INT64), matrix_shape(c, indices, rank));
    at = binary(c, "AddV2", at, build_expand_dims(c->builder, starts, 1));
    const int32_t column[] = { -1, 1 };
    at = binary(c, "Reshape", at, build_const_ints(c->builder, NULL, 2, column));
    const struct endpoint scatter[] = { at, binary(c, "Reshape", dy(c), const_vector(c, -1)),
                                        binary(c, "Reshape", size, const_vector(c, 1)) };
    return flow(c, 0, reshape_like(c, build(c->builder, "ScatterNd", NULL, 3, scatter, NULL), x));
}

/* ---- NthElement: all that equal the result share the gradient ---- */

struct status gradient_nth_element(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), last = build_const_int(c->builder, -1);
    struct endpoint is = binary(c, "Equal", binary(c, "ExpandDims", output(c), last), x);
    struct endpoint hits = as_type(c, is, endpoint_dtype(x));
    struct endpoint share = binary(c, "RealDiv", dy(c), binary(c, "Sum", hits, last));

    return flow(c, 0, binary(c, "Mul", hits, binary(c, "ExpandDims", share, last)));
}

/* ---- DynamicPartition ---- */

/* Partitions the indices in the same way, and stitches the gradients by them. */
struct status gradient_dynamic_partition(struct gradient_context *c)
{
    struct endpoint parts = input(c, 1);
    int count = c->node->outputs_count;
    struct endpoint order = build_range(c->builder, unary(c, "Size", parts));
    const struct endpoint inputs[] = { binary(c, "Reshape", order, unary(c, "Shape", parts)),
                                       parts };
    const struct attr attrs[] = { same_attr(c, "num_partitions"), ATTR_END };

    struct node *places =
        build_node(c->builder, "DynamicPartition", NULL, 2, inputs, 0, NULL, attrs);
    struct endpoint *stitch =
        arena_array(c->builder->graph->arena, sizeof *stitch, 2 * (size_t)count);
    for (int i = 0; i < count && places != NULL; i++) {
        stitch[i] = (struct endpoint){ places, i };
        stitch[count + i] = dy_or_zeros(c, i);
    }
    if (places == NULL)
        return status_ok(); /* the builder has failed */
    struct endpoint data =
        build(c->builder, "ParallelDynamicStitch", NULL, 2 * count, stitch, NULL);
    return flow(c, 0, reshape_like(c, data, input(c, 0)));
}

/* ---- TensorScatterMax and Min ---- */

/* All that equal the result share the gradient. */
static struct status scattered_extreme(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), at = input(c, 1), updates = input(c, 2);
    enum dtype dtype = endpoint_dtype(dy(c));
    const struct attr type[] = { attr_type("out_type", endpoint_dtype(at)), ATTR_END };
    struct endpoint shape = build(c->builder, "Shape", NULL, 1, &x, type);
    struct endpoint x_is = as_type(c, binary(c, "Equal", x, output(c)), dtype);
    struct endpoint at_updates = binary(c, "GatherNd", output(c), at);
    struct endpoint update_is = as_type(c, binary(c, "Equal", updates, at_updates), dtype);
    const struct endpoint scatter[] = { at, update_is, shape };
    struct endpoint count =
        binary(c, "AddV2", x_is, build(c->builder, "ScatterNd", NULL, 3, scatter, NULL));
    struct endpoint share = binary(c, "RealDiv", dy(c), count);

    if (c->wanted[0])
        send(c, 0, binary(c, "Mul", share, x_is));
    if (c->wanted[2])
        send(c, 2, binary(c, "Mul", binary(c, "GatherNd", share, at), update_is));
    return status_ok();
}

struct status gradient_tensor_scatter_max(struct gradient_context *c)
{
    return scattered_extreme(c);
}

struct status gradient_tensor_scatter_min(struct gradient_context *c)
{
    return scattered_extreme(c);
}

/* ---- isotonic regression: each element became the mean of its segment of the row ---- */

/* The number of each element's segment among those of all rows. */
static struct endpoint segments_of_rows(struct gradient_context *c, int32_t length)
{
    static const int32_t flat = -1, zero = 0, one = 1;
    const int32_t by_rows[] = { -1, length };
    struct builder *b = c->builder;
    struct endpoint segments = binary(c, "Reshape", (struct endpoint){ c->node, 1 },
                                      build_const_ints(b, NULL, 2, by_rows));
    struct endpoint rows = build_unary(
        b, "Squeeze", NULL, build_slice(b, NULL, unary(c, "Shape", segments), 1, &zero, &one));
    struct endpoint first = binary(c, "Mul", build_range(b, rows), build_const_int(b, length));
    struct endpoint ids = binary(c, "AddV2", segments, build_expand_dims(b, first, -1));
    return binary(c, "Reshape", ids, build_const_ints(b, NULL, 1, &flat));
}

struct status gradient_isotonic_regression(struct gradient_context *c)
{
    static const int32_t flat = -1;
    const struct shape *shape = endpoint_shape(input(c, 0));

    if (dy(c).node == NULL)
        return status_ok();
    if (shape->rank < 1 || shape->dims[shape->rank - 1] < 0)
        return not_constant(c, "the length of its rows");
    if (shape->dims[shape->rank - 1] == 0)
        return flow(c, 0, dy(c));
    struct endpoint ids = segments_of_rows(c, (int32_t)shape->dims[shape->rank - 1]);
    struct endpoint given =
        binary(c, "Reshape", dy(c), build_const_ints(c->builder, NULL, 1, &flat));
    const struct endpoint sums[] = { given, ids, unary(c, "Size", ids) };
    const struct endpoint counts[] = { unary(c, "OnesLike", given), ids, sums[2] };
    struct endpoint mean =
        binary(c, "DivNoNan", build(c->builder, "UnsortedSegmentSum", NULL, 3, sums, NULL),
               build(c->builder, "UnsortedSegmentSum", NULL, 3, counts, NULL));
    struct endpoint gradient = reshape_like(c, gather_rows(c, mean, ids), input(c, 0));
    if (endpoint_dtype(gradient) != endpoint_dtype(input(c, 0)))
        gradient = as_type(c, gradient, endpoint_dtype(input(c, 0)));
    return flow(c, 0, gradient);
}
