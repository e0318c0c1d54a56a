/* Scales and shifts per channel after a product of constant weights become part of its weights
 * and bias. */
#include "base/clones.h"
#include "base/float_bits.h"
#include "runtime/plan/fuse.h"

/* Does the constant broadcast to the product's result with one number per channel? */
static bool is_per_channel(const struct tensor *constant, const struct product *product,
                           int64_t channels)
{
    const struct node *reshape = product->reshape;
    int rank = reshape != NULL ? reshape->outputs[0].shape.rank : product->base->rank;
    if (constant == NULL || constant->dtype != DT_FLOAT || constant->shape.rank > rank)
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

/* Weights and biases that are not finite would make NaN of values for which the single ops give a
 * number. */
static struct status not_finite(const char *name)
{
    return status_error(STATUS_OUT_OF_RANGE, "%s: an element is not finite", name);
}

/* bias = bias · scale + sign · shift; NULL means a bias or shift of 0, a scale of 1. */
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
    bool finite = true;
    for (int64_t i = 0; i < channels; i++) {
        values[i] = old != NULL ? channel(old, i) : 0;
        if (scale != NULL)
            values[i] *= channel(scale, i);
        if (shift != NULL)
            values[i] += sign * channel(shift, i);
        finite = finite && __builtin_isfinite(values[i]);
    }
    const char *name = arena_printf(fuse->maker->arena, "%s/bias", node->name);
    *out = fuse_constant(fuse, name, bias);
    return finite ? status_ok() : not_finite(name);
}

/* Weights as [outer, channels, inner]: element (o, c, i) contributes to output channel c. */
struct weights_view {
    int64_t outer, channels, inner;
};

static struct weights_view view_weights(const struct product *product, const struct tensor *weights,
                                        int64_t channels)
{
    const int64_t *dims = weights->shape.dims;
    bool transposed = false;
    if (product->base->rank == 2)
        status_ignore(node_attr_bool(product->node, "transpose_b", &transposed));
    int64_t inner = transposed ? dims[1] : product->base->inputs_count == 3 ? dims[3] : 1;
    int64_t each = channels * inner;
    return (struct weights_view){ each > 0 ? weights->size / each : 0, channels, inner };
}

/* The bits of infinity without its sign; those of NaNs are larger. */
#define INFINITE INT32_C(0x7f800000)

/* Is value[i] · scale[i] finite for all i? `step` 0: there is one scale for all. */
static inline bool row_is_finite(const float *values, int64_t count, const float *scale, int step)
{
    int infinite = 0;
    for (int64_t i = 0; i < count; i++) {
        float scaled = values[i] * scale[step * i];
        infinite |= (int32_t)(bits_of_float(scaled) & INT32_MAX) >= INFINITE;
    }
    return !infinite;
}

CLONES static bool stay_finite(const float *values, const float *scale,
                               const struct weights_view *view)
{
    bool finite = true;
    if (view->inner == 1) {
        for (int64_t o = 0; o < view->outer && finite; o++)
            finite = row_is_finite(values + o * view->channels, view->channels, scale, 1);
        return finite;
    }
    for (int64_t row = 0; row < view->outer * view->channels && finite; row++)
        finite =
            row_is_finite(values + row * view->inner, view->inner, &scale[row % view->channels], 0);
    return finite;
}

CLONES static void scale_values(float *values, const float *scale, const struct weights_view *view)
{
    if (view->inner == 1) {
        for (int64_t o = 0; o < view->outer; o++, values += view->channels)
            for (int64_t c = 0; c < view->channels; c++)
                values[c] *= scale[c];
        return;
    }
    for (int64_t row = 0; row < view->outer * view->channels; row++, values += view->inner)
        for (int64_t i = 0; i < view->inner; i++)
            values[i] *= scale[row % view->channels];
}

/* May the weights be scaled in place? Only in the plan's own graph: the body of a branch or loop
 * shares constants with the graph around it. */
