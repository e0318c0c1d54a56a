/* mix: layers that mix each image of a training batch with another image of the batch. Inside a
 * model, Keras passes only the images, so the labels stay those of the original images. */
#include "layers/classes/augment.h"

/* The number of rows of the batch, as a vector of length 1. */
static struct endpoint rows_of(struct builder *b, struct endpoint x)
{
    static const int32_t first[] = { 0 }, one[] = { 1 };

    return build_slice(b, NULL, build_unary(b, "Shape", NULL, x), 1, first, one);
}

static struct endpoint draw_uniform(struct layer_context *context, const struct layer *layer,
                                    struct endpoint shape)
{
    return build_binary(&context->builder, "StatelessRandomUniform", NULL, shape,
                        augment_seed(context, layer));
}

/* Draws a partner for each image: a random permutation of the batch. */
static struct endpoint draw_partners(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint rows = rows_of(b, x);
    const struct endpoint zero = build_const_int(b, 0);
    struct endpoint draws = draw_uniform(context, layer, rows);
    struct endpoint order =
        build_binary(b, "TopKV2", NULL, draws, build_binary(b, "Sum", NULL, rows, zero));
    const struct endpoint inputs[] = { x, { order.node, 1 }, zero };

    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

static struct endpoint draw_gamma(struct layer_context *context, const struct layer *layer,
                                  struct endpoint rows, struct endpoint alpha)
{
    const struct endpoint inputs[] = { rows, augment_seed(context, layer), alpha };

    return build(&context->builder, "StatelessRandomGammaV2", NULL, 3, inputs, NULL);
}

/* Draws a number of the beta distribution (alpha, alpha) for each image: [batch, 1, 1, 1]. */
static struct endpoint draw_beta(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x, struct endpoint alpha)
{
    static const int32_t dims[] = { -1, 1, 1, 1 };
    struct builder *b = &context->builder;
    struct endpoint rows = rows_of(b, x);
    struct endpoint one = draw_gamma(context, layer, rows, alpha),
                    other = draw_gamma(context, layer, rows, alpha);
    struct endpoint share =
        build_binary(b, "RealDiv", NULL, one, build_binary(b, "AddV2", NULL, one, other));

    return build_binary(b, "Reshape", NULL, share, build_const_ints(b, NULL, 4, dims));
}

/* Both gamma draws of a small alpha are often 0, which makes the share NaN. The distribution then
 * has nearly all its mass at 0 and 1, half of it each. */
static struct endpoint replace_nan(struct layer_context *context, const struct layer *layer,
                                   struct endpoint share)
{
    struct builder *b = &context->builder;
    const struct endpoint shape = build_unary(b, "Shape", NULL, share);
    struct endpoint coin = build_unary(b, "Round", NULL, draw_uniform(context, layer, shape));

    return build_select(b, build_unary(b, "IsNan", NULL, share), coin, share);
}

/* ---- MixUp ---- */

static const struct layer_arg mix_up_args[] = {
    { "alpha", ARG_NUMBER, "0.2" },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

static struct endpoint mix_up_build(struct layer_context *context, const struct layer *layer,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    double alpha = layer_arg(layer, "alpha")->number;

    if (!(alpha > 0)) {
        layer_fail(context, layer, "argument 'alpha' is %g, expected a number above 0", alpha);
        return x;
    }
    if (!augment_changes(context, layer, x))
        return x;
    struct endpoint partners = draw_partners(context, layer, x);
    struct endpoint share = draw_beta(context, layer, x, build_const_float(b, (float)alpha));
    share = replace_nan(context, layer, share);
    struct endpoint rest = build_binary(b, "Sub", NULL, build_const_float(b, 1), share);
    return build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, share, x),
                        build_binary(b, "Mul", NULL, rest, partners));
}
FLOAT_LAYER_CLASS(mix_up, "MixUp", mix_up_args, mix_up_build);

/* ---- CutMix ---- */

static const struct layer_arg cut_mix_args[] = {
    { "factor", ARG_VALUE, "1.0" },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

static struct endpoint cut_mix_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    double factor[2];

    if (!augment_range(context, layer, "factor", 0, factor) ||
        !augment_changes(context, layer, x) || !augment_sides_fit(context, layer, x))
        return x;
    struct endpoint alpha = draw_uniform(context, layer, build_const_ints(b, NULL, 0, NULL));
    alpha = build_by_number(b, "Mul", alpha, factor[1] - factor[0]);
    alpha = build_by_number(b, "AddV2", build_by_number(b, "AddV2", alpha, factor[0]), 1e-6);
    struct endpoint share = draw_beta(context, layer, x, alpha);
    struct endpoint ratio =
        build_unary(b, "Sqrt", NULL, build_binary(b, "Sub", NULL, build_const_float(b, 1), share));
    struct endpoint columns = augment_draw_span(context, layer, x, 2, ratio);
    struct endpoint cut = build_binary(b, "LogicalAnd", NULL, columns,
                                       augment_draw_span(context, layer, x, 1, ratio));
    return build_select(b, cut, draw_partners(context, layer, x), x);
}
FLOAT_LAYER_CLASS(cut_mix, "CutMix", cut_mix_args, cut_mix_build);

/* ---- MaxNumBoundingBoxes ---- */

/* Both arguments are about bounding boxes, which the images of a model do not have. */
static const struct layer_arg max_num_bounding_boxes_args[] = {
    { "max_number", ARG_INT, REQUIRED },
    { "fill_value", ARG_NUMBER, "-1" },
    DATA_FORMAT,
};

static struct endpoint max_num_bounding_boxes_build(struct layer_context *context,
                                                    const struct layer *layer, struct endpoint x)
{
    (void)context;
    (void)layer;
    return x;
}
FLOAT_LAYER_CLASS(max_num_bounding_boxes, "MaxNumBoundingBoxes", max_num_bounding_boxes_args,
                  max_num_bounding_boxes_build);
