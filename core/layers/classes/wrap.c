/* wrap: layers that wrap another layer. */
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
    const int64_t outer = context->steps, sizes[] = { outer, steps };
    const struct layer *unpenalised = context->unpenalised;

    if (outer > 0 && !layer_check_size(context, inner, "the steps around it", 2, sizes))
        return rows.value;
    if (!context->keras2)
        context->steps = steps < 0 || outer < 0 ? -1 : outer == 0 ? steps : outer * steps;
    context->unpenalised = inner;
    struct endpoint y = layer_call_inner(context, inner, rows);
    context->unpenalised = unpenalised;
    context->steps = outer;
    return y;
}

/* The inner layer gets each step of each row as a row of its own. */
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
    struct layer_value rows = { .value = build_rows(b, x) };
    if (mask.node != NULL)
        rows.mask = build_rows(b, mask);
    struct endpoint y = call_with_steps(context, inner, rows, shape.dims[1]);
    if (!status_is_ok(b->status))
        return;
    if (endpoint_shape(y)->rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "an output of rank %d, at most %d", SHAPE_RANK_MAX + 1,
                   SHAPE_RANK_MAX);
        return;
    }
    io->outputs[0] = (struct layer_value){ .value = build_sequence(b, y, x), .mask = mask };
    io->outputs_count = 1;
}

const struct layer_class layer_time_distributed = { .name = "TimeDistributed",
                                                    .args = time_distributed_args,
                                                    .args_count = (int)COUNT(time_distributed_args),
                                                    .call = time_distributed_call,
                                                    .mask = mask_passed_on,
                                                    .any_dtype = true,
                                                    .hides_inner = true };
