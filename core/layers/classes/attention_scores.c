#include "layers/classes/attention_scores.h"

#include <stdlib.h>

#include "layers/sizes.h"

struct endpoint scores_mask_and(struct builder *b, struct endpoint x, struct endpoint y)
{
    if (x.node == NULL || y.node == NULL)
        return x.node == NULL ? y : x;
    return build_binary(b, "LogicalAnd", NULL, x, y);
}

struct endpoint scores_widen(struct builder *b, struct endpoint x, int axis)
{
    if (x.node == NULL)
        return x;
    return build_expand_dims(b, x, axis);
}

/* Limit of the elements of a mask that is a constant of the graph. */
#define BAND_MAX (1 << 26)

static bool sees(const struct score_band *band, int64_t query, int64_t key)
{
    return (!band->causal || key <= query) &&
           (band->window == 0 || llabs(query - key) < band->window);
}

/* The band as a constant, [1, T, S]. */
static struct endpoint known_band(struct layer_context *context, const struct layer *layer,
                                  int64_t queries, int64_t keys, const struct score_band *band)
{
    const struct shape shape = shape_of(1, queries, keys);
    bool *values;

    if (queries * keys > BAND_MAX) {
        layer_refuse(context, layer, "a causal mask or window of %lld queries and %lld keys",
                     (long long)queries, (long long)keys);
        return (struct endpoint){ 0 };
    }
    values = ARENA_ARRAY(context->arena, bool, queries *keys);
    for (int64_t t = 0; t < queries; t++)
        for (int64_t s = 0; s < keys; s++)
            values[t * keys + s] = sees(band, t, s);
    struct tensor tensor = tensor_borrow(DT_BOOL, &shape, values);
    return build_const(&context->builder, NULL, &tensor);
}

/* The places of the steps of x, from 0, int32 [steps]. */
static struct endpoint places_of(struct builder *b, struct endpoint x)
{
    return build_range(b, build_size(b, x, 1));
}

/* The band for numbers of steps that are known only with a batch, [1, T, S]. */
static struct endpoint open_band(struct builder *b, struct endpoint query, struct endpoint key,
                                 const struct score_band *band)
{
    struct endpoint t = scores_widen(b, places_of(b, query), 1), s = places_of(b, key),
                    mask = { 0 };

    if (band->causal)
        mask = build_binary(b, "LessEqual", NULL, s, t);
    if (band->window != 0) {
        struct endpoint apart = build_unary(b, "Abs", NULL, build_binary(b, "Sub", NULL, t, s));
        int32_t window = band->window < INT32_MAX ? (int32_t)band->window : INT32_MAX;
        mask = scores_mask_and(b, mask,
                               build_binary(b, "Less", NULL, apart, build_const_int(b, window)));
    }
    return scores_widen(b, mask, 0);
}

struct endpoint scores_band_mask(struct layer_context *context, const struct layer *layer,
                                 struct endpoint query, struct endpoint key, struct score_band band)
{
    int64_t queries = endpoint_shape(query)->dims[1], keys = endpoint_shape(key)->dims[1];

    return queries < 0 || keys < 0 ? open_band(&context->builder, query, key, &band)
                                   : known_band(context, layer, queries, keys, &band);
}

struct endpoint scores_product(struct builder *b, struct endpoint x, struct endpoint y,
                               bool transpose_y)
{
    return build(b, "BatchMatMulV2", NULL, 2, (const struct endpoint[]){ x, y },
                 (const struct attr[]){ attr_bool("adj_y", transpose_y), ATTR_END });
}

struct endpoint scores_drop(struct layer_context *context, const struct layer *layer,
                            struct endpoint weights)
{
    double rate = layer_arg(layer, "dropout")->number;
    const struct arg_value *seed = layer_arg(layer, "seed");

    if (!(rate >= 0 && rate < 1))
        layer_fail(context, layer, "argument 'dropout': got %g, expected 0 <= dropout < 1", rate);
    if (rate == 0 || context->mode != LAYERS_TRAIN || !status_is_ok(context->builder.status))
        return weights;
    struct endpoint mask =
        layer_draw_dropout(context, rate, seed->is_null ? 0 : seed->integer, weights);
    return build_binary(&context->builder, "Mul", NULL, weights, mask);
}
