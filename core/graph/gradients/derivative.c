/* Gradients of the ops that compute gradients, for models that contain derivatives: an output that
 * is the slope of another, or a penalty on slopes. Source: TensorFlow's math_grad.py, nn_grad.py
 * and array_grad.py. */
#include "graph/gradients/emit.h"

static struct endpoint scaled(struct gradient_context *c, struct endpoint x, double factor)
{
    return mul(c, x, number(c, x, factor));
}

/* ---- of y = f(x) and the gradient of y: both are inputs ---- */

/* The op is linear in the gradient of y, its second input, so that this input's gradient is the
 * op again. */
static struct status of_y(struct gradient_context *c, struct endpoint slope)
{
    if (c->wanted[0])
        send(c, 0, slope);
    if (c->wanted[1])
        send(c, 1, binary(c, c->node->op_name, conjugate(c, input(c, 0)), dy(c)));
    return status_ok();
}

/* dy conj(b), b being the gradient of y. */
static struct endpoint turned(struct gradient_context *c)
{
    return mul(c, dy(c), conjugate(c, input(c, 1)));
}

/* conj(dy) b */
static struct endpoint turned_back(struct gradient_context *c)
{
    return mul(c, conjugate(c, dy(c)), input(c, 1));
}

/* b y (1 - y) */
struct status gradient_sigmoid_grad(struct gradient_context *c)
{
    struct endpoint gb = turned(c);

    return of_y(c, binary(c, "Sub", gb, scaled(c, mul(c, gb, conjugate(c, input(c, 0))), 2)));
}

/* b (1 - y²) */
struct status gradient_tanh_grad(struct gradient_context *c)
{
    return of_y(c, scaled(c, mul(c, turned(c), conjugate(c, input(c, 0))), -2));
}

/* -b y² */
struct status gradient_reciprocal_grad(struct gradient_context *c)
{
    return of_y(c, scaled(c, mul(c, turned_back(c), conjugate(c, input(c, 0))), -2));
}

/* -b y³ / 2 */
struct status gradient_rsqrt_grad(struct gradient_context *c)
{
    struct endpoint square = unary(c, "Square", conjugate(c, input(c, 0)));

    return of_y(c, scaled(c, mul(c, turned_back(c), square), -1.5));
}

/* b / 2y */
struct status gradient_sqrt_grad(struct gradient_context *c)
{
    struct endpoint share = binary(c, "RealDiv", dy(c), input(c, 0));

    if (c->wanted[0])
        send(c, 0, unary(c, "Neg", mul(c, conjugate(c, share), output(c))));
    if (c->wanted[1])
        send(c, 1, scaled(c, share, 0.5));
    return status_ok();
}

/* ---- of the gradient of y, and of x or y ---- */

/* The op again for input 0; nothing for input 1, where the slope is a step. */
struct status gradient_step_grad(struct gradient_context *c)
{
    return flow(c, 0, binary(c, c->node->op_name, dy(c), input(c, 1)));
}

struct status gradient_leaky_relu_grad(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1) };
    const struct attr attrs[] = { same_attr(c, "alpha"), ATTR_END };

    return flow(c, 0, build(c->builder, "LeakyReluGrad", NULL, 2, inputs, attrs));
}

/* b (y + α) where y < 0, else b a number: of EluGrad and SeluGrad. */
struct status gradient_elu_grad(struct gradient_context *c)
{
    struct endpoint y = input(c, 1);

    if (c->wanted[0])
        send(c, 0, binary(c, c->node->op_name, dy(c), y));
    if (!c->wanted[1])
        return status_ok();
    struct endpoint is_curved = binary(c, "Less", y, number(c, y, 0));
    struct endpoint slope = mul(c, dy(c), input(c, 0));
    return flow(c, 1, build_select(c->builder, is_curved, slope, number(c, y, 0)));
}

/* b / (1 + e^-x) */
struct status gradient_softplus_grad(struct gradient_context *c)
{
    struct endpoint x = input(c, 1);

    if (c->wanted[0])
        send(c, 0, binary(c, "SoftplusGrad", dy(c), x));
    if (!c->wanted[1])
        return status_ok();
    struct endpoint below = binary(c, "AddV2", unary(c, "Exp", unary(c, "Neg", x)),
                                   binary(c, "AddV2", unary(c, "Exp", x), number(c, x, 2)));
    return flow(c, 1, binary(c, "RealDiv", mul(c, dy(c), input(c, 0)), below));
}

/* ---- of arrangements ---- */

/* Repeats the gradient of a channel for all elements of the channel. */
struct status gradient_bias_add_grad(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), gradient = dy(c);
    struct bytes format;

    TRY(node_attr_string(c->node, "data_format", &format));
    if (bytes_equal(format, bytes_of("NCHW"))) {
        if (endpoint_shape(x)->rank < 2)
            return not_constant(c, "the rank of its input");
        for (int i = 2; i < endpoint_shape(x)->rank; i++)
            gradient = build_expand_dims(c->builder, gradient, -1);
    }
    return flow(c, 0, binary(c, "BroadcastTo", gradient, shape_tensor(c, x)));
}

struct status gradient_strided_slice_grad(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 1), input(c, 2), input(c, 3) };

    return flow(c, 4, with_masks(c, "StridedSlice", 4, inputs));
}
