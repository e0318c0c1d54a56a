/* The product that a pattern starts from: finds it, and rewrites the node that takes it in. */
#include "runtime/plan/fuse.h"

static const struct base bases[] = {
    { "MatMul", "_FusedMatMul", 2, 2 },
    { "Conv2D", "_FusedConv2D", 2, 4 },
    { "DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", 2, 4 },
    { "Conv2DBackpropInput", "_FusedConv2DBackpropInput", 3, 4 },
};

static bool has_uses(const struct fuse *fuse, struct endpoint endpoint, int count)
{
    const struct node *node = endpoint.node;
    return endpoint.index == 0 && fuse->uses[node->id][0] == count && !fuse->waited[node->id] &&
           node->controls_count == 0 && constant_of(fuse, endpoint) == NULL;
}

bool has_one_user(const struct fuse *fuse, struct endpoint endpoint)
{
    return has_uses(fuse, endpoint, 1);
}

const struct base *base_of(const struct node *node)
{
    for (size_t i = 0; i < COUNT(bases); i++) {
        if (op_is(node, bases[i].op) || op_is(node, bases[i].fused))
            return &bases[i];
    }
    return NULL;
}

static void read_fused(struct product *product)
{
    const struct node *node = product->node;
    const struct attr_value *names = node_attr(node, "fused_ops");
    int arg = product->base->inputs_count;
    for (int i = 0; names != NULL && i < names->count; i++) {
        struct bytes name = names->elements[i].s;
        if (bytes_equal(name, bytes_of("BiasAdd")))
            product->bias = node->inputs[arg++];
        else if (bytes_equal(name, bytes_of("Add")))
            product->addend = node->inputs[arg++];
        else
            product->activation = name.data;
    }
    status_ignore(node_attr_float(node, "leakyrelu_alpha", &product->alpha)); /* has a default */
}

static bool find_here(const struct fuse *fuse, struct endpoint endpoint, int uses,
                      struct product *out)
{
    const struct node *node = endpoint.node;
    const struct base *base = base_of(node);
    if (base == NULL || node->inputs_count < base->inputs_count || !is_float(node) ||
        !node_is_nhwc(node) || !has_uses(fuse, endpoint, uses) || !status_is_ok(check_fused(node)))
        return false;
    *out = (struct product){ .node = node, .base = base, .weights = node->inputs[1] };
    if (op_is(node, base->fused))
        read_fused(out);
    return out->activation == NULL;
}

/* A product of two matrices whose result is given another shape, but the same last dimension. */
static bool find_reshaped(const struct fuse *fuse, struct endpoint endpoint, int uses,
                          struct product *out)
{
    struct node *node = endpoint.node;
    if (!op_is(node, "Reshape") || node->inputs_count != 2 || !is_float(node) ||
        !has_uses(fuse, endpoint, uses) || !find_here(fuse, node->inputs[0], 1, out) ||
        out->base->rank != 2)
        return false;
    const struct shape *shape = &node->outputs[0].shape;
    int64_t channels = channels_of(fuse, out);
    out->reshape = node;
    return shape->rank >= 2 && channels > 0 && shape->dims[shape->rank - 1] == channels;
}

bool find_product_used(const struct fuse *fuse, struct endpoint endpoint, int uses,
                       struct product *out)
{
    return (find_here(fuse, endpoint, uses, out) && out->addend.node == NULL) ||
           find_reshaped(fuse, endpoint, uses, out);
}

bool find_sum(const struct fuse *fuse, struct endpoint endpoint, struct product *out)
{
    return find_here(fuse, endpoint, 1, out) && out->addend.node != NULL;
}

bool find_product(const struct fuse *fuse, struct endpoint endpoint, struct product *out)
{
    return find_product_used(fuse, endpoint, 1, out);
}

int64_t channels_of(const struct fuse *fuse, const struct product *product)
{
    const struct tensor *weights = constant_of(fuse, product->weights);
    if (weights == NULL || weights->dtype != DT_FLOAT || weights->shape.rank != product->base->rank)
        return 0;
    const int64_t *dims = weights->shape.dims;
    bool transposed = false;
    if (product->base->rank == 2) {
        status_ignore(node_attr_bool(product->node, "transpose_b", &transposed));
        return transposed ? dims[0] : dims[1];
    }
    if (op_is(product->node, "DepthwiseConv2dNative") ||
        op_is(product->node, "_FusedDepthwiseConv2dNative"))
        return dims[2] * dims[3];
    return product->base->inputs_count == 3 ? dims[2] : dims[3];
}

