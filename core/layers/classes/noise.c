/* noise: layers that draw random numbers in training, and otherwise pass x on. */
#include <math.h>

#include "layers/build_state.h"
#include "layers/classes/image.h"

struct endpoint layer_seed(struct layer_context *context, int64_t own)
{
    struct builder *b = &context->builder;
    const struct shape pair = shape_of(2);
    const int64_t offset[] = { own, ++context->build->random_count };
    struct tensor value = tensor_borrow(DT_INT64, &pair, offset);
    struct layers_graph *out = context->build->out;

    if (out->random_seed.node == NULL) {
        const char *scope = b->scope;
        b->scope = "";
        out->random_seed = build_placeholder(b, "random_seed", DT_INT64, pair);
        b->scope = scope;
    }
    /* Large odd factors keep the seeds of different layers and steps apart. */
    const int64_t factors[] = { 0x9e3779b97f4a7c15, 0x9e3779b97f4a7c15 };
    struct tensor spread = tensor_borrow(DT_INT64, &pair, factors);
    struct endpoint seed =
        build_binary(b, "Mul", NULL, out->random_seed, build_const(b, NULL, &spread));
    return build_binary(b, "AddV2", NULL, seed, build_const(b, NULL, &value));
}

/* The shape of x as a tensor, a constant if the batch size is known. */
static struct endpoint shape_of_noise(struct builder *b, struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    int32_t dims[SHAPE_RANK_MAX];

    if (!shape_is_known(shape))
        return build_unary(b, "Shape", NULL, x);
    for (int i = 0; i < shape->rank; i++)
        dims[i] = (int32_t)shape->dims[i];
    return build_const_ints(b, NULL, shape->rank, dims);
}

/* Random numbers for a tensor of this shape, by one of the ops StatelessRandom…. */
static struct endpoint draw(struct layer_context *context, const struct layer *layer,
                            const char *op, struct endpoint shape)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    struct endpoint drawn = build_binary(&context->builder, op, NULL, shape,
                                         layer_seed(context, seed->is_null ? 0 : seed->integer));
    return cast_to(context, drawn, DT_FLOAT);
}

/* Checks 0 <= argument < end (or <= if `closed`). Returns false on failure, and if the layer
 * does nothing. */
static bool is_noisy(struct layer_context *context, const struct layer *layer, const char *name,
                     bool closed)
{
    double value = layer_arg(layer, name)->number;

    if (!(value >= 0 && (value < 1 || (closed && value == 1)))) {
        layer_fail(context, layer, "argument '%s': got %g, expected 0 <= %s %s 1", name, value,
                   name, closed ? "<=" : "<");
        return false;
    }
    return context->mode == LAYERS_TRAIN && value != 0;
}

/* 1 with the probability 1 - rate, otherwise 0. The numbers that decide it are floats also if the
 * layer computes with 16 bits, where they would be too coarse for a rate of 0.01. */
static struct endpoint draw_kept(struct layer_context *context, double rate, int64_t seed,
                                 struct endpoint shape)
{
    struct builder *b = &context->builder;
    const enum dtype before = builder_set_float(b, DT_FLOAT);
    struct endpoint draws =
        build_binary(b, "StatelessRandomUniform", NULL, shape, layer_seed(context, seed));
    struct endpoint kept = build_by_number(b, "GreaterEqual", draws, rate);

    builder_set_float(b, before);
    return build_cast(b, NULL, kept, DT_FLOAT);
}

/* 1 where an element is kept, 0 elsewhere. */
static struct endpoint draw_mask(struct layer_context *context, const struct layer *layer,
                                 struct endpoint shape)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    return draw_kept(context, layer_arg(layer, "rate")->number, seed->is_null ? 0 : seed->integer,
                     shape);
}

struct endpoint layer_draw_dropout(struct layer_context *context, double rate, int64_t seed,
                                   struct endpoint like)
{
    struct builder *b = &context->builder;
    struct endpoint kept = draw_kept(context, rate, seed, shape_of_noise(b, like));

    return build_by_number(b, "Mul", kept, 1 / (1 - rate));
}

/* ---- Dropout, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D ---- */

