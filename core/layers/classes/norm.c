/* norm: layers that normalise their input. */
#include <math.h>

#include "layers/build_state.h"
#include "layers/classes/classes.h"

static struct endpoint reduce_kept(struct builder *b, const char *op, struct endpoint x, int count,
                                   const int32_t *axes)
{
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, count, axes) };

    return build(b, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
}

/* 1 / √(x + epsilon) */
static struct endpoint inverse_root(struct builder *b, struct endpoint x, double epsilon)
{
    return build_unary(b, "Rsqrt", NULL,
                       build_binary(b, "AddV2", NULL, x, build_const_float(b, (float)epsilon)));
}

/* x minus its mean along the axes, and 1 / √(variance + epsilon). */
static struct endpoint centred(struct builder *b, struct endpoint x, int count, const int32_t *axes,
                               double epsilon, struct endpoint *scale)
{
    struct endpoint y = build_binary(b, "Sub", NULL, x, reduce_kept(b, "Mean", x, count, axes));
    struct endpoint squares = build_unary(b, "Square", NULL, y);

    *scale = inverse_root(b, reduce_kept(b, "Mean", squares, count, axes), epsilon);
    return y;
}

/* ---- LayerNormalization ---- */

#define CENTER_AND_SCALE                                                                     \
    { "epsilon", ARG_NUMBER, "0.001" }, { "center", ARG_BOOL, "true" },                      \
        { "scale", ARG_BOOL, "true" }, { "beta_initializer", ARG_INITIALIZER, "\"Zeros\"" }, \
        { "gamma_initializer", ARG_INITIALIZER, "\"Ones\"" },                                \
        { "beta_regularizer", ARG_REGULARIZER, "null" },                                     \
        { "gamma_regularizer", ARG_REGULARIZER, "null" },                                    \
        { "beta_constraint", ARG_CONSTRAINT, "null" },                                       \
    {                                                                                        \
        "gamma_constraint", ARG_CONSTRAINT, "null"                                           \
    }

static const struct layer_arg layer_norm_args[] = {
    { "axis", ARG_VALUE, "-1" },
    CENTER_AND_SCALE,
    { "rms_scaling", ARG_NONE, "false" },
};

/* The shape of a variable with a value per index along the axes. */
static struct shape shape_along(const struct shape *shape, int count, const int32_t *axes)
{
    struct shape own = { .rank = count };

    for (int i = 0; i < count; i++)
        own.dims[i] = shape->dims[axes[i]];
    return own;
}

/* A variable of these axes, reshaped to the rank of the input: [1, …, axis, …, 1]. */
static struct endpoint spread_along(struct builder *b, struct endpoint value,
                                    const struct shape *shape, int count, const int32_t *axes)
{
    int32_t dims[SHAPE_RANK_MAX];

    if (axes[0] == shape->rank - count)
        return value; /* they are the last axes, along which broadcasting suffices */
    for (int i = 0; i < shape->rank; i++)
        dims[i] = 1;
    for (int i = 0; i < count; i++)
        dims[axes[i]] = (int32_t)shape->dims[axes[i]];
    return build_binary(b, "Reshape", NULL, value, build_const_ints(b, NULL, shape->rank, dims));
}

static struct endpoint along(struct layer_context *context, const struct layer *layer,
                             const char *name, const struct shape *shape, int count,
                             const int32_t *axes)
{
    struct endpoint value = layer_variable(context, layer, name, shape_along(shape, count, axes));

    return spread_along(&context->builder, value, shape, count, axes);
}

static struct endpoint layer_norm_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(x);
    int32_t axes[SHAPE_RANK_MAX];

    int count = layer_axes(context, layer, x, axes);
    if (count == 0 || !layer_check_axes(context, layer, x, count, axes))
        return x;
    struct endpoint scale;
    struct endpoint y = centred(b, x, count, axes, layer_arg(layer, "epsilon")->number, &scale);
    if (layer_arg(layer, "scale")->boolean)
        scale = build_binary(b, "Mul", NULL, scale,
                             along(context, layer, "gamma", &shape, count, axes));
    y = build_binary(b, "Mul", NULL, y, scale);
    if (layer_arg(layer, "center")->boolean)
        y = build_binary(b, "AddV2", NULL, y, along(context, layer, "beta", &shape, count, axes));
    return y;
}
const struct layer_class layer_layer_normalization = {
    .name = "LayerNormalization",
    .args = layer_norm_args,
    .args_count = (int)COUNT(layer_norm_args),
    .build = layer_norm_build,
    .mask = mask_passed_on,
    .precision = LAYER_ROUNDS_OUTPUTS,
};

