/* merge: layers that combine several inputs into one output. */
#include "layers/classes/classes.h"

/* ---- element by element ---- */

/* Gives all inputs the same rank, with dimensions of 1 after the batch, as Keras does. Returns
 * NULL on failure. */
static struct endpoint *same_rank(struct layer_context *context, int count,
                                  const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    struct endpoint *out = ARENA_ARRAY(context->arena, struct endpoint, count);
    int rank = 0;

    for (int i = 0; i < count; i++) {
        if (!status_is_ok(b->status))
            return NULL;
        rank = endpoint_shape(inputs[i])->rank > rank ? endpoint_shape(inputs[i])->rank : rank;
    }
    for (int i = 0; i < count; i++) {
        const struct shape *shape = endpoint_shape(inputs[i]);
        int64_t dims[SHAPE_RANK_MAX] = { SIZE_OF(0) };
        out[i] = inputs[i];
        if (shape->rank == rank)
            continue;
        for (int k = 1; k < rank; k++) {
            int from = k - (rank - shape->rank);
            dims[k] = from < 1 ? 1 : SIZE_OF(from);
        }
        out[i] = build_reshape(b, inputs[i], inputs[i], rank, dims);
    }
    return out;
}

bool layer_check_broadcast(struct layer_context *context, const struct layer *layer,
                           struct endpoint a, struct endpoint b)
{
    const struct shape *x = endpoint_shape(a), *y = endpoint_shape(b);

    for (int i = 1; i < x->rank; i++)
        if (x->dims[i] != y->dims[i] && x->dims[i] > 1 && y->dims[i] > 1) {
            layer_fail(context, layer, "inputs of shapes %s and %s do not fit together",
                       shape_text(x), shape_text(y));
            return false;
        }
    return true;
}

/* op(… op(op(a, b), c) …) */
static struct endpoint fold(struct layer_context *context, const struct layer *layer, int count,
                            const struct endpoint *inputs, const char *op)
{
    struct endpoint *same = same_rank(context, count, inputs);
    struct endpoint y = inputs[0];

    if (same == NULL)
        return y;
    y = same[0];
    for (int i = 1; i < count && layer_check_broadcast(context, layer, y, same[i]); i++) {
        y = build_binary(&context->builder, op, NULL, y, same[i]);
        if (!status_is_ok(context->builder.status))
            return y;
    }
    return y;
}

static bool wants_two(struct layer_context *context, const struct layer *layer, int count)
{
    if (count != 2)
        layer_fail(context, layer, "it has %d inputs, expected 2", count);
    return count == 2;
}

static struct endpoint add_build(struct layer_context *context, const struct layer *layer,
                                 int count, const struct endpoint *inputs)
{
    return fold(context, layer, count, inputs, "AddV2");
}

static struct endpoint subtract_build(struct layer_context *context, const struct layer *layer,
                                      int count, const struct endpoint *inputs)
{
    if (!wants_two(context, layer, count))
        return inputs[0];
    return fold(context, layer, count, inputs, "Sub");
}

static struct endpoint multiply_build(struct layer_context *context, const struct layer *layer,
                                      int count, const struct endpoint *inputs)
{
    return fold(context, layer, count, inputs, "Mul");
}

static struct endpoint average_build(struct layer_context *context, const struct layer *layer,
                                     int count, const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    struct endpoint sum = fold(context, layer, count, inputs, "AddV2");

    return build_binary(b, "RealDiv", NULL, sum, build_const_float(b, (float)count));
}

static struct endpoint maximum_build(struct layer_context *context, const struct layer *layer,
                                     int count, const struct endpoint *inputs)
{
    return fold(context, layer, count, inputs, "Maximum");
}

static struct endpoint minimum_build(struct layer_context *context, const struct layer *layer,
                                     int count, const struct endpoint *inputs)
{
    return fold(context, layer, count, inputs, "Minimum");
}

/* ---- of inputs with masks, in Keras 3: an input does not count where its mask is false ---- */

/* The masks as [batch, steps, 1]; a null node: none. Those of inputs that `same` gives another rank
 * are lost. Returns NULL on failure. */
static struct endpoint *spread_masks(struct layer_context *context, const struct layer *layer,
                                     int count, const struct endpoint *inputs,
                                     const struct endpoint *same, const struct endpoint *masks)
{
    struct endpoint *out = ARENA_ARRAY(context->arena, struct endpoint, count);

    for (int i = 0; i < count && status_is_ok(context->builder.status); i++) {
        const struct shape *shape = endpoint_shape(inputs[i]);
        if (masks[i].node == NULL || endpoint_shape(same[i])->rank != shape->rank)
            continue;
        if (endpoint_shape(masks[i])->rank != shape->rank - 1)
            layer_fail(context, layer, "a mask of shape %s for an input of shape %s",
                       shape_text(endpoint_shape(masks[i])), shape_text(shape));
        out[i] = build_expand_dims(&context->builder, masks[i], -1);
    }
    return status_is_ok(context->builder.status) ? out : NULL;
}

