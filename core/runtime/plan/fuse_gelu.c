/* 0.5 · x · erfc(-x · sqrt(0.5)), the exact gelu, becomes the activation _Gelu of the product that
 * makes x. */
#include "runtime/plan/fuse.h"

#define SQRT_HALF 0.70710678f

/* Is it a product of two factors of which one is this scalar? Gives the other one. */
static bool is_times(const struct fuse *fuse, struct endpoint value, float scalar,
                     struct endpoint *other)
{
    const struct node *node = value.node;
    if (!op_is(node, "Mul") || node->inputs_count != 2 || !has_one_user(fuse, value))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct tensor *factor = constant_of(fuse, node->inputs[i]);
        *other = node->inputs[1 - i];
        if (factor != NULL && factor->dtype == DT_FLOAT && factor->shape.rank == 0 &&
            tensor_floats(factor)[0] == scalar)
            return true;
    }
    return false;
}

/* Is it erfc(-x · sqrt(0.5))? Gives x. */
static bool is_tail(const struct fuse *fuse, struct endpoint value, struct endpoint *x)
{
    struct endpoint negative;
    if (!op_is(value.node, "Erfc") || value.node->inputs_count != 1 || !has_one_user(fuse, value) ||
        !is_times(fuse, value.node->inputs[0], SQRT_HALF, &negative) ||
        !op_is(negative.node, "Neg") || negative.node->inputs_count != 1 ||
        !has_one_user(fuse, negative))
        return false;
    *x = negative.node->inputs[0];
    return true;
}

bool fuse_gelu(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint x, again;
        struct product product;
        if (!is_tail(fuse, node->inputs[i], &x) ||
            !is_times(fuse, node->inputs[1 - i], 0.5f, &again) || !is_same(x, again) ||
            !find_product_used(fuse, x, 2, &product))
            continue;
        product.activation = "_Gelu";
        fuse_become(fuse, node, &product);
        return true;
    }
    return false;
}
