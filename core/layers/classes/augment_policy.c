/* augment_policy: RandAugment and AugMix, layers that apply some of the other augmentation
 * layers to each training batch. The formulas are Keras'. */

#include "base/random.h"
#include "layers/build_state.h"
#include "layers/classes/augment.h"
#include "layers/read_layer.h"

#define COUNT_MAX 32 /* limit of the operations in a row, and of the chains */

#define POLICY_ARGS                                                                                \
    { "value_range", ARG_VALUE, "[0, 255]" }, { "interpolation", ARG_CHOICE, "bilinear nearest" }, \
        { "seed", ARG_NULL_OR_INT, "null" }, DATA_FORMAT

/* The layers that a policy applies, and those of their arguments that are derived from the
 * policy's. */
static const struct applied_layer {
    const char *class_name;
    const char *factors[2]; /* arguments set to the policy's "factor"; NULL: none */
    bool has_bits;          /* "factor" is converted to a range of bits */
    const char *also;       /* the other argument */
    bool basic;             /* AugMix also applies it without "all_ops" */
} operations[] = {
    { "RandomShear", { "x_factor", "y_factor" }, false, "interpolation", true },
    { "RandomTranslation", { "height_factor", "width_factor" }, false, "interpolation", true },
    { "RandomRotation", { "factor", NULL }, false, "interpolation", true },
    { "RandomBrightness", { "factor", NULL }, false, "value_range", false },
    { "RandomColorDegeneration", { "factor", NULL }, false, "value_range", false },
    { "RandomContrast", { "factor", NULL }, false, "value_range", false },
    { "RandomSharpness", { "factor", NULL }, false, "value_range", false },
    { "RandomPosterization", { NULL, NULL }, true, "value_range", true },
    { "Solarization", { "addition_factor", "threshold_factor" }, false, "value_range", true },
    { "AutoContrast", { NULL, NULL }, false, "value_range", true },
    { "Equalization", { NULL, NULL }, false, "value_range", true },
};

/* The arguments that RandAugment and AugMix share. */
struct policy {
    double factor[2], values[2];
    const char *interpolation;
    int64_t seed;
};

static bool read_policy(struct layer_context *context, const struct layer *layer,
                        struct policy *out)
{
    const struct arg_value *seed = layer_arg(layer, "seed");

    *out = (struct policy){ .interpolation = layer_arg(layer, "interpolation")->text,
                            .seed = seed->is_null ? 0 : seed->integer };
    if (!augment_range(context, layer, "factor", 0, out->factor) ||
        !augment_value_range(context, layer, out->values))
        return false;
    if (!(out->factor[0] >= 0 && out->factor[1] <= 1)) {
        layer_fail(context, layer, "argument 'factor': expected numbers from 0 to 1");
        return false;
    }
    return true;
}

/* Reads an argument from 1 to COUNT_MAX. Returns false on failure. */
static bool read_count(struct layer_context *context, const struct layer *layer, const char *name,
                       int *out)
{
    int64_t count = layer_arg(layer, name)->integer;

    if (count > COUNT_MAX)
        layer_refuse(context, layer, "argument '%s': only up to %d are implemented", name,
                     COUNT_MAX);
    *out = (int)count;
    return count <= COUNT_MAX;
}

/* Makes the JSON description of an operation with the policy's arguments. */
static const char *describe(const struct applied_layer *operation, const struct policy *policy,
                            struct arena *arena)
{
    const char *text = "";
    int bits = (int)(8 * policy->factor[1]);

    for (size_t i = 0; i < COUNT(operation->factors) && operation->factors[i] != NULL; i++)
        text = arena_printf(arena, "%s\"%s\": [%.17g, %.17g], ", text, operation->factors[i],
                            policy->factor[0], policy->factor[1]);
    if (operation->has_bits)
        text = arena_printf(arena, "\"factor\": %d, ", bits > 1 ? bits : 1);
    if (*text != '\0') /* it draws numbers */
        text = arena_printf(arena, "%s\"seed\": %lld, ", text, (long long)policy->seed);
    const char *also =
        strcmp(operation->also, "interpolation") == 0
            ? arena_printf(arena, "\"%s\"", policy->interpolation)
            : arena_printf(arena, "[%.17g, %.17g]", policy->values[0], policy->values[1]);
    return arena_printf(arena, "{\"class_name\": \"%s\", \"config\": {%s\"%s\": %s}}",
                        operation->class_name, text, operation->also, also);
}

/* Applies an operation to the images. Errors are prefixed by the policy's name. */
static struct endpoint apply(struct layer_context *context, const struct layer *layer,
                             const struct applied_layer *operation, const struct policy *policy,
                             struct endpoint x)
{
    const struct json_value *description;
    struct layer inner;
    struct status status = json_value_read_strict(
        bytes_of(describe(operation, policy, context->arena)), context->arena, &description);

    if (status_is_ok(status))
        status = layer_read(description, 0, context->arena, &inner);
    if (!status_is_ok(status)) {
        layer_fail(context, layer, "%s", status.message);
        return x;
    }
    inner.name = layer->name;
    return layer_build(context, &inner, x);
}

/* Element `index` of a vector: []. */
static struct endpoint element(struct builder *b, struct endpoint vector, int32_t index)
{
    const struct endpoint inputs[] = { vector, build_const_int(b, index), build_const_int(b, 0) };

    return build(b, "GatherV2", NULL, 3, inputs, NULL);
}

/* ---- RandAugment ---- */

static const struct layer_arg rand_augment_args[] = {
    { "num_ops", ARG_INT, "2" },
    { "factor", ARG_VALUE, "0.5" },
    POLICY_ARGS,
};