static const struct layer_arg dropout_args[] = {
    { "rate", ARG_NUMBER, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
    { "noise_shape", ARG_VALUE, "null" },
};

/* Reads the argument "noise_shape": along a dimension of 1, all elements share a number; null and
 * the size of x draw one for each. Sets keeps[i] = 0 for the former. Returns false on failure. */
static bool read_noise_shape(struct layer_context *context, const struct layer *layer,
                             const struct shape *shape, int32_t keeps[SHAPE_RANK_MAX])
{
    const struct json_value *list = layer_arg(layer, "noise_shape")->value;
    bool fits = list->kind == JSON_VALUE_LIST && list->count == shape->rank;

    for (int i = 0; fits && i < shape->rank; i++) {
        const struct json_value *dim = &list->members[i];
        keeps[i] = !(dim->kind == JSON_VALUE_INT && dim->integer == 1);
        fits = json_value_is_null(dim) ||
               (dim->kind == JSON_VALUE_INT &&
                (dim->integer == 1 || (i > 0 && dim->integer == shape->dims[i])));
    }
    if (!fits)
        layer_fail(context, layer,
                   "argument 'noise_shape': got %s, expected null, 1 or the input's size for each "
                   "dimension of %s",
                   json_value_show(list, context->arena), shape_text(shape));
    return fits;
}

/* The shape of the numbers that Dropout draws for x. */
static struct endpoint shape_of_dropout(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape *shape = endpoint_shape(x);
    int32_t keeps[SHAPE_RANK_MAX], ones[SHAPE_RANK_MAX];
    struct endpoint whole = shape_of_noise(b, x);

    if (json_value_is_null(layer_arg(layer, "noise_shape")->value) ||
        !read_noise_shape(context, layer, shape, keeps))
        return whole;
    for (int i = 0; i < shape->rank; i++)
        ones[i] = 1 - keeps[i];
    whole = build_binary(b, "Mul", NULL, whole, build_const_ints(b, NULL, shape->rank, keeps));
    return build_binary(b, "AddV2", NULL, whole, build_const_ints(b, NULL, shape->rank, ones));
}

/* Scales up the kept elements, so that serving needs no change. */
static struct endpoint drop(struct layer_context *context, const struct layer *layer,
                            struct endpoint x, struct endpoint shape)
{
    struct builder *b = &context->builder;
    double rate = layer_arg(layer, "rate")->number;
    struct endpoint mask = draw_mask(context, layer, shape);

    return build_binary(b, "Mul", NULL, x, build_by_number(b, "Mul", mask, 1 / (1 - rate)));
}

static struct endpoint dropout_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    if (!is_noisy(context, layer, "rate", false))
        return x;
    return drop(context, layer, x, shape_of_dropout(context, layer, x));
}
MASKED_LAYER_CLASS(dropout, "Dropout", dropout_args, dropout_build);

static const struct layer_arg spatial_dropout1d_args[] = {
    { "rate", ARG_NUMBER, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
    { "noise_shape", ARG_NONE, "null" },
};
static const struct layer_arg spatial_dropout2d_args[] = {
    { "rate", ARG_NUMBER, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
    { "noise_shape", ARG_NONE, "null" },
    DATA_FORMAT,
};

/* Drops whole channels: all steps or pixels of a channel share one number. */
static struct endpoint drop_channels(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x, int rank)
{
    struct builder *b = &context->builder;
    int32_t begin[5] = { 0 }, size[] = { -1, 1, 1, 1, 1 };

    if (!layer_check_open(context, layer, x, rank, rank) ||
        !is_noisy(context, layer, "rate", false))
        return x;
    size[rank - 1] = -1;
    /* The mask has the shape of one step of the input. */
    struct endpoint step = build_slice(b, NULL, x, rank, begin, size);
    if (!status_is_ok(b->status))
        return x;
    return drop(context, layer, x, shape_of_noise(b, step));
}

static struct endpoint spatial_dropout1d_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    return drop_channels(context, layer, x, 3);
}
MASKED_LAYER_CLASS(spatial_dropout1d, "SpatialDropout1D", spatial_dropout1d_args,
                   spatial_dropout1d_build);

static struct endpoint spatial_dropout2d_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    return drop_channels(context, layer, x, 4);
}
MASKED_LAYER_CLASS(spatial_dropout2d, "SpatialDropout2D", spatial_dropout2d_args,
                   spatial_dropout2d_build);

static struct endpoint spatial_dropout3d_build(struct layer_context *context,
                                               const struct layer *layer, struct endpoint x)
{
    return drop_channels(context, layer, x, 5);
}
MASKED_LAYER_CLASS(spatial_dropout3d, "SpatialDropout3D", spatial_dropout2d_args,
                   spatial_dropout3d_build);

/* ---- StochasticDepth of keras.applications.convnext, and DropPath of KerasCV ---- */

static const struct layer_arg stochastic_depth_args[] = {
    { "drop_path_rate", ARG_NUMBER, REQUIRED },
};
static const struct layer_arg drop_path_args[] = {
    { "rate", ARG_NUMBER, "0.5" },
    { "seed", ARG_NULL_OR_INT, "null" },
};

/* Drops whole rows: all elements of a row share one number. */
static struct endpoint drop_rows(struct layer_context *context, const struct layer *layer,
                                 const char *rate, int64_t seed, struct endpoint x)
{
    struct builder *b = &context->builder;
    int32_t begin[SHAPE_RANK_MAX] = { 0 }, size[SHAPE_RANK_MAX] = { -1 };

    if (!status_is_ok(b->status) || !is_noisy(context, layer, rate, false))
        return x;
    int rank = endpoint_shape(x)->rank;
    for (int i = 1; i < rank; i++)
        size[i] = 1;
    struct endpoint like = build_slice(b, NULL, x, rank, begin, size);
    if (!status_is_ok(b->status))
        return x;
    return build_binary(b, "Mul", NULL, x,
                        layer_draw_dropout(context, layer_arg(layer, rate)->number, seed, like));
}

