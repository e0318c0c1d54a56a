/* mask: Masking. */
#include "layers/classes/op.h"

/* ---- Masking ---- */

static const struct layer_arg masking_args[] = {
    { "mask_value", ARG_ANY_NUMBER, "0.0" },
};

/* Masks the steps whose features all equal mask_value, and sets them to 0. */
static void masking_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct builder *b = &context->builder;
    struct endpoint x = io->inputs[0].value;
    const struct shape *shape = endpoint_shape(x);
    const int32_t last = -1;

    if (shape->rank < 3) {
        layer_fail(context, layer, "the input has shape %s, expected [batch, steps, features]",
                   shape_text(shape));
        return;
    }
    struct endpoint value = op_number_like(context, x, layer_arg(layer, "mask_value")->number);
    struct endpoint counts =
        op_over_axes(b, "Any", build_binary(b, "NotEqual", NULL, x, value), 1, &last, true);
    op_give(io, build_select(b, counts, x, op_number_like(context, x, 0)));
    const int64_t behind = -1;
    io->outputs[0].mask =
        build(b, "Squeeze", NULL, 1, &counts,
              (const struct attr[]){ attr_ints(b, "squeeze_dims", 1, &behind), ATTR_END });
}

static const char *const one_input[] = { "inputs", NULL };
const struct layer_class layer_masking = { .name = "Masking",
                                           .args = masking_args,
                                           .args_count = (int)COUNT(masking_args),
                                           .call = masking_call,
                                           .call_args = one_input };