static struct endpoint or_masks(struct builder *b, struct endpoint mask, struct endpoint other)
{
    if (mask.node == NULL || other.node == NULL)
        return (struct endpoint){ 0 };
    return build_binary(b, "LogicalOr", NULL, mask, other);
}

/* A factor is 1 where its mask is false. The product is 0 where all masks are. */
static struct endpoint multiply_masked(struct layer_context *context, const struct layer *layer,
                                       int count, const struct endpoint *inputs,
                                       const struct endpoint *masks)
{
    struct builder *b = &context->builder;
    struct endpoint *same = same_rank(context, count, inputs), any;

    masks = same != NULL ? spread_masks(context, layer, count, inputs, same, masks) : NULL;
    if (masks == NULL)
        return inputs[0];
    any = masks[0];
    for (int i = 0; i < count; i++) {
        any = i > 0 ? or_masks(b, any, masks[i]) : any;
        if (masks[i].node != NULL)
            same[i] = build_select(b, masks[i], same[i], build_const_float(b, 1));
    }
    struct endpoint y = fold(context, layer, count, same, "Mul");
    return any.node != NULL && status_is_ok(b->status)
               ? build_select(b, any, y, build_const_float(b, 0))
               : y;
}

/* Maximum or Minimum of inputs with masks: where the mask excludes one side, takes the other
 * side. */
static struct endpoint extreme_masked(struct layer_context *context, const struct layer *layer,
                                      int count, const struct endpoint *inputs,
                                      const struct endpoint *masks, const char *op)
{
    struct builder *b = &context->builder;
    struct endpoint *same = same_rank(context, count, inputs);

    masks = same != NULL ? spread_masks(context, layer, count, inputs, same, masks) : NULL;
    if (masks == NULL)
        return inputs[0];
    struct endpoint y = same[0], mask = masks[0];
    for (int i = 1;
         i < count && status_is_ok(b->status) && layer_check_broadcast(context, layer, y, same[i]);
         i++) {
        struct endpoint x = same[i];
        if (masks[i].node != NULL)
            x = build_select(b, masks[i], x, y);
        if (mask.node != NULL)
            y = build_select(b, mask, y, x);
        mask = or_masks(b, mask, masks[i]);
        y = build_binary(b, op, NULL, y, x);
    }
    return y;
}

static struct endpoint maximum_masked(struct layer_context *context, const struct layer *layer,
                                      int count, const struct endpoint *inputs,
                                      const struct endpoint *masks)
{
    return extreme_masked(context, layer, count, inputs, masks, "Maximum");
}

static struct endpoint minimum_masked(struct layer_context *context, const struct layer *layer,
                                      int count, const struct endpoint *inputs,
                                      const struct endpoint *masks)
{
    return extreme_masked(context, layer, count, inputs, masks, "Minimum");
}

#define FOLD(noun, text, masked)                                                         \
    const struct layer_class layer_##noun = {                                            \
        .name = text, .merge = noun##_build, .merge_masked = masked, .mask = mask_of_any \
    }
FOLD(add, "Add", NULL);
FOLD(subtract, "Subtract", NULL);
FOLD(multiply, "Multiply", multiply_masked);
FOLD(average, "Average", NULL);
FOLD(maximum, "Maximum", maximum_masked);
FOLD(minimum, "Minimum", minimum_masked);
#undef FOLD

/* ---- Concatenate ---- */

static const struct layer_arg concatenate_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};

/* Are the shapes equal except for the batch and `axis`? */
static bool same_but(const struct shape *a, const struct shape *b, int axis)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 1; i < a->rank; i++)
        if (i != axis && !may_be_equal(a->dims[i], b->dims[i]))
            return false;
    return true;
}

static struct endpoint concatenate_build(struct layer_context *context, const struct layer *layer,
                                         int count, const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    const struct arg_value *wanted = layer_arg(layer, "axis");
    const struct shape *first = endpoint_shape(inputs[0]);
    struct endpoint *all = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    int axis = layer_axis(context, layer, wanted->is_null ? -1 : wanted->integer, first->rank);

    for (int i = 0; i < count && axis > 0; i++) {
        const struct shape *shape = endpoint_shape(inputs[i]);
        if (!same_but(first, shape, axis)) {
            layer_fail(context, layer, "inputs of shapes %s and %s do not fit along axis %d",
                       shape_text(first), shape_text(shape), axis);
            return inputs[0];
        }
        all[i] = inputs[i];
    }
    if (axis == 0 || count == 1)
        return inputs[0];
    all[count] = build_const_int(b, axis);
    return build(b, "ConcatV2", NULL, count + 1, all, NULL);
}

