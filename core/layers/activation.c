/* activation: Keras' activations by name, each emitted as nodes. Source:
 * keras/src/activations/activations.py. */
#include "layers/classes/classes.h"
#include "layers/read_layer.h"

struct formula {
    const char *name;
    const char *op; /* the activation is this single op; NULL: see build */
    struct endpoint (*build)(struct layer_context *context, struct endpoint x);
};

struct activation {
    const struct formula *formula; /* NULL: a layer, as in Dense(activation=LeakyReLU(0.2)) */
    struct layer layer;
};

/* Constants of the formulas are scalars that broadcast. */
static struct endpoint linear(struct layer_context *context, struct endpoint x)
{
    (void)context;
    return x;
}

static struct endpoint leaky_relu(struct layer_context *context, struct endpoint x)
{
    const struct attr attrs[] = { attr_float("alpha", 0.2f), ATTR_END };

    return build(&context->builder, "LeakyRelu", NULL, 1, &x, attrs);
}

static struct endpoint silu(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    return build_binary(b, "Mul", NULL, x, build_unary(b, "Sigmoid", NULL, x));
}

static struct endpoint mish(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint softplus = build_unary(b, "Softplus", NULL, x);

    return build_binary(b, "Mul", NULL, x, build_unary(b, "Tanh", NULL, softplus));
}

/* Keras' default, the exact form: x (1 + erf(x / √2)) / 2. */
static struct endpoint gelu(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint erf = build_unary(b, "Erf", NULL, build_by_number(b, "Mul", x, 0.70710678f));
    struct endpoint half = build_by_number(b, "Mul", x, 0.5f);

    return build_binary(b, "Mul", NULL, half, build_by_number(b, "AddV2", erf, 1));
}

/* relu6(x + 3) / 6; in Keras 2 0.2 x + 0.5 within [0, 1]. */
static struct endpoint hard_sigmoid(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    if (context->keras2) {
        struct endpoint line =
            build_by_number(b, "AddV2", build_by_number(b, "Mul", x, 0.2f), 0.5f);
        return build_by_number(b, "Minimum", build_unary(b, "Relu", NULL, line), 1);
    }
    return build_by_number(b, "RealDiv",
                           build_unary(b, "Relu6", NULL, build_by_number(b, "AddV2", x, 3)), 6);
}

static struct endpoint hard_silu(struct layer_context *context, struct endpoint x)
{
    return build_binary(&context->builder, "Mul", NULL, x, hard_sigmoid(context, x));
}

static struct endpoint log_sigmoid(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint negative = build_unary(b, "Neg", NULL, x);

    return build_unary(b, "Neg", NULL, build_unary(b, "Softplus", NULL, negative));
}

/* x within [-limit, limit] */
static struct endpoint clip(struct builder *b, struct endpoint x, float limit)
{
    const struct endpoint inputs[] = { x, build_const_float(b, -limit),
                                       build_const_float(b, limit) };

    return build(b, "ClipByValue", NULL, 3, inputs, NULL);
}

static struct endpoint hard_tanh(struct layer_context *context, struct endpoint x)
{
    return clip(&context->builder, x, 1);
}

/* x, but 0 from -1/2 to 1/2. */
static struct endpoint hard_shrink(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint far = build_by_number(b, "Greater", build_unary(b, "Abs", NULL, x), 0.5f);

    return build_select(b, far, x, build_unary(b, "ZerosLike", NULL, x));
}

/* x moved towards 0 by 1/2. */
static struct endpoint soft_shrink(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    return build_binary(b, "Sub", NULL, x, clip(b, x, 0.5f));
}

static struct endpoint tanh_shrink(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    return build_binary(b, "Sub", NULL, x, build_unary(b, "Tanh", NULL, x));
}

/* 0 up to -1, (x + 1)² / 4 up to 1, then x. */
static struct endpoint sparse_plus(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint root = build_by_number(b, "AddV2", clip(b, x, 1), 1);
    struct endpoint curve = build_by_number(b, "Mul", build_unary(b, "Square", NULL, root), 0.25f);
    struct endpoint rest = build_unary(b, "Relu", NULL, build_by_number(b, "Sub", x, 1));

    return build_binary(b, "AddV2", NULL, curve, rest);
}

