#include "graph/gradients/emit.h"

struct endpoint number(struct gradient_context *c, struct endpoint like, double value)
{
    struct endpoint constant = build_const_float(c->builder, (float)value);
    enum dtype dtype = endpoint_dtype(like);

    if (dtype == DT_DOUBLE) {
        const struct shape scalar = shape_scalar();
        struct tensor tensor = tensor_borrow(DT_DOUBLE, &scalar, &value);
        return build_const(c->builder, NULL, &tensor);
    }
    if (dtype == DT_FLOAT)
        return constant;
    return as_type(c, constant, dtype);
}

struct endpoint uniform(struct endpoint gradient)
{
    if (gradient.node != NULL && strcmp(gradient.node->op_name, "Fill") == 0)
        return gradient.node->inputs[1];
    return (struct endpoint){ 0 };
}

bool is_one(struct endpoint endpoint)
{
    const struct tensor *value;

    return endpoint.node != NULL && strcmp(endpoint.node->op_name, "Const") == 0 &&
           status_is_ok(node_attr_tensor(endpoint.node, "value", &value)) &&
           value->dtype == DT_FLOAT && value->size == 1 && tensor_floats(value)[0] == 1;
}

struct endpoint as_type(struct gradient_context *c, struct endpoint x, enum dtype dtype)
{
    return build_cast(c->builder, NULL, x, dtype);
}

struct endpoint gather_rows(struct gradient_context *c, struct endpoint x, struct endpoint indices)
{
    const struct endpoint inputs[] = { x, indices, build_const_int(c->builder, 0) };

    return build(c->builder, "GatherV2", NULL, 3, inputs, NULL);
}

struct endpoint conjugate(struct gradient_context *c, struct endpoint x)
{
    return dtype_is_complex(endpoint_dtype(x)) ? unary(c, "Conj", x) : x;
}

struct endpoint times(struct gradient_context *c, struct endpoint gradient, struct endpoint factor)
{
    struct endpoint scalar = uniform(gradient);

    factor = conjugate(c, factor);
    if (scalar.node == NULL)
        return binary(c, "Mul", gradient, factor);
    return is_one(scalar) ? factor : binary(c, "Mul", factor, scalar);
}

static struct endpoint const_shape(struct gradient_context *c, const struct shape *shape)
{
    int32_t dims[SHAPE_RANK_MAX];

    for (int i = 0; i < shape->rank; i++)
        dims[i] = (int32_t)shape->dims[i];
    return build_const_ints(c->builder, NULL, shape->rank, dims);
}

struct endpoint shape_tensor(struct gradient_context *c, struct endpoint x)
{
    const struct shape *shape = endpoint_shape(x);

    return shape_is_known(shape) ? const_shape(c, shape) : unary(c, "Shape", x);
}

struct endpoint reshape_to(struct gradient_context *c, struct endpoint x, const struct shape *shape)
{
    return binary(c, "Reshape", x, const_shape(c, shape));
}

struct endpoint reshape_like(struct gradient_context *c, struct endpoint x, struct endpoint like)
{
    const struct shape *shape = endpoint_shape(like);
    int unknown = shape->rank < 0 ? 2 : 0;

    for (int i = 0; i < shape->rank; i++)
        unknown += shape->dims[i] < 0;
    if (unknown <= 1)
        return reshape_to(c, x, shape);
    return binary(c, "Reshape", x, unary(c, "Shape", like));
}

/* ---- undoing broadcasting ---- */

/* Dimension i of the output, counted from the right, in `shape`: 1 if it has none. */
static int64_t aligned(const struct shape *shape, int out_rank, int i)
{
    int at = i - (out_rank - shape->rank);

    return at < 0 ? 1 : shape->dims[at];
}

/* Is dimension i of the output certainly that of input `index`? */
static bool keeps(const struct gradient_context *c, int index, const struct shape *out, int i)
{
    int64_t dim = aligned(endpoint_shape(input(c, index)), out->rank, i);

    if (i < out->rank - endpoint_shape(input(c, index))->rank)
        return false; /* it has no such dimension, even if that of the output is 1 */
    if (dim >= 0)
        return dim == out->dims[i];
    for (int k = 0; k < c->node->inputs_count; k++) {
        const struct shape *other = endpoint_shape(input(c, k));
        if (k != index && (other->rank < 0 || aligned(other, out->rank, i) != 1))
            return false;
    }
    return true;
}

static struct endpoint reduce_dynamic(struct gradient_context *c, struct endpoint gradient,
                                      struct endpoint x)
{
    struct endpoint shape = unary(c, "Shape", x);
    struct endpoint axes = binary(c, "BroadcastGradientArgs", shape, unary(c, "Shape", gradient));

    return binary(c, "Reshape", binary(c, "Sum", gradient, axes), shape);
}

struct endpoint reduce_to(struct gradient_context *c, struct endpoint gradient, int index)
{
    return reduce_from(c, gradient, endpoint_shape(output(c)), index);
}

struct endpoint reduce_from(struct gradient_context *c, struct endpoint gradient,
                            const struct shape *out, int index)
{
    struct endpoint x = input(c, index);
    const struct shape *shape = endpoint_shape(x);
    int32_t axes[SHAPE_RANK_MAX];
    int count = 0;
    bool reshape = false;

    if (shape->rank < 0 || out->rank < 0)
        return reduce_dynamic(c, gradient, x);
    for (int i = 0; i < out->rank; i++) {
        if (keeps(c, index, out, i))
            continue;
        if (aligned(shape, out->rank, i) != 1)
            return reduce_dynamic(c, gradient, x);
        axes[count++] = i;
        reshape = reshape || i >= out->rank - shape->rank; /* a dimension of 1 that stays */
    }
    if (count == 0)
        return gradient;
    struct endpoint sum =
        binary(c, "Sum", gradient, build_const_ints(c->builder, NULL, count, axes));
    return reshape ? reshape_like(c, sum, x) : sum;
}

struct endpoint dy_or_zeros(struct gradient_context *c, int index)
{
    if (c->outputs[index].node != NULL)
        return c->outputs[index];
    return unary(c, "ZerosLike", (struct endpoint){ c->node, index });
}

bool constant_ints(const struct gradient_context *c, int index, int max, int64_t *out, int *count)
{
    const struct node *node = input(c, index).node;
    const struct tensor *value;

    if (strcmp(node->op_name, "Const") != 0 ||
        !status_is_ok(node_attr_tensor(node, "value", &value)) || value->size > max ||
        (value->dtype != DT_INT32 && value->dtype != DT_INT64))
        return false;
    for (int64_t i = 0; i < value->size; i++)
        out[i] = tensor_index(value, i);
    *count = (int)value->size;
    return true;
}

struct status not_constant(const struct gradient_context *c, const char *what)
{
    return status_error(STATUS_UNIMPLEMENTED,
                        "node '%s': the gradient of %s wants %s known before running",
                        c->node->name, c->node->op_name, what);
}

struct attr same_attr(const struct gradient_context *c, const char *name)
{
    const struct attr_value *value = node_attr(c->node, name);

    return (struct attr){ name, value != NULL ? *value : (struct attr_value){ 0 } };
}
