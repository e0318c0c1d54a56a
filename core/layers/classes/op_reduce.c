/* op_reduce: operations that reduce axes after the batch. */
#include "layers/classes/op.h"

#include <math.h>

static const struct layer_arg reduce_args[] = {
    { "axis", ARG_VALUE, "null" },   { "keepdims", ARG_BOOL, "false" },
    { "initial", ARG_NONE, "null" }, { "dtype", ARG_NONE, "null" },
    { "ord", ARG_NONE, "null" },
};

/* x, the axes that an operation reduces, and whether they stay as dimensions of 1. */
struct axis_reduction {
    struct endpoint x;
    int32_t axes[SHAPE_RANK_MAX];
    int count;
    bool keep;
};

static bool read_reduction(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io, struct axis_reduction *out)
{
    *out = (struct axis_reduction){ .x = io->inputs[0].value,
                                    .keep = layer_arg(layer, "keepdims")->boolean };
    if (!op_check_numbers(context, layer, out->x))
        return false;
    if (json_value_is_null(layer_arg(layer, "axis")->value)) {
        layer_fail(context, layer, "argument 'axis' is null: it would reduce the batch as well");
        return false;
    }
    out->count = layer_axes(context, layer, out->x, out->axes);
    return out->count > 0;
}

/* As in Keras, sums and products of bool are int32, its largest and smallest elements bool. */
static struct endpoint reduce(struct layer_context *context, const char *op,
                              const struct axis_reduction *r, struct endpoint x, bool keep)
{
    bool is_bool = endpoint_dtype(x) == DT_BOOL;

    if (is_bool && (strcmp(op, "Sum") == 0 || strcmp(op, "Prod") == 0))
        x = cast_to(context, x, DT_INT32);
    else if (is_bool && strcmp(op, "Max") == 0)
        op = "Any";
    else if (is_bool && strcmp(op, "Min") == 0)
        op = "All";
    return op_over_axes(&context->builder, op, x, r->count, r->axes, keep);
}

static void reduce_to(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                      const char *op, enum dtype dtype)
{
    struct axis_reduction r;

    if (!read_reduction(context, layer, io, &r))
        return;
    if (dtype != DT_INVALID)
        r.x = cast_to(context, r.x, dtype);
    op_give(io, reduce(context, op, &r, r.x, r.keep));
}

/* dtype: the input is cast to it; DT_INVALID: no cast. */
#define REDUCE(noun, name, op, dtype)                                                 \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        reduce_to(context, layer, io, op, dtype);                                     \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, reduce_args, op_x, noun##_call)
REDUCE(sum, "Sum", "Sum", DT_INVALID);
REDUCE(mean, "Mean", "Mean", DT_FLOAT);
REDUCE(average, "Average", "Mean", DT_FLOAT);
REDUCE(max, "Max", "Max", DT_INVALID);
REDUCE(min, "Min", "Min", DT_INVALID);
REDUCE(amax, "Amax", "Max", DT_INVALID);
REDUCE(amin, "Amin", "Min", DT_INVALID);
REDUCE(prod, "Prod", "Prod", DT_INVALID);
REDUCE(any, "Any", "Any", DT_BOOL);
REDUCE(all, "All", "All", DT_BOOL);

/* The number of elements that are not 0, int32. */
static void count_nonzero_call(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    struct axis_reduction r;

    if (!read_reduction(context, layer, io, &r))
        return;
    struct endpoint one = cast_to(context, cast_to(context, r.x, DT_BOOL), DT_INT32);
    op_give(io, reduce(context, "Sum", &r, one, r.keep));
}
OP_ARGS_CLASS(count_nonzero, "CountNonzero", reduce_args, op_x, count_nonzero_call);

/* log Σ e^x, computed after subtracting the largest x. */
static void logsumexp_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct axis_reduction r;

    if (!read_reduction(context, layer, io, &r))
        return;
    struct endpoint x = cast_to(context, r.x, DT_FLOAT);
    struct endpoint most =
        build_unary(b, "StopGradient", NULL, reduce(context, "Max", &r, x, true));
    struct endpoint powers = build_unary(b, "Exp", NULL, build_binary(b, "Sub", NULL, x, most));
    struct endpoint sum = build_unary(b, "Log", NULL, reduce(context, "Sum", &r, powers, r.keep));
    if (!r.keep)
        most = reduce(context, "Max", &r, most, false);
    op_give(io, build_binary(b, "AddV2", NULL, sum, most));
}
OP_ARGS_CLASS(logsumexp, "Logsumexp", reduce_args, op_x, logsumexp_call);

static struct endpoint variance(struct layer_context *context, const struct axis_reduction *r)
{
    struct builder *b = &context->builder;
    struct endpoint x = cast_to(context, r->x, DT_FLOAT);
    struct endpoint apart = build_binary(b, "Sub", NULL, x, reduce(context, "Mean", r, x, true));