/* (x + 1) / 2 within [0, 1] */
static struct endpoint sparse_sigmoid(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;

    return build_by_number(b, "Mul", build_by_number(b, "AddV2", clip(b, x, 1), 1), 0.5f);
}

/* (x + √(x² + 4)) / 2 */
static struct endpoint squareplus(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    struct endpoint sum = build_by_number(b, "AddV2", build_unary(b, "Square", NULL, x), 4);
    struct endpoint root = build_unary(b, "Sqrt", NULL, sum);

    return build_by_number(b, "Mul", build_binary(b, "AddV2", NULL, x, root), 0.5f);
}

/* a sigmoid(b), where a and b are the halves of the last axis. */
static struct endpoint glu(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct endpoint inputs[] = { build_const_int(b, -1), x };
    const struct attr attrs[] = { attr_int("num_split", 2), ATTR_END };
    struct endpoint halves = build(b, "Split", NULL, 2, inputs, attrs);

    return build_binary(b, "Mul", NULL, halves,
                        build_unary(b, "Sigmoid", NULL, (struct endpoint){ halves.node, 1 }));
}

/* For each element of x [..., n]: how often it occurs in the sum of the cumulative sums of the
 * largest elements, as long as these exceed their mean less 1 / their number; 0 if it is not
 * among them. *count: how many there are. Neither has a gradient. */
static struct endpoint sparsemax_weights(struct builder *b, struct endpoint x,
                                         struct endpoint *count)
{
    struct endpoint last = build_const_int(b, -1),
                    size = build_size(b, x, endpoint_shape(x)->rank - 1);
    struct endpoint end = build_by_number(b, "AddV2", build_cast(b, NULL, size, DT_FLOAT), 1);
    const struct endpoint range[] = { build_const_float(b, 1), end, build_const_float(b, 1) };
    const struct attr kept[] = { attr_bool("keep_dims", true), ATTR_END };
    const struct attr reverse[] = { attr_bool("reverse", true), ATTR_END };
    const struct attr rows[] = { attr_int("batch_dims", endpoint_shape(x)->rank - 1), ATTR_END };
    struct endpoint sorted =
        build_binary(b, "TopKV2", NULL, build_unary(b, "StopGradient", NULL, x), size);
    struct endpoint places = { sorted.node, 1 };
    struct endpoint over =
        build_by_number(b, "Sub", build_binary(b, "Cumsum", NULL, sorted, last), 1);
    over = build_binary(b, "RealDiv", NULL, over, build(b, "Range", NULL, 3, range, NULL));
    struct endpoint among = build_binary(b, "Greater", NULL, sorted, over);
    among = build_cast(b, NULL, among, DT_FLOAT);
    const struct endpoint summed[] = { among, last };
    *count = build(b, "Sum", NULL, 2, summed, kept);
    /* Undo the sort: the inverse permutation. */
    struct endpoint inverse =
        build_binary(b, "TopKV2", NULL, build_unary(b, "Neg", NULL, places), size);
    const struct endpoint moved[] = { build(b, "Cumsum", NULL, 2, summed, reverse),
                                      { inverse.node, 1 },
                                      last };
    return build_unary(b, "StopGradient", NULL, build(b, "GatherV2", NULL, 3, moved, rows));
}

/* max(0, x - threshold). The paper's threshold is (the sum of the k largest elements - 1) / k.
 * Keras uses the sum of their cumulative sums instead, so its outputs do not add up to 1. We
 * must return the same numbers as Keras. */
static struct endpoint sparsemax(struct layer_context *context, struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct attr kept[] = { attr_bool("keep_dims", true), ATTR_END };
    struct endpoint count;

    if (!status_is_ok(b->status))
        return x;
    struct endpoint weights = sparsemax_weights(b, x, &count);
    const struct endpoint weighted[] = { build_binary(b, "Mul", NULL, x, weights),
                                         build_const_int(b, -1) };
    struct endpoint over = build_by_number(b, "Sub", build(b, "Sum", NULL, 2, weighted, kept), 1);
    over = build_binary(b, "RealDiv", NULL, over, count);
    return build_unary(b, "Relu", NULL, build_binary(b, "Sub", NULL, x, over));
}

