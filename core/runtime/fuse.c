/*
 * Fusion: a table of patterns. Each looks at one node and at what made its input; where they can be
 * one, the later node is rewritten in place (its name and its users stay) and the earlier one is
 * left to nobody. Bias, scale and activation so wander into the product before them one by one.
 *
 * Fused ops are TensorFlow's _FusedMatMul, _FusedConv2D and two of the same kind: the product's own
 * inputs and attributes, then `args` (the bias, where there is one) and `fused_ops`, such as
 * ["BiasAdd", "Relu"].
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/plan_internal.h"

struct fuse {
    struct maker *maker;
    struct region *region;
    int **uses;   /* by node id: how often each output is used, results included */
    bool *waited; /* by node id: a control edge waits for it */
};

/* What bias and activation can be fused into. */
static const struct base {
    const char *op, *fused;
    int inputs_count; /* inputs[1] are the weights */
    int rank;         /* of its result */
} bases[] = {
    { "MatMul", "_FusedMatMul", 2, 2 },
    { "Conv2D", "_FusedConv2D", 2, 4 },
    { "DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", 2, 4 },
    { "Conv2DBackpropInput", "_FusedConv2DBackpropInput", 3, 4 },
};

struct product {
    const struct node *node;
    const struct base *base;
    struct endpoint weights, bias; /* bias.node NULL: none */
    const char *activation;        /* NULL: none */
    float alpha;                   /* of LeakyRelu */
};

static bool op_is(const struct node *node, const char *name)
{
    return strcmp(node->op_name, name) == 0;
}

static const struct tensor *constant_of(const struct fuse *fuse, struct endpoint endpoint)
{
    return region_value(fuse->region, endpoint)->constant;
}

static bool is_float(const struct node *node)
{
    return node->outputs_count > 0 && node->outputs[0].dtype == DT_FLOAT;
}

/* ---- looking at the earlier node ---- */

/* Is this node the only one who sees what the earlier node makes, and is there no other reason to
 * run it where it stands? */
static bool is_mine_alone(const struct fuse *fuse, struct endpoint endpoint)
{
    const struct node *node = endpoint.node;
    return endpoint.index == 0 && fuse->uses[node->id][0] == 1 && !fuse->waited[node->id] &&
           node->controls_count == 0 && constant_of(fuse, endpoint) == NULL;
}

static const struct base *base_of(const struct node *node)
{
    for (size_t i = 0; i < COUNT(bases); i++) {
        if (op_is(node, bases[i].op) || op_is(node, bases[i].fused))
            return &bases[i];
    }
    return NULL;
}

static bool is_nhwc(const struct node *node)
{
    const struct attr_value *format = node_attr(node, "data_format");
    return format == NULL || format->kind != ATTR_STRING ||
           bytes_equal(format->s, bytes_of("NHWC"));
}

static void read_fused(struct product *product)
{
    const struct node *node = product->node;
    const struct attr_value *names = node_attr(node, "fused_ops");
    for (int i = 0; names != NULL && i < names->count; i++) {
        struct bytes name = names->elements[i].s;
        if (bytes_equal(name, bytes_of("BiasAdd")))
            product->bias = node->inputs[product->base->inputs_count];
        else
            product->activation = name.data;
    }
    status_ignore(node_attr_float(node, "leakyrelu_alpha", &product->alpha)); /* has a default */
}

/* A product that may take in what comes behind it: one without an activation. */
static bool find_product(const struct fuse *fuse, struct endpoint endpoint, struct product *out)
{
    const struct node *node = endpoint.node;
    const struct base *base = base_of(node);
    if (base == NULL || node->inputs_count < base->inputs_count || !is_float(node) ||
        !is_nhwc(node) || !is_mine_alone(fuse, endpoint))
        return false;
    *out = (struct product){ .node = node, .base = base, .weights = node->inputs[1] };
    if (op_is(node, base->fused))
        read_fused(out);
    return out->activation == NULL;
}

/* How many channels its result has, where the weights are constant; else 0. */
static int64_t channels_of(const struct fuse *fuse, const struct product *product)
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

/* ---- vectors of one number per channel ---- */

