/* Gradients of special functions. Source: TensorFlow's math_grad.py. */
#include <float.h>
#include <math.h>

#include "graph/gradients/emit.h"

static struct endpoint divided(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    return binary(c, "RealDiv", x, y);
}

/* `slope`, except where x is `at`, where its formula is not defined: `value` there. */
static struct endpoint except_at(struct gradient_context *c, struct endpoint x, double at,
                                 double value, struct endpoint slope)
{
    struct endpoint is_at = binary(c, "Equal", x, number(c, x, at));

    return build_select(c->builder, is_at, number(c, x, value), slope);
}

/* value · x² */
static struct endpoint scaled_square(struct gradient_context *c, struct endpoint x, double value)
{
    return mul(c, unary(c, "Square", x), number(c, x, value));
}

/* dy times a derivative, by x and y. */
#define DERIVATIVE(name, factor)                              \
    struct status gradient_##name(struct gradient_context *c) \
    {                                                         \
        struct endpoint x = input(c, 0), y = output(c);       \
        (void)y;                                              \
        return flow(c, 0, times(c, dy(c), factor));           \
    }
DERIVATIVE(bessel_i1, except_at(c, x, 0, 1, sub(c, unary(c, "BesselI0", x), divided(c, y, x))))
DERIVATIVE(bessel_i1e,
           except_at(c, x, 0, 0.5,
                     sub(c, unary(c, "BesselI0e", x),
                         mul(c, y,
                             binary(c, "AddV2", unary(c, "Sign", x), unary(c, "Reciprocal", x))))))
DERIVATIVE(bessel_k0, unary(c, "Neg", unary(c, "BesselK1", x)))
DERIVATIVE(bessel_k0e, sub(c, y, unary(c, "BesselK1e", x)))
DERIVATIVE(bessel_k1, sub(c, unary(c, "Neg", unary(c, "BesselK0", x)), divided(c, y, x)))
DERIVATIVE(bessel_k1e, sub(c, mul(c, y, sub(c, number(c, x, 1), unary(c, "Reciprocal", x))),
                           unary(c, "BesselK0e", x)))
DERIVATIVE(bessel_j0, unary(c, "Neg", unary(c, "BesselJ1", x)))
DERIVATIVE(bessel_j1, except_at(c, x, 0, 0.5, sub(c, unary(c, "BesselJ0", x), divided(c, y, x))))
DERIVATIVE(bessel_y0, unary(c, "Neg", unary(c, "BesselY1", x)))
DERIVATIVE(bessel_y1, sub(c, unary(c, "BesselY0", x), divided(c, y, x)))
DERIVATIVE(dawsn, sub(c, number(c, x, 1), mul(c, mul(c, x, y), number(c, x, 2))))
DERIVATIVE(expint, divided(c, unary(c, "Exp", x), x))
DERIVATIVE(fresnel_cos, unary(c, "Cos", scaled_square(c, x, acos(-1) / 2)))
DERIVATIVE(fresnel_sin, unary(c, "Sin", scaled_square(c, x, acos(-1) / 2)))
DERIVATIVE(spence,
           except_at(c, x, 1, -1, divided(c, unary(c, "Log", x), sub(c, number(c, x, 1), x))))
#undef DERIVATIVE

/* ---- several inputs, which may have been broadcast ---- */

static struct status second_only(struct gradient_context *c, struct endpoint slope)
{
    return flow(c, 1, reduce_to(c, mul(c, dy(c), slope), 1));
}

static struct endpoint plus_one(struct gradient_context *c, struct endpoint x)
{
    return binary(c, "AddV2", x, number(c, x, 1));
}

struct status gradient_zeta(struct gradient_context *c)
{
    struct endpoint x = input(c, 0);

    if (!c->wanted[1])
        return status_ok();
    return second_only(c,
                       unary(c, "Neg", mul(c, x, binary(c, "Zeta", plus_one(c, x), input(c, 1)))));
}

struct status gradient_polygamma(struct gradient_context *c)
{
    if (!c->wanted[1])
        return status_ok();
    return second_only(c, binary(c, "Polygamma", plus_one(c, input(c, 0)), input(c, 1)));
}

/* e^(-x + (a - 1) ln x - ln Γ(a)) */
static struct endpoint gamma_density(struct gradient_context *c)
{
    struct endpoint a = input(c, 0), x = input(c, 1);
    struct endpoint power = mul(c, sub(c, a, number(c, a, 1)), unary(c, "Log", x));

    return unary(c, "Exp", sub(c, sub(c, power, x), unary(c, "Lgamma", a)));
}

/* Gradients of both arguments of P(a, x), times a sign. */
static struct status igamma_gradients(struct gradient_context *c, bool negate)
{
    struct endpoint upstream = negate ? unary(c, "Neg", dy(c)) : dy(c);
    if (c->wanted[0]) {
        struct endpoint slope = binary(c, "IgammaGradA", input(c, 0), input(c, 1));
        send(c, 0, reduce_to(c, mul(c, upstream, slope), 0));
    }
    if (c->wanted[1])
        send(c, 1, reduce_to(c, mul(c, upstream, gamma_density(c)), 1));
    return status_ok();
}

