/* The gradient of FusedBatchNormGrad and its versions: that of the same gradients written with
 * plain ops. Source: TensorFlow's nn_fused_batch_norm_grad.py. */
#include "graph/gradients/emit.h"

/* The inputs of the node in the graph of plain ops. A value per channel is shaped so that it can be
 * broadcast. */
struct plain_norm {
    struct endpoint dy, x, scale; /* as the node has them: what gradients are wanted of */
    struct endpoint wide_dy, wide_x, factor, mean, variance;
    struct endpoint axes; /* all but that of the channels */
    bool channels_first;
    int rank;
    float epsilon;
};

static struct endpoint per_channel(struct gradient_context *c, const struct plain_norm *n,
                                   struct endpoint x)
{
    static const int32_t dims[] = { 1, -1, 1, 1, 1 };

    if (!n->channels_first)
        return x;
    return binary(c, "Reshape", x, build_const_ints(c->builder, NULL, n->rank, dims));
}

static struct endpoint reduced(struct gradient_context *c, const struct plain_norm *n,
                               const char *op, struct endpoint x)
{
    const struct endpoint inputs[] = { x, n->axes };

    return build(c->builder, op, NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", n->channels_first), ATTR_END });
}

/* A sum per channel, as a vector. */
static struct endpoint as_vector(struct gradient_context *c, const struct plain_norm *n,
                                 struct endpoint x)
{
    static const int32_t flat = -1;

    if (!n->channels_first)
        return x;
    return binary(c, "Reshape", x, build_const_ints(c->builder, NULL, 1, &flat));
}

/* x as a float: half a float's bits are too few for the sums. */
static struct endpoint widened(struct gradient_context *c, struct endpoint x)
{
    return endpoint_dtype(x) == DT_FLOAT ? x : as_type(c, x, DT_FLOAT);
}

static struct status read_norm(struct gradient_context *c, struct plain_norm *out)
{
    struct bytes format;
    int32_t axes[5];
    int count = 0;

    TRY(node_attr_string(c->node, "data_format", &format));
    TRY(node_attr_float(c->node, "epsilon", &out->epsilon));
    out->rank = (int)format.size;
    out->channels_first = format.data[1] == 'C';
    for (int i = 0; i < out->rank; i++)
        if (format.data[i] != 'C')
            axes[count++] = i;
    out->axes = build_const_ints(c->builder, NULL, count, axes);
    out->dy = unary(c, "Identity", input(c, 0)); /* apart from what they were computed of */
    out->x = unary(c, "Identity", input(c, 1));
    out->scale = unary(c, "Identity", input(c, 2));
    out->wide_dy = widened(c, out->dy);
    out->wide_x = widened(c, out->x);
    out->factor = per_channel(c, out, out->scale);
    out->mean = per_channel(c, out, input(c, 3));
    out->variance = per_channel(c, out, input(c, 4));
    return status_ok();
}

static struct endpoint plus_epsilon(struct gradient_context *c, const struct plain_norm *n,
                                    struct endpoint variance)
{
    return binary(c, "AddV2", variance, build_const_float(c->builder, n->epsilon));
}

/* The three outputs by the statistics of the batch. */
static void by_batch(struct gradient_context *c, const struct plain_norm *n, struct endpoint *out)
{
    struct endpoint mean = reduced(c, n, "Mean", n->wide_x);
    struct endpoint centred = binary(c, "Sub", n->wide_x, mean);
    struct endpoint squares =
        binary(c, "SquaredDifference", n->wide_x, unary(c, "StopGradient", mean));
    struct endpoint variance = plus_epsilon(c, n, reduced(c, n, "Mean", squares));
    struct endpoint root = unary(c, "Rsqrt", variance), product = mul(c, n->wide_dy, centred);
    struct endpoint moment =
        mul(c, unary(c, "Reciprocal", variance), reduced(c, n, "Mean", product));
    struct endpoint rest = binary(c, "Sub", n->wide_dy, reduced(c, n, "Mean", n->wide_dy));

    out[0] = mul(c, mul(c, n->factor, root), binary(c, "Sub", rest, mul(c, moment, centred)));
    out[1] = as_vector(c, n, mul(c, root, reduced(c, n, "Sum", product)));
}

/* By the statistics that are given. */
static void by_given(struct gradient_context *c, const struct plain_norm *n, struct endpoint *out)
{
    struct endpoint root = unary(c, "Rsqrt", plus_epsilon(c, n, n->variance));
    struct endpoint centred = binary(c, "Sub", n->wide_x, n->mean);
    struct endpoint product = mul(c, mul(c, n->wide_dy, centred), root);

    out[0] = mul(c, mul(c, n->wide_dy, n->factor), root);
    out[1] = as_vector(c, n, reduced(c, n, "Sum", product));
}

struct status gradient_fused_batch_norm_grad(struct gradient_context *c)
{
    struct endpoint results[3], ys[3], dys[3], found[3];
    struct plain_norm n;
    bool training;
    int count = 0;

    TRY(node_attr_bool(c->node, "is_training", &training));
    TRY(read_norm(c, &n));
    if (training)
        by_batch(c, &n, results);
    else
        by_given(c, &n, results);
    results[2] = as_vector(c, &n, reduced(c, &n, "Sum", n.wide_dy));
    if (endpoint_dtype(n.x) != DT_FLOAT)
        results[0] = as_type(c, results[0], endpoint_dtype(n.x));
    for (int i = 0; i < 3; i++)
        if (c->outputs[i].node != NULL) {
            ys[count] = results[i];
            dys[count++] = c->outputs[i];
        }
    TRY(builder_status(c->builder));
    const struct endpoint xs[] = { n.dy, n.x, n.scale };
    TRY(graph_gradients_from(c->builder, count, ys, dys, 3, xs, found));
    for (int i = 0; i < 3; i++)
        send(c, i, found[i]);
    return status_ok();
}
