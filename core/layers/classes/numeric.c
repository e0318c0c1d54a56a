/* numeric: Normalization and Discretization. */
#include <math.h>

#include "layers/classes/classes.h"
#include "layers/classes/preprocessing.h"

/* ---- Normalization ---- */

static const struct layer_arg normalization_args[] = {
    { "axis", ARG_VALUE, "-1" },
    { "mean", ARG_VALUE, "null" },
    { "variance", ARG_VALUE, "null" },
    { "invert", ARG_BOOL, "false" },
};

/* Keras' epsilon(): the smallest standard deviation. */
#define STDDEV_MIN 1e-7f

/* Reads the argument "axis"; null or an empty list: none. Marks the axes with a mean per index. */
static bool kept_axes(struct layer_context *context, const struct layer *layer, struct endpoint x,
                      bool kept[SHAPE_RANK_MAX])
{
    const struct json_value *axis = layer_arg(layer, "axis")->value;
    int32_t axes[SHAPE_RANK_MAX];

    memset(kept, 0, SHAPE_RANK_MAX * sizeof *kept);
    if (axis->kind == JSON_VALUE_LIST && axis->count == 0)
        return true;
    int count = layer_axes(context, layer, x, axes);
    for (int i = 0; i < count; i++)
        kept[axes[i]] = true;
    return count > 0 && layer_check_axes(context, layer, x, count, axes);
}

/* [1, 3] for x [batch, 3] with its last axis kept. */
static struct shape spread_shape(const struct shape *x, const bool *kept)
{
    struct shape shape = { .rank = x->rank };

    for (int i = 0; i < x->rank; i++)
        shape.dims[i] = kept[i] ? x->dims[i] : 1;
    return shape;
}

/* Aligns the dimensions of `given` with the last kept axes. */
static bool align(const struct shape *given, const bool *kept, const struct shape *spread,
                  struct shape *out)
{
    int left = given->rank;

    *out = (struct shape){ .rank = spread->rank };
    for (int i = spread->rank - 1; i >= 0; i--) {
        out->dims[i] = kept[i] && left > 0 ? given->dims[--left] : 1;
        if (out->dims[i] != 1 && out->dims[i] != spread->dims[i])
            return false;
    }
    return left == 0;
}

/* Reads "mean" or "variance" from the arguments or the state, in a shape that broadcasts over x. */
static bool read_moment(struct layer_context *context, const struct layer *layer, int index,
                        const bool *kept, const struct shape *spread, struct tensor *out)
{
    static const char *const names[] = { "mean", "variance" };
    static const float placeholders[] = { 0, 1 };
    const struct shape scalar = shape_scalar();
    struct shape shape;

    if (!json_value_is_null(layer_arg(layer, names[index])->value)) {
        if (!layer_numbers(context, layer, names[index], out))
            return false;
    } else if (layer->state != NULL) {
        *out = layer->state->tensors[index];
    } else {
        *out = tensor_borrow(DT_FLOAT, &scalar, &placeholders[index]);
    }
    if (!align(&out->shape, kept, spread, &shape)) {
        layer_fail(context, layer, "argument '%s' has shape %s, which does not fit %s",
                   names[index], shape_text(&out->shape), shape_text(spread));
        return false;
    }
    *out = tensor_borrow(DT_FLOAT, &shape, out->data);
    return true;
}

static struct endpoint stddev_const(struct layer_context *context, const struct tensor *variance)
{
    float *values = ARENA_ARRAY(context->arena, float, variance->size);

    for (int64_t i = 0; i < variance->size; i++)
        values[i] = fmaxf(sqrtf(tensor_floats(variance)[i]), STDDEV_MIN);
    struct tensor stddev = tensor_borrow(DT_FLOAT, &variance->shape, values);
    return build_const(&context->builder, "stddev", &stddev);
}

static bool check_moments(struct layer_context *context, const struct layer *layer, bool *given)
{
    bool mean = !json_value_is_null(layer_arg(layer, "mean")->value);
    bool variance = !json_value_is_null(layer_arg(layer, "variance")->value);

    *given = mean;
    if (mean != variance)
        layer_fail(context, layer,
                   "arguments 'mean' and 'variance': one is null; expected both or neither");
    return mean == variance;
}

static struct endpoint normalization_build(struct layer_context *context, const struct layer *layer,
                                           struct endpoint x)
{
    struct builder *b = &context->builder;
    struct layers_adapting adapting = { .kind = ADAPT_MOMENTS };
    struct tensor mean, variance;
    bool given;

