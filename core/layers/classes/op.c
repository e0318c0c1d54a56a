/* op: helpers of Keras' operations, above all for their operands. */
#include "layers/classes/op.h"

#include <math.h>

const char *const op_x[] = { "x", NULL };
const char *const op_x1_x2[] = { "x1", "x2", NULL };
const char *const op_xs[] = { "xs", NULL };

void op_give(struct layer_io *io, struct endpoint value)
{
    io->outputs[0] = (struct layer_value){ .value = value };
    io->outputs_count = 1;
}

struct endpoint op_number_like(struct layer_context *context, struct endpoint like, double value)
{
    return cast_to(context, build_const_float(&context->builder, (float)value),
                   endpoint_dtype(like));
}

struct endpoint op_over_axes(struct builder *b, const char *op, struct endpoint x, int count,
                             const int32_t *axes, bool keep)
{
    const struct endpoint inputs[] = { x, build_const_ints(b, NULL, count, axes) };

    return build(b, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", keep), ATTR_END });
}

bool op_check_numbers(struct layer_context *context, const struct layer *layer, struct endpoint x)
{
    if (endpoint_dtype(x) != DT_STRING)
        return true;
    layer_fail(context, layer, "the input is text; expected numbers");
    return false;
}

bool op_floats(struct layer_context *context, const struct layer *layer, struct endpoint *x)
{
    if (!op_check_numbers(context, layer, *x))
        return false;
    *x = cast_to(context, *x, DT_FLOAT);
    return true;
}

const struct json_value *op_constant(const struct layer_io *io, const char *argument)
{
    for (int i = 0; i < io->call->constants_count; i++)
        if (strcmp(io->call->constants[i].argument, argument) == 0)
            return io->call->constants[i].value;
    return NULL;
}

bool op_numbers(struct layer_context *context, const struct layer_io *io, const char *argument,
                struct tensor *out)
{
    return numbers_read(op_constant(io, argument), context->arena, out);
}

bool op_number(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
               const char *argument, double *out)
{
    const struct json_value *value = array_items(op_constant(io, argument));
    bool given = io_tensor(io, argument).value.node != NULL || !json_value_is_null(value);

    if (!given || (value != NULL && json_value_any_number(value, out)))
        return true;
    layer_refuse(context, layer, "argument '%s' of a call that is not one number", argument);
    return false;
}

/* ---- operands ---- */

struct operand {
    struct endpoint tensor; /* a null node: numbers */
    const struct json_value *value;
    struct tensor numbers; /* float */
    bool is_real;          /* makes integers floats */
};

/* Is each number an exact integer of the type, if it is to become one? */
static bool are_exact(const struct tensor *numbers)
{
    for (int64_t i = 0; i < numbers->size; i++)
        if (fabsf(tensor_floats(numbers)[i]) > FLOAT_INTEGER_MAX)
            return false;
    return true;
}

/* Reads 2, 0.5, [1, 2], true, or {"class_name": "__tensor__", "config": {"value", "dtype"}}. */
static bool read_constant(struct layer_context *context, const struct json_value *value,
                          struct operand *out)
{
    const char *dtype = json_value_get_text(json_value_get(value, "config"), "dtype");
    const float truth = value != NULL && value->kind == JSON_VALUE_BOOL && value->boolean;
    const struct shape scalar = shape_scalar();

    if (value == NULL)
        return false;
    if (value->kind == JSON_VALUE_BOOL) {
        out->numbers =
            tensor_borrow(DT_FLOAT, &scalar, arena_memdup(context->arena, &truth, sizeof truth));
        return true;
    }
    value = array_items(value);
    if (value == NULL || !numbers_read(value, context->arena, &out->numbers))
        return false;
    out->value = value;
    out->is_real = dtype != NULL ? strncmp(dtype, "float", 5) == 0 : value->kind != JSON_VALUE_INT;
    return true;
}

static bool find_operand(struct layer_context *context, const struct layer *layer,
                         const struct layer_io *io, const char *argument, struct operand *out)
{
    *out = (struct operand){ .tensor = io_tensor(io, argument).value };
    if (out->tensor.node == NULL && !read_constant(context, op_constant(io, argument), out)) {
        layer_fail(context, layer, "argument '%s' of a call is no tensor and no number", argument);
        return false;
    }
    if (out->tensor.node == NULL)
        return true;
    if (endpoint_dtype(out->tensor) == DT_STRING) {
        layer_fail(context, layer, "argument '%s' of a call is text; expected numbers", argument);
        return false;
    }
    return status_is_ok(context->builder.status);
}

/* The position of a dtype in the promotion order from bool to float. */
static int rank_of_dtype(enum dtype dtype)
{
    static const enum dtype order[] = { DT_BOOL, DT_INT32, DT_INT64, DT_FLOAT };

    for (int i = 0; i < (int)COUNT(order); i++)
        if (order[i] == dtype)
            return i;
    return (int)COUNT(order) - 1;
}

static enum dtype result_dtype(int count, const struct operand *operands)
{
    enum dtype dtype = DT_BOOL;

    for (int i = 0; i < count; i++) {
        enum dtype own = operands[i].tensor.node != NULL ? endpoint_dtype(operands[i].tensor)
                         : operands[i].is_real           ? DT_FLOAT
                         : operands[i].value != NULL     ? DT_INT32
                                                         : DT_BOOL;
        if (dtype_is_floating(own))
            own = DT_FLOAT; /* that of the operation */
        dtype = rank_of_dtype(own) > rank_of_dtype(dtype) ? own : dtype;
    }
    return dtype;
}

static struct endpoint constant(struct layer_context *context, const struct layer *layer,
                                const struct operand *operand, enum dtype dtype)
{
    struct builder *b = &context->builder;
    const struct json_value *value = operand->value;
    const struct shape scalar = shape_scalar();

    if (dtype != DT_FLOAT && value != NULL && value->kind == JSON_VALUE_INT) {
        const struct tensor exact = tensor_borrow(DT_INT64, &scalar, &value->integer);
        return cast_to(context, build_const(b, NULL, &exact), dtype);
    }
    if (dtype != DT_FLOAT && !are_exact(&operand->numbers))
        layer_refuse(context, layer, "lists of integers beyond 2^24");
    return cast_to(context, build_const(b, NULL, &operand->numbers), dtype);
}

bool op_table(struct layer_context *context, const struct layer *layer, const struct layer_io *io,
              const char *argument, struct endpoint *out)
{
    struct operand operand = { 0 };

    if (!read_constant(context, op_constant(io, argument), &operand)) {
        layer_fail(context, layer, "argument '%s' of a call is no tensor and no number", argument);
        return false;
    }
    *out = constant(context, layer, &operand, result_dtype(1, &operand));
    return status_is_ok(context->builder.status);
}

/* Have two tensors one rank, or has a constant no dimension at the position of the batch? */
static bool fit_together(struct layer_context *context, const struct layer *layer,
                         const struct operand operands[2])
{
    int tensor = operands[0].tensor.node != NULL ? 0 : 1;
    const struct operand *other = &operands[1 - tensor];
    bool both = other->tensor.node != NULL;
    const struct shape *shape = endpoint_shape(operands[tensor].tensor);
    const struct shape *own = both ? endpoint_shape(other->tensor) : &other->numbers.shape;

    if (own->rank == shape->rank ? both || own->dims[0] == 1 : !both && own->rank < shape->rank)
        return !both || layer_check_broadcast(context, layer, operands[0].tensor, other->tensor);
    layer_fail(context, layer, "operands of shapes %s and %s do not fit row by row",
               shape_text(shape), shape_text(own));
    return false;
}

bool op_operands(struct layer_context *context, const struct layer *layer,
                 const struct layer_io *io, struct endpoint out[2])
{
    struct operand operands[2];

    for (int i = 0; i < 2; i++)
        if (!find_operand(context, layer, io, op_x1_x2[i], &operands[i]))
            return false;
    if (operands[0].tensor.node == NULL && operands[1].tensor.node == NULL) {
        layer_fail(context, layer, "a call without tensors");
        return false;
    }
    if (!fit_together(context, layer, operands))
        return false;
    enum dtype dtype = result_dtype(2, operands);
    for (int i = 0; i < 2; i++)
        out[i] = operands[i].tensor.node != NULL ? cast_to(context, operands[i].tensor, dtype)
                                                 : constant(context, layer, &operands[i], dtype);
    return status_is_ok(context->builder.status);
}