/* Does the constant broadcast to a product's result as one number per channel? */
static bool is_per_channel(const struct tensor *constant, const struct product *product,
                           int64_t channels)
{
    if (constant == NULL || constant->dtype != DT_FLOAT ||
        constant->shape.rank > product->base->rank)
        return false;
    if (constant->size == 1)
        return true;
    int last = constant->shape.rank - 1;
    return constant->size == channels && constant->shape.dims[last] == channels;
}

static float channel(const struct tensor *constant, int64_t i)
{
    return tensor_floats(constant)[constant->size == 1 ? 0 : i];
}

/* A new constant of the region. */
static struct endpoint add_constant(struct fuse *fuse, const char *name, struct tensor value)
{
    struct node *node = region_add(fuse->maker, fuse->region, "Const", name, 0, 1);
    struct endpoint endpoint = { node, 0 };
    node->outputs[0].dtype = value.dtype;
    node->outputs[0].shape = value.shape;
    region_value(fuse->region, endpoint)->constant = plan_own(fuse->maker->plan, value);
    return endpoint;
}

/* bias = bias · scale + shift; NULL: no bias, 1, 0. */
static struct status make_bias(struct fuse *fuse, const struct node *node,
                               const struct product *product, int64_t channels,
                               const struct tensor *scale, const struct tensor *shift, float sign,
                               struct endpoint *out)
{
    const struct tensor *old = product->bias.node != NULL ? constant_of(fuse, product->bias) : NULL;
    struct shape shape = shape_of(channels);
    struct tensor bias;
    TRY(tensor_create(DT_FLOAT, &shape, &bias));
    float *values = tensor_floats_mut(&bias);
    for (int64_t i = 0; i < channels; i++) {
        values[i] = old != NULL ? channel(old, i) : 0;
        if (scale != NULL)
            values[i] *= channel(scale, i);
        if (shift != NULL)
            values[i] += sign * channel(shift, i);
    }
    *out = add_constant(fuse, arena_printf(fuse->maker->arena, "%s/bias", node->name), bias);
    return status_ok();
}

/* Where weights[i] goes: the channel that it adds to. */
static int64_t channel_of_weight(const struct product *product, const struct tensor *weights,
                                 int64_t channels, int64_t i)
{
    const int64_t *dims = weights->shape.dims;
    bool transposed = false;
    if (product->base->rank == 2)
        status_ignore(node_attr_bool(product->node, "transpose_b", &transposed));
    if (transposed)
        return i / dims[1];
    if (product->base->inputs_count == 3)
        return i / dims[3] % channels;
    return i % channels;
}

static struct status scale_weights(struct fuse *fuse, const struct node *node,
                                   const struct product *product, int64_t channels,
                                   const struct tensor *scale, struct endpoint *out)
{
    const struct tensor *weights = constant_of(fuse, product->weights);
    struct tensor scaled;
    TRY(tensor_create(DT_FLOAT, &weights->shape, &scaled));
    const float *from = tensor_floats(weights);
    float *to = tensor_floats_mut(&scaled);
    for (int64_t i = 0; i < weights->size; i++)
        to[i] = from[i] * channel(scale, channel_of_weight(product, weights, channels, i));
    *out = add_constant(fuse, arena_printf(fuse->maker->arena, "%s/weights", node->name), scaled);
    return status_ok();
}

/* ---- rewriting the later node ---- */

