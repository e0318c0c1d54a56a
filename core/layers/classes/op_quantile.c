/* op_quantile: medians, quantiles and percentiles along axes after the batch. */
#include "layers/classes/op.h"

#include <math.h>

static const struct layer_arg quantile_args[] = {
    { "axis", ARG_VALUE, "null" },
    { "method", ARG_CHOICE, "linear" },
    { "keepdims", ARG_BOOL, "false" },
};
static const char *const x_q[] = { "x", "q", NULL };

/* x as floats with these axes joined after the others: [batch, …, n]. */
static struct endpoint axes_behind(struct builder *b, struct endpoint x, int count,
                                   const int32_t *axes)
{
    int rank = endpoint_shape(x)->rank, others = rank - count, at = 0;
    int32_t order[SHAPE_RANK_MAX];
    int64_t sizes[SHAPE_RANK_MAX];

    for (int axis = 0, next = 0; axis < rank; axis++) {
        if (next < count && axes[next] == axis) {
            order[others + next++] = axis;
            continue;
        }
        sizes[at] = SIZE_OF(axis);
        order[at++] = axis;
    }
    sizes[others] = SIZE_REST;
    if (count == 1)
        sizes[others] = SIZE_OF(axes[0]);
    struct endpoint moved =
        build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, rank, order));
    return build_reshape(b, moved, x, others + 1, sizes);
}

/* The element of each row of `sorted` at this place, [rows…, 1]. */
static struct endpoint element_at(struct layer_context *context, struct endpoint sorted,
                                  struct endpoint place, int rank)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { sorted, cast_to(context, place, DT_INT32),
                                       build_const_int(b, rank - 1) };

    return build(b, "GatherV2", NULL, 3, inputs,
                 (const struct attr[]){ attr_int("batch_dims", rank - 1), ATTR_END });
}

/* Interpolates between the two sorted elements around index q (n - 1), for each row [rows…, n]:
 * [rows…, 1]. Indices are doubles, because floats cannot tell those of long rows apart. */
static struct endpoint interpolate(struct layer_context *context, struct endpoint sorted,
                                   struct endpoint n, double q, int rank)
{
    struct builder *b = &context->builder;
    struct endpoint zero = build_const_double(b, 0), one = build_const_double(b, 1);
    struct endpoint last = build_binary(
        b, "Sub", NULL, build_unary(b, "StopGradient", NULL, cast_to(context, n, DT_DOUBLE)), one);
    struct endpoint exact = build_binary(b, "Mul", NULL, last, build_const_double(b, q));
    struct endpoint lower = build_binary(b, "Sub", NULL, build_unary(b, "Ceil", NULL, exact), one);
    lower = build_binary(b, "Maximum", NULL, lower, zero);
    struct endpoint upper =
        build_binary(b, "Minimum", NULL, build_binary(b, "AddV2", NULL, lower, one), last);
    upper = build_binary(b, "Maximum", NULL, upper, zero);
    struct endpoint share = cast_to(context, build_binary(b, "Sub", NULL, upper, exact), DT_FLOAT);
    struct endpoint rest = build_binary(b, "Sub", NULL, build_const_float(b, 1), share);

    return build_binary(
        b, "AddV2", NULL,
        build_binary(b, "Mul", NULL, element_at(context, sorted, upper, rank), rest),
        build_binary(b, "Mul", NULL, element_at(context, sorted, lower, rank), share));
}

/* x in rising order along its last axis. */
static struct endpoint rising(struct builder *b, struct endpoint x, int rank)
{
    const struct endpoint inputs[] = { build_unary(b, "Neg", NULL, x), build_size(b, x, rank - 1) };

    return build_unary(b, "Neg", NULL, build(b, "TopKV2", NULL, 2, inputs, NULL));
}

/* With `skips`, NaN elements do not count, and a row of nothing else gives NaN. Otherwise, one NaN
 * makes the result NaN. */
static void quantile(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     double q, bool skips)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    int32_t axes[SHAPE_RANK_MAX];

    if (json_value_is_null(layer_arg(layer, "axis")->value)) {
        layer_fail(context, layer, "argument 'axis' is null: it would reduce the batch as well");
        return;
    }
    int count = op_floats(context, layer, &x) ? layer_axes(context, layer, x, axes) : 0;
    if (count == 0)
        return;
    if (!(q >= 0 && q <= 1)) {
        layer_fail(context, layer, "the share %g; expected 0 to 1", q);
        return;
    }
    int rank = endpoint_shape(x)->rank - count + 1;
    const int32_t last = rank - 1;
    struct endpoint y = axes_behind(b, x, count, axes), is_nan = build_unary(b, "IsNan", NULL, y);
    struct endpoint counts = build_unary(b, skips ? "LogicalNot" : "OnesLike", NULL, is_nan);
    struct endpoint n = op_over_axes(b, "Sum", cast_to(context, counts, DT_INT32), 1, &last, true);
    struct endpoint bad = skips ? build_binary(b, "Less", NULL, n, build_const_int(b, 1))
                                : op_over_axes(b, "Any", is_nan, 1, &last, true);
    if (skips)
        y = build_select(b, is_nan, build_const_float(b, INFINITY), y);
    y = interpolate(context, rising(b, y, rank), n, q, rank);
    y = build_select(b, bad, build_const_float(b, NAN), y);
    bool keep = layer_arg(layer, "keepdims")->boolean;
    const int64_t at = last;
    y = build(b, "Squeeze", NULL, 1, &y,
              (const struct attr[]){ attr_ints(b, "squeeze_dims", 1, &at), ATTR_END });
    for (int i = 0; keep && i < count; i++)
        y = build_expand_dims(b, y, axes[i]);
    op_give(io, y);
}

static void median_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    quantile(context, layer, io, 0.5, false);
}
OP_ARGS_CLASS(median, "Median", quantile_args, op_x, median_call);

static void nanmedian_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    quantile(context, layer, io, 0.5, true);
}
OP_ARGS_CLASS(nanmedian, "Nanmedian", quantile_args, op_x, nanmedian_call);

/* The quantile q / whole, of the call argument q. Only a number: a list of them would become the
 * first dimension, which is the batch. */
static void quantile_of(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io, float whole, bool skips)
{
    double q = NAN;

    if (op_number(context, layer, io, "q", &q))
        quantile(context, layer, io, (double)((float)q / whole), skips);
}

#define QUANTILE(noun, name, whole, skips)                                            \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        quantile_of(context, layer, io, whole, skips);                                \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, quantile_args, x_q, noun##_call)
QUANTILE(quantile, "Quantile", 1, false);
QUANTILE(percentile, "Percentile", 100, false);
QUANTILE(nanquantile, "Nanquantile", 1, true);
QUANTILE(nanpercentile, "Nanpercentile", 100, true);
