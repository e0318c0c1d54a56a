/* x · sigmoid(x), the swish or silu, becomes the activation _Swish of the product that makes x. */
#include "runtime/plan/fuse.h"

/* Is it x, or x · 1? Keras multiplies by the swish's factor beta, which is nearly always 1. */
static bool is_argument(const struct fuse *fuse, struct endpoint value, struct endpoint x)
{
    const struct node *node = value.node;
    if (is_same(value, x))
        return true;
    if (!op_is(node, "Mul") || node->inputs_count != 2 || !has_one_user(fuse, value))
        return false;
    for (int i = 0; i < 2; i++) {
        const struct tensor *factor = constant_of(fuse, node->inputs[i]);
        if (factor != NULL && factor->dtype == DT_FLOAT && factor->shape.rank == 0 &&
            tensor_floats(factor)[0] == 1 && is_same(node->inputs[1 - i], x))
            return true;
    }
    return false;
}

bool fuse_swish(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint gate = node->inputs[i], x = node->inputs[1 - i];
        struct product product;
        if (!op_is(gate.node, "Sigmoid") || gate.node->inputs_count != 1 ||
            !has_one_user(fuse, gate) || !is_argument(fuse, gate.node->inputs[0], x) ||
            !find_product_used(fuse, x, 2, &product))
            continue;
        product.activation = "_Swish";
        fuse_become(fuse, node, &product);
        return true;
    }
    return false;
}
