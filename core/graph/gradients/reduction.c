/* Gradients of reductions. Source: TensorFlow's math_grad.py. */
#include "graph/gradients/emit.h"

/* The dimensions of the input that are reduced. */
struct axes {
    bool reduced[SHAPE_RANK_MAX];
    int64_t count; /* elements reduced to one; -1: unknown before running */
    bool all;
    bool is_unknown; /* the axes, or the rank: the graph computes them */
};

static struct status read_axes(const struct gradient_context *c, struct axes *out)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    int64_t axes[SHAPE_RANK_MAX];
    int count;

    *out = (struct axes){ .count = 1 };
    if (shape->rank < 0 || !constant_ints(c, 1, SHAPE_RANK_MAX, axes, &count)) {
        *out = (struct axes){ .count = -1, .is_unknown = true };
        return status_ok();
    }
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + shape->rank : axes[i];
        if (axis < 0 || axis >= shape->rank)
            return status_error(STATUS_INVALID_ARGUMENT, "node '%s': axis %lld of rank %d",
                                c->node->name, (long long)axes[i], shape->rank);
        out->reduced[axis] = true;
    }
    out->all = true;
    for (int i = 0; i < shape->rank; i++) {
        out->all = out->all && out->reduced[i];
        if (out->reduced[i] && (out->count < 0 || shape->dims[i] < 0 ||
                                __builtin_mul_overflow(out->count, shape->dims[i], &out->count)))
            out->count = -1;
    }
    return status_ok();
}

struct endpoint shape_with_ones(struct gradient_context *c, struct endpoint shape,
                                struct endpoint reduced)
{
    struct endpoint rank = unary(c, "Size", shape);
    struct endpoint axes = binary(c, "Reshape", as_type(c, reduced, DT_INT32),
                                  build_const_ints(c->builder, NULL, 1, (const int32_t[]){ -1 }));
    axes = binary(c, "FloorMod", binary(c, "AddV2", axes, rank), rank);
    const struct endpoint inputs[] = { build_range(c->builder, rank), axes, shape,
                                       unary(c, "OnesLike", axes) };
    return build(c->builder, "DynamicStitch", NULL, 4, inputs,
                 (const struct attr[]){ attr_int("N", 2), ATTR_END });
}

/* One value per group, in the rank of the input: reduced dimensions are 1. */
static struct endpoint kept(struct gradient_context *c, const struct axes *axes,
                            struct endpoint value)
{
    const struct shape *shape = endpoint_shape(input(c, 0));
    struct shape ones = *shape;
    int unknown = 0;

    if (axes->is_unknown)
        return binary(c, "Reshape", value,
                      shape_with_ones(c, unary(c, "Shape", input(c, 0)), input(c, 1)));
    if (endpoint_shape(value)->rank == shape->rank)
        return value;
    for (int i = 0; i < shape->rank; i++) {
        if (axes->reduced[i])
            ones.dims[i] = 1;
        unknown += ones.dims[i] < 0;
    }
    if (unknown <= 1)
        return reshape_to(c, value, &ones);
    /* Several dimensions are unknown: takes them one by one. */
    for (int i = 0; i < shape->rank; i++)
        if (axes->reduced[i])
            value = build_expand_dims(c->builder, value, i);
    return value;
}

/* Repeats the gradient of a group for each of its elements. */
static struct endpoint spread(struct gradient_context *c, const struct axes *axes,
                              struct endpoint gradient)
{
    struct endpoint x = input(c, 0), scalar = uniform(gradient);

    if (axes->all && endpoint_shape(gradient)->rank == 0)
        return binary(c, "Fill", shape_tensor(c, x), gradient);
    if (scalar.node != NULL)
        return binary(c, "Fill", shape_tensor(c, x), scalar);
    return binary(c, "BroadcastTo", kept(c, axes, gradient), shape_tensor(c, x));
}

struct status gradient_sum(struct gradient_context *c)
{
    struct axes axes;

    TRY(read_axes(c, &axes));
    return flow(c, 0, spread(c, &axes, dy(c)));
}

/* The number of elements reduced to one, as a scalar of the type of dy. */
static struct endpoint group_size(struct gradient_context *c, const struct axes *axes)
{
    if (axes->count >= 0)
        return number(c, dy(c), (double)axes->count);
    struct endpoint in = unary(c, "Size", input(c, 0)), out = unary(c, "Size", output(c));
    in = as_type(c, in, endpoint_dtype(dy(c)));
    out = as_type(c, out, endpoint_dtype(dy(c)));
    return binary(c, "RealDiv", in, binary(c, "Maximum", out, number(c, out, 1)));
}

struct status gradient_mean(struct gradient_context *c)
{
    struct axes axes;

    TRY(read_axes(c, &axes));
    struct endpoint scalar = uniform(dy(c)), share;
    if (axes.count >= 0 && is_one(scalar.node != NULL ? scalar : dy(c)) &&
        (scalar.node != NULL || endpoint_shape(dy(c))->rank == 0)) {
        share = number(c, dy(c), 1 / (double)axes.count); /* of a constant, a constant */
        return flow(c, 0, binary(c, "Fill", shape_tensor(c, input(c, 0)), share));
    }
    share = binary(c, "RealDiv", dy(c), group_size(c, &axes));
    return flow(c, 0, spread(c, &axes, share));
}

