/* Gradients of element-wise ops. Source: TensorFlow's math_grad.py, with whose values the tests
 * compare ties and broadcasts. */
#include "base/arena.h"
#include "graph/gradients/emit.h"

struct status gradient_identity(struct gradient_context *c)
{
    return flow(c, 0, dy(c));
}

struct status gradient_cast(struct gradient_context *c)
{
    struct endpoint gradient = dy(c);
    enum dtype from = endpoint_dtype(input(c, 0));

    if (!dtype_is_floating(from) || !dtype_is_floating(endpoint_dtype(output(c))))
        return status_ok(); /* integers have no gradient */
    return flow(c, 0, as_type(c, gradient, from));
}

/* ---- one input ---- */

/* An op computes the gradient from y and dy, or from dy and one of x and y. */
#define GRADIENT_OP(name, op, first, second)                  \
    struct status gradient_##name(struct gradient_context *c) \
    {                                                         \
        return flow(c, 0, binary(c, op, first, second));      \
    }
GRADIENT_OP(reciprocal, "ReciprocalGrad", output(c), dy(c))
GRADIENT_OP(sqrt, "SqrtGrad", output(c), dy(c))
GRADIENT_OP(rsqrt, "RsqrtGrad", output(c), dy(c))
GRADIENT_OP(tanh, "TanhGrad", output(c), dy(c))
GRADIENT_OP(sigmoid, "SigmoidGrad", output(c), dy(c))
GRADIENT_OP(relu, "ReluGrad", dy(c), output(c))
GRADIENT_OP(relu6, "Relu6Grad", dy(c), output(c))
GRADIENT_OP(elu, "EluGrad", dy(c), output(c))
GRADIENT_OP(selu, "SeluGrad", dy(c), output(c))
GRADIENT_OP(softplus, "SoftplusGrad", dy(c), input(c, 0))
GRADIENT_OP(softsign, "SoftsignGrad", dy(c), input(c, 0))
#undef GRADIENT_OP

struct status gradient_leaky_relu(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 0) };
    const struct attr attrs[] = { same_attr(c, "alpha"), ATTR_END };

    return flow(c, 0, build(c->builder, "LeakyReluGrad", NULL, 2, inputs, attrs));
}

/* dy times a derivative. */
#define DERIVATIVE(name, factor)                              \
    struct status gradient_##name(struct gradient_context *c) \
    {                                                         \
        struct endpoint x = input(c, 0);                      \
        return flow(c, 0, times(c, dy(c), factor));           \
    }
DERIVATIVE(abs, unary(c, "Sign", x))
DERIVATIVE(square, binary(c, "Mul", x, number(c, x, 2)))
DERIVATIVE(log, unary(c, "Reciprocal", x))
DERIVATIVE(log1p, unary(c, "Reciprocal", binary(c, "AddV2", x, number(c, x, 1))))
DERIVATIVE(expm1, unary(c, "Exp", x))
DERIVATIVE(sin, unary(c, "Cos", x))
DERIVATIVE(cos, unary(c, "Neg", unary(c, "Sin", x)))
DERIVATIVE(tan, unary(c, "Square", unary(c, "Reciprocal", unary(c, "Cos", x))))
DERIVATIVE(erf, binary(c, "Mul", unary(c, "Exp", unary(c, "Neg", unary(c, "Square", x))),
                       number(c, x, 1.1283791670955126))) /* 2 / √π */
DERIVATIVE(lgamma, unary(c, "Digamma", x))
DERIVATIVE(digamma, binary(c, "Polygamma", number(c, x, 1), x))
DERIVATIVE(erfinv, binary(c, "Mul", unary(c, "Exp", unary(c, "Square", output(c))),
                          number(c, x, 0.88622692545275801))) /* √π / 2 */
DERIVATIVE(ndtri, binary(c, "Mul",
                         unary(c, "Exp",
                               binary(c, "Mul", unary(c, "Square", output(c)), number(c, x, 0.5))),
                         number(c, x, 2.5066282746310002))) /* √(2π) */
DERIVATIVE(bessel_i0, unary(c, "BesselI1", x))
DERIVATIVE(bessel_i0e, binary(c, "Sub", unary(c, "BesselI1e", x),
                              binary(c, "Mul", unary(c, "Sign", x), output(c))))
#undef DERIVATIVE

struct status gradient_neg(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "Neg", dy(c)));
}

struct status gradient_exp(struct gradient_context *c)
{
    return flow(c, 0, times(c, dy(c), output(c)));
}

/* ---- two inputs, which may have been broadcast ---- */

struct status gradient_add(struct gradient_context *c)
{
    for (int i = 0; i < 2; i++)
        if (c->wanted[i])
            send(c, i, reduce_to(c, dy(c), i));
    return status_ok();
}

struct status gradient_sub(struct gradient_context *c)
{
    if (c->wanted[0])
        send(c, 0, reduce_to(c, dy(c), 0));
    if (c->wanted[1])
        send(c, 1, unary(c, "Neg", reduce_to(c, dy(c), 1)));
    return status_ok();
}

struct status gradient_mul(struct gradient_context *c)
{
    for (int i = 0; i < 2; i++)
        if (c->wanted[i])
            send(c, i, reduce_to(c, binary(c, "Mul", dy(c), conjugate(c, input(c, 1 - i))), i));
    return status_ok();
}

/* x/y: dy/y and -dy (x/y)/y. */
static struct status quotient(struct gradient_context *c, const char *op)
{
    struct endpoint x = input(c, 0), y = input(c, 1);