/* ---- GroupNormalization ---- */

static const struct layer_arg group_norm_args[] = {
    { "groups", ARG_NULL_OR_INT, "32" },
    { "axis", ARG_NULL_OR_INT, "-1" },
    CENTER_AND_SCALE,
};

/* A variable [channels] as [1, …, groups, channels / groups, …, 1]. */
static struct endpoint of_groups(struct layer_context *context, const struct layer *layer,
                                 const char *name, int rank, int axis, int64_t groups,
                                 int64_t channels)
{
    struct builder *b = &context->builder;
    int32_t dims[SHAPE_RANK_MAX + 1];

    for (int i = 0; i <= rank; i++)
        dims[i] = 1;
    dims[axis] = (int32_t)groups;
    dims[axis + 1] = (int32_t)(channels / groups);
    return build_binary(b, "Reshape", NULL,
                        layer_variable(context, layer, name, shape_of(channels)),
                        build_const_ints(b, NULL, rank + 1, dims));
}

/* The number of groups; 0: failure. */
static int64_t groups_of(struct layer_context *context, const struct layer *layer, int64_t channels)
{
    const struct arg_value *wanted = layer_arg(layer, "groups");
    int64_t groups = wanted->is_null ? 32 : wanted->integer;

    if (groups == -1)
        groups = channels; /* instance normalization */
    if (groups >= 1 && groups <= channels && channels % groups == 0)
        return groups;
    layer_fail(context, layer, "%lld channels cannot be cut into %lld groups", (long long)channels,
               (long long)groups);
    return 0;
}

static struct endpoint group_norm_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(x);
    const struct arg_value *wanted = layer_arg(layer, "axis");
    int64_t apart[SHAPE_RANK_MAX + 1], joined[SHAPE_RANK_MAX];
    int32_t reduced[SHAPE_RANK_MAX];
    int count = 0;

    if (shape.rank >= SHAPE_RANK_MAX || !status_is_ok(b->status))
        return x;
    int axis = layer_axis(context, layer, wanted->is_null ? -1 : wanted->integer, shape.rank);
    if (axis == 0 || !layer_check_axes(context, layer, x, 1, &axis))
        return x;
    int64_t groups = groups_of(context, layer, shape.dims[axis]);
    if (groups == 0)
        return x;
    for (int i = 0; i < shape.rank; i++)
        joined[i] = apart[i <= axis ? i : i + 1] = SIZE_OF(i);
    apart[axis] = groups;
    apart[axis + 1] = shape.dims[axis] / groups;
    for (int i = 1; i <= shape.rank; i++)
        if (i != axis)
            reduced[count++] = i;
    struct endpoint scale;
    struct endpoint y = build_reshape(b, x, x, shape.rank + 1, apart);
    y = centred(b, y, count, reduced, layer_arg(layer, "epsilon")->number, &scale);
    if (layer_arg(layer, "scale")->boolean)
        scale = build_binary(
            b, "Mul", NULL, scale,
            of_groups(context, layer, "gamma", shape.rank, axis, groups, shape.dims[axis]));
    y = build_binary(b, "Mul", NULL, y, scale);
    if (layer_arg(layer, "center")->boolean)
        y = build_binary(
            b, "AddV2", NULL, y,
            of_groups(context, layer, "beta", shape.rank, axis, groups, shape.dims[axis]));
    return build_reshape(b, y, x, shape.rank, joined);
}
const struct layer_class layer_group_normalization = {
    .name = "GroupNormalization",
    .args = group_norm_args,
    .args_count = (int)COUNT(group_norm_args),
    .build = group_norm_build,
    .mask = mask_passed_on,
    .precision = LAYER_ROUNDS_OUTPUTS,
};

/* ---- UnitNormalization ---- */

