/* op_formula: operations element by element that TensorFlow computes with several ops. */
#include "layers/classes/op.h"

#include <float.h>

/* ---- of one operand ---- */

/* The function of an operation whose output is an expression of the builder b, the layer, and the
 * operand x as floats. keeps: are integers (and truths) passed on as they are? */
#define FUNCTION(noun, keeps, expression)                                             \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        struct builder *b = &context->builder;                                        \
        struct endpoint x = io->inputs[0].value;                                      \
        op_give(io, x);                                                               \
        bool is_float = dtype_is_floating(endpoint_dtype(x));                         \
        if (op_floats(context, layer, &x) && (is_float || !(keeps)))                  \
            op_give(io, expression);                                                  \
    }
#define FORMULA(noun, name, expression) \
    FUNCTION(noun, false, expression)   \
    OP_CLASS(noun, name, op_x, noun##_call)
#define FORMULA_WITH(noun, name, class_args, expression) \
    FUNCTION(noun, false, expression)                    \
    OP_ARGS_CLASS(noun, name, class_args, op_x, noun##_call)

static double number(const struct layer *layer, const char *argument)
{
    return layer_arg(layer, argument)->number;
}

static struct endpoint log_to_base(struct builder *b, struct endpoint x, double base)
{
    struct endpoint log = build_unary(b, "Log", NULL, build_const_float(b, (float)base));

    return build_binary(b, "RealDiv", NULL, build_unary(b, "Log", NULL, x), log);
}
FORMULA(log2, "Log2", log_to_base(b, x, 2));
FORMULA(log10, "Log10", log_to_base(b, x, 10));
FORMULA(exp2, "Exp2", build_binary(b, "Pow", NULL, build_const_float(b, 2), x));
FORMULA(deg2rad, "Deg2rad", build_by_number(b, "Mul", x, 0.017453292519943295));
FORMULA(rad2deg, "Rad2deg", build_by_number(b, "Mul", x, 57.29577951308232));

static struct endpoint cube_root(struct builder *b, struct endpoint x)
{
    struct endpoint root = build_by_number(b, "Pow", build_unary(b, "Abs", NULL, x), 1.0 / 3);

    return build_binary(b, "Mul", NULL, build_unary(b, "Sign", NULL, x), root);
}
FORMULA(cbrt, "Cbrt", cube_root(b, x));

/* sin(πx) / (πx), 1 at 0. */
static struct endpoint sinc(struct builder *b, struct endpoint x)
{
    struct endpoint angle = build_by_number(b, "Mul", x, 3.141592653589793);
    struct endpoint share =
        build_binary(b, "RealDiv", NULL, build_unary(b, "Sin", NULL, angle), angle);

    return build_select(b, build_by_number(b, "Equal", x, 0), build_const_float(b, 1), share);
}
FORMULA(sinc, "Sinc", sinc(b, x));

static struct endpoint cut_fraction(struct builder *b, struct endpoint x)
{
    return build_select(b, build_by_number(b, "Less", x, 0), build_unary(b, "Ceil", NULL, x),
                        build_unary(b, "Floor", NULL, x));
}
FUNCTION(trunc, true, cut_fraction(b, x))
OP_CLASS(trunc, "Trunc", op_x, trunc_call);

static struct endpoint infinite(struct builder *b, struct endpoint x, const char *side)
{
    return build_binary(b, "LogicalAnd", NULL, build_unary(b, "IsInf", NULL, x),
                        build_by_number(b, side, x, 0));
}
FORMULA(isneginf, "Isneginf", infinite(b, x, "Less"));
FORMULA(isposinf, "Isposinf", infinite(b, x, "Greater"));

static const struct layer_arg nan_args[] = {
    { "nan", ARG_NUMBER, "0.0" },
    { "posinf", ARG_NULL_OR_NUMBER, "null" },
    { "neginf", ARG_NULL_OR_NUMBER, "null" },
};

struct endpoint op_finite(struct builder *b, struct endpoint x, double nan, double least,
                          double most)
{
    const struct {
        struct endpoint condition;
        double instead;
    } replaced[] = {
        { build_unary(b, "IsNan", NULL, x), nan },
        { infinite(b, x, "Greater"), most },
        { infinite(b, x, "Less"), least },
    };

    for (size_t i = 0; i < COUNT(replaced); i++)
        x = build_select(b, replaced[i].condition, build_const_float(b, (float)replaced[i].instead),
                         x);
    return x;
}

static struct endpoint nan_to_num(struct builder *b, const struct layer *layer, struct endpoint x)
{
    const struct arg_value *most = layer_arg(layer, "posinf"), *least = layer_arg(layer, "neginf");

    return op_finite(b, x, number(layer, "nan"), least->is_null ? -(double)FLT_MAX : least->number,
                     most->is_null ? (double)FLT_MAX : most->number);
}
FUNCTION(nan_to_num, true, nan_to_num(b, layer, x))
OP_ARGS_CLASS(nan_to_num, "NanToNum", nan_args, op_x, nan_to_num_call);

static const struct layer_arg round_args[] = {
    { "decimals", ARG_NULL_OR_INT, "0" },
};

/* Half goes to the even neighbour. */
static struct endpoint round_to(struct builder *b, const struct layer *layer, struct endpoint x)
{
    const struct arg_value *decimals = layer_arg(layer, "decimals");
    double factor = 1;

    for (int64_t i = 0; !decimals->is_null && i < decimals->integer && factor < 1e30; i++)
        factor *= 10;
    for (int64_t i = 0; !decimals->is_null && i > decimals->integer && factor > 1e-30; i--)
        factor /= 10;
    if (factor == 1)
        return build_unary(b, "Round", NULL, x);
    struct endpoint whole = build_unary(b, "Round", NULL, build_by_number(b, "Mul", x, factor));
    return build_by_number(b, "RealDiv", whole, factor);
}
FUNCTION(round, layer_arg(layer, "decimals")->integer >= 0,
         cast_to(context, round_to(b, layer, x), endpoint_dtype(io->inputs[0].value)))
OP_ARGS_CLASS(round, "Round", round_args, op_x, round_call);

/* ---- activations with arguments ---- */

static const struct layer_arg alpha_args[] = {
    { "alpha", ARG_NUMBER, "1.0" },
};

/* max(x, 0) + alpha (e^(min(x, 0) / alpha) - 1) */
static struct endpoint celu(struct builder *b, const struct layer *layer, struct endpoint x)
{
    double alpha = number(layer, "alpha");
    struct endpoint below = build_by_number(b, "Minimum", x, 0);

    below = build_unary(b, "Expm1", NULL, build_by_number(b, "RealDiv", below, alpha));
    return build_binary(b, "AddV2", NULL, build_unary(b, "Relu", NULL, x),
                        build_by_number(b, "Mul", below, alpha));
}
FORMULA_WITH(celu, "Celu", alpha_args, celu(b, layer, x));

static const struct layer_arg shrink_args[] = {
    { "threshold", ARG_NUMBER, "0.5" },
};

/* x, but 0 from -threshold to threshold. */
static struct endpoint hard_shrink(struct builder *b, const struct layer *layer, struct endpoint x)
{
    struct endpoint far =
        build_by_number(b, "Greater", build_unary(b, "Abs", NULL, x), number(layer, "threshold"));

    return build_select(b, far, x, build_unary(b, "ZerosLike", NULL, x));
}
FORMULA_WITH(hard_shrink, "HardShrink", shrink_args, hard_shrink(b, layer, x));

/* x moved towards 0 by the threshold. */
static struct endpoint soft_shrink(struct builder *b, const struct layer *layer, struct endpoint x)
{
    double most = number(layer, "threshold");
    const struct endpoint within[] = { x, build_const_float(b, (float)-most),
                                       build_const_float(b, (float)most) };

    return build_binary(b, "Sub", NULL, x, build(b, "ClipByValue", NULL, 3, within, NULL));
}
FORMULA_WITH(soft_shrink, "SoftShrink", shrink_args, soft_shrink(b, layer, x));

static const struct layer_arg squareplus_args[] = {
    { "b", ARG_NUMBER, "4" },
};

/* (x + √(x² + b)) / 2 */
static struct endpoint squareplus(struct builder *b, const struct layer *layer, struct endpoint x)
{
    struct endpoint sum =
        build_by_number(b, "AddV2", build_unary(b, "Square", NULL, x), number(layer, "b"));
    struct endpoint both = build_binary(b, "AddV2", NULL, x, build_unary(b, "Sqrt", NULL, sum));

    return build_by_number(b, "Mul", both, 0.5);
}
FORMULA_WITH(squareplus, "Squareplus", squareplus_args, squareplus(b, layer, x));

/* ---- of two operands ---- */

/* The function of an operation whose output is an expression of b, layer, x and y, the operands. */
#define PAIR_FUNCTION(noun, to_floats, expression)                                    \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        struct builder *b = &context->builder;                                        \
        struct endpoint operands[2];                                                  \
        if (!op_operands(context, layer, io, operands))                               \
            return;                                                                   \
        enum dtype dtype = (to_floats) ? DT_FLOAT : endpoint_dtype(operands[0]);      \
        struct endpoint x = cast_to(context, operands[0], dtype),                     \
                        y = cast_to(context, operands[1], dtype);                     \
        op_give(io, expression);                                                      \
    }
#define PAIR(noun, name, to_floats, expression) \
    PAIR_FUNCTION(noun, to_floats, expression)  \
    OP_CLASS(noun, name, op_x1_x2, noun##_call)

/* max + log(1 + e^-|x - y|); of two equal infinities x + y */
static struct endpoint logaddexp(struct builder *b, struct endpoint x, struct endpoint y)
{
    struct endpoint apart = build_unary(b, "Abs", NULL, build_binary(b, "Sub", NULL, x, y));
    struct endpoint less = build_unary(b, "Exp", NULL, build_unary(b, "Neg", NULL, apart));
    struct endpoint sum = build_binary(b, "AddV2", NULL, build_binary(b, "Maximum", NULL, x, y),
                                       build_unary(b, "Log1p", NULL, less));

    return build_select(b, build_unary(b, "IsNan", NULL, apart),
                        build_binary(b, "AddV2", NULL, x, y), sum);
}
PAIR(logaddexp, "Logaddexp", true, logaddexp(b, x, y));

/* The same with powers of 2. */
static struct endpoint logaddexp2(struct builder *b, struct endpoint x, struct endpoint y)
{
    struct endpoint sum = logaddexp(b, build_by_number(b, "Mul", x, 0.6931471805599453),
                                    build_by_number(b, "Mul", y, 0.6931471805599453));

    return build_by_number(b, "RealDiv", sum, 0.6931471805599453);
}
PAIR(logaddexp2, "Logaddexp2", true, logaddexp2(b, x, y));

/* Maximum or Minimum, but of a NaN and a number the number. */
static struct endpoint extreme_number(struct builder *b, const char *op, struct endpoint x,
                                      struct endpoint y)
{
    if (dtype_is_floating(endpoint_dtype(x))) {
        struct endpoint numbers[] = { x, y };
        const struct endpoint is_nan[] = { build_unary(b, "IsNan", NULL, x),
                                           build_unary(b, "IsNan", NULL, y) };
        x = build_select(b, is_nan[0], numbers[1], numbers[0]);
        y = build_select(b, is_nan[1], numbers[0], numbers[1]);
    }
    return build_binary(b, op, NULL, x, y);
}
PAIR(fmax, "Fmax", false, extreme_number(b, "Maximum", x, y));
PAIR(fmin, "Fmin", false, extreme_number(b, "Minimum", x, y));

/* 0 below 0, 1 above, y at 0. */
static struct endpoint step_of(struct builder *b, struct endpoint x, struct endpoint y)
{
    struct endpoint above =
        build_select(b, build_by_number(b, "Greater", x, 0), build_const_float(b, 1), y);

    return build_select(b, build_by_number(b, "Less", x, 0), build_const_float(b, 0), above);
}
PAIR(heaviside, "Heaviside", true, step_of(b, x, y));

/* √(x² + y²), computed from the ratio of both, so that no square overflows. */
static struct endpoint length(struct builder *b, struct endpoint x, struct endpoint y)
{
    x = build_unary(b, "Abs", NULL, x);
    y = build_unary(b, "Abs", NULL, y);
    struct endpoint most = build_binary(b, "Maximum", NULL, x, y);
    struct endpoint ratio =
        build_binary(b, "DivNoNan", NULL, build_binary(b, "Minimum", NULL, x, y), most);
    struct endpoint sum = build_by_number(b, "AddV2", build_unary(b, "Square", NULL, ratio), 1);

    return build_binary(b, "Mul", NULL, most, build_unary(b, "Sqrt", NULL, sum));
}
PAIR(hypot, "Hypot", true, length(b, x, y));

/* The remainder with the sign of x. */
static struct endpoint remainder_of(struct builder *b, struct endpoint x, struct endpoint y)
{
    struct endpoint rest = build_binary(b, "FloorMod", NULL, build_unary(b, "Abs", NULL, x),
                                        build_unary(b, "Abs", NULL, y));

    return build_binary(b, "Mul", NULL, build_unary(b, "Sign", NULL, x), rest);
}
PAIR(fmod, "Fmod", false, remainder_of(b, x, y));

static struct endpoint truth(struct builder *b, struct endpoint x)
{
    return build_cast(b, NULL, x, DT_BOOL);
}
PAIR(logical_xor, "LogicalXor", false, build_binary(b, "NotEqual", NULL, truth(b, x), truth(b, y)));

static const struct layer_arg close_args[] = {
    { "equal_nan", ARG_NONE, "false" },
};
static const char *const close_inputs[] = { "x1", "x2", "rtol", "atol", NULL };

/* |x - y| <= atol + rtol |y|; exactly equal, if both are integers. */
static void isclose_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    struct builder *b = &context->builder;
    double relative = 1e-5, absolute = 1e-8;
    struct endpoint operands[2];

    if (!op_number(context, layer, io, "rtol", &relative) ||
        !op_number(context, layer, io, "atol", &absolute) ||
        !op_operands(context, layer, io, operands))
        return;
    if (!dtype_is_floating(endpoint_dtype(operands[0]))) {
        op_give(io, build_binary(b, "Equal", NULL, operands[0], operands[1]));
        return;
    }
    struct endpoint most =
        build_by_number(b, "Mul", build_unary(b, "Abs", NULL, operands[1]), relative);
    struct endpoint apart = build_binary(b, "Sub", NULL, operands[0], operands[1]);
    op_give(io, build_binary(b, "LessEqual", NULL, build_unary(b, "Abs", NULL, apart),
                             build_by_number(b, "AddV2", most, absolute)));
}
OP_ARGS_CLASS(isclose, "Isclose", close_args, close_inputs, isclose_call);
