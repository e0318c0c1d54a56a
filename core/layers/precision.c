/* precision: layers that compute with 16 bits. Source: Keras' Layer.__call__ and DTypePolicy. */
#include "layers/precision.h"
#include "layers/build_state.h"

/* The type to which Keras promotes the floating inputs; float32 if there are none. */
static enum dtype promoted_type(int count, const struct layer_value *inputs)
{
    enum dtype type = DT_INVALID;

    for (int i = 0; i < count; i++) {
        enum dtype own = inputs[i].value.node != NULL ? endpoint_dtype(inputs[i].value) : type;
        if (dtype_is_floating(own))
            type = type == DT_INVALID || type == own ? own : DT_FLOAT;
    }
    return dtype_is_half(type) ? type : DT_FLOAT;
}

/* Casts floats of another type to this one. */
static struct endpoint round_to(struct layer_context *context, struct endpoint x, enum dtype dtype)
{
    bool is_other = status_is_ok(context->builder.status) && x.node != NULL &&
                    dtype_is_floating(endpoint_dtype(x)) && endpoint_dtype(x) != dtype;

    return is_other ? build_cast(&context->builder, NULL, x, dtype) : x;
}

static const struct layer_value *round_inputs(struct layer_context *context, enum dtype dtype,
                                              int count, const struct layer_value *inputs)
{
    struct layer_value *rounded = ARENA_ARRAY(context->arena, struct layer_value, count);

    for (int i = 0; i < count; i++) {
        rounded[i] = inputs[i];
        rounded[i].value = round_to(context, inputs[i].value, dtype);
    }
    return rounded;
}

struct endpoint layer_widen(struct layer_context *context, struct endpoint x, enum dtype *before)
{
    *before = builder_set_float(&context->builder, DT_FLOAT);
    return round_to(context, x, DT_FLOAT);
}

struct endpoint layer_narrow(struct layer_context *context, struct endpoint x, enum dtype before)
{
    builder_set_float(&context->builder, before);
    return before == DT_INVALID ? x : round_to(context, x, before);
}

bool precision_begin(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     struct precision *out)
{
    struct builder *b = &context->builder;
    const unsigned own = layer->class->precision;
    const int count = io->call->inputs_count;
    const bool widens = (own & LAYER_COMPUTES_FLOATS) != 0;

    out->type = own & LAYER_HAS_NO_POLICY     ? promoted_type(count, io->inputs)
                : dtype_is_half(layer->dtype) ? layer->dtype
                                              : DT_FLOAT;
    if (context->keras2 && dtype_is_half(out->type)) {
        layer_refuse(context, layer, "a policy of 16 bits in a model of Keras 2");
        return false;
    }
    out->float_dtype = builder_set_float(b, DT_FLOAT);
    out->rounds_variables = context->build->rounds_variables;
    if (!(own & LAYER_KEEPS_INPUTS))
        io->inputs = round_inputs(context, out->type, count, io->inputs);
    if (widens)
        io->inputs = round_inputs(context, DT_FLOAT, count, io->inputs);
    context->build->rounds_variables =
        dtype_is_half(out->type) && !(own & LAYER_KEEPS_VARIABLES) ? out->type : DT_INVALID;
    builder_set_float(b, widens ? DT_FLOAT : out->type);
    return true;
}

void precision_end(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                   const struct precision *precision)
{
    struct builder *b = &context->builder;

    builder_set_float(b, DT_FLOAT);
    for (int i = 0; i < io->outputs_count && !(layer->class->precision & LAYER_KEEPS_OUTPUTS); i++)
        io->outputs[i].value = round_to(context, io->outputs[i].value, precision->type);
    context->build->rounds_variables = precision->rounds_variables;
    builder_set_float(b, precision->float_dtype);
}