/* ---- rewriting the later node ---- */

struct endpoint fuse_constant(struct fuse *fuse, const char *name, struct tensor value)
{
    struct node *node = region_add(fuse->maker, fuse->region, "Const", name, 0);
    struct endpoint endpoint = { node, 0 };
    node->outputs[0].dtype = value.dtype;
    node->outputs[0].shape = value.shape;
    region_value(fuse->region, endpoint)->constant = plan_own(fuse->maker->plan, value);
    return endpoint;
}

/* Those of the product, and of what it has taken in. */
static struct attr *make_attrs(struct fuse *fuse, const struct product *product, int *count)
{
    struct arena *arena = fuse->maker->arena;
    const struct node *from = product->node;
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, from->attrs_count + 3);
    *count = 0;
    for (int i = 0; i < from->attrs_count; i++) {
        const char *name = from->attrs[i].name;
        if (strcmp(name, "num_args") != 0 && strcmp(name, "fused_ops") != 0 &&
            strcmp(name, "leakyrelu_alpha") != 0)
            attrs[(*count)++] = from->attrs[i];
    }
    struct attr_value *names = ARENA_ARRAY(arena, struct attr_value, 3);
    int fused = 0;
    if (product->bias.node != NULL)
        names[fused++] = (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of("BiasAdd") };
    if (product->addend.node != NULL)
        names[fused++] = (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of("Add") };
    int args = fused;
    if (product->activation != NULL)
        names[fused++] =
            (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of(product->activation) };
    if (fused > 0) {
        attrs[(*count)++] = (struct attr){ "num_args", { .kind = ATTR_INT, .i = args } };
        attrs[(*count)++] = (struct attr){
            "fused_ops",
            { .kind = ATTR_LIST, .element_kind = ATTR_STRING, .count = fused, .elements = names }
        };
        attrs[(*count)++] =
            (struct attr){ "leakyrelu_alpha", { .kind = ATTR_FLOAT, .f = product->alpha } };
    }
    return attrs;
}

static void become_product(struct fuse *fuse, struct node *node, const struct product *product)
{
    const struct base *base = product->base;
    bool plain =
        product->bias.node == NULL && product->addend.node == NULL && product->activation == NULL;
    struct endpoint *inputs =
        ARENA_ARRAY(fuse->maker->arena, struct endpoint, base->inputs_count + 2);
    int count = 0, attrs_count;
    for (int i = 0; i < base->inputs_count; i++)
        inputs[count++] = i == 1 ? product->weights : product->node->inputs[i];
    if (product->bias.node != NULL)
        inputs[count++] = product->bias;
    if (product->addend.node != NULL)
        inputs[count++] = product->addend;
    struct attr *attrs = make_attrs(fuse, product, &attrs_count);
    fuse_rewrite(node, plain ? base->op : base->fused, inputs, count, attrs, attrs_count);
    node->outputs_count = 1;
}

/* The Reshape becomes the product, and the later node the Reshape: an order that honours every
 * edge. */
static void become_reshape(struct fuse *fuse, struct node *node, const struct product *product)
{
    struct node *inner = product->reshape;
    struct endpoint *inputs = ARENA_ARRAY(fuse->maker->arena, struct endpoint, 2);
    inputs[0] = (struct endpoint){ inner, 0 };
    inputs[1] = inner->inputs[1];
    fuse_rewrite(node, inner->op_name, inputs, 2, inner->attrs, inner->attrs_count);
    node->outputs_count = 1;
    become_product(fuse, inner, product);
    inner->outputs[0] = product->node->outputs[0];
    fuse->uses[inner->id][0] = 1;
}

void fuse_become(struct fuse *fuse, struct node *node, const struct product *product)
{
    if (product->reshape != NULL)
        become_reshape(fuse, node, product);
    else
        become_product(fuse, node, product);
}