static const struct formula rows[] = {
    { "linear", NULL, linear },
    { "relu", "Relu", NULL },
    { "relu6", "Relu6", NULL },
    { "sigmoid", "Sigmoid", NULL },
    { "tanh", "Tanh", NULL },
    { "softmax", "Softmax", NULL },
    { "log_softmax", "LogSoftmax", NULL },
    { "softplus", "Softplus", NULL },
    { "softsign", "Softsign", NULL },
    { "elu", "Elu", NULL },
    { "selu", "Selu", NULL },
    { "exponential", "Exp", NULL },
    { "leaky_relu", NULL, leaky_relu },
    { "gelu", NULL, gelu },
    { "silu", NULL, silu },
    { "swish", NULL, silu },
    { "mish", NULL, mish },
    { "hard_sigmoid", NULL, hard_sigmoid },
    { "hard_silu", NULL, hard_silu },
    { "hard_swish", NULL, hard_silu },
    { "log_sigmoid", NULL, log_sigmoid },
    { "celu", "Elu", NULL }, /* with Keras' alpha, 1 */
    { "hard_tanh", NULL, hard_tanh },
    { "hard_shrink", NULL, hard_shrink },
    { "soft_shrink", NULL, soft_shrink },
    { "tanh_shrink", NULL, tanh_shrink },
    { "sparse_plus", NULL, sparse_plus },
    { "sparse_sigmoid", NULL, sparse_sigmoid },
    { "squareplus", NULL, squareplus },
    { "glu", NULL, glu },
    { "sparsemax", NULL, sparsemax },
};

/* The layers that may be the activation of another one. None has variables. */
static const struct layer_class *const layer_classes[] = {
    &layer_activation, &layer_relu,    &layer_leaky_relu,
    &layer_elu,        &layer_softmax, &layer_thresholded_relu,
};

static const struct layer_class *find_layer_class(const char *name)
{
    for (size_t i = 0; name != NULL && i < COUNT(layer_classes); i++)
        if (strcmp(layer_classes[i]->name, name) == 0)
            return layer_classes[i];
    return NULL;
}

static struct status read_layer(const struct json_value *value, struct arena *arena,
                                struct layer *out)
{
    TRY(layer_read(value, 0, arena, out));
    if (out->name == NULL)
        out->name = out->class->name;
    return status_ok();
}

struct status activation_read(const struct json_value *value, struct arena *arena,
                              const struct activation **out)
{
    const struct json_value *config;
    const char *name = named_object(value, &config);
    struct activation *activation = ARENA_NEW(arena, struct activation);
    struct buffer known = { 0 };

    *out = activation;
    for (size_t i = 0; name != NULL && i < COUNT(rows); i++)
        if (same_name(rows[i].name, name) && (config == NULL || config->count == 0)) {
            activation->formula = &rows[i];
            return status_ok();
        }
    if (config != NULL && find_layer_class(name) != NULL)
        return read_layer(value, arena, &activation->layer);
    if (name != NULL && same_name(name, "threshold"))
        return status_error(STATUS_UNIMPLEMENTED,
                            "activation 'threshold' needs its two arguments, which Keras prints "
                            "only if keras.activations.threshold is called with a tensor");
    for (size_t i = 0; i < COUNT(rows); i++)
        buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", rows[i].name);
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT, "%s is not an activation; known: %.*s",
                     json_value_show(value, arena), (int)known.size, known.data);
    buffer_finish(&known);
    return status;
}

struct endpoint activation_build(struct layer_context *context, const struct activation *activation,
                                 struct endpoint x)
{
    const struct formula *formula = activation->formula;

    if (formula == NULL)
        return layer_call_inner(context, &activation->layer, (struct layer_value){ .value = x });
    return formula->op != NULL ? build_unary(&context->builder, formula->op, NULL, x)
                               : formula->build(context, x);
}