struct endpoint build_unit_vectors(struct layer_context *context, struct endpoint x, int count,
                                   const int32_t *axes, float epsilon)
{
    struct builder *b = &context->builder;

    struct endpoint sum = reduce_kept(b, "Sum", build_unary(b, "Square", NULL, x), count, axes);
    if (context->keras2) {
        struct endpoint least = build_const_float(b, 1e-12f);
        sum = build_binary(b, "Maximum", NULL, sum, least);
        return build_binary(b, "Mul", NULL, x, build_unary(b, "Rsqrt", NULL, sum));
    }
    struct endpoint most = build_const_float(b, 1 / epsilon);
    struct endpoint scale =
        build_binary(b, "Minimum", NULL, build_unary(b, "Rsqrt", NULL, sum), most);
    return build_binary(b, "Mul", NULL, x, scale);
}

static const struct layer_arg unit_norm_args[] = {
    { "axis", ARG_VALUE, "-1" },
};

static struct endpoint unit_norm_build(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX];

    int count = layer_axes(context, layer, x, axes);
    return count == 0 ? x : build_unit_vectors(context, x, count, axes, 1e-12f);
}
MASKED_LAYER_CLASS(unit_normalization, "UnitNormalization", unit_norm_args, unit_norm_build);

/* ---- RMSNormalization ---- */

static const struct layer_arg rms_norm_args[] = {
    { "axis", ARG_VALUE, "-1" },
    { "epsilon", ARG_NUMBER, "1e-6" },
};

/* Are these the sizes of the last axes? */
static bool are_last_sizes(const struct shape *shape, const struct shape *sizes)
{
    bool same = sizes->rank <= shape->rank;

    for (int i = 0; same && i < sizes->rank; i++)
        same = shape->dims[shape->rank - sizes->rank + i] == sizes->dims[i];
    return same;
}

/* x / √(mean of x² + epsilon), times a variable that starts at 1. Keras multiplies along the last
 * axes even if the mean is along others of the same sizes; of other sizes, it fails. */
static struct endpoint rms_norm_build(struct layer_context *context, const struct layer *layer,
                                      struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct initializer ones = { .kind = INITIALIZER_CONSTANT, .a = 1 };
    const struct shape shape = *endpoint_shape(x);
    int32_t axes[SHAPE_RANK_MAX];

    int count = layer_axes(context, layer, x, axes);
    if (count == 0 || !layer_check_axes(context, layer, x, count, axes))
        return x;
    struct endpoint scale =
        inverse_root(b, reduce_kept(b, "Mean", build_unary(b, "Square", NULL, x), count, axes),
                     layer_arg(layer, "epsilon")->number);
    const struct shape own = shape_along(&shape, count, axes);
    struct endpoint variable =
        layer_variable_with(context, layer, "scale", own, &ones, NULL, layer->trainable);
    if (!are_last_sizes(&shape, &own))
        variable = spread_along(b, variable, &shape, count, axes);
    return build_binary(b, "Mul", NULL, build_binary(b, "Mul", NULL, x, scale), variable);
}
const struct layer_class layer_rms_normalization = {
    .name = "RMSNormalization",
    .args = rms_norm_args,
    .args_count = (int)COUNT(rms_norm_args),
    .build = rms_norm_build,
    .precision = LAYER_COMPUTES_FLOATS,
};

/* ---- LayerScale, of keras.applications.convnext ---- */

static const struct layer_arg layer_scale_args[] = {
    { "init_values", ARG_NUMBER, REQUIRED },
    { "projection_dim", ARG_INT, REQUIRED },
};

/* A trained factor for each channel. */
static struct endpoint layer_scale_build(struct layer_context *context, const struct layer *layer,
                                         struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);
    const struct initializer initializer = { .kind = INITIALIZER_CONSTANT,
                                             .a = layer_arg(layer, "init_values")->number };
    int64_t channels = layer_arg(layer, "projection_dim")->integer;

    if (!status_is_ok(context->builder.status))
        return x;
    if (shape->rank < 2 || shape->dims[shape->rank - 1] != channels) {
        layer_fail(context, layer, "the input has shape %s, expected %lld channels",
                   shape_text(shape), (long long)channels);
        return x;
    }
    return build_binary(&context->builder, "Mul", NULL, x,
                        layer_variable_with(context, layer, "gamma", shape_of(channels),
                                            &initializer, NULL, layer->trainable));
}
LAYER_CLASS(layer_scale, "LayerScale", layer_scale_args, layer_scale_build);

/* ---- BatchNormalization ---- */

