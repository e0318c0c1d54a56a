/* op_element: operations element by element. */
#include "layers/classes/op.h"

#include <math.h>

/* ---- of two operands ---- */

enum operand_kind {
    OPERANDS_NUMBERS, /* in the type to which Keras promotes both */
    OPERANDS_FLOATS,
    OPERANDS_TRUTHS,
};

static enum dtype kind_dtype(enum operand_kind kind, enum dtype own)
{
    if (kind == OPERANDS_TRUTHS)
        return DT_BOOL;
    return kind == OPERANDS_FLOATS ? DT_FLOAT : own;
}

static void binary(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                   const char *op, enum operand_kind kind)
{
    struct endpoint operands[2];

    if (!op_operands(context, layer, io, operands))
        return;
    for (int i = 0; i < 2; i++)
        operands[i] = cast_to(context, operands[i], kind_dtype(kind, endpoint_dtype(operands[i])));
    op_give(io, build_binary(&context->builder, op, NULL, operands[0], operands[1]));
}

#define BINARY(noun, name, op, kind)                                                  \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        binary(context, layer, io, op, kind);                                         \
    }                                                                                 \
    OP_CLASS(noun, name, op_x1_x2, noun##_call)

BINARY(add, "Add", "AddV2", OPERANDS_NUMBERS);
BINARY(subtract, "Subtract", "Sub", OPERANDS_NUMBERS);
BINARY(multiply, "Multiply", "Mul", OPERANDS_NUMBERS);
BINARY(divide, "Divide", "RealDiv", OPERANDS_FLOATS);
BINARY(true_divide, "TrueDivide", "RealDiv", OPERANDS_FLOATS);
BINARY(divide_no_nan, "DivideNoNan", "DivNoNan", OPERANDS_FLOATS);
BINARY(floor_divide, "FloorDivide", "FloorDiv", OPERANDS_NUMBERS);
BINARY(mod, "Mod", "FloorMod", OPERANDS_NUMBERS);
BINARY(power, "Power", "Pow", OPERANDS_NUMBERS);
BINARY(maximum, "Maximum", "Maximum", OPERANDS_NUMBERS);
BINARY(minimum, "Minimum", "Minimum", OPERANDS_NUMBERS);
BINARY(arctan2, "Arctan2", "Atan2", OPERANDS_FLOATS);
BINARY(equal, "Equal", "Equal", OPERANDS_NUMBERS);
BINARY(not_equal, "NotEqual", "NotEqual", OPERANDS_NUMBERS);
BINARY(greater, "Greater", "Greater", OPERANDS_NUMBERS);
BINARY(greater_equal, "GreaterEqual", "GreaterEqual", OPERANDS_NUMBERS);
BINARY(less, "Less", "Less", OPERANDS_NUMBERS);
BINARY(less_equal, "LessEqual", "LessEqual", OPERANDS_NUMBERS);
BINARY(logical_and, "LogicalAnd", "LogicalAnd", OPERANDS_TRUTHS);
BINARY(logical_or, "LogicalOr", "LogicalOr", OPERANDS_TRUTHS);

static const char *const where_inputs[] = { "condition", "x1", "x2", NULL };

static void where_call(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io)
{
    struct endpoint condition = io_tensor(io, "condition").value, operands[2];

    if (condition.node == NULL) {
        layer_fail(context, layer, "argument 'condition' of a call is no tensor");
        return;
    }
    if (!op_operands(context, layer, io, operands))
        return;
    int rank = endpoint_shape(condition)->rank;
    for (int i = 0; i < 2; i++) {
        struct endpoint tensor = io_tensor(io, op_x1_x2[i]).value;
        if (tensor.node != NULL && (!layer_check_open(context, layer, tensor, rank, rank) ||
                                    !layer_check_broadcast(context, layer, condition, tensor)))
            return;
    }
    op_give(io, build_select(&context->builder, cast_to(context, condition, DT_BOOL), operands[0],
                             operands[1]));
}
OP_CLASS(where, "Where", where_inputs, where_call);

static const char *const select_inputs[] = { "condlist", "choicelist", "default", NULL };

/* Takes each element from the choice whose condition is the first one that holds. */
static void select_call(struct layer_context *context, const struct layer *layer,
                        struct layer_io *io)
{
    struct layer_value conditions[LAYER_OUTPUTS_MAX], choices[LAYER_OUTPUTS_MAX];
    struct builder *b = &context->builder;
    double otherwise = 0;

    int count = io_tensors(io, "condlist", LAYER_OUTPUTS_MAX, conditions);
    if (!op_number(context, layer, io, "default", &otherwise) ||
        !status_is_ok(context->builder.status))
        return;
    if (count < 1 || io->call->inputs_count != 2 * count ||
        io_tensors(io, "choicelist", LAYER_OUTPUTS_MAX, choices) != count) {
        layer_fail(context, layer, "%d conditions; expected 1 to %d tensors, and as many choices",
                   count, LAYER_OUTPUTS_MAX);
        return;
    }
    bool is_exact = otherwise == trunc(otherwise) && fabs(otherwise) <= (double)FLOAT_INTEGER_MAX;
    if (!dtype_is_floating(endpoint_dtype(choices[0].value)) && !is_exact) {
        layer_refuse(context, layer, "'default' %g beside choices of %s", otherwise,
                     dtype_name(endpoint_dtype(choices[0].value)));
        return;
    }
    int rank = endpoint_shape(conditions[0].value)->rank;
    struct endpoint y = op_number_like(context, choices[0].value, otherwise);
    for (int i = count - 1; i >= 0; i--) {
        const struct endpoint pair[] = { conditions[i].value, choices[i].value };
        for (int k = 0; k < 2; k++)
            if (!layer_check_open(context, layer, pair[k], rank, rank) ||
                !layer_check_broadcast(context, layer, conditions[0].value, pair[k]) ||
                !layer_check_broadcast(context, layer, choices[0].value, pair[k]))
                return;
        if (endpoint_dtype(pair[0]) != DT_BOOL ||
            endpoint_dtype(pair[1]) != endpoint_dtype(choices[0].value)) {
            layer_fail(context, layer, "expected conditions of bool, and choices of one type");
            return;
        }
        y = build_select(b, pair[0], pair[1], y);
    }
    op_give(io, y);
}
OP_CLASS(select, "Select", select_inputs, select_call);

/* ---- of one ---- */

static void unary(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                  const char *op, enum operand_kind kind)
{
    struct endpoint x = io->inputs[0].value;

    if (!op_check_numbers(context, layer, x))
        return;
    x = cast_to(context, x, kind_dtype(kind, endpoint_dtype(x)));
    op_give(io, build_unary(&context->builder, op, NULL, x));
}

#define UNARY(noun, name, op, kind)                                                   \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        unary(context, layer, io, op, kind);                                          \
    }                                                                                 \
    OP_CLASS(noun, name, op_x, noun##_call)

UNARY(negative, "Negative", "Neg", OPERANDS_NUMBERS);
UNARY(absolute, "Absolute", "Abs", OPERANDS_NUMBERS);
UNARY(abs, "Abs", "Abs", OPERANDS_NUMBERS);
UNARY(fabs, "Fabs", "Abs", OPERANDS_FLOATS);
UNARY(square, "Square", "Square", OPERANDS_NUMBERS);
UNARY(sign, "Sign", "Sign", OPERANDS_NUMBERS);
UNARY(sqrt, "Sqrt", "Sqrt", OPERANDS_FLOATS);
UNARY(rsqrt, "Rsqrt", "Rsqrt", OPERANDS_FLOATS);
UNARY(reciprocal, "Reciprocal", "Reciprocal", OPERANDS_FLOATS);
UNARY(exp, "Exp", "Exp", OPERANDS_FLOATS);
UNARY(expm1, "Expm1", "Expm1", OPERANDS_FLOATS);
UNARY(log, "Log", "Log", OPERANDS_FLOATS);
UNARY(log1p, "Log1p", "Log1p", OPERANDS_FLOATS);
UNARY(sin, "Sin", "Sin", OPERANDS_FLOATS);
UNARY(cos, "Cos", "Cos", OPERANDS_FLOATS);
UNARY(tan, "Tan", "Tan", OPERANDS_FLOATS);
UNARY(arctan, "Arctan", "Atan", OPERANDS_FLOATS);
UNARY(tanh, "Tanh", "Tanh", OPERANDS_FLOATS);
UNARY(erf, "Erf", "Erf", OPERANDS_FLOATS);
UNARY(arcsin, "Arcsin", "Asin", OPERANDS_FLOATS);
UNARY(arccos, "Arccos", "Acos", OPERANDS_FLOATS);
UNARY(sinh, "Sinh", "Sinh", OPERANDS_FLOATS);
UNARY(cosh, "Cosh", "Cosh", OPERANDS_FLOATS);
UNARY(arcsinh, "Arcsinh", "Asinh", OPERANDS_FLOATS);
UNARY(arccosh, "Arccosh", "Acosh", OPERANDS_FLOATS);
UNARY(arctanh, "Arctanh", "Atanh", OPERANDS_FLOATS);
UNARY(erfc, "Erfc", "Erfc", OPERANDS_FLOATS);
UNARY(erfinv, "Erfinv", "Erfinv", OPERANDS_FLOATS);
UNARY(isnan, "Isnan", "IsNan", OPERANDS_FLOATS);
UNARY(isinf, "Isinf", "IsInf", OPERANDS_FLOATS);
UNARY(isfinite, "Isfinite", "IsFinite", OPERANDS_FLOATS);
UNARY(copy, "Copy", "Identity", OPERANDS_NUMBERS);
UNARY(floor, "Floor", "Floor", OPERANDS_FLOATS);
UNARY(ceil, "Ceil", "Ceil", OPERANDS_FLOATS);
UNARY(logical_not, "LogicalNot", "LogicalNot", OPERANDS_TRUTHS);

static const char *const variable_input[] = { "variable", NULL };

static void stop_gradient_call(struct layer_context *context, const struct layer *layer,
                               struct layer_io *io)
{
    (void)layer;
    op_give(io, build_unary(&context->builder, "StopGradient", NULL, io->inputs[0].value));
}
OP_CLASS(stop_gradient, "StopGradient", variable_input, stop_gradient_call);

static const struct layer_arg clip_args[] = {
    { "x_min", ARG_ANY_NUMBER, REQUIRED },
    { "x_max", ARG_ANY_NUMBER, REQUIRED },
};

static void clip_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct endpoint x = io->inputs[0].value;

    if (!op_floats(context, layer, &x))
        return;
    const struct endpoint inputs[] = {
        x, op_number_like(context, x, layer_arg(layer, "x_min")->number),
        op_number_like(context, x, layer_arg(layer, "x_max")->number)
    };
    op_give(io, build(&context->builder, "ClipByValue", NULL, 3, inputs, NULL));
}
OP_ARGS_CLASS(clip, "Clip", clip_args, op_x, clip_call);