static bool are_private(const struct fuse *fuse, struct endpoint weights)
{
    return fuse->region->parent == NULL && tensor_writable(constant_of(fuse, weights)) &&
           (weights.node->id >= fuse->uses_count || /* made by a pattern, for one product */
            (fuse->uses[weights.node->id] != NULL &&
             fuse->uses[weights.node->id][weights.index] == 1));
}

/* Weights that nothing else uses are scaled in place: a copy of each would double the memory of a
 * network of convolutions and batch norms. */
static struct status scale_weights(struct fuse *fuse, const struct node *node,
                                   const struct product *product, int64_t channels,
                                   const struct tensor *scale, struct endpoint *out)
{
    const struct tensor *weights = constant_of(fuse, product->weights);
    const struct weights_view view = view_weights(product, weights, channels);
    const char *name = arena_printf(fuse->maker->arena, "%s/weights", node->name);
    float *scales = ARENA_ARRAY(fuse->maker->arena, float, channels);
    for (int64_t i = 0; i < channels; i++)
        scales[i] = channel(scale, i);
    if (!stay_finite(tensor_floats(weights), scales, &view))
        return not_finite(name);
    *out = product->weights;
    if (!are_private(fuse, product->weights)) {
        struct tensor copy;
        TRY(tensor_copy_deep(weights, &copy));
        *out = fuse_constant(fuse, name, copy);
    }
    scale_values(constant_of(fuse, *out)->data, scales, &view);
    return status_ok();
}

/* Fuses product · scale + sign · shift, per channel. Weights, scale and shift must be constants. */
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
    if ((has_bias || shift != NULL) &&
        !status_is_ok(make_bias(fuse, node, &product, channels, scale, shift, sign, &fused.bias)))
        return false;
    /* Last, because it may change the weights. */
    if (scale != NULL &&
        !status_is_ok(scale_weights(fuse, node, &product, channels, scale, &fused.weights)))
        return false;
    fuse_become(fuse, node, &fused);
    return true;
}

bool fuse_add(struct fuse *fuse, struct node *node)
{
    for (int i = 0; i < 2; i++) {
        const struct tensor *constant = constant_of(fuse, node->inputs[1 - i]);
        if (constant != NULL && fuse_affine(fuse, node, node->inputs[i], NULL, constant, 1))
            return true;
    }
    return false;
}

/* BiasAdd of a constant after a product that already has a bias. */
bool fuse_second_bias(struct fuse *fuse, struct node *node)
{
    const struct tensor *constant = constant_of(fuse, node->inputs[1]);
    return node_is_nhwc(node) && constant != NULL &&
           fuse_affine(fuse, node, node->inputs[0], NULL, constant, 1);
}

bool fuse_sub(struct fuse *fuse, struct node *node)
{
    const struct tensor *constant = constant_of(fuse, node->inputs[1]);
    return constant != NULL && fuse_affine(fuse, node, node->inputs[0], NULL, constant, -1);
}

bool fuse_mul(struct fuse *fuse, struct node *node)
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
        fuse_constant(fuse, arena_printf(fuse->maker->arena, "%s/%s", node->name, what), vector);
    *out = constant_of(fuse, made);
    return true;
}

bool fuse_div(struct fuse *fuse, struct node *node)
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

bool fuse_batch_norm(struct fuse *fuse, struct node *node)
{
    bool training = true;
    const struct tensor *scale, *shift;
    status_ignore(node_attr_bool(node, "is_training", &training)); /* true by default */
    if (training || !node_is_nhwc(node) || node->inputs_count != 5 ||
        base_of(node->inputs[0].node) == NULL)
        return false;
    for (int i = 1; i < node->outputs_count; i++) {
        if (fuse->uses[node->id] != NULL && fuse->uses[node->id][i] != 0)
            return false;
    }
    return batch_norm_vectors(fuse, node, &scale, &shift) &&
           fuse_affine(fuse, node, node->inputs[0], scale, shift, 1);
}