/* bool [batch, steps], all true. */
static struct endpoint every_step(struct builder *b, struct endpoint x)
{
    const int32_t last = -1;
    struct endpoint ones = build_unary(b, "OnesLike", NULL, x);

    ones = build_cast(b, NULL, ones, DT_BOOL);
    return build_binary(b, "All", NULL, ones, build_const_ints(b, NULL, 1, &last));
}

/* Along the steps, masks are concatenated too. Along the features, a step is unmasked if it is
 * so in any input; inputs without a mask are unmasked everywhere. */
static struct endpoint concatenate_mask(struct layer_context *context, const struct layer *layer,
                                        const struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct arg_value *wanted = layer_arg(layer, "axis");
    int count = io->call->inputs_count, rank = endpoint_shape(io->inputs[0].value)->rank;
    int axis = layer_axis(context, layer, wanted->is_null ? -1 : wanted->integer, rank);
    struct endpoint *all = ARENA_ARRAY(context->arena, struct endpoint, count + 1);
    bool any = false;

    for (int i = 0; i < count; i++)
        any = any || io->inputs[i].mask.node != NULL;
    if (!any || axis != 1)
        return any ? mask_of_any(context, layer, io) : (struct endpoint){ 0 };
    if (rank != 3) {
        layer_refuse(context, layer, "masked inputs of rank %d; only 3 is implemented", rank);
        return (struct endpoint){ 0 };
    }
    for (int i = 0; i < count; i++)
        all[i] = io->inputs[i].mask.node != NULL ? io->inputs[i].mask
                                                 : every_step(b, io->inputs[i].value);
    all[count] = build_const_int(b, axis);
    return build(b, "ConcatV2", NULL, count + 1, all, NULL);
}

const struct layer_class layer_concatenate = {
    .inputs = LAYER_TAKES_ALIKE,
    .name = "Concatenate",
    .args = concatenate_args,
    .args_count = (int)COUNT(concatenate_args),
    .merge = concatenate_build,
    .mask = concatenate_mask,
};

/* ---- Dot ---- */

static const struct layer_arg dot_args[] = {
    { "axes", ARG_VALUE, REQUIRED },
    { "normalize", ARG_BOOL, "false" },
};

static bool dot_axes(struct layer_context *context, const struct layer *layer,
                     const struct endpoint *inputs, int32_t axes[2])
{
    const struct json_value *value = layer_arg(layer, "axes")->value;
    bool pair = value->kind == JSON_VALUE_LIST && value->count == 2;

    for (int i = 0; i < 2; i++) {
        const struct json_value *axis = pair ? &value->members[i] : value;
        if (axis->kind != JSON_VALUE_INT) {
            layer_fail(context, layer, "argument 'axes' wants an integer or two");
            return false;
        }
        axes[i] = layer_axis(context, layer, axis->integer, endpoint_shape(inputs[i])->rank);
        if (axes[i] == 0)
            return false;
    }
    return true;
}

/* Reshapes to [batch, rest, axis]: moves the axis last and flattens the dimensions in between. */
static struct endpoint as_matrices(struct builder *b, struct endpoint x, int axis)
{
    const struct shape shape = *endpoint_shape(x);
    int32_t order[SHAPE_RANK_MAX], size = (int32_t)shape.dims[axis];
    int count = 0;

    for (int i = 0; i < shape.rank; i++)
        if (i != axis)
            order[count++] = i;
    order[count++] = axis;
    if (axis != shape.rank - 1)
        x = build_binary(b, "Transpose", NULL, x, build_const_ints(b, NULL, count, order));
    if (shape.rank == 3)
        return x;
    int64_t rest = 1;
    for (int i = 1; i < shape.rank; i++)
        rest *= i == axis ? 1 : shape.dims[i];
    const int32_t dims[] = { -1, (int32_t)rest, size };
    return build_binary(b, "Reshape", NULL, x, build_const_ints(b, NULL, 3, dims));
}

