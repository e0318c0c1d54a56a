/* Gradients of matrix products, which are matrix products again; transposes are flags. */
#include "graph/gradients/emit.h"

/* A product of two of a, b and dy. */
struct factor {
    enum { A, B, DY } which;
    bool transposed;
};

/* The gradients by the flags of the product: [transpose_a][transpose_b]. */
static const struct {
    struct factor a[2], b[2];
} rules[2][2] = {
    { { { { DY, false }, { B, true } }, { { A, true }, { DY, false } } },
      { { { DY, false }, { B, false } }, { { DY, true }, { A, false } } } },
    { { { { B, false }, { DY, true } }, { { A, false }, { DY, false } } },
      { { { B, true }, { DY, true } }, { { DY, true }, { A, true } } } },
};

struct names {
    const char *op, *left, *right; /* the op and its flags */
};

/* `all` has a, b and dy. */
static struct endpoint product_of(struct gradient_context *c, const struct names *names,
                                  const struct endpoint *all, const struct factor factors[2])
{
    const struct endpoint inputs[] = { all[factors[0].which], all[factors[1].which] };

    return build(c->builder, names->op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool(names->left, factors[0].transposed),
                                        attr_bool(names->right, factors[1].transposed), ATTR_END });
}

static struct status both(struct gradient_context *c, const struct names *names,
                          struct endpoint gradients[2])
{
    const struct endpoint all[] = { [A] = input(c, 0), [B] = input(c, 1), [DY] = dy(c) };
    bool left, right;

    TRY(node_attr_bool(c->node, names->left, &left));
    TRY(node_attr_bool(c->node, names->right, &right));
    if (c->wanted[0])
        gradients[0] = product_of(c, names, all, rules[left][right].a);
    if (c->wanted[1])
        gradients[1] = product_of(c, names, all, rules[left][right].b);
    return status_ok();
}

struct status gradient_matmul(struct gradient_context *c)
{
    static const struct names names = { "MatMul", "transpose_a", "transpose_b" };

    return both(c, &names, c->inputs);
}

static struct endpoint as_float(struct gradient_context *c, struct endpoint x)
{
    return endpoint_dtype(x) == DT_FLOAT ? x : as_type(c, x, DT_FLOAT);
}

/* The factors may be of two types; the product and its gradient are floats. */
struct status gradient_sparse_matmul(struct gradient_context *c)
{
    static const struct names names = { "MatMul", "transpose_a", "transpose_b" };
    const struct endpoint factors[] = { as_float(c, input(c, 0)), as_float(c, input(c, 1)), dy(c) };
    bool left, right;

    TRY(node_attr_bool(c->node, names.left, &left));
    TRY(node_attr_bool(c->node, names.right, &right));
    const struct factor *const found[] = { rules[left][right].a, rules[left][right].b };
    for (int i = 0; i < 2; i++) {
        enum dtype dtype = endpoint_dtype(input(c, i));
        struct endpoint gradient = product_of(c, &names, factors, found[i]);
        send(c, i, dtype == DT_FLOAT ? gradient : as_type(c, gradient, dtype));
    }
    return status_ok();
}

/* Are the batch dimensions certainly the same? */
static bool same_batch(const struct shape *a, const struct shape *b)
{
    if (a->rank < 2 || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank - 2; i++)
        if (a->dims[i] < 0 || a->dims[i] != b->dims[i])
            return false;
    return true;
}

struct status gradient_batch_matmul_v2(struct gradient_context *c)
{
    static const struct names names = { "BatchMatMulV2", "adj_x", "adj_y" };
    struct endpoint gradients[2] = { { 0 } };

    TRY(both(c, &names, gradients));
    for (int i = 0; i < 2; i++) {
        if (!c->wanted[i])
            continue;
        /* Batches were broadcast: the gradient has the batch of the output, and is summed to
         * that of the input. */
        if (!same_batch(endpoint_shape(input(c, i)), endpoint_shape(output(c)))) {
            struct endpoint shape = unary(c, "Shape", input(c, i));
            struct endpoint axes =
                binary(c, "BroadcastGradientArgs", shape, unary(c, "Shape", gradients[i]));
            gradients[i] = binary(c, "Reshape", binary(c, "Sum", gradients[i], axes), shape);
        }
        send(c, i, gradients[i]);
    }
    return status_ok();
}