static const struct layer_arg batch_norm_args[] = {
    { "axis", ARG_VALUE, "-1" },
    CENTER_AND_SCALE,
    { "momentum", ARG_NUMBER, "0.99" },
    { "moving_mean_initializer", ARG_INITIALIZER, "\"Zeros\"" },
    { "moving_variance_initializer", ARG_INITIALIZER, "\"Ones\"" },
    { "synchronized", ARG_BOOL, "false" }, /* layers_synchronized asks for it */
    { "renorm", ARG_NONE, "false" },
    { "renorm_clipping", ARG_NONE, "null" },
    { "renorm_momentum", ARG_VALUE, "null" }, /* of renorm only */
};

/* The mean and variance that normalise the input. */
struct moments {
    struct endpoint mean, variance; /* in the input's rank, with size 1 except along the axis */
};

/* A non-trainable variable. */
static struct endpoint statistic(struct layer_context *context, const struct layer *layer,
                                 const char *name, const struct shape *shape, int axis)
{
    const char *initializer = arena_printf(context->arena, "%s_initializer", name);

    return layer_variable_with(context, layer, name, shape_along(shape, 1, &axis),
                               &layer_arg(layer, initializer)->initializer, NULL, false);
}

/* The mean over the elements of the steps that count, whose number is `counted`. */
static struct endpoint masked_mean(struct builder *b, struct endpoint x, struct endpoint mask,
                                   struct endpoint counted, int count, const int32_t *axes)
{
    struct endpoint kept = build_select(b, mask, x, build_const_float(b, 0));

    return build_binary(b, "RealDiv", NULL, reduce_kept(b, "Sum", kept, count, axes), counted);
}

/* The moments over the steps that count. Keras adds its epsilon to their number. */
static struct moments masked_moments(struct builder *b, struct endpoint x, struct endpoint mask,
                                     int count, const int32_t *axes)
{
    struct moments out;

    mask = build_expand_dims(b, mask, -1);
    struct endpoint ones =
        build_select(b, mask, build_unary(b, "OnesLike", NULL, x), build_const_float(b, 0));
    struct endpoint counted =
        build_by_number(b, "AddV2", reduce_kept(b, "Sum", ones, count, axes), 1e-7);
    out.mean = masked_mean(b, x, mask, counted, count, axes);
    out.variance = masked_mean(b, build_binary(b, "SquaredDifference", NULL, x, out.mean), mask,
                               counted, count, axes);
    return out;
}

/* The mean and variance over the batch, towards which the moving averages move. `apart`: of each
 * index of axis 1 by itself. */
static struct moments batch_moments(struct layer_context *context, struct endpoint x,
                                    struct endpoint mask, int axis, bool apart)
{
    struct builder *b = &context->builder;
    int32_t axes[SHAPE_RANK_MAX];
    int rank = endpoint_shape(x)->rank, count = 0;

    for (int i = 0; i < rank; i++)
        if (i != axis && !(apart && i == 1))
            axes[count++] = i;
    if (mask.node != NULL)
        return masked_moments(b, x, mask, count, axes);
    struct moments out = { .mean = reduce_kept(b, "Mean", x, count, axes) };
    struct endpoint squares = build_binary(b, "SquaredDifference", NULL, x, out.mean);
    out.variance = reduce_kept(b, "Mean", squares, count, axes);
    return out;
}

/* The variance of n values times n / (n - 1). For images, Keras 2 uses a fused op that moves the
 * average towards this unbiased variance. */
static struct endpoint unbiased(struct layer_context *context, struct endpoint x,
                                struct endpoint variance, int64_t channels)
{
    struct builder *b = &context->builder;
    struct endpoint all = build_cast(b, NULL, build_unary(b, "Size", NULL, x), DT_FLOAT);
    struct endpoint n =
        build_binary(b, "RealDiv", NULL, all, build_const_float(b, (float)channels));
    struct endpoint less =
        build_binary(b, "Maximum", NULL, build_binary(b, "Sub", NULL, n, build_const_float(b, 1)),
                     build_const_float(b, 1));

    return build_binary(b, "Mul", NULL, variance, build_binary(b, "RealDiv", NULL, n, less));
}

/* Moments in the shape of their variable, [channels], or of several steps, [steps, channels]. */
static struct endpoint flat_moments(struct builder *b, struct endpoint moments, int64_t steps)
{
    const int32_t dims[] = { (int32_t)steps, -1 };

    return build_binary(b, "Reshape", NULL, moments,
                        build_const_ints(b, NULL, steps > 1 ? 2 : 1, steps > 1 ? dims : dims + 1));
}