struct status gradient_igamma(struct gradient_context *c)
{
    return igamma_gradients(c, false);
}

struct status gradient_igammac(struct gradient_context *c)
{
    return igamma_gradients(c, true);
}

/* The gradient with respect to the parameters of gamma numbers, which are input `index`. */
static struct status gamma_number_gradient(struct gradient_context *c, int index)
{
    if (!c->wanted[index])
        return status_ok();
    struct endpoint slope = binary(c, "RandomGammaGrad", input(c, index), output(c));
    return flow(c, index, reduce_from(c, mul(c, dy(c), slope), endpoint_shape(output(c)), index));
}

struct status gradient_random_gamma(struct gradient_context *c)
{
    return gamma_number_gradient(c, 1);
}

struct status gradient_stateless_random_gamma_v2(struct gradient_context *c)
{
    return gamma_number_gradient(c, 2);
}

struct status gradient_stateless_random_gamma_v3(struct gradient_context *c)
{
    return gamma_number_gradient(c, 4);
}

/* Only x has a gradient: (1 - x)^(b - 1) x^(a - 1) / B(a, b) */
struct status gradient_betainc(struct gradient_context *c)
{
    struct endpoint a = input(c, 0), b = input(c, 1), x = input(c, 2);
    struct endpoint one = number(c, x, 1);

    if (!c->wanted[2])
        return status_ok();
    struct endpoint log_beta =
        sub(c, binary(c, "AddV2", unary(c, "Lgamma", a), unary(c, "Lgamma", b)),
            unary(c, "Lgamma", binary(c, "AddV2", a, b)));
    struct endpoint powers =
        binary(c, "AddV2", binary(c, "Xlog1py", sub(c, b, one), unary(c, "Neg", x)),
               binary(c, "Xlogy", sub(c, a, one), x));
    struct endpoint slope = unary(c, "Exp", sub(c, powers, log_beta));
    return flow(c, 2, reduce_to(c, mul(c, dy(c), slope), 2));
}

struct status gradient_next_after(struct gradient_context *c)
{
    if (!c->wanted[0])
        return status_ok();
    return flow(c, 0, reduce_to(c, dy(c), 0));
}

/* ---- numbers of a truncated normal distribution ---- */

/* The share of a normal distribution below w: erfc(-w / √2) / 2. */
static struct endpoint normal_below(struct gradient_context *c, struct endpoint w)
{
    struct endpoint z = mul(c, w, number(c, w, -0.70710678118654752440));
    return mul(c, unary(c, "Erfc", z), number(c, w, 0.5));
}

/* e^((sample² - bound²) / 2 + log_share) */
static struct endpoint bound_slope(struct gradient_context *c, struct endpoint sample,
                                   struct endpoint bound, struct endpoint log_share)
{
    struct endpoint squares = sub(c, unary(c, "Square", sample), unary(c, "Square", bound));
    struct endpoint half = mul(c, squares, number(c, squares, 0.5));
    return unary(c, "Exp", binary(c, "AddV2", half, log_share));
}

/* The share of the distribution between the bounds that is below the sample stays the same. */
struct status gradient_truncated_normal(struct gradient_context *c)
{
    const struct shape *shape = endpoint_shape(output(c));
    struct endpoint mean = input(c, 2), deviation = input(c, 3);
    struct endpoint places[3]; /* of the least value, the greatest one and the sample */
    struct endpoint shares[3];
    const struct endpoint values[] = { input(c, 4), input(c, 5), output(c) };
    bool is_double = endpoint_dtype(mean) == DT_DOUBLE;
    if (endpoint_dtype(mean) == DT_HALF)
        return gradient_none(c);
    for (int i = 0; i < 3; i++) {
        places[i] = binary(c, "RealDiv", sub(c, values[i], mean), deviation);
        shares[i] = normal_below(c, places[i]);
    }
    struct endpoint share =
        binary(c, "RealDiv", sub(c, shares[2], shares[0]), sub(c, shares[1], shares[0]));
    const struct endpoint clip[] = { share, number(c, share, is_double ? DBL_MIN : (double)FLT_MIN),
                                     number(c, share,
                                            1 - (is_double ? DBL_EPSILON : (double)FLT_EPSILON)) };
    share = build(c->builder, "ClipByValue", NULL, 3, clip, NULL);
    const struct endpoint slopes[] = {
        number(c, places[2], 1), places[2],
        bound_slope(c, places[2], places[0], unary(c, "Log1p", unary(c, "Neg", share))),
        bound_slope(c, places[2], places[1], unary(c, "Log", share))
    };
    for (int i = 0; i < 4; i++)
        if (c->wanted[i + 2])
            send(c, i + 2, reduce_from(c, mul(c, dy(c), slopes[i]), shape, i + 2));
    return status_ok();
}
