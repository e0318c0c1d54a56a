/* input: the inputs of a model in training and evaluation, as placeholders. */
#include "layers/build_model.h"
#include "layers/build_state.h"

static struct endpoint vector(struct layer_context *context, const char *name, const char *part,
                              enum dtype dtype, int64_t size)
{
    if (part != NULL)
        name = arena_printf(context->arena, "%s/%s", name, part);
    return build_placeholder(&context->builder, name, dtype, shape_of(size));
}

static void build_lists(struct layer_context *context, const struct layers_port *port,
                        const char *name, int64_t batch, int index)
{
    struct layers_graph *out = context->build->out;
    struct layer_lists *lists = ARENA_NEW(context->arena, struct layer_lists);
    bool sparse = port->layout == TENSOR_SPARSE;

    out->inputs[index] = vector(context, name, NULL, port->dtype, -1);
    if (sparse)
        out->lists[index].ids = vector(context, name, "ids", DT_INT64, -1);
    out->lists[index].row_splits =
        vector(context, name, "row_splits", DT_INT64, batch > 0 ? batch + 1 : -1);
    *lists = lists_of_splits(&context->builder, out->inputs[index], out->lists[index].ids,
                             out->lists[index].row_splits, batch, port->shape.dims[1]);
    context->build->lists[index] = lists;
}

void build_inputs(struct layer_context *context, const struct layers_model *model, int64_t batch)
{
    for (int i = 0; i < model->inputs_count; i++) {
        const struct layers_port *port = &model->inputs[i];
        struct shape shape = port->shape;
        const char *name = model->inputs_count == 1 ? "x" : port->name;
        shape.dims[0] = batch > 0 ? batch : -1;
        if (port->layout != TENSOR_DENSE)
            build_lists(context, port, name, batch, i);
        else
            context->build->out->inputs[i] =
                build_placeholder(&context->builder, name, port->dtype, shape);
    }
}