/* The weights m^(steps - 1), …, m, 1 of moments [steps, channels], divided by their sum. */
static struct endpoint build_step_weights(struct layer_context *context, double momentum,
                                          int64_t steps)
{
    const struct shape column = shape_of(steps, 1);
    float *weights = ARENA_ARRAY(context->arena, float, steps);
    double sum = 0, weight = 1;

    for (int64_t i = 0; i < steps; i++, weight *= momentum)
        sum += weight;
    weight = 1 / sum;
    for (int64_t i = steps - 1; i >= 0; i--, weight *= momentum)
        weights[i] = (float)weight;
    const struct tensor tensor = tensor_borrow(DT_FLOAT, &column, weights);
    return build_const(&context->builder, NULL, &tensor);
}

/* Moves an average towards the moments of each step, one after the other: by m^steps towards their
 * weighted mean. */
static void move_average(struct layer_context *context, struct endpoint average,
                         struct endpoint moments, double momentum, int64_t steps)
{
    struct builder *b = &context->builder;
    const int32_t first = 0;

    moments = flat_moments(b, moments, steps);
    if (steps > 1) {
        moments =
            build_binary(b, "Mul", NULL, moments, build_step_weights(context, momentum, steps));
        moments = build_binary(b, "Sum", NULL, moments, build_const_ints(b, NULL, 1, &first));
        momentum = pow(momentum, (double)steps);
    }
    layer_move_average(context, average, moments, momentum);
}

/* The moments of this mode: those of the batch in training, and the moving averages otherwise or
 * if the layer is frozen. `steps` above 1: axis 1 of x, which is normalized step by step. */
static struct moments choose_moments(struct layer_context *context, const struct layer *layer,
                                     struct endpoint x, struct endpoint mask, int axis,
                                     int64_t steps)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(x);
    double momentum = layer_arg(layer, "momentum")->number;
    struct endpoint mean = statistic(context, layer, "moving_mean", &shape, axis);
    struct endpoint variance = statistic(context, layer, "moving_variance", &shape, axis);

    if (context->mode != LAYERS_TRAIN || !layer->trainable)
        return (struct moments){ spread_along(b, mean, &shape, 1, &axis),
                                 spread_along(b, variance, &shape, 1, &axis) };
    struct moments moments = batch_moments(context, x, mask, axis, steps > 1);
    struct endpoint moved = moments.variance;
    if (context->keras2 && shape.rank == 4)
        moved = unbiased(context, x, moved, shape.dims[axis]);
    move_average(context, mean, moments.mean, momentum, steps);
    move_average(context, variance, moved, momentum, steps);
    return moments;
}

/* Reads a single axis; -1: failure. */
static int batch_norm_axis(struct layer_context *context, const struct layer *layer,
                           struct endpoint x)
{
    int32_t axes[SHAPE_RANK_MAX];
    int count = layer_axes(context, layer, x, axes);

    if (count > 1)
        layer_fail(context, layer, "argument 'axis': %d axes, expected 1", count);
    return count == 1 && layer_check_axes(context, layer, x, 1, axes) ? axes[0] : -1;
}

static struct endpoint normalise(struct layer_context *context, const struct layer *layer,
                                 struct endpoint x, struct endpoint mask, int axis, int64_t steps)
{
    struct builder *b = &context->builder;
    const struct shape shape = *endpoint_shape(x);
    struct endpoint scale = { 0 }, offset = { 0 };

    if (layer_arg(layer, "scale")->boolean)
        scale = along(context, layer, "gamma", &shape, 1, &axis);
    if (layer_arg(layer, "center")->boolean)
        offset = along(context, layer, "beta", &shape, 1, &axis);
    struct moments moments = choose_moments(context, layer, x, mask, axis, steps);
    struct endpoint factor = inverse_root(b, moments.variance, layer_arg(layer, "epsilon")->number);
    if (scale.node != NULL)
        factor = build_binary(b, "Mul", NULL, factor, scale);
    struct endpoint shift = build_binary(b, "Mul", NULL, moments.mean, factor);
    shift = offset.node != NULL ? build_binary(b, "Sub", NULL, offset, shift)
                                : build_unary(b, "Neg", NULL, shift);
    return build_binary(b, "AddV2", NULL, build_binary(b, "Mul", NULL, x, factor), shift);
}

