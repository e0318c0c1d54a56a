/*
 * Fusion: a table of patterns. A pattern matches a node and the node that makes its input. If the
 * two can be one, the later node is rewritten in place, keeping its name and its users, and the
 * earlier one is no longer used. Bias, scale and activation thus become part of the product before
 * them.
 *
 * Fused ops are TensorFlow's _FusedMatMul and _FusedConv2D, and two more of the same form: inputs
 * and attributes of the product, then `args` (the bias, and an image that is added, if there are
 * any) and `fused_ops`, such as ["BiasAdd", "Relu"] or ["BiasAdd", "Add", "Relu"]. The element-wise
 * ops that remain then become _FusedPointwise nodes (fuse_pointwise.c).
 */
#include "runtime/plan/fuse.h"

/* product + bias; the bias need not be constant. */
static bool fuse_bias_add(struct fuse *fuse, struct node *node)
{
    struct product product;
    if (!node_is_nhwc(node) || !find_product(fuse, node->inputs[0], &product) ||
        product.bias.node != NULL)
        return false;
    /* The product takes the place of the Reshape, where a bias may not have been computed. */
    if (product.reshape != NULL && constant_of(fuse, node->inputs[1]) == NULL)
        return false;
    product.bias = node->inputs[1];
    fuse_become(fuse, node, &product);
    return true;
}

void fuse_rewrite(struct node *node, const char *op, struct endpoint *inputs, int inputs_count,
                  struct attr *attrs, int attrs_count)
{
    node->op_name = op;
    node->op = op_find(op);
    node->inputs = inputs;
    node->inputs_count = node->inputs_capacity = inputs_count;
    node->attrs = attrs;
    node->attrs_count = node->attrs_capacity = attrs_count;
}

void fuse_set_attr(struct fuse *fuse, struct node *node, struct attr attr)
{
    struct attr *attrs = ARENA_ARRAY(fuse->maker->arena, struct attr, node->attrs_count + 1);
    int count = 0;
    for (int i = 0; i < node->attrs_count; i++)
        if (strcmp(node->attrs[i].name, attr.name) != 0)
            attrs[count++] = node->attrs[i];
    attrs[count++] = attr;
    node->attrs = attrs;
    node->attrs_count = node->attrs_capacity = count;
}

struct attr fuse_ints(struct fuse *fuse, const char *name, int count, const int64_t *values)
{
    struct attr_value *list = ARENA_ARRAY(fuse->maker->arena, struct attr_value, count);
    for (int i = 0; i < count; i++)
        list[i] = (struct attr_value){ .kind = ATTR_INT, .i = values[i] };
    return (struct attr){
        name, { .kind = ATTR_LIST, .element_kind = ATTR_INT, .count = count, .elements = list }
    };
}

void fuse_activation(struct fuse *fuse, struct node *node, struct product *product)
{
    product->activation = node->op_name;
    if (op_is(node, "LeakyRelu"))
        status_ignore(node_attr_float(node, "alpha", &product->alpha)); /* has a default */
    fuse_become(fuse, node, product);
}

static const struct pattern {
    const char *op;
    int inputs_min;
    bool any_dtype;
    bool (*apply)(struct fuse *fuse, struct node *node);
} patterns[] = {
    { "BiasAdd", 2, false, fuse_bias_add },
    { "BiasAdd", 2, false, fuse_second_bias },
    { "Add", 2, false, fuse_add },
    { "AddV2", 2, false, fuse_add },
    { "Sub", 2, false, fuse_sub },
    { "Mul", 2, false, fuse_swish },
    { "Mul", 2, false, fuse_gelu },
    { "Mul", 2, false, fuse_mul },
    { "RealDiv", 2, false, fuse_div },
    { "FusedBatchNorm", 5, false, fuse_batch_norm },
    { "FusedBatchNormV2", 5, false, fuse_batch_norm },
    { "FusedBatchNormV3", 5, false, fuse_batch_norm },
    { "Reshape", 2, true, fuse_flatten },
    { "SparseTensorDenseMatMul", 4, true, fuse_sparse_product },
    { "StridedSlice", 4, true, fuse_ragged_rows },
    { "Conv2D", 2, false, fuse_pad },
    { "DepthwiseConv2dNative", 2, false, fuse_pad },
};

static void fuse_node(struct fuse *fuse, struct node *node)
{
    if (node->outputs_count == 0 || constant_of(fuse, (struct endpoint){ node, 0 }) != NULL)
        return;
    for (size_t i = 0; i < COUNT(patterns); i++) {
        const struct pattern *pattern = &patterns[i];
        if (op_is(node, pattern->op) && node->inputs_count >= pattern->inputs_min &&
            (pattern->any_dtype || is_float(node)) && pattern->apply(fuse, node))
            return;
    }
    struct product product;
    if (op_has(node->op, OP_ACTIVATION) && node->inputs_count >= 1 && is_float(node) &&
        find_product(fuse, node->inputs[0], &product))
        fuse_activation(fuse, node, &product);
}

static void note_use(struct fuse *fuse, struct endpoint endpoint)
{
    int **uses = &fuse->uses[endpoint.node->id];
    if (*uses == NULL)
        *uses = ARENA_ARRAY(fuse->maker->arena, int, endpoint.node->outputs_count);
    (*uses)[endpoint.index]++;
}

static void count_uses(struct fuse *fuse)
{
    struct region *region = fuse->region;
    fuse->uses = ARENA_ARRAY(fuse->maker->arena, int *, region->ids_count);
    fuse->uses_count = region->ids_count;
    fuse->waited = ARENA_ARRAY(fuse->maker->arena, bool, region->ids_count);
    for (int i = 0; i < region->nodes_count; i++) {
        const struct node *node = region->nodes[i];
        for (int j = 0; j < node->inputs_count; j++)
            note_use(fuse, node->inputs[j]);
        for (int j = 0; j < node->controls_count; j++)
            fuse->waited[node->controls[j]->id] = true;
    }
    for (int i = 0; i < region->results_count; i++)
        note_use(fuse, region->results[i]);
    for (int i = 0; i < region->targets_count; i++)
        fuse->waited[region->targets[i]->id] = true;
}

void region_fuse(struct plan_maker *maker, struct region *region)
{
    struct fuse fuse = { .maker = maker, .region = region };
    region_prune(region);
    count_uses(&fuse);
    for (int i = 0; i < region->nodes_count; i++) {
        struct node *node = region->nodes[i];
        const struct branches *branches = region->branches[node->id];
        if (branches != NULL && branches->is_loop && fuse_recurrence(&fuse, node))
            continue;
        for (int j = 0; branches != NULL && j < branches->count; j++) {
            if (branches->chosen < 0 || branches->chosen == j)
                region_fuse(maker, branches->regions[j]);
        }
        fuse_node(&fuse, node);
    }
    region_prune(region);
    count_uses(&fuse);
    if (fuse_strides(&fuse))
        count_uses(&fuse);
    fuse_sums(&fuse);
    region_prune(region);
    count_uses(&fuse);
    fuse_pointwise(&fuse);
    region_prune(region);
    for (int i = 0; i < region->nodes_count; i++)
        fuse_narrow(&fuse, region->nodes[i]);
}
