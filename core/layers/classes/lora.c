/*
 * lora: a layer with lora_rank does not train its kernel, but a change of it of low rank:
 *
 *     kernel + lora_alpha / lora_rank · a b        a [..., lora_rank], b [lora_rank, units]
 *
 * Source: enable_lora() in keras/src/layers/core/dense.py, einsum_dense.py, embedding.py and in
 * keras/src/layers/convolutional/base_conv.py
 */
#include "layers/classes/lora.h"

#include "layers/build_state.h"
#include "layers/classes/classes.h"
#include "layers/classes/spectral.h"

bool layer_has_lora(const struct layer *layer)
{
    return layer_arg_given(layer, "lora_rank", ARG_NULL_OR_INT) != NULL;
}

static bool can_change(struct layer_context *context, const struct layer *layer, const char *noun)
{
    int64_t rank = layer_arg(layer, "lora_rank")->integer;

    if (rank < 1 || rank > INT32_MAX)
        layer_fail(context, layer, "argument 'lora_rank': got %lld, expected 1 or more",
                   (long long)rank);
    else if (layer_arg_given(layer, arena_printf(context->arena, "%s_constraint", noun),
                             ARG_CONSTRAINT) != NULL)
        layer_fail(context, layer, "arguments 'lora_rank' and '%s_constraint': give one of them",
                   noun);
    else if (context->build->spectral != NULL && context->build->spectral->inner == layer)
        layer_refuse(context, layer, "argument 'lora_rank' inside a SpectralNormalization");
    return status_is_ok(context->builder.status);
}

/* One of the two factors. They have the regularizer of the kernel. */
static struct endpoint factor(struct layer_context *context, const struct layer *layer,
                              const char *noun, char which, struct shape shape,
                              const struct initializer *initializer)
{
    const struct arg_value *regularizer = layer_arg_given(
        layer, arena_printf(context->arena, "%s_regularizer", noun), ARG_REGULARIZER);

    return layer_variable_with(
        context, layer, arena_printf(context->arena, "lora_%s_%c", noun, which), shape, initializer,
        regularizer != NULL ? &regularizer->regularizer : NULL, layer->trainable);
}

bool lora_factors(struct layer_context *context, const struct layer *layer, const char *noun,
                  struct shape shape, struct endpoint *a, struct endpoint *b)
{
    const struct initializer he_uniform = { .kind = INITIALIZER_VARIANCE_SCALING,
                                            .a = 2,
                                            .fan = FAN_IN,
                                            .distribution = INITIALIZER_UNIFORM };
    const struct initializer zeros = { .kind = INITIALIZER_CONSTANT };

    if (!can_change(context, layer, noun))
        return false;
    int64_t rank = layer_arg(layer, "lora_rank")->integer, units = shape.dims[shape.rank - 1];
    shape.dims[shape.rank - 1] = rank;
    *a = factor(context, layer, noun, 'a', shape, &he_uniform);
    *b = factor(context, layer, noun, 'b', shape_of(rank, units), &zeros);
    return status_is_ok(context->builder.status);
}

double lora_scale(const struct layer *layer)
{
    const struct arg_value *alpha = layer_arg_given(layer, "lora_alpha", ARG_NULL_OR_NUMBER);

    return alpha != NULL ? alpha->number / (double)layer_arg(layer, "lora_rank")->integer : 1;
}

struct endpoint lora_change(struct layer_context *context, const struct layer *layer,
                            const char *noun, struct endpoint kernel)
{
    struct endpoint a, b;

    if (!layer_has_lora(layer) || !status_is_ok(context->builder.status))
        return kernel;
    const struct shape shape = *endpoint_shape(kernel);
    if (!lora_factors(context, layer, noun, shape, &a, &b))
        return kernel;
    struct endpoint change = build_dense_product(context, a, b, shape.dims[shape.rank - 1]);
    change = build_by_number(&context->builder, "Mul", change, lora_scale(layer));
    return build_binary(&context->builder, "AddV2", NULL, kernel, change);
}