static void set_attrs(struct fuse *fuse, struct node *node, const struct product *product)
{
    struct arena *arena = fuse->maker->arena;
    const struct node *from = product->node;
    struct attr *attrs = ARENA_ARRAY(arena, struct attr, from->attrs_count + 3);
    int count = 0;
    for (int i = 0; i < from->attrs_count; i++) {
        const char *name = from->attrs[i].name;
        if (strcmp(name, "num_args") != 0 && strcmp(name, "fused_ops") != 0 &&
            strcmp(name, "leakyrelu_alpha") != 0)
            attrs[count++] = from->attrs[i];
    }
    struct attr_value *names = ARENA_ARRAY(arena, struct attr_value, 2);
    int fused = 0;
    if (product->bias.node != NULL)
        names[fused++] = (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of("BiasAdd") };
    if (product->activation != NULL)
        names[fused++] =
            (struct attr_value){ .kind = ATTR_STRING, .s = bytes_of(product->activation) };
    if (fused > 0) {
        attrs[count++] =
            (struct attr){ "num_args",
                           { .kind = ATTR_INT, .i = product->bias.node != NULL ? 1 : 0 } };
        attrs[count++] = (struct attr){
            "fused_ops",
            { .kind = ATTR_LIST, .element_kind = ATTR_STRING, .count = fused, .elements = names }
        };
        attrs[count++] =
            (struct attr){ "leakyrelu_alpha", { .kind = ATTR_FLOAT, .f = product->alpha } };
    }
    node->attrs = attrs;
    node->attrs_count = node->attrs_capacity = count;
}

/* The later node becomes the product, with what it has taken in. */
static void become(struct fuse *fuse, struct node *node, const struct product *product)
{
    const struct base *base = product->base;
    bool plain = product->bias.node == NULL && product->activation == NULL;
    struct endpoint *inputs =
        ARENA_ARRAY(fuse->maker->arena, struct endpoint, base->inputs_count + 1);
    int count = 0;
    for (int i = 0; i < base->inputs_count; i++)
        inputs[count++] = i == 1 ? product->weights : product->node->inputs[i];
    if (product->bias.node != NULL)
        inputs[count++] = product->bias;

    set_attrs(fuse, node, product);
    node->op_name = plain ? base->op : base->fused;
    node->op = op_find(node->op_name);
    node->inputs = inputs;
    node->inputs_count = node->inputs_capacity = count;
    node->outputs_count = 1;
}

/* ---- the patterns ---- */

/* product + bias, where the bias may be known only when it runs. */
static bool fuse_bias_add(struct fuse *fuse, struct node *node)
{
    struct product product;
    if (!is_nhwc(node) || !find_product(fuse, node->inputs[0], &product) ||
        product.bias.node != NULL)
        return false;
    product.bias = node->inputs[1];
    become(fuse, node, &product);
    return true;
}

/* product · scale ± shift, per channel: into weights and bias. All must be constants. */
static bool fuse_affine(struct fuse *fuse, struct node *node, struct endpoint x,
                        const struct tensor *scale, const struct tensor *shift, float sign)
{
    struct product product;
    if (!find_product(fuse, x, &product))
        return false;
    int64_t channels = channels_of(fuse, &product);
    bool has_bias = product.bias.node != NULL;
    if (channels == 0 ||
        (has_bias && !is_per_channel(constant_of(fuse, product.bias), &product, channels)))
        return false;
    if ((scale != NULL && !is_per_channel(scale, &product, channels)) ||
        (shift != NULL && !is_per_channel(shift, &product, channels)))
        return false;

    struct product fused = product;
    if (scale != NULL &&
        !status_is_ok(scale_weights(fuse, node, &product, channels, scale, &fused.weights)))
        return false;
    if ((has_bias || shift != NULL) &&
        !status_is_ok(make_bias(fuse, node, &product, channels, scale, shift, sign, &fused.bias)))
        return false;
    become(fuse, node, &fused);
    return true;
}

static bool fuse_add(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        const struct tensor *constant = constant_of(fuse, node->inputs[1 - i]);
        if (constant != NULL && fuse_affine(fuse, node, node->inputs[i], NULL, constant, 1))
            return true;
    }
    return false;
}

/* BiasAdd of a constant behind a product that has a bias already. */
static bool fuse_second_bias(struct fuse *fuse, struct node *node)
{
    const struct tensor *constant = constant_of(fuse, node->inputs[1]);
    return is_nhwc(node) && constant != NULL &&
           fuse_affine(fuse, node, node->inputs[0], NULL, constant, 1);
}

static bool fuse_sub(struct fuse *fuse, struct node *node)
{
    const struct tensor *constant = constant_of(fuse, node->inputs[1]);
    return constant != NULL && fuse_affine(fuse, node, node->inputs[0], NULL, constant, -1);
}