/* Draws, for each step, the numbers of the operations to apply in a row: [count]. */
static struct endpoint draw_operations(struct layer_context *context, const struct layer *layer,
                                       int32_t count)
{
    struct builder *b = &context->builder;
    struct endpoint unit =
        build_binary(b, "StatelessRandomUniform", NULL, build_const_ints(b, NULL, 1, &count),
                     augment_seed(context, layer));

    return build_unary(b, "Floor", NULL,
                       build_by_number(b, "Mul", unit, (double)COUNT(operations)));
}

/* Applies the operation of this number to the images. */
static struct endpoint apply_number(struct layer_context *context, const struct layer *layer,
                                    const struct policy *policy, struct endpoint number,
                                    struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint out = x;

    for (size_t i = 0; i < COUNT(operations); i++) {
        struct endpoint is_chosen = build_by_number(b, "Equal", number, (double)i);
        struct endpoint changed = apply(context, layer, &operations[i], policy, x);
        out = build_select(b, is_chosen, changed, out);
    }
    return out;
}

static struct endpoint rand_augment_build(struct layer_context *context, const struct layer *layer,
                                          struct endpoint x)
{
    struct policy policy;
    int count;

    if (!read_policy(context, layer, &policy) || !read_count(context, layer, "num_ops", &count) ||
        !augment_changes(context, layer, x))
        return x;
    struct endpoint numbers = draw_operations(context, layer, count);
    int drawn = context->build->random_count;
    for (int i = 0; i < count; i++) {
        /* As in Keras, an operation that occurs twice draws the same numbers both times. */
        context->build->random_count = drawn;
        x = apply_number(context, layer, &policy, element(&context->builder, numbers, i), x);
    }
    return x;
}
FLOAT_LAYER_CLASS(rand_augment, "RandAugment", rand_augment_args, rand_augment_build);

/* ---- AugMix ---- */

static const struct layer_arg aug_mix_args[] = {
    { "num_chains", ARG_INT, "3" }, { "chain_depth", ARG_INT, "3" }, { "factor", ARG_VALUE, "0.3" },
    { "alpha", ARG_NUMBER, "1" },   { "all_ops", ARG_BOOL, "true" }, POLICY_ARGS,
};

/* Draws of a gamma distribution: [count]. */
static struct endpoint draw_gamma(struct layer_context *context, const struct layer *layer,
                                  int32_t count, double alpha)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { build_const_ints(b, NULL, 1, &count),
                                       augment_seed(context, layer),
                                       build_const_float(b, (float)alpha) };

    return build(b, "StatelessRandomGammaV2", NULL, 3, inputs, NULL);
}

/* Draws of a Dirichlet distribution, which add up to 1: [count]. With two, the first is a draw
 * of a beta distribution. */
static struct endpoint draw_shares(struct layer_context *context, const struct layer *layer,
                                   int32_t count, double alpha)
{
    struct builder *b = &context->builder;
    struct endpoint draws = draw_gamma(context, layer, count, alpha);

    return build_binary(b, "RealDiv", NULL, draws,
                        build_binary(b, "Sum", NULL, draws, build_const_int(b, 0)));
}

/* Chooses the next operation of a chain; NULL: none. All choices are equally likely. */
static const struct applied_layer *choose_operation(struct random *random, bool all)
{
    const struct applied_layer *choices[COUNT(operations) + 1];
    size_t count = 0;

    for (size_t i = 0; i < COUNT(operations); i++)
        if (all || operations[i].basic)
            choices[count++] = &operations[i];
    choices[count++] = NULL;
    return choices[random_below(random, count)];
}

/* Keras draws the operations of the chains while it traces the training step, so they are the
 * same in all steps. Here they follow from the layer's seed. */
static struct endpoint aug_mix_build(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x)
{
    struct builder *b = &context->builder;
    double alpha = layer_arg(layer, "alpha")->number;
    struct policy policy;
    struct random random;
    int chains, depth;

    if (!read_policy(context, layer, &policy) ||
        !read_count(context, layer, "num_chains", &chains) ||
        !read_count(context, layer, "chain_depth", &depth))
        return x;
    if (!(alpha > 0)) {
        layer_fail(context, layer, "argument 'alpha' is %g, expected a number above 0", alpha);
        return x;
    }
    if (!augment_changes(context, layer, x))
        return x;
    random_init(&random, (uint64_t)policy.seed, 0);
    struct endpoint weights = draw_shares(context, layer, chains, alpha);
    struct endpoint kept = element(b, draw_shares(context, layer, 2, alpha), 0);
    struct endpoint mixed = build_unary(b, "ZerosLike", NULL, x);
    for (int i = 0; i < chains; i++) {
        struct endpoint chain = x;
        for (int k = 0; k < depth; k++) {
            const struct applied_layer *operation =
                choose_operation(&random, layer_arg(layer, "all_ops")->boolean);
            if (operation != NULL)
                chain = apply(context, layer, operation, &policy, chain);
        }
        mixed = build_binary(b, "AddV2", NULL, mixed,
                             build_binary(b, "Mul", NULL, chain, element(b, weights, i)));
    }
    struct endpoint rest = build_binary(b, "Sub", NULL, build_const_float(b, 1), kept);
    mixed = build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, x, kept),
                         build_binary(b, "Mul", NULL, mixed, rest));
    return augment_clip(b, mixed, policy.values);
}
FLOAT_LAYER_CLASS(aug_mix, "AugMix", aug_mix_args, aug_mix_build);
