/* wrap: layers that wrap another layer. */
#include "layers/build_state.h"
#include "layers/classes/classes.h"

static const struct layer_arg time_distributed_args[] = {
    { "layer", ARG_LAYER, REQUIRED },
};

/* Does the layer have a penalty of its output? */
static bool has_activity_penalty(const struct layer *layer)
{
    return layer->class == &layer_activity_regularization ||
           layer_activity_regularizer(layer) != NULL;
}

bool layer_can_be_inside(struct layer_context *context, const struct layer *inner)
{
    bool builds = inner->class->build != NULL || inner->class->call != NULL;

    if (!builds || inner->class == &layer_input)
        layer_fail(context, inner, "it cannot be inside another layer");
    else if (context->keras2 && has_activity_penalty(inner))
        layer_refuse(context, inner,
                     "a penalty of the output inside another layer, in a model of Keras 2");
    return status_is_ok(context->builder.status);
}

/* Is there a rank for the output with the axis of the steps? */
static bool has_rank_left(struct layer_context *context, const struct layer *layer,
                          struct endpoint y)
{
    if (status_is_ok(context->builder.status) && endpoint_shape(y)->rank == SHAPE_RANK_MAX)
        layer_fail(context, layer, "an output of rank %d, at most %d", SHAPE_RANK_MAX + 1,
                   SHAPE_RANK_MAX);
    return status_is_ok(context->builder.status);
}

/* Undoes the reshape of `sequence` to a row per step: y in the shape [batch, steps, …]. */
static struct endpoint build_sequence(struct builder *b, struct endpoint y,
                                      struct endpoint sequence)
{
    const struct shape shape = *endpoint_shape(y);
    int64_t dims[SHAPE_RANK_MAX] = { SIZE_OF(0), SIZE_OF(1) };
    struct endpoint sizes[SHAPE_RANK_MAX];
    bool is_open = false;

    for (int i = 1; i < shape.rank; i++) {
        dims[i + 1] = shape.dims[i];
        is_open |= shape.dims[i] < 0;
    }
    if (!is_open)
        return build_reshape(b, y, sequence, shape.rank + 1, dims);
    for (int i = 0; i <= shape.rank; i++)
        sizes[i] = i < 2 ? build_size(b, sequence, i) : build_size(b, y, i - 1);
    return build_binary(b, "Reshape", NULL, y, build(b, "Pack", NULL, shape.rank + 1, sizes, NULL));
}

/* Reshapes [batch, steps, …] to a row per step. */
static struct endpoint build_rows(struct builder *b, struct endpoint x)
{
    int64_t dims[SHAPE_RANK_MAX] = { SIZE_REST };
    int rank = endpoint_shape(x)->rank;

    for (int i = 2; i < rank; i++)
        dims[i - 1] = SIZE_OF(i);
    return build_reshape(b, x, x, rank - 1, dims);
}

/* Builds the inner layer on rows, of `steps` steps. Keras 3 calls its method `call`, which knows no
 * penalty of the output. */
static struct endpoint call_with_steps(struct layer_context *context, const struct layer *inner,
                                       struct layer_value rows, int64_t steps)
{
    const int64_t outer = context->build->steps, sizes[] = { outer, steps };
    const struct layer *unpenalised = context->build->unpenalised;

    if (outer > 0 && !layer_check_size(context, inner, "the steps around it", 2, sizes))
        return rows.value;
    if (!context->keras2)
        context->build->steps = steps < 0 || outer < 0 ? -1 : outer == 0 ? steps : outer * steps;
    context->build->unpenalised = inner;
    struct endpoint y = layer_call_inner(context, inner, rows);
    context->build->unpenalised = unpenalised;
    context->build->steps = outer;
    return y;
}

/* Does a call change the layer, so that the next one computes another function? */
static bool is_changed_by_calls(const struct layer *layer)
{
    const struct layer *inner;

    if (layer->class == &layer_spectral_normalization)
        return true;
    for (int i = 0; (inner = layer_inner(layer, i)) != NULL; i++)
        if (is_changed_by_calls(inner))
            return true;
    return false;
}

#define CALLS_IN_A_STEP_MAX 1000 /* of a layer that is built for each step of a sequence */

