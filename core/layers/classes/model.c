/* model: a nested model as a layer. */
#include "layers/build_model.h"
#include "layers/classes/classes.h"

/* Casts an input to the type of its InputLayer, and checks its shape. Returns false on failure. */
static bool fit_port(struct layer_context *context, const struct layer *layer,
                     const struct layers_port *port, struct layer_value *input)
{
    const struct shape *shape = endpoint_shape(input->value);
    bool text = port->dtype == DT_STRING || endpoint_dtype(input->value) == DT_STRING;
    enum tensor_layout layout = input->lists != NULL ? input->lists->layout : TENSOR_DENSE;
    /* A Sequential model may omit the shape and the type of its input. */
    bool any_dtype = port->dtype == DT_INVALID;
    bool fits = layout == port->layout && (port->shape.rank == 0 || layout != TENSOR_DENSE ||
                                           shape->rank == port->shape.rank);

    if (fits && layout == TENSOR_SPARSE)
        fits = input->lists->columns == port->shape.dims[1];
    for (int i = 1; fits && layout == TENSOR_DENSE && i < port->shape.rank; i++)
        fits = port->shape.dims[i] < 0 || shape->dims[i] == port->shape.dims[i];
    if (!fits || (text && !any_dtype && endpoint_dtype(input->value) != port->dtype)) {
        layer_fail(context, layer, "its input '%s' is %s %s, it is given %s %s", port->name,
                   dtype_name(port->dtype), shape_text(&port->shape),
                   dtype_name(endpoint_dtype(input->value)), shape_text(shape));
        return false;
    }
    if (layout == TENSOR_DENSE && !any_dtype)
        input->value = cast_to(context, input->value, port->dtype);
    return true;
}

static void model_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    const struct layers_model *model = layer->model;
    struct layer_io *ios = ARENA_ARRAY(context->arena, struct layer_io, model->calls_count);
    int count = 0;

    for (int i = 0; i < io->call->inputs_count; i++) {
        struct layer_value input = io->inputs[i];
        if (io->call->inputs[i].argument != NULL) /* the mask */
            continue;
        if (io->call->inputs_count > 1 && model->inputs_count == 1)
            input.mask = io_mask(io);
        if (count < model->inputs_count) {
            if (!fit_port(context, layer, &model->inputs[count], &input))
                return;
            if (count == 0 && io_tensor(io, "mask").value.node != NULL)
                give_mask_back(context, input.value); /* Keras sets it on the tensor */
            place_input(ios, &model->inputs[count], input);
        }
        count++;
    }
    if (count != model->inputs_count) {
        layer_fail(context, layer, "it has %d inputs, it is given %d", model->inputs_count, count);
        return;
    }
    if (model->outputs_count > LAYER_OUTPUTS_MAX) {
        layer_refuse(context, layer, "%d outputs; at most %d", model->outputs_count,
                     LAYER_OUTPUTS_MAX);
        return;
    }
    build_calls(context, model, ios);
    if (!status_is_ok(context->builder.status))
        return;
    io->outputs_count = model->outputs_count;
    for (int i = 0; i < model->outputs_count; i++)
        io->outputs[i] = output_of(context, model, &model->outputs[i], ios);
}

const struct layer_class layer_model = { .name = "Functional",
                                         .call = model_call,
                                         .takes_lists = true,
                                         .any_dtype = true,
                                         .precision = LAYER_ROUNDS_NOTHING,
                                         .mask = mask_passed_on };