static struct endpoint stochastic_depth_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    return drop_rows(context, layer, "drop_path_rate", 0, x);
}
LAYER_CLASS(stochastic_depth, "StochasticDepth", stochastic_depth_args, stochastic_depth_build);

static struct endpoint drop_path_build(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    return drop_rows(context, layer, "rate", seed->is_null ? 0 : seed->integer, x);
}
LAYER_CLASS(drop_path, "DropPath", drop_path_args, drop_path_build);

/* ---- GaussianNoise, GaussianDropout, AlphaDropout ---- */

static const struct layer_arg gaussian_noise_args[] = {
    { "stddev", ARG_NUMBER, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
};

static struct endpoint gaussian_noise_build(struct layer_context *context,
                                            const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;

    if (!is_noisy(context, layer, "stddev", true))
        return x;
    struct endpoint noise = draw(context, layer, "StatelessRandomNormal", shape_of_noise(b, x));
    return build_binary(b, "AddV2", NULL, x,
                        build_by_number(b, "Mul", noise, layer_arg(layer, "stddev")->number));
}
MASKED_LAYER_CLASS(gaussian_noise, "GaussianNoise", gaussian_noise_args, gaussian_noise_build);

static const struct layer_arg gaussian_dropout_args[] = {
    { "rate", ARG_NUMBER, REQUIRED },
    { "seed", ARG_NULL_OR_INT, "null" },
};

/* Multiplies by numbers around 1 with variance rate / (1 - rate), that of dropout. */
static struct endpoint gaussian_dropout_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    double rate = layer_arg(layer, "rate")->number;

    if (!is_noisy(context, layer, "rate", false))
        return x;
    struct endpoint noise = draw(context, layer, "StatelessRandomNormal", shape_of_noise(b, x));
    noise =
        build_by_number(b, "AddV2", build_by_number(b, "Mul", noise, sqrt(rate / (1 - rate))), 1);
    return build_binary(b, "Mul", NULL, x, noise);
}
MASKED_LAYER_CLASS(gaussian_dropout, "GaussianDropout", gaussian_dropout_args,
                   gaussian_dropout_build);

/* Sets dropped elements to selu's limit -1.7581, then restores mean and variance. */
static struct endpoint alpha_dropout_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    struct builder *b = &context->builder;
    double rate = layer_arg(layer, "rate")->number;
    const double limit = -1.6732632423543772848 * 1.0507009873554804934;
    double scale = 1 / sqrt((1 - rate) * (1 + rate * limit * limit));

    if (!is_noisy(context, layer, "rate", false))
        return x;
    struct endpoint mask = draw_mask(context, layer, shape_of_dropout(context, layer, x));
    struct endpoint dropped = build_by_number(
        b, "Mul", build_binary(b, "Sub", NULL, build_const_float(b, 1), mask), limit);
    struct endpoint y =
        build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, x, mask), dropped);
    return build_by_number(b, "AddV2", build_by_number(b, "Mul", y, scale), -scale * limit * rate);
}
MASKED_LAYER_CLASS(alpha_dropout, "AlphaDropout", dropout_args, alpha_dropout_build);

/* ---- RandomFlip ---- */

static const struct layer_arg random_flip_args[] = {
    { "mode", ARG_CHOICE, "horizontal_and_vertical horizontal vertical" },
    { "seed", ARG_NULL_OR_INT, "null" },
    DATA_FORMAT,
};

/* Draws which half of the images are flipped: [batch, 1, 1, 1]. */
static struct endpoint draw_flips(struct layer_context *context, const struct layer *layer,
                                  struct endpoint x)
{
    struct builder *b = &context->builder;
    const int32_t begin[4] = { 0 }, size[] = { -1, 1, 1, 1 };
    struct endpoint corners = build_slice(b, NULL, x, 4, begin, size);

    if (!status_is_ok(b->status))
        return x;
    struct endpoint draws =
        draw(context, layer, "StatelessRandomUniform", shape_of_noise(b, corners));
    return build_by_number(b, "LessEqual", draws, 0.5);
}

/* As in Keras, a flipped image is flipped along all axes of the mode. */
static struct endpoint random_flip_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    struct builder *b = &context->builder;
    const char *mode = layer_arg(layer, "mode")->text;
    int32_t axes[2];
    int count = 0;

    if (!layer_check_open(context, layer, x, 4, 3) || context->mode != LAYERS_TRAIN)
        return x;
    if (strcmp(mode, "vertical") != 0)
        axes[count++] = 2;
    if (strcmp(mode, "horizontal") != 0)
        axes[count++] = 1;
    struct endpoint flips = draw_flips(context, layer, x);
    struct endpoint flipped =
        build_binary(b, "ReverseV2", NULL, x, build_const_ints(b, NULL, count, axes));
    return build_select(b, flips, flipped, x);
}
FLOAT_LAYER_CLASS(random_flip, "RandomFlip", random_flip_args, random_flip_build);
