/* Gradients of composite tensors in a scalar: the gradient of one is one. Source: TensorFlow's
 * composite_tensor_ops.py. */
#include "graph/gradients/emit.h"

struct status gradient_composite_from_components(struct gradient_context *c)
{
    const struct endpoint encoded = dy(c);
    const struct attr attrs[] = { same_attr(c, "metadata"), same_attr(c, "Tcomponents"), ATTR_END };
    struct node *components = build_node(c->builder, "CompositeTensorVariantToComponents", NULL, 1,
                                         &encoded, 0, NULL, attrs);
    for (int i = 0; i < c->node->inputs_count; i++)
        if (c->wanted[i])
            send(c, i, (struct endpoint){ components, i });
    return status_ok();
}

/* A component without a gradient counts as zeros, or as itself if its type has no gradients, such
 * as the integers of row splits. */
struct status gradient_composite_to_components(struct gradient_context *c)
{
    const dtype_set trainable = DTYPES_FLOATING | DTYPES_COMPLEX | DTYPES(DT_VARIANT);
    int count = c->node->outputs_count;
    struct endpoint *components = ARENA_ARRAY(c->builder->graph->arena, struct endpoint, count);
    for (int i = 0; i < count; i++) {
        const struct endpoint component = { c->node, i };
        bool has_gradient = (trainable & DTYPES(endpoint_dtype(component))) != 0;
        components[i] = has_gradient ? dy_or_zeros(c, i) : component;
    }
    return flow(c, 0,
                build(c->builder, "CompositeTensorVariantFromComponents", NULL, count, components,
                      (struct attr[]){ same_attr(c, "metadata"), ATTR_END }));
}