    if (c->wanted[0])
        send(c, 0, reduce_to(c, binary(c, op, dy(c), y), 0));
    if (c->wanted[1]) {
        struct endpoint slope = binary(c, op, binary(c, op, unary(c, "Neg", x), y), y);
        send(c, 1, reduce_to(c, binary(c, "Mul", dy(c), slope), 1));
    }
    return status_ok();
}

struct status gradient_real_div(struct gradient_context *c)
{
    return quotient(c, "RealDiv");
}

struct status gradient_div_no_nan(struct gradient_context *c)
{
    return quotient(c, "DivNoNan");
}

/* x^y: dy y x^(y-1) and dy x^y ln x, the latter 0 where x is not positive. */
struct status gradient_pow(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);

    if (c->wanted[0]) {
        struct endpoint less = binary(c, "Sub", y, number(c, y, 1));
        struct endpoint slope = binary(c, "Mul", y, binary(c, "Pow", x, less));
        send(c, 0, reduce_to(c, binary(c, "Mul", dy(c), slope), 0));
    }
    if (c->wanted[1]) {
        struct endpoint positive = binary(c, "Greater", x, number(c, x, 0));
        struct endpoint log = unary(c, "Log", x);
        log = build_select(c->builder, positive, log, unary(c, "ZerosLike", x));
        struct endpoint slope = binary(c, "Mul", output(c), log);
        send(c, 1, reduce_to(c, binary(c, "Mul", dy(c), slope), 1));
    }
    return status_ok();
}

struct status gradient_squared_difference(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);
    struct endpoint twice = binary(c, "Mul", binary(c, "Sub", x, y), number(c, x, 2));
    struct endpoint slope = times(c, dy(c), twice);

    if (c->wanted[0])
        send(c, 0, reduce_to(c, slope, 0));
    if (c->wanted[1])
        send(c, 1, unary(c, "Neg", reduce_to(c, slope, 1)));
    return status_ok();
}

/* x - y floor(x / y) */
struct status gradient_floor_mod(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);

    if (!dtype_is_floating(endpoint_dtype(x)))
        return status_ok();
    if (c->wanted[0])
        send(c, 0, reduce_to(c, dy(c), 0));
    if (c->wanted[1]) {
        struct endpoint slope = unary(c, "Neg", binary(c, "FloorDiv", x, y));
        send(c, 1, reduce_to(c, times(c, dy(c), slope), 1));
    }
    return status_ok();
}

/* ---- choices ---- */

/* dy goes to input `first` where `condition` holds, else to input `second`. */
static struct status choose(struct gradient_context *c, const char *op, struct endpoint condition,
                            int first, int second)
{
    struct endpoint zeros = unary(c, "ZerosLike", dy(c));

    if (c->wanted[first]) {
        const struct endpoint inputs[] = { condition, dy(c), zeros };
        send(c, first, reduce_to(c, build(c->builder, op, NULL, 3, inputs, NULL), first));
    }
    if (c->wanted[second]) {
        const struct endpoint inputs[] = { condition, zeros, dy(c) };
        send(c, second, reduce_to(c, build(c->builder, op, NULL, 3, inputs, NULL), second));
    }
    return status_ok();
}

struct status gradient_select(struct gradient_context *c)
{
    return choose(c, "Select", input(c, 0), 1, 2);
}

struct status gradient_select_v2(struct gradient_context *c)
{
    return choose(c, "SelectV2", input(c, 0), 1, 2);
}

/* At a tie the first input gets all of it, as in TensorFlow. */
struct status gradient_maximum(struct gradient_context *c)
{
    return choose(c, "SelectV2", binary(c, "GreaterEqual", input(c, 0), input(c, 1)), 0, 1);
}

struct status gradient_minimum(struct gradient_context *c)
{
    return choose(c, "SelectV2", binary(c, "LessEqual", input(c, 0), input(c, 1)), 0, 1);
}

/* Outside the bounds, the exceeded bound gets the gradient. */
struct status gradient_clip_by_value(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), zeros = unary(c, "ZerosLike", dy(c));
    struct endpoint below = binary(c, "Less", x, input(c, 1));
    struct endpoint above = binary(c, "Greater", x, input(c, 2));
    struct endpoint outside = binary(c, "LogicalOr", below, above);
    const struct endpoint conditions[] = { outside, below, above };

    for (int i = 0; i < 3; i++) {
        struct endpoint yes = i == 0 ? zeros : dy(c), no = i == 0 ? dy(c) : zeros;
        if (c->wanted[i])
            send(c, i, reduce_to(c, build_select(c->builder, conditions[i], yes, no), i));
    }
    return status_ok();
}

struct status gradient_add_n(struct gradient_context *c)
{
    for (int i = 0; i < c->node->inputs_count; i++)
        send(c, i, dy(c));
    return status_ok();
}

/* Checks the gradient in the same way. */
struct status gradient_check_numerics(struct gradient_context *c)
{
    struct endpoint gradient = dy(c);
    struct bytes message;
    TRY(node_attr_string(c->node, "message", &message));
    const struct attr attrs[] = {
        attr_text("message", arena_printf(c->builder->graph->arena,
                                          "Not a number (NaN) or infinity (Inf) values detected "
                                          "in gradient. %.*s",
                                          (int)message.size, message.data)),
        ATTR_END
    };
    return flow(c, 0, build(c->builder, c->node->op_name, NULL, 1, &gradient, attrs));
}
