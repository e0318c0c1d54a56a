/* Shapes of branches and loops: what their node declares. */
#include "graph/ops/infer.h"

static struct status declared(struct infer_context *context)
{
    const struct attr_value *shapes = node_attr(context->node, "output_shapes");
    if (shapes == NULL || shapes->kind != ATTR_LIST ||
        shapes->count != context->node->outputs_count)
        return status_ok();
    for (int i = 0; i < shapes->count; i++)
        if (shapes->elements[i].kind == ATTR_SHAPE)
            infer_output(context, i, shapes->elements[i].shape);
    return status_ok();
}

struct status infer_branch(struct infer_context *context)
{
    return declared(context);
}

struct status infer_loop(struct infer_context *context)
{
    return declared(context);
}
