/* Gradients of trigonometric and hyperbolic functions, and of functions of two inputs that are
 * defined at 0. Source: TensorFlow's math_grad.py. */
#include <math.h>

#include "graph/gradients/emit.h"

static struct endpoint square(struct gradient_context *c, struct endpoint x)
{
    return unary(c, "Square", x);
}

/* number op x */
static struct endpoint number_by(struct gradient_context *c, double value, const char *op,
                                 struct endpoint x)
{
    return binary(c, op, number(c, x, value), x);
}

/* 1 / √(1 - x²) */
static struct endpoint arc_slope(struct gradient_context *c)
{
    return unary(c, "Rsqrt", number_by(c, 1, "Sub", square(c, input(c, 0))));
}

struct status gradient_asin(struct gradient_context *c)
{
    return flow(c, 0, times(c, dy(c), arc_slope(c)));
}

struct status gradient_acos(struct gradient_context *c)
{
    return flow(c, 0, unary(c, "Neg", times(c, dy(c), arc_slope(c))));
}

struct status gradient_atan(struct gradient_context *c)
{
    struct endpoint slope = number_by(c, 1, "AddV2", square(c, input(c, 0)));

    return flow(c, 0, binary(c, "RealDiv", dy(c), slope));
}

struct status gradient_sinh(struct gradient_context *c)
{
    return flow(c, 0, times(c, dy(c), unary(c, "Cosh", input(c, 0))));
}

struct status gradient_cosh(struct gradient_context *c)
{
    return flow(c, 0, times(c, dy(c), unary(c, "Sinh", input(c, 0))));
}

struct status gradient_asinh(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "RealDiv", dy(c), unary(c, "Cosh", output(c))));
}

struct status gradient_acosh(struct gradient_context *c)
{
    return flow(c, 0, binary(c, "RealDiv", dy(c), unary(c, "Sinh", output(c))));
}

struct status gradient_atanh(struct gradient_context *c)
{
    struct endpoint slope = number_by(c, 1, "Sub", square(c, input(c, 0)));

    return flow(c, 0, binary(c, "RealDiv", dy(c), slope));
}

/* -2/√π · exp(-x²) */
struct status gradient_erfc(struct gradient_context *c)
{
    struct endpoint bell = unary(c, "Exp", unary(c, "Neg", square(c, input(c, 0))));

    return flow(c, 0, times(c, dy(c), number_by(c, -2 / sqrt(acos(-1)), "Mul", bell)));
}

/* ---- two inputs ---- */

static struct status both(struct gradient_context *c, struct endpoint x, struct endpoint y)
{
    if (c->wanted[0])
        send(c, 0, reduce_to(c, x, 0));
    if (c->wanted[1])
        send(c, 1, reduce_to(c, y, 1));
    return status_ok();
}

struct status gradient_mul_no_nan(struct gradient_context *c)
{
    return both(c, binary(c, "MulNoNan", dy(c), input(c, 1)),
                binary(c, "MulNoNan", input(c, 0), dy(c)));
}

struct status gradient_atan2(struct gradient_context *c)
{
    struct endpoint y = input(c, 0), x = input(c, 1);
    struct endpoint share =
        binary(c, "RealDiv", dy(c), binary(c, "AddV2", square(c, x), square(c, y)));

    return both(c, binary(c, "Mul", x, share), unary(c, "Neg", binary(c, "Mul", y, share)));
}

/* 1 where x is not 0, otherwise 0. */
static struct endpoint not_zero(struct gradient_context *c, struct endpoint x)
{
    struct endpoint differs = binary(c, "NotEqual", x, number(c, x, 0));

    return as_type(c, differs, endpoint_dtype(x));
}

struct status gradient_xlogy(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);

    return both(c, binary(c, "Mul", dy(c), binary(c, "Xlogy", not_zero(c, x), y)),
                binary(c, "Mul", dy(c), binary(c, "Xdivy", x, y)));
}

struct status gradient_xdivy(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);

    return both(c, binary(c, "Mul", dy(c), binary(c, "Xdivy", not_zero(c, x), y)),
                binary(c, "Mul", dy(c), binary(c, "Xdivy", unary(c, "Neg", x), square(c, y))));
}

struct status gradient_xlog1py(struct gradient_context *c)
{
    struct endpoint x = input(c, 0), y = input(c, 1);
    struct endpoint more = binary(c, "AddV2", y, number(c, y, 1));

    return both(c, binary(c, "Mul", dy(c), binary(c, "Xlog1py", not_zero(c, x), y)),
                binary(c, "Mul", dy(c), binary(c, "Xdivy", x, more)));
}