/* Max and Min: the elements equal to the extreme share the gradient. */
static struct status extreme(struct gradient_context *c)
{
    struct endpoint x = input(c, 0);
    struct axes axes;

    TRY(read_axes(c, &axes));
    struct endpoint is = binary(c, "Equal", x, kept(c, &axes, output(c)));
    struct endpoint hits = as_type(c, is, endpoint_dtype(x));
    struct endpoint count = kept(c, &axes, binary(c, "Sum", hits, input(c, 1)));
    struct endpoint share = binary(c, "RealDiv", kept(c, &axes, dy(c)), count);
    return flow(c, 0, binary(c, "Mul", hits, share));
}

struct status gradient_max(struct gradient_context *c)
{
    return extreme(c);
}

struct status gradient_min(struct gradient_context *c)
{
    return extreme(c);
}

/* Σ x²/2 */
struct status gradient_l2_loss(struct gradient_context *c)
{
    return flow(c, 0, is_one(dy(c)) ? input(c, 0) : binary(c, "Mul", input(c, 0), dy(c)));
}

/* Cumsum or Cumprod. */
static struct endpoint running(struct gradient_context *c, const char *op, struct endpoint x,
                               struct endpoint axis, bool exclusive, bool reverse)
{
    const struct endpoint inputs[] = { x, axis };

    return build(c->builder, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("exclusive", exclusive),
                                        attr_bool("reverse", reverse), ATTR_END });
}

/* Each element's gradient is the product of the elements before it and of those after it, axis by
 * axis, which needs no division by elements that may be 0. */
struct status gradient_prod(struct gradient_context *c)
{
    struct endpoint partial[SHAPE_RANK_MAX], x = input(c, 0);
    int rank = endpoint_shape(x)->rank;
    struct axes axes;

    TRY(read_axes(c, &axes));
    if (axes.is_unknown)
        return not_constant(c, "rank and axes");
    for (int i = 0; i < rank; i++) {
        const struct endpoint inputs[] = { x, build_const_int(c->builder, i) };
        partial[i] = x;
        if (axes.reduced[i])
            x = build(c->builder, "Prod", NULL, 2, inputs,
                      (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    }
    struct endpoint gradient = kept(c, &axes, dy(c));
    for (int i = rank - 1; i >= 0; i--) {
        struct endpoint axis = build_const_int(c->builder, i);
        if (!axes.reduced[i])
            continue;
        struct endpoint before = running(c, "Cumprod", partial[i], axis, true, false);
        struct endpoint behind = running(c, "Cumprod", partial[i], axis, true, true);
        struct endpoint others = conjugate(c, binary(c, "Mul", before, behind));
        gradient = binary(c, "Mul", gradient, others);
    }
    return flow(c, 0, gradient);
}

static struct status read_direction(struct gradient_context *c, bool *exclusive, bool *reverse)
{
    TRY(node_attr_bool(c->node, "exclusive", exclusive));
    return node_attr_bool(c->node, "reverse", reverse);
}

struct status gradient_cumsum(struct gradient_context *c)
{
    bool exclusive, reverse;

    TRY(read_direction(c, &exclusive, &reverse));
    return flow(c, 0, running(c, "Cumsum", dy(c), input(c, 1), exclusive, !reverse));
}

/* As in TensorFlow, an element that is 0 gets no gradient. */
struct status gradient_cumprod(struct gradient_context *c)
{
    bool exclusive, reverse;

    TRY(read_direction(c, &exclusive, &reverse));
    struct endpoint x = input(c, 0), products = binary(c, "Mul", output(c), dy(c));
    struct endpoint sums = running(c, "Cumsum", products, input(c, 1), exclusive, !reverse);
    return flow(c, 0, binary(c, "DivNoNan", sums, x));
}

/* e^x Σ dy e^-y, where the sums are those of gradients of one sign, in logarithms. */
struct status gradient_cumulative_logsumexp(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), zero = number(c, x, 0), sums[2];
    struct endpoint none = unary(c, "Log", zero); /* the logarithm of no gradient */
    bool exclusive, reverse;

    TRY(read_direction(c, &exclusive, &reverse));
    for (int i = 0; i < 2; i++) {
        struct endpoint part = i == 0 ? dy(c) : unary(c, "Neg", dy(c));
        struct endpoint is_there = binary(c, "Greater", part, zero);
        struct endpoint log = build_select(c->builder, is_there, unary(c, "Log", part), none);
        log = running(c, "CumulativeLogsumexp", binary(c, "Sub", log, output(c)), input(c, 1),
                      exclusive, !reverse);
        sums[i] = unary(c, "Exp", binary(c, "AddV2", log, x));
    }
    return flow(c, 0, binary(c, "Sub", sums[0], sums[1]));
}

/* √Σx²: x / (y / dy), as TensorFlow computes it. */
struct status gradient_euclidean_norm(struct gradient_context *c)
{
    struct axes axes;

    TRY(read_axes(c, &axes));
    struct endpoint share = binary(c, "RealDiv", output(c), dy(c));
    return flow(c, 0, binary(c, "RealDiv", input(c, 0), kept(c, &axes, share)));
}
