/* Gradients of optionals: the gradient of an optional is one. Source: TensorFlow's
 * optional_grad.py. */
#include "graph/gradients/emit.h"

struct status gradient_optional_from_value(struct gradient_context *c)
{
    int count = c->node->inputs_count;
    enum dtype *types = ARENA_ARRAY(c->builder->graph->arena, enum dtype, count);
    struct shape *shapes = ARENA_ARRAY(c->builder->graph->arena, struct shape, count);
    for (int i = 0; i < count; i++) {
        types[i] = endpoint_dtype(input(c, i));
        shapes[i] = *endpoint_shape(input(c, i));
    }
    const struct endpoint optional = dy(c);
    const struct attr attrs[] = { attr_types(c->builder, "output_types", count, types),
                                  attr_shapes(c->builder, "output_shapes", count, shapes),
                                  ATTR_END };
    struct node *values =
        build_node(c->builder, "OptionalGetValue", NULL, 1, &optional, 0, NULL, attrs);
    for (int i = 0; i < count; i++)
        if (c->wanted[i])
            send(c, i, (struct endpoint){ values, i });
    return status_ok();
}

struct status gradient_optional_get_value(struct gradient_context *c)
{
    int count = c->node->outputs_count;
    struct endpoint *components = ARENA_ARRAY(c->builder->graph->arena, struct endpoint, count);
    for (int i = 0; i < count; i++)
        components[i] = dy_or_zeros(c, i);
    return flow(c, 0, build(c->builder, "OptionalFromValue", NULL, count, components, NULL));
}
