/* Shapes of element-wise ops, and of ops whose shapes are unknown. */
#include "graph/ops/infer.h"

struct status infer_unknown(struct infer_context *context)
{
    (void)context; /* shapes start unknown */
    return status_ok();
}

struct status infer_none(struct infer_context *context)
{
    (void)context; /* no outputs */
    return status_ok();
}

struct status infer_unchanged(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 0));
    return status_ok();
}

struct status infer_second_unchanged(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 1));
    return status_ok();
}

/* Output i has the shape of input i + 1. */
struct status infer_later_unchanged(struct infer_context *context)
{
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, infer_input(context, i + 1));
    return status_ok();
}

struct status infer_third_unchanged(struct infer_context *context)
{
    infer_output(context, 0, infer_input(context, 2));
    return status_ok();
}

/* Three operands of one shape, or scalars. */
struct status infer_broadcast_three(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);

    for (int i = 1; i < 3; i++)
        if (shape.rank >= 0 && (infer_input(context, i)->rank < 0 || shape.rank == 0))
            shape = *infer_input(context, i);
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_each_unchanged(struct infer_context *context)
{
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, infer_input(context, i));
    return status_ok();
}

/* All inputs have one shape, which is the output's. */
struct status infer_merged(struct infer_context *context)
{
    struct shape shape = shape_unknown();
    for (int i = 0; i < context->node->inputs_count; i++)
        TRY(infer_merge(&shape, infer_input(context, i), &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

/* Equal and NotEqual have an attribute that allows incompatible shapes. */
static bool shapes_may_differ(const struct node *node)
{
    bool error = true;
    if (node_attr(node, "incompatible_shape_error") == NULL)
        return false;
    return status_is_ok(node_attr_bool(node, "incompatible_shape_error", &error)) && !error;
}

struct status infer_broadcast(struct infer_context *context)
{
    struct shape shape = *infer_input(context, 0);
    for (int i = 1; i < context->node->inputs_count; i++) {
        struct status status = shape_broadcast(&shape, infer_input(context, i), &shape);
        if (!status_is_ok(status) && shapes_may_differ(context->node))
            shape = shape_unknown();
        else
            TRY(status);
    }
    infer_output(context, 0, &shape);
    return status_ok();
}

/* Select: the condition is a scalar, a vector over rows, or has the shape of the others. */
struct status infer_select(struct infer_context *context)
{
    struct shape shape;
    TRY(infer_merge(infer_input(context, 1), infer_input(context, 2), &shape));
    infer_output(context, 0, &shape);
    return status_ok();
}

struct status infer_scalar(struct infer_context *context)
{
    struct shape scalar = shape_scalar();
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &scalar);
    return status_ok();
}

struct status infer_vector(struct infer_context *context)
{
    struct shape vector = shape_unknown_dims(1);
    for (int i = 0; i < context->node->outputs_count; i++)
        infer_output(context, i, &vector);
    return status_ok();
}

/* Inputs that are not scalars must agree. */
struct status infer_string_join(struct infer_context *context)
{
    struct shape shape = shape_scalar();
    for (int i = 0; i < context->node->inputs_count; i++) {
        const struct shape *input = infer_input(context, i);
        if (input->rank < 0)
            shape = *input;
        if (input->rank != 0 && shape.rank >= 0) {
            if (shape.rank == 0)
                shape = *input;
            else
                TRY(infer_merge(&shape, input, &shape));
        }
        if (shape.rank < 0)
            break;
    }
    infer_output(context, 0, &shape);
    return status_ok();
}