static bool fuse_mul(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        const struct tensor *constant = constant_of(fuse, node->inputs[1 - i]);
        if (constant != NULL && fuse_affine(fuse, node, node->inputs[i], constant, NULL, 1))
            return true;
    }
    return false;
}

static bool make_vector(struct fuse *fuse, const struct node *node, const char *what, int64_t count,
                        const struct tensor **out, float **values)
{
    struct shape shape = shape_of(count);
    struct tensor vector;
    if (!status_is_ok(tensor_create(DT_FLOAT, &shape, &vector)))
        return false;
    *values = tensor_floats_mut(&vector);
    struct endpoint made =
        add_constant(fuse, arena_printf(fuse->maker->arena, "%s/%s", node->name, what), vector);
    *out = constant_of(fuse, made);
    return true;
}

static bool fuse_div(struct fuse *fuse, struct node *node)
{
    const struct tensor *by = constant_of(fuse, node->inputs[1]), *scale;
    float *values;
    if (by == NULL || by->dtype != DT_FLOAT || base_of(node->inputs[0].node) == NULL)
        return false;
    bool is_vector = by->size == 1 || by->shape.dims[by->shape.rank - 1] == by->size;
    if (!is_vector || !make_vector(fuse, node, "scale", by->size, &scale, &values))
        return false;
    for (int64_t i = 0; i < by->size; i++)
        values[i] = 1 / channel(by, i);
    return fuse_affine(fuse, node, node->inputs[0], scale, NULL, 1);
}

/* scale = γ / sqrt(variance + ε), shift = β - mean · scale */
static bool batch_norm_vectors(struct fuse *fuse, const struct node *node,
                               const struct tensor **scale, const struct tensor **shift)
{
    const struct tensor *given[4];
    float epsilon, *scales, *shifts;
    for (int i = 0; i < 4; i++) {
        given[i] = constant_of(fuse, node->inputs[1 + i]);
        if (given[i] == NULL || given[i]->dtype != DT_FLOAT || given[i]->shape.rank != 1 ||
            given[i]->size != given[0]->size)
            return false;
    }
    if (!status_is_ok(node_attr_float(node, "epsilon", &epsilon)) ||
        !make_vector(fuse, node, "scale", given[0]->size, scale, &scales) ||
        !make_vector(fuse, node, "shift", given[0]->size, shift, &shifts))
        return false;
    for (int64_t i = 0; i < given[0]->size; i++) {
        scales[i] = channel(given[0], i) / __builtin_sqrtf(channel(given[3], i) + epsilon);
        shifts[i] = channel(given[1], i) - channel(given[2], i) * scales[i];
    }
    return true;
}

static bool fuse_batch_norm(struct fuse *fuse, struct node *node)
{
    bool training = true;
    const struct tensor *scale, *shift;
    status_ignore(node_attr_bool(node, "is_training", &training)); /* true by default */
    if (training || !is_nhwc(node) || node->inputs_count != 5 ||
        base_of(node->inputs[0].node) == NULL)
        return false;
    for (int i = 1; i < node->outputs_count; i++) {
        if (fuse->uses[node->id] != NULL && fuse->uses[node->id][i] != 0)
            return false;
    }
    return batch_norm_vectors(fuse, node, &scale, &shift) &&
           fuse_affine(fuse, node, node->inputs[0], scale, shift, 1);
}

static bool fuse_activation(struct fuse *fuse, struct node *node)
{
    struct product product;
    if (!find_product(fuse, node->inputs[0], &product))
        return false;
    product.activation = node->op_name;
    if (op_is(node, "LeakyRelu"))
        status_ignore(node_attr_float(node, "alpha", &product.alpha)); /* has a default */
    become(fuse, node, &product);
    return true;
}

/* ---- Keras' Flatten: Reshape(x, Pack(Shape(x)[0], constants)) is a reshape of each row ---- */

static bool is_index(const struct fuse *fuse, struct endpoint endpoint, int64_t wanted)
{
    const struct tensor *constant = constant_of(fuse, endpoint);
    return constant != NULL && constant->size == 1 &&
           (constant->dtype == DT_INT32 || constant->dtype == DT_INT64) &&
           tensor_index(constant, 0) == wanted;
}

