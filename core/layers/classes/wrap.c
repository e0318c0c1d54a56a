/* wrap: layers that wrap another layer. */
#include "layers/classes/classes.h"

static const struct layer_arg time_distributed_args[] = {
    { "layer", ARG_LAYER, REQUIRED },
};

bool layer_can_be_inside(struct layer_context *context, const struct layer *inner)
{
    bool penalised = inner->class == &layer_activity_regularization;

    for (int i = 0; i < inner->class->args_count; i++)
        penalised = penalised ||
                    (inner->class->args[i].kind == ARG_REGULARIZER && !inner->args[i].is_null &&
                     strcmp(inner->class->args[i].name, "activity_regularizer") == 0);
    if (inner->class->build != NULL && inner->class != &layer_input && !penalised)
        return true;
    layer_fail(context, inner,
               penalised ? "a penalty of the output cannot be inside another layer"
                         : "it cannot be inside another layer");
    return false;
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

/* The inner layer gets each step of each row as a row of its own. */
static struct endpoint time_distributed_build(struct layer_context *context,
                                              const struct layer *layer, struct endpoint x)
{
    struct builder *b = &context->builder;
    const struct layer *inner = layer_arg(layer, "layer")->layer;
    const char *scope = b->scope;
    const struct shape shape = *endpoint_shape(x);
    int64_t dims[SHAPE_RANK_MAX] = { SIZE_REST };
    struct endpoint sequence = x;

    if (shape.rank < 3)
        layer_fail(context, layer, "the input has shape %s, expected [batch, steps, …]",
                   shape_text(&shape));
    if (!status_is_ok(b->status) || !layer_can_be_inside(context, inner))
        return x;
    for (int i = 2; i < shape.rank; i++)
        dims[i - 1] = SIZE_OF(i);
    x = build_reshape(b, x, x, shape.rank - 1, dims);
    b->scope = arena_printf(context->arena, "%s/", inner->name);
    struct endpoint y = layer_build(context, inner, x);
    b->scope = scope;
    if (!status_is_ok(b->status))
        return y;
    if (endpoint_shape(y)->rank == SHAPE_RANK_MAX) {
        layer_fail(context, layer, "an output of rank %d, at most %d", SHAPE_RANK_MAX + 1,
                   SHAPE_RANK_MAX);
        return y;
    }
    return build_sequence(b, y, sequence);
}

const struct layer_class layer_time_distributed = { .name = "TimeDistributed",
                                                    .args = time_distributed_args,
                                                    .args_count = (int)COUNT(time_distributed_args),
                                                    .build = time_distributed_build,
                                                    .mask = mask_passed_on,
                                                    .hides_inner = true };
