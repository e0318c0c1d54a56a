/* Gradients of layers. Source: TensorFlow's nn_grad.py. Those of element-wise activations are in
 * elementwise.c. */
#include "graph/gradients/emit.h"

struct status gradient_bias_add(struct gradient_context *c)
{
    struct endpoint gradient = dy(c);
    const struct attr attrs[] = { same_attr(c, "data_format"), ATTR_END };

    send(c, 0, gradient);
    if (c->wanted[1])
        send(c, 1, build(c->builder, "BiasAddGrad", NULL, 1, &gradient, attrs));
    return status_ok();
}

/* BiasAddV1 has no data_format. */
struct status gradient_bias_add_v1(struct gradient_context *c)
{
    send(c, 0, dy(c));
    if (c->wanted[1])
        send(c, 1, unary(c, "BiasAddGrad", dy(c)));
    return status_ok();
}

/* ---- softmax ---- */

static struct endpoint sum_rows(struct gradient_context *c, struct endpoint x)
{
    const struct endpoint inputs[] = { x, build_const_int(c->builder, -1) };

    return build(c->builder, "Sum", NULL, 2, inputs,
                 (const struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
}

/* (dy - Σ dy y) y */
struct status gradient_softmax(struct gradient_context *c)
{
    struct endpoint y = output(c);
    struct endpoint mean = sum_rows(c, binary(c, "Mul", dy(c), y));

    return flow(c, 0, binary(c, "Mul", binary(c, "Sub", dy(c), mean), y));
}

/* dy - Σ dy · softmax */
struct status gradient_log_softmax(struct gradient_context *c)
{
    struct endpoint softmax = unary(c, "Exp", output(c));

    return flow(c, 0, binary(c, "Sub", dy(c), binary(c, "Mul", sum_rows(c, dy(c)), softmax)));
}

/* Multiplies each element of a row by the value of its row. */
static struct endpoint times_rows(struct gradient_context *c, struct endpoint rows,
                                  struct endpoint x)
{
    if (uniform(rows).node != NULL)
        return times(c, rows, x);
    struct endpoint column = build_expand_dims(c->builder, rows, -1);
    return binary(c, "Mul", column, x);
}

/* The second output of the op is the gradient of the features. */
struct status gradient_sparse_softmax_cross_entropy_with_logits(struct gradient_context *c)
{
    if (dy(c).node == NULL)
        return status_ok();
    return flow(c, 0, times_rows(c, dy(c), (struct endpoint){ c->node, 1 }));
}

struct status gradient_softmax_cross_entropy_with_logits(struct gradient_context *c)
{
    TRY(gradient_sparse_softmax_cross_entropy_with_logits(c));
    if (dy(c).node != NULL && c->wanted[1]) {
        struct endpoint minus = unary(c, "Neg", unary(c, "LogSoftmax", input(c, 0)));
        send(c, 1, times_rows(c, dy(c), minus));
    }
    return status_ok();
}

/* ---- convolution ---- */

/* A convolution op with the attributes of the node. */
static struct endpoint convolve(struct gradient_context *c, const char *op, int count,
                                const struct endpoint *inputs)
{
    const struct attr attrs[] = {
        same_attr(c, "strides"),
        same_attr(c, "padding"),
        same_attr(c, "data_format"),
        same_attr(c, "dilations"),
        same_attr(c, "explicit_paddings"), /* last: an op of volumes has none */
        ATTR_END,
    };

    return build(c->builder, op, NULL, count, inputs, attrs);
}

static struct status convolution(struct gradient_context *c, const char *to_input,
                                 const char *to_filter)
{
    struct endpoint x = input(c, 0), filter = input(c, 1);

    if (c->wanted[0]) {
        const struct endpoint inputs[] = { shape_tensor(c, x), filter, dy(c) };
        send(c, 0, convolve(c, to_input, 3, inputs));
    }
    if (c->wanted[1]) {
        const struct endpoint inputs[] = { x, shape_tensor(c, filter), dy(c) };
        send(c, 1, convolve(c, to_filter, 3, inputs));
    }
    return status_ok();
}

struct status gradient_conv2d(struct gradient_context *c)
{
    return convolution(c, "Conv2DBackpropInput", "Conv2DBackpropFilter");
}

struct status gradient_depthwise_conv2d_native(struct gradient_context *c)
{
    return convolution(c, "DepthwiseConv2dNativeBackpropInput",
                       "DepthwiseConv2dNativeBackpropFilter");
}

struct status gradient_conv3d(struct gradient_context *c)
{
    return convolution(c, "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2");
}

/* A transposed convolution (sizes, filter, out_backprop) is linear in the last two inputs. */
static struct status transposed(struct gradient_context *c, const char *forward,
                                const char *to_filter)
{
    struct endpoint filter = input(c, 1);

    if (c->wanted[1]) {
        const struct endpoint inputs[] = { dy(c), shape_tensor(c, filter), input(c, 2) };
        send(c, 1, convolve(c, to_filter, 3, inputs));
    }
    if (c->wanted[2]) {
        const struct endpoint inputs[] = { dy(c), filter };
        send(c, 2, convolve(c, forward, 2, inputs));
    }
    return status_ok();
}

struct status gradient_conv2d_backprop_input(struct gradient_context *c)
{
    return transposed(c, "Conv2D", "Conv2DBackpropFilter");
}

struct status gradient_conv3d_backprop_input_v2(struct gradient_context *c)
{
    return transposed(c, "Conv3D", "Conv3DBackpropFilterV2");
}

struct status gradient_depthwise_backprop_input(struct gradient_context *c)
{
    return transposed(c, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter");
}

/* The gradient of a filter (x, sizes, out_backprop) is linear in x and in out_backprop. */
static struct status of_filter(struct gradient_context *c, const char *forward,
                               const char *to_input)
{
    if (c->wanted[0]) {
        const struct endpoint inputs[] = { shape_tensor(c, input(c, 0)), dy(c), input(c, 2) };
        send(c, 0, convolve(c, to_input, 3, inputs));
    }
    if (c->wanted[2]) {
        const struct endpoint inputs[] = { input(c, 0), dy(c) };
        send(c, 2, convolve(c, forward, 2, inputs));
    }
    return status_ok();
}

struct status gradient_conv2d_backprop_filter(struct gradient_context *c)
{
    return of_filter(c, "Conv2D", "Conv2DBackpropInput");
}

struct status gradient_depthwise_backprop_filter(struct gradient_context *c)
{
    return of_filter(c, "DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput");
}

struct status gradient_conv3d_backprop_filter_v2(struct gradient_context *c)
{
    return of_filter(c, "Conv3D", "Conv3DBackpropInputV2");
}

/* ---- pooling ---- */

static struct status pooling(struct gradient_context *c, const char *op, int count,
                             const struct endpoint *inputs)
{
    const struct attr attrs[] = {
        same_attr(c, "ksize"),
        same_attr(c, "strides"),
        same_attr(c, "padding"),
        same_attr(c, "data_format"),
        same_attr(c, "explicit_paddings"), /* last: only MaxPool has them */
        ATTR_END,
    };

    return flow(c, 0, build(c->builder, op, NULL, count, inputs, attrs));
}

struct status gradient_max_pool(struct gradient_context *c)
{
    return pooling(c, "MaxPoolGrad", 3, (const struct endpoint[]){ input(c, 0), output(c), dy(c) });
}

static struct endpoint output_at(const struct gradient_context *c, int index)
{
    return (struct endpoint){ c->node, index };
}

struct status gradient_fractional_max_pool(struct gradient_context *c)
{
    if (dy(c).node == NULL)
        return status_ok();
    const struct endpoint inputs[] = { input(c, 0), output(c), dy(c), output_at(c, 1),
                                       output_at(c, 2) };
    const struct attr attrs[] = { same_attr(c, "overlapping"), ATTR_END };
    return flow(c, 0, build(c->builder, "FractionalMaxPoolGrad", NULL, 5, inputs, attrs));
}

struct status gradient_fractional_avg_pool(struct gradient_context *c)
{
    if (dy(c).node == NULL)
        return status_ok();
    const struct endpoint inputs[] = { as_type(c, shape_tensor(c, input(c, 0)), DT_INT64), dy(c),
                                       output_at(c, 1), output_at(c, 2) };
    const struct attr attrs[] = { same_attr(c, "overlapping"), ATTR_END };
    return flow(c, 0, build(c->builder, "FractionalAvgPoolGrad", NULL, 4, inputs, attrs));
}

struct status gradient_max_pool3d(struct gradient_context *c)
{
    return pooling(c, "MaxPool3DGrad", 3,
                   (const struct endpoint[]){ input(c, 0), output(c), dy(c) });
}

struct status gradient_avg_pool(struct gradient_context *c)
{
    return pooling(c, "AvgPoolGrad", 2,
                   (const struct endpoint[]){ shape_tensor(c, input(c, 0)), dy(c) });
}

struct status gradient_avg_pool3d(struct gradient_context *c)
{
    return pooling(c, "AvgPool3DGrad", 2,
                   (const struct endpoint[]){ shape_tensor(c, input(c, 0)), dy(c) });
}

/* The window's sizes are inputs. */
struct status gradient_max_pool_v2(struct gradient_context *c)
{
    const struct endpoint inputs[] = { input(c, 0), output(c), dy(c), input(c, 1), input(c, 2) };
    const struct attr attrs[] = { same_attr(c, "padding"), same_attr(c, "data_format"), ATTR_END };

    return flow(c, 0, build(c->builder, "MaxPoolGradV2", NULL, 5, inputs, attrs));
}

/* The gradients of pooling are linear in their last input, or in the third one. */
static struct status pooling_again(struct gradient_context *c, int linear, const char *op,
                                   int count, const struct endpoint *inputs)
{
    const struct attr attrs[] = { same_attr(c, "ksize"), same_attr(c, "strides"),
                                  same_attr(c, "padding"), same_attr(c, "data_format"), ATTR_END };

    return flow(c, linear, build(c->builder, op, NULL, count, inputs, attrs));
}

struct status gradient_avg_pool_grad(struct gradient_context *c)
{
    return pooling_again(c, 1, "AvgPool", 1, (const struct endpoint[]){ dy(c) });
}

struct status gradient_avg_pool3d_grad(struct gradient_context *c)
{
    return pooling_again(c, 1, "AvgPool3D", 1, (const struct endpoint[]){ dy(c) });
}

/* The third input of MaxPoolGrad and of its gradients is linear. */
static struct status max_pooling_again(struct gradient_context *c, const char *op)
{
    return pooling_again(c, 2, op, 3, (const struct endpoint[]){ input(c, 0), input(c, 1), dy(c) });
}

struct status gradient_max_pool_grad(struct gradient_context *c)
{
    return max_pooling_again(c, "MaxPoolGradGrad");
}

struct status gradient_max_pool3d_grad(struct gradient_context *c)
{
    return max_pooling_again(c, "MaxPool3DGradGrad");
}

struct status gradient_max_pool_grad_grad(struct gradient_context *c)
{
    return max_pooling_again(c, "MaxPoolGrad");
}

struct status gradient_max_pool3d_grad_grad(struct gradient_context *c)
{
    return max_pooling_again(c, "MaxPool3DGrad");
}

struct status gradient_max_pool_grad_v2(struct gradient_context *c)
{
    const struct endpoint inputs[] = { input(c, 0), input(c, 1), dy(c), input(c, 3), input(c, 4) };
    const struct attr attrs[] = { same_attr(c, "padding"), same_attr(c, "data_format"), ATTR_END };

    return flow(c, 2, build(c->builder, "MaxPoolGradGradV2", NULL, 5, inputs, attrs));
}

struct status gradient_max_pool_with_argmax(struct gradient_context *c)
{
    const struct endpoint inputs[] = { input(c, 0), dy(c), { c->node, 1 } };
    const struct attr attrs[] = { same_attr(c, "ksize"), same_attr(c, "strides"),
                                  same_attr(c, "padding"), same_attr(c, "include_batch_in_index"),
                                  ATTR_END };

    if (dy(c).node == NULL)
        return status_ok();
    return flow(c, 0, build(c->builder, "MaxPoolGradWithArgmax", NULL, 3, inputs, attrs));
}

struct status gradient_dilation2d(struct gradient_context *c)
{
    const struct endpoint inputs[] = { input(c, 0), input(c, 1), dy(c) };
    const struct attr attrs[] = { same_attr(c, "strides"), same_attr(c, "rates"),
                                  same_attr(c, "padding"), ATTR_END };

    if (c->wanted[0])
        send(c, 0, build(c->builder, "Dilation2DBackpropInput", NULL, 3, inputs, attrs));
    if (c->wanted[1])
        send(c, 1, build(c->builder, "Dilation2DBackpropFilter", NULL, 3, inputs, attrs));
    return status_ok();
}

/* ---- batch normalization ---- */

/* In training, the op reserves its statistics for the gradient; otherwise they are inputs. The
 * third version reserves one more output. */
static struct status fused_batch_norm(struct gradient_context *c, const char *op, int inputs_count)
{
    bool training;

    if (dy(c).node == NULL)
        return status_ok();
    TRY(node_attr_bool(c->node, "is_training", &training));
    const struct endpoint inputs[] = {
        dy(c),
        input(c, 0),
        input(c, 1),
        training ? output_at(c, 3) : input(c, 3),
        training ? output_at(c, 4) : input(c, 4),
        output_at(c, 5),
    };
    const struct attr attrs[] = { same_attr(c, "epsilon"), same_attr(c, "data_format"),
                                  same_attr(c, "is_training"), ATTR_END };
    struct endpoint gradient = build(c->builder, op, NULL, inputs_count, inputs, attrs);
    for (int i = 0; i < 3; i++)
        send(c, i, (struct endpoint){ gradient.node, i });
    return status_ok();
}

struct status gradient_fused_batch_norm(struct gradient_context *c)
{
    return fused_batch_norm(c, "FusedBatchNormGrad", 5);
}

struct status gradient_fused_batch_norm_v2(struct gradient_context *c)
{
    return fused_batch_norm(c, "FusedBatchNormGradV2", 5);
}

struct status gradient_fused_batch_norm_v3(struct gradient_context *c)
{
    return fused_batch_norm(c, "FusedBatchNormGradV3", 6);
}

struct status gradient_batch_norm_with_global_normalization(struct gradient_context *c)
{
    const struct endpoint inputs[] = { input(c, 0), input(c, 1), input(c, 2), input(c, 4), dy(c) };
    const struct attr attrs[] = { same_attr(c, "variance_epsilon"),
                                  same_attr(c, "scale_after_normalization"), ATTR_END };
    struct endpoint gradient =
        build(c->builder, "BatchNormWithGlobalNormalizationGrad", NULL, 5, inputs, attrs);
    for (int i = 0; i < 5; i++)
        send(c, i, (struct endpoint){ gradient.node, i });
    return status_ok();
}

/* The op computes the gradient of its loss by the inputs as its second output. */
struct status gradient_ctc_loss(struct gradient_context *c)
{
    struct endpoint by_inputs = { c->node, 1 };
    if (dy(c).node == NULL)
        return status_ok();
    struct endpoint loss = build_expand_dims(c->builder, dy(c), -1);
    return flow(c, 0, binary(c, "Mul", loss, by_inputs));
}

/* ---- quantization: as if nothing were rounded ---- */

struct status gradient_fake_quant_args(struct gradient_context *c)
{
    const struct endpoint inputs[] = { dy(c), input(c, 0) };
    const struct attr attrs[] = { same_attr(c, "min"), same_attr(c, "max"),
                                  same_attr(c, "num_bits"), same_attr(c, "narrow_range"),
                                  ATTR_END };
    return flow(c, 0, build(c->builder, "FakeQuantWithMinMaxArgsGradient", NULL, 2, inputs, attrs));
}

/* An op that gives the gradients of the numbers and of both ends of their range. */
static struct status flow_with_range(struct gradient_context *c, const char *op,
                                     const struct attr *attrs)
{
    const struct endpoint inputs[] = { dy(c), input(c, 0), input(c, 1), input(c, 2) };
    struct endpoint gradient = build(c->builder, op, NULL, 4, inputs, attrs);
    for (int i = 0; i < 3; i++)
        send(c, i, (struct endpoint){ gradient.node, i });
    return status_ok();
}

static struct status fake_quant(struct gradient_context *c, const char *op)
{
    const struct attr attrs[] = { same_attr(c, "num_bits"), same_attr(c, "narrow_range"),
                                  ATTR_END };
    return flow_with_range(c, op, attrs);
}

struct status gradient_fake_quant_vars(struct gradient_context *c)
{
    return fake_quant(c, "FakeQuantWithMinMaxVarsGradient");
}

struct status gradient_fake_quant_channels(struct gradient_context *c)
{
    return fake_quant(c, "FakeQuantWithMinMaxVarsPerChannelGradient");
}

struct status gradient_quantize_and_dequantize_v4(struct gradient_context *c)
{
    const struct attr attrs[] = { same_attr(c, "axis"), ATTR_END };
    return flow_with_range(c, "QuantizeAndDequantizeV4Grad", attrs);
}