#define STEPS_MAX 65536 /* limit of the steps whose moments are separate */

/* Can training take the moments of each step of a TimeDistributed by itself? */
static bool can_split_steps(struct layer_context *context, const struct layer *layer, int rank)
{
    const int64_t steps = context->build->steps;

    if (steps < 0)
        layer_refuse(context, layer,
                     "training inside a TimeDistributed with an open number of steps: give the "
                     "InputLayer a size");
    else if (steps > STEPS_MAX || (steps > 1 && rank == SHAPE_RANK_MAX))
        layer_refuse(context, layer, "training inside a TimeDistributed: %lld steps and rank %d",
                     (long long)steps, rank);
    return status_is_ok(context->builder.status);
}

/* Makes the steps of the rows an axis of their own, after the batch: [batch, steps, …]. */
static struct endpoint split_steps(struct builder *b, struct endpoint x, int64_t steps)
{
    int64_t dims[SHAPE_RANK_MAX + 1] = { SIZE_REST, steps };
    int rank = endpoint_shape(x)->rank;

    for (int i = 1; i < rank; i++)
        dims[i + 1] = SIZE_OF(i);
    return build_reshape(b, x, x, rank + 1, dims);
}

static struct endpoint normalise_batch(struct layer_context *context, const struct layer *layer,
                                       struct endpoint x, struct endpoint mask)
{
    struct builder *b = &context->builder;
    const int64_t steps = context->build->steps;
    int64_t dims[SHAPE_RANK_MAX];
    int rank = endpoint_shape(x)->rank;

    int axis = batch_norm_axis(context, layer, x);
    if (axis < 0)
        return x;
    if (layer->trainable && !can_split_steps(context, layer, rank))
        return x;
    if (steps <= 1 || !layer->trainable || context->mode != LAYERS_TRAIN)
        return normalise(context, layer, x, mask, axis, 1);
    if (mask.node != NULL)
        mask = split_steps(b, mask, steps);
    struct endpoint y = normalise(context, layer, split_steps(b, x, steps), mask, axis + 1, steps);
    for (int i = 0; i < rank; i++)
        dims[i] = i == 0 ? SIZE_REST : SIZE_OF(i);
    return build_reshape(b, y, x, rank, dims);
}

static struct endpoint batch_norm_build(struct layer_context *context, const struct layer *layer,
                                        struct endpoint x)
{
    return normalise_batch(context, layer, x, (struct endpoint){ 0 });
}

/* With a mask, Keras 3 takes the moments of the unmasked steps only. */
static struct endpoint batch_norm_masked(struct layer_context *context, const struct layer *layer,
                                         const struct layer_io *io, struct endpoint x)
{
    struct endpoint mask = context->keras2 ? (struct endpoint){ 0 } : io_mask(io);

    if (mask.node != NULL && status_is_ok(context->builder.status) &&
        endpoint_shape(mask)->rank != endpoint_shape(x)->rank - 1) {
        layer_fail(context, layer, "a mask of shape %s for an input of shape %s",
                   shape_text(endpoint_shape(mask)), shape_text(endpoint_shape(x)));
        return x;
    }
    return normalise_batch(context, layer, x, mask);
}

static bool is_synchronized(const struct layer *layer)
{
    return layer->class == &layer_batch_normalization && layer->trainable &&
           layer_arg(layer, "synchronized")->boolean;
}

static const struct layer *find_synchronized(const struct layer *layer)
{
    const struct layer *inner, *found = is_synchronized(layer) ? layer : NULL;

    for (int i = 0; found == NULL && (inner = layer_inner(layer, i)) != NULL; i++)
        found = find_synchronized(inner);
    return found;
}

const char *layers_synchronized(const struct layers_model *model)
{
    const struct layer *found = NULL;

    for (int i = 0; found == NULL && i < model->layers_count; i++)
        found = find_synchronized(&model->layers[i]);
    return found != NULL ? found->name : NULL;
}

const struct layer_class layer_batch_normalization = {
    .name = "BatchNormalization",
    .args = batch_norm_args,
    .args_count = (int)COUNT(batch_norm_args),
    .build = batch_norm_build,
    .build_masked = batch_norm_masked,
    .precision = LAYER_KEEPS_VARIABLES | LAYER_COMPUTES_FLOATS,
    .mask = mask_passed_on,
};
