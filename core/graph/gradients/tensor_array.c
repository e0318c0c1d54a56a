/*
 * Gradients of TensorArray ops, third form: the gradients of an array's elements are collected in
 * another array, which TensorArrayGradV3 finds. A read adds to it, a write reads from it; the
 * gradient of a `flow` is a flow, which orders them. Source: TensorFlow's tensor_array_grad.py.
 */
#include "graph/gradients/emit.h"

/* Of all nodes of one training graph, and of no graph that TensorFlow has written. */
#define SOURCE "training"

/* The array of gradients, used after `flow`. */
struct gradient_array {
    struct endpoint handle, flow;
};

static struct gradient_array find_array(struct gradient_context *c, struct endpoint flow)
{
    const struct endpoint inputs[] = { input(c, 0), flow };
    struct node *node = build_node(c->builder, "TensorArrayGradV3", NULL, 2, inputs, 0, NULL,
                                   (const struct attr[]){ attr_text("source", SOURCE), ATTR_END });

    return (struct gradient_array){ { node, 0 }, { node, 1 } };
}

/* The last input is the flow. */
static int flow_index(const struct gradient_context *c)
{
    return c->node->inputs_count - 1;
}

/* ---- ops that read: the gradient of their output is written ---- */

/* `op` writes by `places`: an index, indices or lengths. */
static struct status write_gradient(struct gradient_context *c, const char *op,
                                    struct endpoint places, bool places_first)
{
    if (dy(c).node == NULL)
        return status_ok();
    struct gradient_array array = find_array(c, input(c, flow_index(c)));
    const struct endpoint inputs[] = { array.handle, places_first ? places : dy(c),
                                       places_first ? dy(c) : places, array.flow };
    return flow(c, flow_index(c), build(c->builder, op, NULL, 4, inputs, NULL));
}

struct status gradient_array_read(struct gradient_context *c)
{
    return write_gradient(c, "TensorArrayWriteV3", input(c, 1), true);
}

struct status gradient_array_gather(struct gradient_context *c)
{
    return write_gradient(c, "TensorArrayScatterV3", input(c, 1), true);
}

struct status gradient_array_concat(struct gradient_context *c)
{
    return write_gradient(c, "TensorArraySplitV3", (struct endpoint){ c->node, 1 }, false);
}

/* ---- ops that write: the gradient of their value is read ---- */

static struct status read_gradient(struct gradient_context *c, const char *op, int value,
                                   const struct endpoint *places)
{
    send(c, flow_index(c), dy(c));
    if (!c->wanted[value])
        return status_ok();
    struct gradient_array array = find_array(c, dy(c));
    const struct endpoint indexed[] = { array.handle, places != NULL ? *places : array.flow,
                                        array.flow };
    struct endpoint gradient = build(
        c->builder, op, NULL, places != NULL ? 3 : 2, indexed,
        (const struct attr[]){ attr_type("dtype", endpoint_dtype(input(c, value))), ATTR_END });
    if (gradient.node != NULL)
        gradient.node->outputs[0].shape = *endpoint_shape(input(c, value));
    return flow(c, value, gradient);
}

struct status gradient_array_write(struct gradient_context *c)
{
    const struct endpoint index = input(c, 1);

    return read_gradient(c, "TensorArrayReadV3", 2, &index);
}

struct status gradient_array_scatter(struct gradient_context *c)
{
    const struct endpoint indices = input(c, 1);

    return read_gradient(c, "TensorArrayGatherV3", 2, &indices);
}

struct status gradient_array_split(struct gradient_context *c)
{
    return read_gradient(c, "TensorArrayConcatV3", 1, NULL);
}