    return reduce(context, "Mean", r, build_unary(b, "Square", NULL, apart), r->keep);
}

static void var_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct axis_reduction r;

    if (read_reduction(context, layer, io, &r))
        op_give(io, variance(context, &r));
}
OP_ARGS_CLASS(var, "Var", reduce_args, op_x, var_call);

static void std_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct axis_reduction r;

    if (read_reduction(context, layer, io, &r))
        op_give(io, build_unary(&context->builder, "Sqrt", NULL, variance(context, &r)));
}
OP_ARGS_CLASS(std, "Std", reduce_args, op_x, std_call);

static const struct layer_arg moments_args[] = {
    { "axes", ARG_VALUE, REQUIRED },
    { "keepdims", ARG_BOOL, "false" },
    { "synchronized", ARG_NONE, "false" },
};

static void moments_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct axis_reduction r = { .x = io->inputs[0].value };

    if (!op_floats(context, layer, &r.x))
        return;
    r.count = layer_axes_of(context, layer, "axes", r.x, r.axes);
    r.keep = layer_arg(layer, "keepdims")->boolean;
    if (r.count == 0)
        return;
    op_give(io, reduce(context, "Mean", &r, r.x, r.keep));
    io->outputs[1] = (struct layer_value){ .value = variance(context, &r) };
    io->outputs_count = 2;
}
OP_ARGS_CLASS(moments, "Moments", moments_args, op_x, moments_call);

/* ---- without the elements that are NaN ---- */

/* x with a number in the place of NaN. Other types have none. */
static struct endpoint fill_nan(struct builder *b, struct endpoint x, double number)
{
    if (!dtype_is_floating(endpoint_dtype(x)))
        return x;
    return build_select(b, build_unary(b, "IsNan", NULL, x), build_const_float(b, (float)number),
                        x);
}

static struct endpoint nansum(struct layer_context *context, const struct axis_reduction *r)
{
    return reduce(context, "Sum", r, fill_nan(&context->builder, r->x, 0), r->keep);
}

static struct endpoint nanprod(struct layer_context *context, const struct axis_reduction *r)
{
    return reduce(context, "Prod", r, fill_nan(&context->builder, r->x, 1), r->keep);
}

/* Max or Min that skips NaN elements: they count as `least`. NaN if all elements are NaN. */
static struct endpoint nan_extreme(struct layer_context *context, const struct axis_reduction *r,
                                   const char *op, double least)
{
    struct builder *b = &context->builder;
    struct endpoint y = reduce(context, op, r, fill_nan(b, r->x, least), r->keep);

    if (!dtype_is_floating(endpoint_dtype(r->x)))
        return y;
    struct endpoint none = reduce(context, "All", r, build_unary(b, "IsNan", NULL, r->x), r->keep);
    return build_select(b, none, build_const_float(b, NAN), y);
}

static struct endpoint nanmax(struct layer_context *context, const struct axis_reduction *r)
{
    return nan_extreme(context, r, "Max", -INFINITY);
}

static struct endpoint nanmin(struct layer_context *context, const struct axis_reduction *r)
{
    return nan_extreme(context, r, "Min", INFINITY);
}

/* The sum of y over the number of elements of x that are not NaN. */
static struct endpoint over_numbers(struct layer_context *context, const struct axis_reduction *r,
                                    struct endpoint x, struct endpoint y, bool keep)
{
    struct builder *b = &context->builder;
    struct endpoint real = build_unary(b, "LogicalNot", NULL, build_unary(b, "IsNan", NULL, x));
    struct endpoint count = reduce(context, "Sum", r, cast_to(context, real, DT_FLOAT), keep);

    return build_binary(b, "RealDiv", NULL, reduce(context, "Sum", r, y, keep), count);
}

static struct endpoint nanmean(struct layer_context *context, const struct axis_reduction *r)
{
    struct endpoint x = cast_to(context, r->x, DT_FLOAT);

    return over_numbers(context, r, x, fill_nan(&context->builder, x, 0), r->keep);
}

static struct endpoint nanvar(struct layer_context *context, const struct axis_reduction *r)
{
    struct builder *b = &context->builder;
    struct endpoint x = cast_to(context, r->x, DT_FLOAT);
    struct endpoint mean = over_numbers(context, r, x, fill_nan(b, x, 0), true);
    struct endpoint apart = build_binary(b, "Sub", NULL, x, mean);

    apart = build_select(b, build_unary(b, "IsNan", NULL, x), build_const_float(b, 0), apart);
    return over_numbers(context, r, x, build_unary(b, "Square", NULL, apart), r->keep);
}

static struct endpoint nanstd(struct layer_context *context, const struct axis_reduction *r)
{
    return build_unary(&context->builder, "Sqrt", NULL, nanvar(context, r));
}

