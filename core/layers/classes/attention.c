/*
 * attention: Attention, AdditiveAttention. Source: keras/src/layers/attention/.
 *
 * Shapes: [batch, T, features] of the query, [batch, S, features] of key and value; scores
 * [batch, T, S].
 */
#include "layers/classes/attention_scores.h"
#include "layers/classes/classes.h"

static const struct layer_arg attention_args[] = {
    { "use_scale", ARG_BOOL, "false" },
    { "score_mode", ARG_CHOICE, "dot concat" },
    { "dropout", ARG_NUMBER, "0.0" },
    { "seed", ARG_NULL_OR_INT, "null" },
};
static const struct layer_arg additive_args[] = {
    { "use_scale", ARG_BOOL, "true" },
    { "dropout", ARG_NUMBER, "0.0" },
    { "seed", ARG_NULL_OR_INT, "null" },
};
static const char *const attention_call_args[] = { "inputs",          "mask",
                                                   "training",        "return_attention_scores",
                                                   "use_causal_mask", NULL };

/* Σ scale · tanh(q + k) over the features, with scale inside or outside of tanh. */
static struct endpoint sum_scores(struct builder *b, struct endpoint query, struct endpoint key,
                                  struct endpoint inside, struct endpoint outside)
{
    struct endpoint sum = build_binary(b, "AddV2", NULL, scores_widen(b, query, 2),
                                       scores_widen(b, key, 1)); /* [batch, T, S, d] */

    if (inside.node != NULL)
        sum = build_binary(b, "Mul", NULL, sum, inside);
    sum = build_unary(b, "Tanh", NULL, sum);
    if (outside.node != NULL)
        sum = build_binary(b, "Mul", NULL, sum, outside);
    return build_binary(b, "Sum", NULL, sum, build_const_int(b, -1));
}

static struct endpoint number_variable(struct layer_context *context, const struct layer *layer,
                                       const char *name)
{
    const struct initializer one = { .kind = INITIALIZER_CONSTANT, .a = 1 };

    return layer_variable_with(context, layer, name, shape_scalar(), &one, NULL, layer->trainable);
}

static struct endpoint dot_scores(struct layer_context *context, const struct layer *layer,
                                  struct endpoint query, struct endpoint key)
{
    struct builder *b = &context->builder;
    bool scaled = layer_arg(layer, "use_scale")->boolean;
    struct endpoint scale = { 0 };

    if (scaled)
        scale = number_variable(context, layer, "scale");
    if (strcmp(layer_arg(layer, "score_mode")->text, "concat") == 0) {
        struct endpoint weight = number_variable(context, layer, "concat_score_weight");
        struct endpoint scores = sum_scores(b, query, key, scale, (struct endpoint){ 0 });
        return build_binary(b, "Mul", NULL, scores, weight);
    }
    struct endpoint scores = scores_product(b, query, key, true);
    return scaled ? build_binary(b, "Mul", NULL, scores, scale) : scores;
}

static struct endpoint additive_scores(struct layer_context *context, const struct layer *layer,
                                       struct endpoint query, struct endpoint key)
{
    const struct initializer glorot = { .kind = INITIALIZER_VARIANCE_SCALING,
                                        .a = 1,
                                        .fan = FAN_AVG,
                                        .distribution = INITIALIZER_UNIFORM };
    struct endpoint scale = { 0 };

    if (layer_arg(layer, "use_scale")->boolean)
        scale =
            layer_variable_with(context, layer, "scale", shape_of(endpoint_shape(query)->dims[2]),
                                &glorot, NULL, layer->trainable);
    return sum_scores(&context->builder, query, key, (struct endpoint){ 0 }, scale);
}

/* Reads the inputs query, value and key, and their masks: the given ones, or those of the
 * inputs. */
static bool read_inputs(struct layer_context *context, const struct layer *layer,
                        const struct layer_io *io, struct layer_value inputs[3])
{
    struct layer_value given[3];
    int count = io_tensors(io, "inputs", 3, inputs), masks = io_tensors(io, "mask", 3, given);

    if (count < 2) {
        layer_fail(context, layer,
                   "it has %d inputs, expected [query, value] or [query, value, key]", count);
        return false;
    }
    if (count == 2)
        inputs[2] = inputs[1];
    for (int i = 0; i < masks; i++)
        inputs[i].mask = given[i].value;
    for (int i = 0; i < 3; i++)
        if (!layer_check_open(context, layer, inputs[i].value, 3, 2))
            return false;
    const struct shape *query = endpoint_shape(inputs[0].value),
                       *value = endpoint_shape(inputs[1].value),
                       *key = endpoint_shape(inputs[2].value);
    if (query->dims[2] != key->dims[2] || !may_be_equal(value->dims[1], key->dims[1])) {
        layer_fail(context, layer, "query %s, value %s and key %s do not fit together",
                   shape_text(query), shape_text(value), shape_text(key));
        return false;
    }
    return layer_check_size(context, layer, "the scores", 3,
                            (const int64_t[]){ query->dims[1], key->dims[1], query->dims[2] });
}

static void attend(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                   struct endpoint (*score)(struct layer_context *, const struct layer *,
                                            struct endpoint, struct endpoint))
{
    struct builder *b = &context->builder;
    struct layer_value inputs[3];

    io->outputs[0] = io->inputs[0];
    io->outputs_count = 1;
    if (!read_inputs(context, layer, io, inputs))
        return;
    struct endpoint query = inputs[0].value, key = inputs[2].value;
    struct endpoint scores = score(context, layer, query, key);
    struct endpoint mask = scores_widen(b, inputs[1].mask, 1);
    if (io_flag(context, io, "use_causal_mask"))
        mask = scores_mask_and(
            b, mask,
            scores_band_mask(context, layer, query, key, (struct score_band){ .causal = true }));
    if (mask.node != NULL)
        scores = build_select(b, mask, scores, build_by_number(b, "Sub", scores, 1e9));
    struct endpoint weights = scores_drop(context, layer, build_unary(b, "Softmax", NULL, scores));
    struct endpoint y = scores_product(b, weights, inputs[1].value, false);
    if (inputs[0].mask.node != NULL)
        y = build_select(b, scores_widen(b, inputs[0].mask, 2), y, build_const_float(b, 0));
    io->outputs[0] = (struct layer_value){ .value = y, .mask = inputs[0].mask };
    io->outputs[1] = (struct layer_value){ .value = weights };
    io->outputs_count = io_flag(context, io, "return_attention_scores") ? 2 : 1;
}

static void attention_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    attend(context, layer, io, dot_scores);
}

static void additive_call(struct layer_context *context, const struct layer *layer,
                          struct layer_io *io)
{
    attend(context, layer, io, additive_scores);
}

const struct layer_class layer_attention = { .name = "Attention",
                                             .args = attention_args,
                                             .args_count = (int)COUNT(attention_args),
                                             .call = attention_call,
                                             .call_args = attention_call_args };
const struct layer_class layer_additive_attention = { .name = "AdditiveAttention",
                                                      .args = additive_args,
                                                      .args_count = (int)COUNT(additive_args),
                                                      .call = additive_call,
                                                      .call_args = attention_call_args };