static const struct layer_arg cast_args[] = {
    { "dtype", ARG_VALUE, REQUIRED },
};

struct endpoint op_in_dtype(struct layer_context *context, const struct layer *layer,
                            struct endpoint x)
{
    static const struct {
        const char *name;
        enum dtype dtype;
    } dtypes[] = {
        { "float32", DT_FLOAT }, { "float16", DT_HALF }, { "bfloat16", DT_BFLOAT16 },
        { "int32", DT_INT32 },   { "int64", DT_INT64 },  { "bool", DT_BOOL },
    };
    const struct json_value *wanted = layer_arg(layer, "dtype")->value;

    if (json_value_is_null(wanted))
        return x;
    if (!op_check_numbers(context, layer, x))
        return x;
    for (size_t i = 0; wanted->kind == JSON_VALUE_TEXT && i < COUNT(dtypes); i++)
        if (strcmp(wanted->text, dtypes[i].name) == 0) {
            const enum dtype before = builder_set_float(&context->builder, DT_FLOAT);
            x = cast_to(context, x, dtypes[i].dtype);
            builder_set_float(&context->builder, before);
            return x;
        }
    layer_refuse(context, layer,
                 "dtype %s; only float32, float16, bfloat16, int32, int64 and bool are implemented",
                 json_value_show(wanted, context->arena));
    return x;
}