/* The largest minus the smallest. */
static struct endpoint span(struct layer_context *context, const struct axis_reduction *r)
{
    return build_binary(&context->builder, "Sub", NULL, reduce(context, "Max", r, r->x, r->keep),
                        reduce(context, "Min", r, r->x, r->keep));
}

#define REDUCE_BY(noun, name, function)                                               \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        struct axis_reduction r;                                                      \
        if (read_reduction(context, layer, io, &r))                                   \
            op_give(io, function(context, &r));                                       \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, reduce_args, op_x, noun##_call)
REDUCE_BY(nansum, "Nansum", nansum);
REDUCE_BY(nanprod, "Nanprod", nanprod);
REDUCE_BY(nanmax, "Nanmax", nanmax);
REDUCE_BY(nanmin, "Nanmin", nanmin);
REDUCE_BY(nanmean, "Nanmean", nanmean);
REDUCE_BY(nanvar, "Nanvar", nanvar);
REDUCE_BY(nanstd, "Nanstd", nanstd);
REDUCE_BY(ptp, "Ptp", span);

/* ---- norms ---- */

static struct endpoint sum_of_squares(struct layer_context *context, const struct axis_reduction *r,
                                      bool keep)
{
    struct endpoint x = cast_to(context, r->x, DT_FLOAT);

    return reduce(context, "Sum", r, build_unary(&context->builder, "Square", NULL, x), keep);
}

/* The Euclidean norm; other orders are refused as arguments. */
static void norm_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct axis_reduction r;

    if (read_reduction(context, layer, io, &r))
        op_give(io,
                build_unary(&context->builder, "Sqrt", NULL, sum_of_squares(context, &r, r.keep)));
}
OP_ARGS_CLASS(norm, "Norm", reduce_args, op_x, norm_call);

static const struct layer_arg normalize_args[] = {
    { "axis", ARG_VALUE, "-1" },
    { "order", ARG_NUMBER, "2" },
    { "epsilon", ARG_NUMBER, "1e-7" },
    { "keepdims", ARG_NONE, "null" }, /* Keras' has none */
};

/* x min(1 / √Σx², 1 / epsilon) */
static void normalize_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    struct builder *b = &context->builder;
    float most = (float)(1 / layer_arg(layer, "epsilon")->number);
    struct axis_reduction r;

    if (layer_arg(layer, "order")->number != 2) {
        layer_refuse(context, layer, "argument 'order' is %g; only 2 is implemented",
                     layer_arg(layer, "order")->number);
        return;
    }
    if (!read_reduction(context, layer, io, &r))
        return;
    struct endpoint inverse = build_unary(b, "Rsqrt", NULL, sum_of_squares(context, &r, true));
    inverse = build_binary(b, "Minimum", NULL, inverse, build_const_float(b, most));
    op_give(io, build_binary(b, "Mul", NULL, cast_to(context, r.x, DT_FLOAT), inverse));
}
OP_ARGS_CLASS(normalize, "Normalize", normalize_args, op_x, normalize_call);

/* ---- normalizations without variables ---- */

static const struct layer_arg layer_norm_args[] = {
    { "axis", ARG_VALUE, "-1" },
    { "epsilon", ARG_NULL_OR_NUMBER, "null" },
    { "rms_scaling", ARG_NONE, "false" },
    { "keepdims", ARG_NONE, "null" }, /* Keras' has none */
};
static const char *const layer_norm_inputs[] = { "x", "gamma", "beta", NULL };
static const char *const rms_norm_inputs[] = { "x", "scale", NULL };

/* x, centred if asked, over the root of its mean square. */
static void divide_by_root(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io, bool centred)
{
    struct builder *b = &context->builder;
    const struct arg_value *epsilon = layer_arg(layer, "epsilon");
    struct axis_reduction r;

    if (io->call->inputs_count > 1 || io->call->constants_count > 0) {
        layer_refuse(context, layer, "a scale or an offset: use the layer");
        return;
    }
    if (!read_reduction(context, layer, io, &r))
        return;
    struct endpoint x = cast_to(context, r.x, DT_FLOAT);
    if (centred)
        x = build_binary(b, "Sub", NULL, x, reduce(context, "Mean", &r, x, true));
    struct endpoint square = reduce(context, "Mean", &r, build_unary(b, "Square", NULL, x), true);
    square = build_by_number(b, "AddV2", square, epsilon->is_null ? 1e-7 : epsilon->number);
    op_give(io, build_binary(b, "Mul", NULL, x, build_unary(b, "Rsqrt", NULL, square)));
}

static void layer_norm_call(struct layer_context *context, const struct layer *layer,
                            struct layer_io *io)
{
    divide_by_root(context, layer, io, true);
}
OP_ARGS_CLASS(layer_norm, "LayerNorm", layer_norm_args, layer_norm_inputs, layer_norm_call);

static void rms_norm_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    divide_by_root(context, layer, io, false);
}
OP_ARGS_CLASS(rms_norm, "RMSNorm", layer_norm_args, rms_norm_inputs, rms_norm_call);