static bool int_attr_is(const struct node *node, const char *name, int64_t wanted)
{
    int64_t value = 0;
    status_ignore(node_attr_int(node, name, &value)); /* these all default to 0 */
    return value == wanted;
}

/* Shape(x)[0] */
static bool is_rows_of(const struct fuse *fuse, struct endpoint count, struct endpoint x)
{
    const struct node *slice = count.node;
    if (!op_is(slice, "StridedSlice") || slice->inputs_count != 4)
        return false;
    const struct node *shape = slice->inputs[0].node;
    return op_is(shape, "Shape") && shape->inputs[0].node == x.node &&
           shape->inputs[0].index == x.index && is_index(fuse, slice->inputs[1], 0) &&
           is_index(fuse, slice->inputs[2], 1) && is_index(fuse, slice->inputs[3], 1) &&
           int_attr_is(slice, "shrink_axis_mask", 1) && int_attr_is(slice, "begin_mask", 0) &&
           int_attr_is(slice, "end_mask", 0) && int_attr_is(slice, "new_axis_mask", 0) &&
           int_attr_is(slice, "ellipsis_mask", 0);
}

static bool fuse_flatten(struct fuse *fuse, struct node *node)
{
    const struct node *pack = node->inputs[1].node;
    if (!op_is(pack, "Pack") || pack->inputs_count < 1 || pack->inputs_count > SHAPE_RANK_MAX ||
        !is_rows_of(fuse, pack->inputs[0], node->inputs[0]))
        return false;
    struct attr_value *dims =
        ARENA_ARRAY(fuse->maker->arena, struct attr_value, pack->inputs_count);
    for (int i = 1; i < pack->inputs_count; i++) {
        const struct tensor *dim = constant_of(fuse, pack->inputs[i]);
        if (dim == NULL || dim->size != 1 || (dim->dtype != DT_INT32 && dim->dtype != DT_INT64))
            return false;
        dims[i - 1] = (struct attr_value){ .kind = ATTR_INT, .i = tensor_index(dim, 0) };
    }
    struct attr *attrs = ARENA_ARRAY(fuse->maker->arena, struct attr, 2);
    attrs[0] = (struct attr){ "T", { .kind = ATTR_TYPE, .type = (int)node->outputs[0].dtype } };
    attrs[1] = (struct attr){ "dims",
                              { .kind = ATTR_LIST,
                                .element_kind = ATTR_INT,
                                .count = pack->inputs_count - 1,
                                .elements = dims } };
    node->attrs = attrs;
    node->attrs_count = node->attrs_capacity = 2;
    node->inputs_count = 1;
    node->op_name = "_ReshapeRows";
    node->op = op_find(node->op_name);
    return true;
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
    { "Mul", 2, false, fuse_mul },
    { "RealDiv", 2, false, fuse_div },
    { "FusedBatchNorm", 5, false, fuse_batch_norm },
    { "FusedBatchNormV2", 5, false, fuse_batch_norm },
    { "FusedBatchNormV3", 5, false, fuse_batch_norm },
    { "Relu", 1, false, fuse_activation },
    { "Relu6", 1, false, fuse_activation },
    { "LeakyRelu", 1, false, fuse_activation },
    { "Elu", 1, false, fuse_activation },
    { "Selu", 1, false, fuse_activation },
    { "Tanh", 1, false, fuse_activation },
    { "Sigmoid", 1, false, fuse_activation },
    { "Softplus", 1, false, fuse_activation },
    { "Reshape", 2, true, fuse_flatten },
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

void region_fuse(struct maker *maker, struct region *region)
{
    struct fuse fuse = { .maker = maker, .region = region };
    region_prune(region);
    count_uses(&fuse);
    for (int i = 0; i < region->nodes_count; i++) {
        struct node *node = region->nodes[i];
        const struct branches *branches = region->branches[node->id];
        for (int j = 0; branches != NULL && j < branches->count; j++) {
            if (branches->chosen < 0 || branches->chosen == j)
                region_fuse(maker, branches->regions[j]);
        }
        fuse_node(&fuse, node);
    }
}