static void cast_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    op_give(io, op_in_dtype(context, layer, io->inputs[0].value));
}
OP_DTYPE_CLASS(cast, "Cast", cast_args, op_x, cast_call);

static const struct layer_arg like_args[] = {
    { "dtype", ARG_VALUE, "null" },
};

#define LIKE(noun, op)                                                                \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        struct endpoint x = op_in_dtype(context, layer, io->inputs[0].value);         \
        op_give(io, build_unary(&context->builder, op, NULL, x));                     \
    }                                                                                 \
    OP_DTYPE_CLASS(noun, op, like_args, op_x, noun##_call)
LIKE(zeros_like, "ZerosLike");
LIKE(ones_like, "OnesLike");

static const struct layer_arg convert_args[] = {
    { "dtype", ARG_NONE, "null" },
    { "sparse", ARG_NONE, "null" },
    { "ragged", ARG_NONE, "null" },
};

static void convert_call(struct layer_context *context, const struct layer *layer,
                         struct layer_io *io)
{
    (void)context;
    (void)layer;
    op_give(io, io->inputs[0].value);
}
OP_ARGS_CLASS(convert_to_tensor, "ConvertToTensor", convert_args, op_x, convert_call);

/* ---- activations ---- */

static struct endpoint activated(struct layer_context *context, const struct layer *layer,
                                 const char *name, struct endpoint x)
{
    const struct json_value text = { .kind = JSON_VALUE_TEXT, .text = name };
    const struct activation *activation;

    struct status status = activation_read(&text, context->arena, &activation);
    if (status_is_ok(status))
        return activation_build(context, activation, x);
    layer_fail(context, layer, "%s", status.message);
    return x;
}

static void activate(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     const char *name)
{
    struct endpoint x = io->inputs[0].value;

    if (op_floats(context, layer, &x))
        op_give(io, activated(context, layer, name, x));
}

/* The same along the argument "axis". */
static void along_axis(struct layer_context *context, const struct layer *layer,
                       struct layer_io *io, const char *name)
{
    struct endpoint x = io->inputs[0].value;

    int at = layer_one_axis(context, layer, endpoint_shape(x)->rank);
    if (at == 0 || !op_floats(context, layer, &x))
        return;
    x = activated(context, layer, name, build_swap_last(&context->builder, x, at));
    op_give(io, build_swap_last(&context->builder, x, at));
}

/* An operation that is an activation, by Keras' name. */
#define ACTIVATION(noun, name)                                                        \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        activate(context, layer, io, #noun);                                          \
    }                                                                                 \
    OP_CLASS(noun, name, op_x, noun##_call)
ACTIVATION(relu, "Relu");
ACTIVATION(relu6, "Relu6");
ACTIVATION(sigmoid, "Sigmoid");
ACTIVATION(softplus, "Softplus");
ACTIVATION(softsign, "Softsign");
ACTIVATION(selu, "Selu");
ACTIVATION(silu, "Silu");
ACTIVATION(hard_sigmoid, "HardSigmoid");
ACTIVATION(hard_silu, "HardSilu");
ACTIVATION(log_sigmoid, "LogSigmoid");
ACTIVATION(sparse_plus, "SparsePlus");
ACTIVATION(sparse_sigmoid, "SparseSigmoid");
ACTIVATION(tanh_shrink, "TanhShrink");
ACTIVATION(hard_tanh, "HardTanh");

static const struct layer_arg threshold_args[] = {
    { "threshold", ARG_ANY_NUMBER, REQUIRED },
    { "default_value", ARG_ANY_NUMBER, REQUIRED },
};

/* x above the threshold, default_value elsewhere. */
static void threshold_call(struct layer_context *context, const struct layer *layer,
                           struct layer_io *io)
{
    struct endpoint x = io->inputs[0].value;
    struct builder *b = &context->builder;

    if (!op_floats(context, layer, &x))
        return;
    struct endpoint threshold = op_number_like(context, x, layer_arg(layer, "threshold")->number);
    struct endpoint above = build_binary(b, "Greater", NULL, x, threshold);
    struct endpoint otherwise =
        op_number_like(context, x, layer_arg(layer, "default_value")->number);
    op_give(io, build_select(b, above, x, otherwise));
}
OP_ARGS_CLASS(threshold, "Threshold", threshold_args, op_x, threshold_call);

static const struct layer_arg axis_args[] = {
    { "axis", ARG_NULL_OR_INT, "-1" },
};
static const struct layer_arg alpha_args[] = {
    { "alpha", ARG_NUMBER, "1.0" },
};
static const struct layer_arg slope_args[] = {
    { "negative_slope", ARG_NUMBER, "0.2" },
    { "alpha", ARG_NULL_OR_NUMBER, "null" },
};
static const struct layer_arg gelu_args[] = {
    { "approximate", ARG_BOOL, "true" },
};

/* Builds the operation as the layer whose arguments have the same names. */
static void build_as(struct layer_context *context, const struct layer *layer, struct layer_io *io,
                     const struct layer_class *class)
{
    struct endpoint x = io->inputs[0].value;

    if (op_floats(context, layer, &x))
        op_give(io, class->build(context, layer, x));
}

#define AS_LAYER(noun, name, args, class)                                             \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        build_as(context, layer, io, &class);                                         \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, args, op_x, noun##_call)
static const struct layer_arg axes_args[] = {
    { "axis", ARG_NULL_OR_VALUE, "-1" },
};
AS_LAYER(softmax, "Softmax", axes_args, layer_softmax);
AS_LAYER(elu, "Elu", alpha_args, layer_elu);
AS_LAYER(leaky_relu, "LeakyRelu", slope_args, layer_leaky_relu);

/* An activation along one axis. */
#define AXIS_ACTIVATION(noun, name)                                                   \
    static void noun##_call(struct layer_context *context, const struct layer *layer, \
                            struct layer_io *io)                                      \
    {                                                                                 \
        along_axis(context, layer, io, #noun);                                        \
    }                                                                                 \
    OP_ARGS_CLASS(noun, name, axis_args, op_x, noun##_call)
AXIS_ACTIVATION(log_softmax, "LogSoftmax");
AXIS_ACTIVATION(glu, "Glu");
AXIS_ACTIVATION(sparsemax, "Sparsemax");

/* x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2 */
static struct endpoint gelu_by_tanh(struct builder *b, struct endpoint x)
{
    struct endpoint cube = build_binary(b, "Mul", NULL, build_unary(b, "Square", NULL, x), x);
    cube = build_binary(b, "Mul", NULL, cube, build_const_float(b, 0.044715f));
    struct endpoint inner = build_binary(b, "Mul", NULL, build_binary(b, "AddV2", NULL, x, cube),
                                         build_const_float(b, 0.79788456f));
    struct endpoint share = build_binary(b, "AddV2", NULL, build_unary(b, "Tanh", NULL, inner),
                                         build_const_float(b, 1));
    struct endpoint half = build_binary(b, "Mul", NULL, x, build_const_float(b, 0.5f));

    return build_binary(b, "Mul", NULL, half, share);
}

static void gelu_call(struct layer_context *context, const struct layer *layer, struct layer_io *io)
{
    struct endpoint x = io->inputs[0].value;

    if (!layer_arg(layer, "approximate")->boolean) {
        activate(context, layer, io, "gelu");
        return;
    }
    if (op_floats(context, layer, &x))
        op_give(io, gelu_by_tanh(&context->builder, x));
}
OP_ARGS_CLASS(gelu, "Gelu", gelu_args, op_x, gelu_call);
