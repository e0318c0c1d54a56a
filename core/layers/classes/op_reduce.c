/* op_reduce: operations that reduce axes after the batch. */
#include "layers/classes/op.h"

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
    op_give(io, io->inputs[0].value);
    *out = (struct axis_reduction){ .x = io->inputs[0].value,
                                    .keep = layer_arg(layer, "keepdims")->boolean };
    if (endpoint_dtype(out->x) == DT_STRING) {
        layer_fail(context, layer, "the input is text; expected numbers");
        return false;
    }
    if (json_value_is_null(layer_arg(layer, "axis")->value)) {
        layer_fail(context, layer, "argument 'axis' is null: it would reduce the batch as well");
        return false;
    }
    out->count = layer_axes(context, layer, out->x, out->axes);
    return out->count > 0;
}

static struct endpoint reduce(struct layer_context *context, const char *op,
                              const struct axis_reduction *r, struct endpoint x, bool keep)
{
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
#define REDUCE(noun, op, dtype)                                                       \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        reduce_to(context, layer, io, op, dtype);                                     \
    }                                                                                 \
    OP_ARGS_CLASS(noun, op, reduce_args, op_x, noun##_call)
REDUCE(sum, "Sum", DT_INVALID);
REDUCE(mean, "Mean", DT_FLOAT);
REDUCE(max, "Max", DT_INVALID);
REDUCE(min, "Min", DT_INVALID);
REDUCE(prod, "Prod", DT_INVALID);
REDUCE(any, "Any", DT_BOOL);
REDUCE(all, "All", DT_BOOL);

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
    inverse = build_binary(b, "Minimum", NULL, inverse, build_const_float(b, NULL, most));
    op_give(io, build_binary(b, "Mul", NULL, cast_to(context, r.x, DT_FLOAT), inverse));
}
OP_ARGS_CLASS(normalize, "Normalize", normalize_args, op_x, normalize_call);