    if (!status_is_ok(b->status) || !kept_axes(context, layer, x, adapting.kept) ||
        !check_moments(context, layer, &given))
        return x;
    struct shape spread = spread_shape(endpoint_shape(x), adapting.kept);
    if (!read_moment(context, layer, 0, adapting.kept, &spread, &mean) ||
        !read_moment(context, layer, 1, adapting.kept, &spread, &variance))
        return x;
    if (!given)
        layer_adapts(context, layer, &adapting, x);
    struct endpoint center = build_const(b, "mean", &mean);
    struct endpoint stddev = stddev_const(context, &variance);
    if (layer_arg(layer, "invert")->boolean)
        return build_binary(b, "AddV2", NULL, center, build_binary(b, "Mul", NULL, x, stddev));
    return build_binary(b, "RealDiv", NULL, build_binary(b, "Sub", NULL, x, center), stddev);
}
MASKED_LAYER_CLASS(normalization, "Normalization", normalization_args, normalization_build);

/* ---- Discretization ---- */

static const struct layer_arg discretization_args[] = {
    { "bin_boundaries", ARG_VALUE, "null" },
    { "num_bins", ARG_NULL_OR_INT, "null" },
    { "epsilon", ARG_NUMBER, "0.01" },
    { "output_mode", ARG_CHOICE, "int one_hot multi_hot count" },
    { "sparse", ARG_NONE, "false" },
};

/* Integers, until the boundaries are known. */
static struct tensor placeholder_boundaries(struct layer_context *context, int64_t bins)
{
    const struct shape shape = shape_of(bins - 1);
    float *values = ARENA_ARRAY(context->arena, float, bins);

    for (int64_t i = 0; i < bins - 1; i++)
        values[i] = (float)i;
    return tensor_borrow(DT_FLOAT, &shape, values);
}

#define BINS_MAX 1000000

static bool read_boundaries(struct layer_context *context, const struct layer *layer, bool *given,
                            struct tensor *out)
{
    const struct arg_value *bins = layer_arg(layer, "num_bins");

    *given = !json_value_is_null(layer_arg(layer, "bin_boundaries")->value);
    if (*given)
        return layer_numbers(context, layer, "bin_boundaries", out);
    if (bins->is_null || bins->integer < 1 || bins->integer > BINS_MAX) {
        layer_fail(context, layer, "needs 'bin_boundaries', or 'num_bins' from 1 to %d", BINS_MAX);
        return false;
    }
    *out = layer->state != NULL ? layer->state->tensors[0]
                                : placeholder_boundaries(context, bins->integer);
    return true;
}

static bool check_boundaries(struct layer_context *context, const struct layer *layer,
                             const struct tensor *boundaries)
{
    const float *values = tensor_floats(boundaries);
    bool rises = boundaries->shape.rank == 1;

    for (int64_t i = 1; rises && i < boundaries->size; i++)
        rises = values[i - 1] <= values[i];
    if (!rises)
        layer_fail(context, layer, "argument 'bin_boundaries' wants a list in rising order");
    return rises;
}

static struct endpoint discretization_build(struct layer_context *context,
                                            const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    const char *mode = layer_arg(layer, "output_mode")->text;
    struct tensor boundaries;
    bool given;

    if (!status_is_ok(b->status) || !read_boundaries(context, layer, &given, &boundaries) ||
        !check_boundaries(context, layer, &boundaries))
        return x;
    const struct layers_adapting adapting = { .kind = ADAPT_QUANTILES,
                                              .bins = layer_arg(layer, "num_bins")->integer,
                                              .epsilon = layer_arg(layer, "epsilon")->number };
    if (!given && !(adapting.epsilon > 0 && adapting.epsilon <= 1))
        layer_fail(context, layer, "argument 'epsilon' is %g; expected above 0, up to 1",
                   adapting.epsilon);
    if (!given)
        layer_adapts(context, layer, &adapting, x);
    const struct attr attrs[] = {
        attr_floats(b, "boundaries", (int)boundaries.size, tensor_floats(&boundaries)), ATTR_END
    };
    struct endpoint ids = build(b, "Bucketize", NULL, 1, &x, attrs);
    return encode_categories(context, layer, ids, mode, boundaries.size + 1);
}
const struct layer_class layer_discretization = {
    .name = "Discretization",
    .args = discretization_args,
    .args_count = (int)COUNT(discretization_args),
    .build = discretization_build,
    .precision = LAYER_COMPUTES_FLOATS,
    .inputs = LAYER_TAKES_NUMBERS,
};
