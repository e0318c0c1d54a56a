/*
 * convolution + image, the end of a residual block, and the activation after it: the convolution
 * adds the image to each of its results while they are in registers. A step of its own would read
 * two images and write a third.
 */
#include "runtime/plan/fuse.h"

static const struct shape *shape_at(struct endpoint endpoint)
{
    return &endpoint.node->outputs[endpoint.index].shape;
}

/* oneDNN packs constant filters only. */
static bool is_convolution(const struct fuse *fuse, const struct product *product)
{
    return strcmp(product->base->op, "Conv2D") == 0 && product->reshape == NULL &&
           constant_of(fuse, product->weights) != NULL &&
           (product->bias.node == NULL || constant_of(fuse, product->bias) != NULL);
}

static void fuse_image(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        struct endpoint x = node->inputs[i], addend = node->inputs[1 - i];
        struct product product;
        if (shape_at(x)->rank != 4 || !shape_equal(shape_at(x), shape_at(addend)) ||
            constant_of(fuse, addend) != NULL || !find_product(fuse, x, &product) ||
            !is_convolution(fuse, &product))
            continue;
        product.addend = addend;
        fuse_become(fuse, node, &product);
        return;
    }
}

void fuse_sums(struct fuse *fuse)
{
    struct product product;
    for (int i = 0; i < fuse->region->nodes_count; i++) {
        struct node *node = fuse->region->nodes[i];
        if (!is_float(node) || constant_of(fuse, (struct endpoint){ node, 0 }) != NULL)
            continue;
        if ((op_is(node, "Add") || op_is(node, "AddV2")) && node->inputs_count == 2)
            fuse_image(fuse, node);
        else if (op_has(node->op, OP_ACTIVATION) && node->inputs_count >= 1 &&
                 find_sum(fuse, node->inputs[0], &product))
            fuse_activation(fuse, node, &product);
    }
}
