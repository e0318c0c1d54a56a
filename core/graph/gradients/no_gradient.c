/* Ops without a gradient, and ops through which no gradient flows. */
#include "graph/gradient.h"
#include "graph/gradients/gradients.h"

struct status gradient_none(struct gradient_context *context)
{
    return status_error(STATUS_UNIMPLEMENTED, "node '%s': the op '%s' has no gradient",
                        context->node->name, context->node->op_name);
}

struct status gradient_stop(struct gradient_context *context)
{
    (void)context; /* the inputs' gradients stay null */
    return status_ok();
}