/* The dimensions of both inputs without the batch and the axes; at least [batch, 1]. */
static struct endpoint dot_shape(struct builder *b, const struct endpoint *inputs,
                                 const int32_t *axes)
{
    int32_t dims[2 * SHAPE_RANK_MAX] = { -1 };
    int rank = 1;

    for (int i = 0; i < 2; i++)
        for (int k = 1; k < endpoint_shape(inputs[i])->rank; k++)
            if (k != axes[i])
                dims[rank++] = (int32_t)endpoint_shape(inputs[i])->dims[k];
    if (rank == 1)
        dims[rank++] = 1;
    return build_const_ints(b, NULL, rank, dims);
}

/* The dot product along an axis of each input, for each row of the batch. */
static struct endpoint dot_build(struct layer_context *context, const struct layer *layer,
                                 int count, const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    struct endpoint matrices[2];
    int32_t axes[2];

    if (!wants_two(context, layer, count))
        return inputs[0];
    if (!status_is_ok(b->status))
        return inputs[0];
    const struct shape *left = endpoint_shape(inputs[0]), *right = endpoint_shape(inputs[1]);
    bool matrix = left->rank == 3 && right->rank == 3;
    for (int i = 0; i < 2; i++)
        if (!layer_check_known(context, layer, inputs[i], matrix ? 3 : 1))
            return inputs[0];
    if (!dot_axes(context, layer, inputs, axes))
        return inputs[0];
    if (!may_be_equal(left->dims[axes[0]], right->dims[axes[1]]) ||
        left->rank + right->rank - 2 > SHAPE_RANK_MAX) {
        layer_fail(context, layer, "inputs of shapes %s and %s do not fit along axes %d and %d",
                   shape_text(left), shape_text(right), axes[0], axes[1]);
        return inputs[0];
    }
    for (int i = 0; i < 2; i++) {
        bool normalize = layer_arg(layer, "normalize")->boolean;
        struct endpoint x =
            normalize ? build_unit_vectors(context, inputs[i], 1, &axes[i], 1e-7f) : inputs[i];
        matrices[i] = as_matrices(b, x, axes[i]);
    }
    struct endpoint product = build(b, "BatchMatMulV2", NULL, 2, matrices,
                                    (const struct attr[]){ attr_bool("adj_y", true), ATTR_END });
    return matrix ? product : build_binary(b, "Reshape", NULL, product, dot_shape(b, inputs, axes));
}
MERGE_CLASS(dot, "Dot", dot_args, dot_build);

/* ---- CustomScaleLayer, of keras.applications.inception_resnet_v2 ---- */

static const struct layer_arg custom_scale_args[] = {
    { "scale", ARG_NUMBER, REQUIRED },
};

/* The first input and `scale` times the second one. */
static struct endpoint custom_scale_build(struct layer_context *context, const struct layer *layer,
                                          int count, const struct endpoint *inputs)
{
    struct builder *b = &context->builder;

    if (!wants_two(context, layer, count))
        return inputs[0];
    struct endpoint second =
        build_by_number(b, "Mul", inputs[1], layer_arg(layer, "scale")->number);
    return fold(context, layer, 2, (const struct endpoint[]){ inputs[0], second }, "AddV2");
}
MERGE_CLASS(custom_scale, "CustomScaleLayer", custom_scale_args, custom_scale_build);

/* ---- StochasticDepth of KerasCV ---- */

static const struct layer_arg depth_args[] = {
    { "rate", ARG_NUMBER, "0.5" },
};

/* The first input and, by one draw for the whole batch, the second one or nothing. Otherwise, the
 * second one counts by the probability. */
static struct endpoint depth_build(struct layer_context *context, const struct layer *layer,
                                   int count, const struct endpoint *inputs)
{
    struct builder *b = &context->builder;
    double rate = layer_arg(layer, "rate")->number;
    struct endpoint factor = build_const_float(b, (float)(1 - rate));

    if (!wants_two(context, layer, count))
        return inputs[0];
    if (!(rate >= 0 && rate <= 1))
        layer_fail(context, layer, "argument 'rate': got %g, expected 0 <= rate <= 1", rate);
    if (context->mode == LAYERS_TRAIN) {
        struct endpoint scalar = build_const_ints(b, NULL, 0, NULL); /* its shape */
        struct endpoint draw =
            build_binary(b, "StatelessRandomUniform", NULL, scalar, layer_seed(context, 0));
        draw = cast_to(context, draw, DT_FLOAT);
        factor = build_cast(b, NULL, build_by_number(b, "GreaterEqual", draw, rate), DT_FLOAT);
    }
    struct endpoint second = build_binary(b, "Mul", NULL, inputs[1], factor);
    return fold(context, layer, 2, (const struct endpoint[]){ inputs[0], second }, "AddV2");
}
MERGE_CLASS(depth_of_cv, "StochasticDepth", depth_args, depth_build);