/* Counts the calls of the layer inside, one for each step. Returns false on failure. */
static bool count_calls(struct layer_context *context, const struct layer *layer, int64_t steps)
{
    const int64_t outer = context->build->calls > 0 ? context->build->calls : 1;

    if (steps > CALLS_IN_A_STEP_MAX / outer)
        layer_refuse(context, layer,
                     "the layer inside it is called for each of %lld steps; at most %lld such "
                     "calls are implemented",
                     (long long)steps, (long long)(CALLS_IN_A_STEP_MAX / outer));
    context->build->calls = outer * steps;
    return status_is_ok(context->builder.status);
}

/* The steps of [batch, steps, …], each [batch, …]. */
static struct node *build_steps(struct builder *b, struct endpoint sequence, int64_t steps)
{
    return build_node(
        b, "Unpack", NULL, 1, &sequence, 0, NULL,
        (const struct attr[]){ attr_int("num", steps), attr_int("axis", 1), ATTR_END });
}

/* Builds the inner layer for one step after the other, as Keras 3 calls it. */
static struct endpoint call_each_step(struct layer_context *context, const struct layer *layer,
                                      struct layer_value sequence)
{
    struct builder *b = &context->builder;
    const struct layer *inner = layer_arg(layer, "layer")->layer;
    const struct layer *unpenalised = context->build->unpenalised;
    const int64_t steps = endpoint_shape(sequence.value)->dims[1];
    struct endpoint *outputs = ARENA_ARRAY(context->arena, struct endpoint, (size_t)steps);
    struct node *values = build_steps(b, sequence.value, steps);
    struct node *masks = sequence.mask.node != NULL ? build_steps(b, sequence.mask, steps) : NULL;
    context->build->unpenalised = inner;
    for (int i = 0; i < steps && status_is_ok(b->status); i++) {
        struct layer_value step = { .value = { values, i } };
        if (masks != NULL)
            step.mask = (struct endpoint){ masks, i };
        outputs[i] = layer_call_inner(context, inner, step);
    }
    context->build->unpenalised = unpenalised;
    if (!has_rank_left(context, layer, outputs[0]))
        return sequence.value;
    return build(b, "Pack", NULL, (int)steps, outputs,
                 (const struct attr[]){ attr_int("axis", 1), ATTR_END });
}

/* Builds the inner layer once: each step of each row is a row of its own. */
static struct endpoint call_at_once(struct layer_context *context, const struct layer *layer,
                                    struct layer_value sequence)
{
    struct builder *b = &context->builder;
    const struct layer *inner = layer_arg(layer, "layer")->layer;
    struct layer_value rows = { .value = build_rows(b, sequence.value) };

    if (sequence.mask.node != NULL)
        rows.mask = build_rows(b, sequence.mask);
    struct endpoint y =
        call_with_steps(context, inner, rows, endpoint_shape(sequence.value)->dims[1]);
    return has_rank_left(context, layer, y) ? build_sequence(b, y, sequence.value) : sequence.value;
}

static void time_distributed_call(struct layer_context *context, const struct layer *layer,
                                  struct layer_io *io)
{
    struct builder *b = &context->builder;
    const struct layer *inner = layer_arg(layer, "layer")->layer;
    struct endpoint x = io->inputs[0].value, mask = io_mask(io);
    const struct shape shape = *endpoint_shape(x);

    if (shape.rank < 3)
        layer_fail(context, layer, "the input has shape %s, expected [batch, steps, …]",
                   shape_text(&shape));
    else if (mask.node != NULL && endpoint_shape(mask)->rank < 2)
        layer_fail(context, layer, "the mask has shape %s, expected [batch, steps]",
                   shape_text(endpoint_shape(mask)));
    if (!status_is_ok(b->status) || !layer_can_be_inside(context, inner))
        return;
    const struct layer_value sequence = { .value = x, .mask = mask };
    const int64_t outer = context->build->calls;
    bool each = !context->keras2 && shape.dims[1] > 0 && is_changed_by_calls(inner);
    if (each && !count_calls(context, layer, shape.dims[1]))
        return;
    struct endpoint y = each && context->mode == LAYERS_TRAIN
                            ? call_each_step(context, layer, sequence)
                            : call_at_once(context, layer, sequence);
    context->build->calls = outer;
    io->outputs[0] = (struct layer_value){ .value = y, .mask = mask };
    io->outputs_count = 1;
}

const struct layer_class layer_time_distributed = { .name = "TimeDistributed",
                                                    .args = time_distributed_args,
                                                    .args_count = (int)COUNT(time_distributed_args),
                                                    .call = time_distributed_call,
                                                    .mask = mask_passed_on,
                                                    .any_dtype = true,
                                                    .precision = LAYER_KEEPS_OUTPUTS,
                                                    .hides_inner = true };
