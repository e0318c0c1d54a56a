/* Shapes that a node declares: of branches, loops and optionals. */
#include "graph/ops/infer.h"

struct status infer_output_shapes(struct infer_context *context)
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
