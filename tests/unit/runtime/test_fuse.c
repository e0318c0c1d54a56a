#include "plan_fixture.h"
#include "support/test_group.h"

#include <math.h>

#include "base/parallel.h"

/*
 * Each row builds a graph from x. With fusing on, its plan has `steps` steps, and one of them is
 * `op`. With fusing off, the results must be the same.
 */
struct row {
    const char *label;
    struct endpoint (*build)(struct endpoint x);
    int columns; /* of x; 0: x is [?,3,3,2] */
    const char *op;
    int steps;
};

#define X_MAX 140

static struct endpoint ramp(struct shape shape, float from, float step)
{
    int64_t size = shape_size(&shape);
    float *values = ARENA_ARRAY(arena, float, size);
    for (int64_t i = 0; i < size; i++)
        values[i] = from + step * (float)(i % 11);
    return const_floats(NULL, shape, values);
}

static struct endpoint matmul(struct endpoint x)
{
    return build_binary(&b, "MatMul", NULL, x, ramp(shape_of(4, 3), -0.5f, 0.1f));
}

static struct endpoint matmul_transposed(struct endpoint x)
{
    return build(&b, "MatMul", NULL, 2, (struct endpoint[]){ x, ramp(shape_of(3, 4), -0.5f, 0.1f) },
                 (struct attr[]){ attr_bool("transpose_b", true), ATTR_END });
}

static struct endpoint convolution(const char *op, struct endpoint x, struct shape filter)
{
    int64_t strides[] = { 1, 1, 1, 1 };
    return build(&b, op, NULL, 2, (struct endpoint[]){ x, ramp(filter, -0.4f, 0.1f) },
                 (struct attr[]){ attr_ints(&b, "strides", 4, strides),
                                  attr_text("padding", "SAME"), ATTR_END });
}

static struct endpoint conv(struct endpoint x)
{
    return convolution("Conv2D", x, shape_of(2, 2, 2, 3));
}

static struct endpoint depthwise(struct endpoint x)
{
    return convolution("DepthwiseConv2dNative", x, shape_of(2, 2, 2, 2));
}

static struct endpoint bias(struct endpoint x, int64_t channels)
{
    return build_binary(&b, "BiasAdd", NULL, x, ramp(shape_of(channels), 0.3f, -0.2f));
}

static struct endpoint matmul_bias(struct endpoint x)
{
    return bias(matmul(x), 3);
}

/* The weights have few columns, and enough rows that the plan transposes them. */
static struct endpoint narrow(struct endpoint x)
{
    return build_binary(&b, "MatMul", NULL, x, ramp(shape_of(70, 3), -0.5f, 0.1f));
}

static struct endpoint narrow_bias_relu(struct endpoint x)
{
    return build_unary(&b, "Relu", NULL, bias(narrow(x), 3));
}

static struct endpoint narrow_mul(struct endpoint x)
{
    return build_binary(&b, "Mul", NULL, narrow(x), ramp(shape_of(3), 0.3f, -0.2f));
}

static struct endpoint matmul_bias_relu(struct endpoint x)
{
    return build_unary(&b, "Relu", NULL, bias(matmul(x), 3));
}

static struct endpoint matmul_add_tanh(struct endpoint x)
{
    struct endpoint sum =
        build_binary(&b, "AddV2", NULL, ramp(shape_of(1, 3), 0.3f, -0.2f), matmul(x));
    return build_unary(&b, "Tanh", NULL, sum);
}

static struct endpoint matmul_sigmoid(struct endpoint x)
{
    return build_unary(&b, "Sigmoid", NULL, matmul(x));
}

static struct endpoint matmul_scalar_mul(struct endpoint x)
{
    return build_binary(&b, "Mul", NULL, matmul_transposed(x),
                        const_floats(NULL, shape_scalar(), VALUES(3)));
}

static struct endpoint matmul_div_sub(struct endpoint x)
{
    struct endpoint scaled =
        build_binary(&b, "RealDiv", NULL, matmul_bias(x), ramp(shape_of(3), 1, 0.5f));
    return build_binary(&b, "Sub", NULL, scaled, ramp(shape_of(3), 1, 0.5f));
}

static struct endpoint two_biases(struct endpoint x)
{
    return bias(matmul_bias(x), 3);
}

/* Batch normalization of Keras 3: x · inv + (β - mean · inv). */
static struct endpoint plain_batch_norm(struct endpoint x, int64_t channels)
{
    struct endpoint scaled =
        build_binary(&b, "Mul", NULL, x, ramp(shape_of(channels), 0.5f, 0.25f));
    return build_binary(&b, "AddV2", NULL, scaled, ramp(shape_of(channels), -1, 0.5f));
}

static struct endpoint matmul_transposed_norm(struct endpoint x)
{
    return plain_batch_norm(matmul_transposed(x), 3);
}

static struct endpoint conv_bias_norm_relu6(struct endpoint x)
{
    return build_unary(&b, "Relu6", NULL, plain_batch_norm(bias(conv(x), 3), 3));
}

static struct endpoint depthwise_norm_elu(struct endpoint x)
{
    return build_unary(&b, "Elu", NULL, plain_batch_norm(depthwise(x), 4));
}

static struct endpoint conv_leaky(struct endpoint x)
{
    struct endpoint y = bias(conv(x), 3);
    return build(&b, "LeakyRelu", NULL, 1, &y,
                 (struct attr[]){ attr_float("alpha", 0.3f), ATTR_END });
}

static struct endpoint fused_batch_norm(struct endpoint x)
{
    struct endpoint y = conv(x);
    return build(
        &b, "FusedBatchNormV3", NULL, 5,
        (struct endpoint[]){ y, ramp(shape_of(3), 1, 0.5f), ramp(shape_of(3), -1, 0.5f),
                             ramp(shape_of(3), 0.1f, 0.1f), ramp(shape_of(3), 1, 1) },
        (struct attr[]){ attr_bool("is_training", false), attr_float("epsilon", 0.01f), ATTR_END });
}

static struct endpoint transposed(struct endpoint x)
{
    int64_t strides[] = { 1, 2, 2, 1 };
    struct endpoint sizes = build_const_ints(&b, NULL, 4, (int32_t[]){ 2, 6, 6, 3 });
    struct endpoint filter = ramp(shape_of(2, 2, 3, 2), -0.4f, 0.1f);
    return build(&b, "Conv2DBackpropInput", NULL, 3, (struct endpoint[]){ sizes, filter, x },
                 (struct attr[]){ attr_ints(&b, "strides", 4, strides),
                                  attr_text("padding", "SAME"), ATTR_END });
}

static struct endpoint transposed_convolution(struct endpoint x)
{
    return build_unary(&b, "Relu", NULL, plain_batch_norm(bias(transposed(x), 3), 3));
}

/* Keeps the rows and makes `columns` of each. */
static struct endpoint columns_of_rows(struct endpoint x, int32_t columns)
{
    struct endpoint shape = build_unary(&b, "Shape", NULL, x);
    struct endpoint zero = build_const_ints(&b, NULL, 1, (int32_t[]){ 0 });
    struct endpoint one = build_const_ints(&b, NULL, 1, (int32_t[]){ 1 });
    struct endpoint rows =
        build(&b, "StridedSlice", NULL, 4, (struct endpoint[]){ shape, zero, one, one },
              (struct attr[]){ attr_int("shrink_axis_mask", 1), ATTR_END });
    struct endpoint dims =
        build(&b, "Pack", NULL, 2, (struct endpoint[]){ rows, build_const_int(&b, columns) }, NULL);
    return build_binary(&b, "Reshape", NULL, x, dims);
}

static struct endpoint flatten(struct endpoint x)
{
    return columns_of_rows(x, 18);
}

/* ---- products of sparse matrices ---- */

static struct endpoint const_numbers(struct shape shape, const int64_t *values)
{
    struct tensor tensor = tensor_borrow(DT_INT64, &shape, values);
    return build_const(&b, NULL, &tensor);
}

static const int64_t entry_columns[] = { 4, 0, 3, 0, 2 };

/* The sum of each of four columns of x is an entry. Rows of three, of which one is empty, have 1, 0
 * and 3 entries. */
static struct endpoint sparse_product(struct endpoint x, struct endpoint columns, bool adjoint)
{
    static const int64_t splits[] = { 0, 1, 1, 4 }, sizes[] = { 3, 5 };
    struct endpoint values = build_binary(&b, "Sum", NULL, x, build_const_int(&b, 0));
    struct endpoint ragged[] = { const_numbers(shape_of(4), splits), values };
    struct endpoint pairs = build(&b, "RaggedTensorToSparse", NULL, 2, ragged, NULL);
    struct endpoint begin = build_const_ints(&b, NULL, 2, (int32_t[]){ 0, 0 }),
                    end = build_const_ints(&b, NULL, 2, (int32_t[]){ 0, 1 }),
                    step = build_const_ints(&b, NULL, 2, (int32_t[]){ 1, 1 });
    struct endpoint rows =
        build(&b, "StridedSlice", NULL, 4, (struct endpoint[]){ pairs, begin, end, step },
              (struct attr[]){ attr_int("begin_mask", 1), attr_int("end_mask", 1),
                               attr_int("shrink_axis_mask", 2), ATTR_END });
    struct endpoint lists[] = { rows, columns };
    struct endpoint indices =
        build(&b, "Pack", NULL, 2, lists, (struct attr[]){ attr_int("axis", 1), ATTR_END });
    struct endpoint inputs[] = { indices, values, const_numbers(shape_of(2), sizes),
                                 ramp(shape_of(adjoint ? 3 : 5, 2), -0.5f, 0.1f) };
    return build(&b, "SparseTensorDenseMatMul", NULL, 4, inputs,
                 (struct attr[]){ attr_bool("adjoint_a", adjoint), ATTR_END });
}

static struct endpoint sparse_lists(struct endpoint x)
{
    return sparse_product(x, const_numbers(shape_of(4), entry_columns), false);
}

static struct endpoint sparse_lists_adjoint(struct endpoint x)
{
    return sparse_product(x, const_numbers(shape_of(4), entry_columns), true);
}

/* ---- trees of element-wise ops ---- */

static struct endpoint gelu(struct endpoint x)
{
    struct endpoint half =
        build_binary(&b, "Mul", NULL, x, const_floats(NULL, shape_scalar(), VALUES(0.5f)));
    struct endpoint scaled = build_binary(&b, "Mul", NULL, build_unary(&b, "Neg", NULL, x),
                                          const_floats(NULL, shape_scalar(), VALUES(0.7f)));
    return build_binary(&b, "Mul", NULL, half, build_unary(&b, "Erfc", NULL, scaled));
}

static struct endpoint swish(struct endpoint x)
{
    return build_binary(&b, "Mul", NULL, x, build_unary(&b, "Sigmoid", NULL, x));
}

static struct endpoint conv_swish(struct endpoint x)
{
    return swish(bias(conv(x), 3));
}

/* Keras' silu has a factor. */
static struct endpoint swish_of(struct endpoint x, float factor)
{
    struct endpoint beta = const_floats(NULL, shape_scalar(), &factor);
    struct endpoint scaled = build_binary(&b, "Mul", NULL, beta, x);
    return build_binary(&b, "Mul", NULL, build_unary(&b, "Sigmoid", NULL, scaled), x);
}

static struct endpoint matmul_swish_by_one(struct endpoint x)
{
    return swish_of(matmul(x), 1);
}

static struct endpoint exact_gelu(struct endpoint x, float half)
{
    struct endpoint halved =
        build_binary(&b, "Mul", NULL, const_floats(NULL, shape_scalar(), &half), x);
    struct endpoint scaled = build_binary(&b, "Mul", NULL, build_unary(&b, "Neg", NULL, x),
                                          const_floats(NULL, shape_scalar(), VALUES(0.70710678f)));
    return build_binary(&b, "Mul", NULL, halved, build_unary(&b, "Erfc", NULL, scaled));
}

static struct endpoint matmul_bias_gelu(struct endpoint x)
{
    return exact_gelu(matmul_bias(x), 0.5f);
}

static struct endpoint a_gelu_by_two(struct endpoint x)
{
    return exact_gelu(matmul_bias(x), 2);
}

/* Keras' Dense on images: Reshape, MatMul, Reshape to [-1, 3, 3, last]. */
static struct endpoint dense_of_images(struct endpoint x, int last)
{
    struct endpoint flat = build_const_ints(&b, NULL, 2, (int32_t[]){ -1, 2 });
    struct endpoint shape = build_const_ints(&b, NULL, 4, (int32_t[]){ -1, 3, 9 / last, last });
    struct endpoint weights = ramp(shape_of(2, 3), -0.5f, 0.1f);
    x = build_binary(&b, "MatMul", NULL, build_binary(&b, "Reshape", NULL, x, flat), weights);
    return build_binary(&b, "Reshape", NULL, x, shape);
}

static struct endpoint dense_gelu(struct endpoint x)
{
    return exact_gelu(bias(dense_of_images(x, 3), 3), 0.5f);
}

/* The bias is computed behind the Reshape. */
static struct endpoint dense_computed_bias(struct endpoint x)
{
    struct endpoint y = dense_of_images(x, 3);
    struct endpoint axes = build_const_ints(&b, NULL, 3, (int32_t[]){ 0, 2, 3 });
    return build_binary(&b, "BiasAdd", NULL, y, build_binary(&b, "Sum", NULL, x, axes));
}

static struct endpoint dense_scale_relu(struct endpoint x)
{
    struct endpoint y = bias(dense_of_images(x, 3), 3);
    y = build_binary(&b, "Mul", NULL, y, ramp(shape_of(1, 1, 1, 3), 0.5f, 0.25f));
    return build_unary(&b, "Relu", NULL, y);
}

/* The last dimension is not the channels. */
static struct endpoint a_bias_of_another_dimension(struct endpoint x)
{
    return bias(dense_of_images(x, 1), 1);
}

static struct endpoint a_swish_by_two(struct endpoint x)
{
    return swish_of(matmul(x), 2);
}

static struct endpoint a_swish_whose_argument_has_another_use(struct endpoint x)
{
    struct endpoint y = matmul(x);
    return build_binary(&b, "AddV2", NULL, swish(y), y);
}

/* One operand has one number for each row, two have one for each column. */
static struct endpoint centred(struct endpoint x)
{
    struct endpoint axis = build_const_int(&b, 1);
    struct endpoint mean = build(&b, "Mean", NULL, 2, (struct endpoint[]){ x, axis },
                                 (struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    struct endpoint y = build_binary(&b, "Sub", NULL, x, mean);
    y = build_binary(&b, "Mul", NULL, y, ramp(shape_of(70), 0.3f, -0.2f));
    return build_binary(&b, "AddV2", NULL, y, ramp(shape_of(70), -1, 0.5f));
}

static struct endpoint bias_softplus(struct endpoint x)
{
    return build_unary(&b, "Softplus", NULL, bias(x, 70));
}

/* Rows of two elements: the numbers for each column are repeated. */
static struct endpoint short_rows(struct endpoint x)
{
    struct endpoint y = build_binary(&b, "Sub", NULL, bias(x, 2), ramp(shape_of(1, 1, 2), 1, 2));
    return build_binary(&b, "Mul", NULL, const_floats(NULL, shape_scalar(), VALUES(0.5f)), y);
}

/* Rows of two elements and numbers for each row: the ops run one after the other. */
static struct endpoint short_rows_with_numbers_of_their_own(struct endpoint x)
{
    return build_unary(&b, "Square", NULL,
                       build_binary(&b, "AddV2", NULL, x, ramp(shape_of(3, 1), 0.3f, -0.2f)));
}

static struct endpoint a_scalar_on_both_sides(struct endpoint x)
{
    struct endpoint one = build_binary(&b, "Sub", NULL, ramp(shape_of(70), 1, 0), x);
    return build_binary(&b, "Maximum", NULL, const_floats(NULL, shape_scalar(), VALUES(0.25f)),
                        build_unary(&b, "Exp", NULL, one));
}

static struct endpoint fourteen_ops(struct endpoint x)
{
    for (int i = 0; i < 14; i++)
        x = build_unary(&b, i % 2 == 0 ? "Tanh" : "Neg", NULL, x);
    return x;
}

static struct endpoint a_result_that_is_larger(struct endpoint x)
{
    return build_binary(&b, "AddV2", NULL, build_unary(&b, "Neg", NULL, x),
                        ramp(shape_of(2, 1, 70), 0.3f, -0.2f));
}

static struct endpoint padded(struct endpoint x, const char *op, const int32_t paddings[8],
                              const char *padding, float weight)
{
    int64_t strides[] = { 1, 2, 2, 1 };
    struct shape pairs = shape_of(4, 2);
    struct tensor list = tensor_borrow(DT_INT32, &pairs, (void *)paddings);
    struct endpoint zeros = build_const(&b, NULL, &list);
    struct endpoint filter = ramp(shape_of(2, 2, 2, 2), weight, 0.1f);
    x = build_binary(&b, "Pad", NULL, x, zeros);
    return build(&b, op, NULL, 2, (struct endpoint[]){ x, filter },
                 (struct attr[]){ attr_ints(&b, "strides", 4, strides),
                                  attr_text("padding", padding), ATTR_END });
}

static struct endpoint pad_conv_bias(struct endpoint x)
{
    return bias(padded(x, "Conv2D", (int32_t[]){ 0, 0, 0, 1, 2, 1, 0, 0 }, "VALID", -0.4f), 2);
}

static struct endpoint pad_depthwise(struct endpoint x)
{
    return padded(x, "DepthwiseConv2dNative", (int32_t[]){ 0, 0, 1, 1, 0, 1, 0, 0 }, "VALID",
                  -0.4f);
}

/* ---- strides that move to earlier nodes ---- */

static struct endpoint strided(struct endpoint x, int64_t edge, int64_t channels,
                               const int64_t strides[4], const char *padding)
{
    return build(&b, "Conv2D", NULL, 2,
                 (struct endpoint[]){ x, ramp(shape_of(edge, edge, channels, 2), -0.4f, 0.1f) },
                 (struct attr[]){ attr_ints(&b, "strides", 4, strides),
                                  attr_text("padding", padding), ATTR_END });
}

static struct endpoint pointwise(struct endpoint x, int64_t channels)
{
    return strided(x, 1, channels, (int64_t[]){ 1, 2, 2, 1 }, "VALID");
}

/* The sum of two convolutions of the same values. */
static struct endpoint two_pointwise(struct endpoint x)
{
    return build_binary(&b, "AddV2", NULL, pointwise(x, 2), bias(pointwise(x, 2), 2));
}

static struct endpoint conv_relu_pointwise(struct endpoint x)
{
    return pointwise(build_unary(&b, "Relu", NULL, conv(x)), 3);
}

/* Strides of 2 and of [3, 1] multiply; the padding of VALID does not follow from the size. */
static struct endpoint strided_conv_pointwise(struct endpoint x)
{
    x = strided(x, 2, 2, (int64_t[]){ 1, 1, 2, 1 }, "VALID");
    return strided(x, 1, 2, (int64_t[]){ 1, 3, 1, 1 }, "SAME");
}

/* The end of one block of ResNet and the beginning of the next one. */
static struct endpoint residual_blocks(struct endpoint x)
{
    struct endpoint y = strided(x, 2, 2, (int64_t[]){ 1, 1, 1, 1 }, "SAME");
    y = bias(strided(y, 1, 2, (int64_t[]){ 1, 1, 1, 1 }, "VALID"), 2);
    return two_pointwise(build_unary(&b, "Relu", NULL, build_binary(&b, "AddV2", NULL, x, y)));
}

/* x and y have the same shape. */
static struct endpoint conv_plus_image(struct endpoint x)
{
    return build_binary(&b, "AddV2", NULL, convolution("Conv2D", x, shape_of(2, 2, 2, 2)), x);
}

static struct endpoint image_plus_conv_bias_relu(struct endpoint x)
{
    struct endpoint y = bias(convolution("Conv2D", x, shape_of(2, 2, 2, 2)), 2);
    return build_unary(&b, "Relu", NULL, build_binary(&b, "AddV2", NULL, x, y));
}

/* One of them becomes the addend of the other. */
static struct endpoint sum_of_two_convs_leaky(struct endpoint x)
{
    struct endpoint y = build_binary(&b, "AddV2", NULL, conv(x), bias(conv(x), 3));
    return build(&b, "LeakyRelu", NULL, 1, &y,
                 (struct attr[]){ attr_float("alpha", 0.3f), ATTR_END });
}

/* The result takes the memory of the addend, which a NaN that Relu may lose must not spoil. */
static struct endpoint conv_plus_computed_image_relu(struct endpoint x)
{
    struct endpoint y = build_binary(&b, "AddV2", NULL, build_unary(&b, "Tanh", NULL, x),
                                     convolution("Conv2D", x, shape_of(2, 2, 2, 2)));
    return build_unary(&b, "Relu", NULL, y);
}

/* Which is broadcast along the columns. */
static struct endpoint conv_plus_smaller_image(struct endpoint x)
{
    struct endpoint sum =
        build(&b, "Sum", NULL, 2, (struct endpoint[]){ x, build_const_int(&b, 2) },
              (struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    return build_binary(&b, "AddV2", NULL, convolution("Conv2D", x, shape_of(2, 2, 2, 2)), sum);
}

static struct endpoint two_strides(struct endpoint x)
{
    struct endpoint y = build_unary(&b, "Tanh", NULL, x);
    return build_binary(&b, "AddV2", NULL, pointwise(y, 2),
                        strided(y, 1, 2, (int64_t[]){ 1, 3, 3, 1 }, "VALID"));
}

static struct endpoint pointwise_of_two_halves(struct endpoint x)
{
    struct endpoint halves =
        build(&b, "Split", NULL, 2, (struct endpoint[]){ build_const_int(&b, 3), x },
              (struct attr[]){ attr_int("num_split", 2), ATTR_END });
    return build_binary(&b, "Sub", NULL, pointwise(halves, 1),
                        pointwise((struct endpoint){ halves.node, 1 }, 1));
}

static struct endpoint pointwise_of_a_shared_value(struct endpoint x)
{
    struct endpoint y = conv(x);
    return build_binary(&b, "AddV2", NULL, pointwise(y, 3),
                        strided(y, 2, 3, (int64_t[]){ 1, 2, 2, 1 }, "SAME"));
}

static struct endpoint pointwise_of_a_sum_with_an_image(struct endpoint x)
{
    return pointwise(build_binary(&b, "AddV2", NULL, x, ramp(shape_of(1, 3, 3, 2), 0.3f, -0.2f)),
                     2);
}

static struct endpoint strided_same_conv_pointwise(struct endpoint x)
{
    return pointwise(strided(x, 2, 2, (int64_t[]){ 1, 2, 2, 1 }, "SAME"), 2);
}

static struct endpoint pointwise_of_other_images(struct endpoint x)
{
    return strided(build_unary(&b, "Tanh", NULL, x), 1, 2, (int64_t[]){ 2, 2, 2, 1 }, "VALID");
}

static struct endpoint valid_conv_pointwise(struct endpoint x)
{
    return pointwise(strided(x, 3, 2, (int64_t[]){ 1, 1, 1, 1 }, "VALID"), 2);
}

/* ---- graphs that must not be fused ---- */

static struct endpoint a_padded_batch(struct endpoint x)
{
    return padded(x, "Conv2D", (int32_t[]){ 1, 0, 0, 1, 0, 1, 0, 0 }, "VALID", -0.4f);
}

static struct endpoint padded_twice(struct endpoint x)
{
    return padded(x, "Conv2D", (int32_t[]){ 0, 0, 0, 1, 0, 1, 0, 0 }, "SAME", -0.4f);
}

static struct endpoint a_pad_for_infinite_weights(struct endpoint x)
{
    return padded(x, "Conv2D", (int32_t[]){ 0, 0, 0, 1, 0, 1, 0, 0 }, "VALID", INFINITY);
}

static struct endpoint a_product_used_twice(struct endpoint x)
{
    struct endpoint y = matmul(x);
    return build_binary(&b, "Mul", NULL, bias(y, 3), y);
}

static struct endpoint a_bias_that_makes_it_larger(struct endpoint x)
{
    struct endpoint narrow = build_binary(&b, "MatMul", NULL, x, ramp(shape_of(4, 1), -0.5f, 0.1f));
    return build_binary(&b, "AddV2", NULL, narrow, ramp(shape_of(3), 0.3f, -0.2f));
}

static struct endpoint a_constant_per_row(struct endpoint x)
{
    return build_binary(&b, "AddV2", NULL, matmul(x), ramp(shape_of(2, 1), 0.3f, -0.2f));
}

static struct endpoint two_activations(struct endpoint x)
{
    return build_unary(&b, "Tanh", NULL, build_unary(&b, "Relu", NULL, matmul_bias(x)));
}

static struct endpoint a_vector_minus_a_product(struct endpoint x)
{
    return build_binary(&b, "Sub", NULL, ramp(shape_of(3), 0.3f, -0.2f), matmul(x));
}

static const struct row rows[] = {
    { "MatMul, BiasAdd", matmul_bias, 4, "_FusedMatMul", 1 },
    { "MatMul, BiasAdd, Relu", matmul_bias_relu, 4, "_FusedMatMul", 1 },
    { "MatMul, AddV2 [1,n], Tanh", matmul_add_tanh, 4, "_FusedMatMul", 1 },
    { "MatMul, Sigmoid", matmul_sigmoid, 4, "_FusedMatMul", 1 },
    { "MatMul, Mul by a scalar", matmul_scalar_mul, 4, "MatMul", 1 },
    { "MatMul, BiasAdd, RealDiv, Sub", matmul_div_sub, 4, "_FusedMatMul", 1 },
    { "MatMul of few columns", narrow, 70, "MatMul", 1 },
    { "MatMul of few columns, Mul", narrow_mul, 70, "MatMul", 1 },
    { "MatMul of few columns, BiasAdd, Relu", narrow_bias_relu, 70, "_FusedMatMul", 1 },
    { "MatMul, BiasAdd, BiasAdd", two_biases, 4, "_FusedMatMul", 1 },
    { "MatMul (b transposed), Mul, AddV2", matmul_transposed_norm, 4, "_FusedMatMul", 1 },
    { "Conv2D, BiasAdd, Mul, AddV2, Relu6", conv_bias_norm_relu6, 0, "_FusedConv2D", 1 },
    { "DepthwiseConv2dNative, Mul, AddV2, Elu", depthwise_norm_elu, 0,
      "_FusedDepthwiseConv2dNative", 1 },
    { "Conv2D, BiasAdd, LeakyRelu", conv_leaky, 0, "_FusedConv2D", 1 },
    { "Conv2D, FusedBatchNormV3", fused_batch_norm, 0, "_FusedConv2D", 1 },
    { "Conv2DBackpropInput, BiasAdd, Mul, AddV2, Relu", transposed_convolution, 0,
      "_FusedConv2DBackpropInput", 1 },
    { "Shape, StridedSlice, Pack, Reshape", flatten, 0, "_ReshapeRows", 1 },
    { "Pad, Conv2D, BiasAdd", pad_conv_bias, 0, "_FusedConv2D", 1 },
    { "Pad, DepthwiseConv2dNative", pad_depthwise, 0, "DepthwiseConv2dNative", 1 },
    { "two Conv2D of every other pixel", two_pointwise, 0, "StridedSlice", 3 },
    { "Conv2D, Relu, Conv2D of every other pixel", conv_relu_pointwise, 0, "_FusedConv2D", 2 },
    { "Conv2D of strides, Conv2D of fewer pixels", strided_conv_pointwise, 0, "Conv2D", 2 },
    { "blocks of ResNet", residual_blocks, 0, "StridedSlice", 5 },
    { "two strides of one value", two_strides, 0, "StridedSlice", 6 },
    { "two results of a node", pointwise_of_two_halves, 0, "StridedSlice", 6 },
    { "a value of which some users read all pixels", pointwise_of_a_shared_value, 0, "StridedSlice",
      4 },
    { "a sum with a constant image", pointwise_of_a_sum_with_an_image, 0, "StridedSlice", 3 },
    { "a padding that follows from the size", strided_same_conv_pointwise, 0, "StridedSlice", 3 },
    { "Conv2D, AddV2 of an image", conv_plus_image, 0, "_FusedConv2D", 1 },
    { "Conv2D, BiasAdd, AddV2 of an image, Relu", image_plus_conv_bias_relu, 0, "_FusedConv2D", 1 },
    { "Tanh, Conv2D, AddV2, Relu", conv_plus_computed_image_relu, 0, "_FusedConv2D", 2 },
    { "two Conv2D, AddV2, LeakyRelu", sum_of_two_convs_leaky, 0, "_FusedConv2D", 2 },
    { "a smaller image stays", conv_plus_smaller_image, 0, "AddV2", 3 },
    { "a pad of the batch stays", a_padded_batch, 0, "Pad", 2 },
    { "a pad before other padding stays", padded_twice, 0, "Pad", 2 },
    { "a pad before infinite weights stays", a_pad_for_infinite_weights, 0, "Pad", 2 },
    { "a gelu", gelu, 70, "_FusedPointwise", 1 },
    { "RaggedTensorToSparse, Pack, SparseTensorDenseMatMul", sparse_lists, 4, "_SparseListsMatMul",
      3 },
    { "the same, adjoint", sparse_lists_adjoint, 4, "_SparseListsMatMul", 3 },
    { "RaggedTensorToSparse, StridedSlice", sparse_lists, 4, "_RaggedRows", 3 },
    { "a swish of images", swish, 0, "_FusedPointwise", 1 },
    { "Conv2D, BiasAdd, swish", conv_swish, 0, "_FusedConv2D", 1 },
    { "MatMul, swish by 1", matmul_swish_by_one, 4, "_FusedMatMul", 1 },
    { "MatMul, BiasAdd, gelu", matmul_bias_gelu, 4, "_FusedMatMul", 1 },
    { "a gelu with another factor stays", a_gelu_by_two, 4, "_FusedPointwise", 2 },
    { "MatMul, Reshape, BiasAdd, gelu", dense_gelu, 0, "_FusedMatMul", 3 },
    { "MatMul, Reshape, BiasAdd, Mul, Relu", dense_scale_relu, 0, "_FusedMatMul", 3 },
    { "a bias of another dimension stays", a_bias_of_another_dimension, 0, "BiasAdd", 4 },
    { "a swish by 2 stays", a_swish_by_two, 4, "_FusedPointwise", 2 },
    { "a swish of a product used once more stays", a_swish_whose_argument_has_another_use, 4,
      "_FusedPointwise", 2 },
    { "operands with one number a row", centred, 70, "_FusedPointwise", 2 },
    { "BiasAdd, Softplus", bias_softplus, 70, "_FusedPointwise", 1 },
    { "rows of two elements", short_rows, 0, "_FusedPointwise", 1 },
    { "rows of two elements, numbers for rows", short_rows_with_numbers_of_their_own, 0,
      "_FusedPointwise", 1 },
    { "a constant on the left", a_scalar_on_both_sides, 70, "_FusedPointwise", 1 },
    { "fourteen ops, two nodes", fourteen_ops, 70, "_FusedPointwise", 2 },
    { "what is broadcast further stays", a_result_that_is_larger, 70, "Neg", 2 },
    { "a product that two use stays", a_product_used_twice, 4, "MatMul", 2 },
    { "a bias that makes the product larger stays", a_bias_that_makes_it_larger, 4, "AddV2", 2 },
    { "a constant per row stays", a_constant_per_row, 4, "AddV2", 2 },
    { "a computed bias behind a Reshape stays", dense_computed_bias, 0, "BiasAdd", 5 },
    { "a second activation stays", two_activations, 4, "Tanh", 2 },
    { "a vector minus a product stays", a_vector_minus_a_product, 4, "Sub", 2 },
};

/* ---- fusing on and off ---- */

/* Fusing changes the order of multiplications. */
static bool is_close(float got, float want, float greatest)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || fabsf(got - want) <= 1e-5f * fmaxf(greatest, fabsf(want));
}

static void compare_runs(const struct plan *fused, const struct plan *plain,
                         const struct tensor *feed, float special)
{
    struct tensor out[2];
    float greatest = isfinite(special) ? fmaxf(1, fabsf(special)) : 1;
    assert_ok(plan_run(fused, run, feed, &out[0]));
    assert_ok(plan_run(plain, run, feed, &out[1]));
    assert_string_equal(shape_text(&out[0].shape), shape_text(&out[1].shape));
    for (int64_t i = 0; i < out[1].size; i++) {
        float got = tensor_floats(&out[0])[i], want = tensor_floats(&out[1])[i];
        if (!is_close(got, want, greatest))
            fail_msg("with %g: element %lld is %g with fusing on, %g with fusing off",
                     (double)special, (long long)i, (double)got, (double)want);
    }
    tensor_release(&out[0]);
    tensor_release(&out[1]);
}

/* Compares runs on ordinary numbers with one special number, and on special numbers only. */
static void compare_values(const struct plan *fused, const struct plan *plain, struct shape shape)
{
    static const float special[] = { 0,      NAN,    INFINITY, -INFINITY, 1e30f,
                                     -1e30f, 1e-40f, -1e-40f,  -0.0f };
    float values[X_MAX] = { 0 };
    struct tensor feed = floats(shape, values);
    int64_t size = shape_size(&shape);
    for (size_t s = 0; s < COUNT(special); s++) {
        for (int i = 0; i < X_MAX; i++)
            values[i] = (float)((i * 7) % 13) - 5.5f;
        values[size / 3] = special[s];
        compare_runs(fused, plain, &feed, special[s]);
        for (int i = 0; i < X_MAX; i++)
            values[i] = special[s];
        compare_runs(fused, plain, &feed, special[s]);
    }
}

static void gives_the_same_with_fusing_off(void **state)
{
    const struct row *row = *state;
    setup(NULL);
    struct shape pattern = row->columns > 0 ? shape_of(-1, row->columns) : shape_of(-1, 3, 3, 2);
    struct shape shape = pattern;
    shape.dims[0] = 2;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, pattern);
    struct endpoint y = row->build(x);
    struct plan_options off = { .no_fuse = true };
    struct plan *fused = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_true(plan_has(fused, row->op));
    assert_int_equal(plan_steps_count(fused), row->steps);

    compare_values(fused, plain, shape);
    assert_int_equal(tensor_pool_used(run_pool(run)), 0);
    plan_destroy(fused);
    plan_destroy(plain);
    teardown(NULL);
}

static void fails_the_same_with_fusing_off(void **state)
{
    const float values[8] = { 0 };
    (void)state;
    setup(NULL);
    struct endpoint inputs[] = { build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4)),
                                 build_placeholder(&b, "columns", DT_INT64, shape_of(-1)) };
    struct endpoint y = sparse_product(inputs[0], inputs[1], false);
    const struct shape five = shape_of(5);
    const struct tensor feeds[] = { floats(shape_of(2, 4), values),
                                    tensor_borrow(DT_INT64, &five, entry_columns) };
    for (int i = 0; i < 2; i++) {
        struct plan_options options = { .no_fuse = i == 1 };
        struct plan *plan = plan_of(2, inputs, 1, &y, &options);
        struct tensor out;
        assert_int_equal(plan_has(plan, "_SparseListsMatMul"), i == 0);
        assert_fails(plan_run(plan, run, feeds, &out), STATUS_INVALID_ARGUMENT,
                     "Shapes of all inputs must match: values[0].shape = [4] != "
                     "values[1].shape = [5]");
        plan_destroy(plan);
    }
    teardown(NULL);
}

/* Strides that do not move, because errors would go with them. */
static const struct wrong_stride {
    struct endpoint (*build)(struct endpoint x);
    const char *error;
} wrong_strides[] = {
    { pointwise_of_other_images, "Current implementation does not yet support strides in the batch "
                                 "and depth dimensions." },
    { valid_conv_pointwise, "Computed output size would be negative: -1 [input_size: 1, "
                            "effective_filter_size: 3, stride: 1]" },
};

static void a_stride_that_moves_hides_no_error(void **state)
{
    const float values[4] = { 0 };
    const struct tensor feed = floats(shape_of(2, 1, 1, 2), values);
    (void)state;
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, -1, -1, 2));
    for (size_t i = 0; i < 2 * COUNT(wrong_strides); i++) {
        const struct wrong_stride *row = &wrong_strides[i / 2];
        struct endpoint y = row->build(x);
        struct plan_options options = { .no_fuse = i % 2 == 1 };
        struct flatten_request request = {
            .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
        };
        struct plan *plan = NULL;
        struct tensor out;
        struct status status = plan_create(graph, &request, resources, NULL, &options, &plan);
        if (status_is_ok(status))
            status = plan_run(plan, run, &feed, &out);
        assert_fails(status, STATUS_INVALID_ARGUMENT, row->error);
        plan_destroy(plan);
    }
    teardown(NULL);
}

/* A NaN that Relu may lose: the run may be repeated only if that does nothing twice. */
static void a_run_that_counts_is_not_repeated(void **state)
{
    (void)state;
    setup(NULL);
    struct shape scalar = shape_scalar();
    struct endpoint v = build(
        &b, "VariableV2", "v", 0, NULL,
        (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &scalar), ATTR_END });
    struct endpoint one = const_floats("one", scalar, VALUES(1));
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 3, 3, 2));
    struct endpoint begun = build_binary(&b, "Assign", NULL, v, one);
    struct endpoint counted = build_binary(&b, "AssignAdd", NULL, v, one);
    struct endpoint y = conv_plus_computed_image_relu((struct endpoint){
        build_node(&b, "Neg", NULL, 1, &x, 1, (struct node *[]){ counted.node }, NULL), 0 });
    struct plan *begins = plan_of(0, NULL, 1, &begun, NULL), *counts = plan_of(1, &x, 1, &y, NULL);
    struct tensor none = { 0 }, out;
    assert_runs(begins, none, 1, VALUES(1));
    assert_true(plan_has(counts, "_FusedConv2D"));
    float values[18] = { NAN };
    struct tensor feed = floats(shape_of(1, 3, 3, 2), values);
    assert_ok(plan_run(counts, run, &feed, &out));
    assert_true(isnan(tensor_floats(&out)[0]));
    tensor_release(&out);

    struct endpoint count = build_unary(&b, "Identity", NULL, v);
    struct plan *reads = plan_of(0, NULL, 1, &count, NULL);
    assert_runs(reads, none, 1, VALUES(2));
    plan_destroy(reads);
    plan_destroy(counts);
    plan_destroy(begins);
    teardown(NULL);
}

/* ---- every activation after every product ---- */

static struct endpoint conv_of_many_channels(struct endpoint x)
{
    return convolution("Conv2D", x, shape_of(2, 2, 2, 35));
}

static struct endpoint conv_one_by_one(struct endpoint x)
{
    return convolution("Conv2D", x, shape_of(1, 1, 2, 16));
}

/* Large enough that the plan packs the matrix. */
static struct endpoint wide(struct endpoint x)
{
    return build_binary(&b, "MatMul", NULL, x, ramp(shape_of(32, 48), -0.5f, 0.1f));
}

static struct endpoint conv_of_groups(struct endpoint x)
{
    return convolution("Conv2D", x, shape_of(2, 2, 1, 16));
}

static const struct product_row {
    const char *label;
    struct endpoint (*build)(struct endpoint x);
    int columns, channels;
} products[] = {
    { "MatMul", matmul, 4, 3 },
    { "MatMul of few columns", narrow, 70, 3 },
    { "MatMul of many columns", wide, 32, 48 },
    { "Conv2D", conv, 0, 3 },
    { "Conv2D of 35 channels", conv_of_many_channels, 0, 35 },
    { "Conv2D 1x1", conv_one_by_one, 0, 16 },
    { "Conv2D of two groups", conv_of_groups, 0, 16 },
    { "DepthwiseConv2dNative", depthwise, 0, 4 },
    { "Conv2DBackpropInput", transposed, 0, 3 },
};

static const struct activation_row {
    const char *op;
    float alpha; /* of LeakyRelu */
} activations[] = {
    { "Relu", 0 },         { "Relu6", 0 },         { "LeakyRelu", 0.3f }, { "LeakyRelu", 0 },
    { "LeakyRelu", 1.5f }, { "LeakyRelu", -0.5f }, { "Elu", 0 },          { "Selu", 0 },
    { "Tanh", 0 },         { "Sigmoid", 0 },       { "Softplus", 0 },     { "_Swish", 0 },
    { "_Gelu", 0 },
};

static struct endpoint activate(struct endpoint x, const struct activation_row *row)
{
    struct attr alpha[] = { attr_float("alpha", row->alpha), ATTR_END };
    return build(&b, row->op, NULL, 1, &x, strcmp(row->op, "LeakyRelu") == 0 ? alpha : NULL);
}

static void compare_activation(const struct product_row *product,
                               const struct activation_row *activation, bool with_bias)
{
    setup(NULL);
    struct shape pattern =
        product->columns > 0 ? shape_of(-1, product->columns) : shape_of(-1, 3, 3, 2);
    struct shape shape = pattern;
    shape.dims[0] = 2;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, pattern), y = product->build(x);
    y = activate(with_bias ? bias(y, product->channels) : y, activation);
    struct plan_options off = { .no_fuse = true };
    struct plan *fused = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_int_equal(plan_steps_count(fused), 1);
    assert_int_equal(plan_steps_count(plain), with_bias ? 3 : 2);
    compare_values(fused, plain, shape);
    plan_destroy(fused);
    plan_destroy(plain);
    teardown(NULL);
}

/* A filter that is not a constant goes to the plain loops. */
static void compare_without_constants(const struct product_row *product)
{
    setup(NULL);
    struct shape pattern =
        product->columns > 0 ? shape_of(-1, product->columns) : shape_of(-1, 3, 3, 2);
    struct shape shape = pattern;
    shape.dims[0] = 2;
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, pattern), y = product->build(x);
    struct plan_options off = { .no_fuse = true, .no_fold = true };
    struct plan *fast = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    compare_values(fast, plain, shape);
    plan_destroy(fast);
    plan_destroy(plain);
    teardown(NULL);
}

static void gives_the_same_for_every_activation(void **state)
{
    const struct product_row *product = *state;
    compare_without_constants(product);
    for (size_t i = 0; i < COUNT(activations); i++)
        for (int with_bias = 0; with_bias < 2; with_bias++)
            compare_activation(product, &activations[i], with_bias);
}

/* ---- trees over rows of several blocks, which several threads take ---- */

static void gives_the_same_in_blocks(void **state)
{
    enum { COLUMNS = 1100, ROWS = 3 };
    (void)state;
    static float values[ROWS * COLUMNS];
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, COLUMNS));
    struct endpoint axis = build_const_int(&b, 1);
    struct endpoint mean = build(&b, "Mean", NULL, 2, (struct endpoint[]){ x, axis },
                                 (struct attr[]){ attr_bool("keep_dims", true), ATTR_END });
    struct endpoint y = build_binary(&b, "Sub", NULL, x, mean);
    y = build_binary(&b, "Mul", NULL, y, ramp(shape_of(COLUMNS), 0.3f, -0.2f));
    y = swish(bias(y, COLUMNS));
    struct plan_options off = { .no_fuse = true };
    struct plan *fused = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_int_equal(plan_steps_count(fused), 2);
    struct tensor feed = floats(shape_of(ROWS, COLUMNS), values);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = (float)((i * 7) % 1013) / 500 - 1;
    parallel_set_part_ns(0);
    compare_runs(fused, plain, &feed, 0);
    plan_destroy(fused);
    plan_destroy(plain);
    teardown(NULL);
}

/* Pixels of three channels: blocks of 510 elements. */
static void gives_the_same_in_blocks_of_short_rows(void **state)
{
    enum { PIXELS = 700, ROWS = 2 };
    (void)state;
    static float values[ROWS * PIXELS * 3];
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, PIXELS, 3));
    struct endpoint y = build_binary(&b, "Sub", NULL, x, ramp(shape_of(1, 3), 0.3f, -0.2f));
    y = build_binary(&b, "RealDiv", NULL, y, ramp(shape_of(3), 1, 0.5f));
    struct plan_options off = { .no_fuse = true };
    struct plan *fused = plan_of(1, &x, 1, &y, NULL), *plain = plan_of(1, &x, 1, &y, &off);
    assert_int_equal(plan_steps_count(fused), 1);
    struct tensor feed = floats(shape_of(ROWS, PIXELS, 3), values);
    for (int i = 0; i < ROWS * PIXELS * 3; i++)
        values[i] = (float)((i * 7) % 1013) / 500 - 1;
    parallel_set_part_ns(0);
    compare_runs(fused, plain, &feed, 0);
    plan_destroy(fused);
    plan_destroy(plain);
    teardown(NULL);
}

/* ---- scales that cannot be multiplied into the weights ---- */

static void a_scale_that_overflows_stays(void **state)
{
    (void)state;
    static const float scales[] = { NAN, INFINITY, 1e38f };
    for (size_t i = 0; i < COUNT(scales); i++) {
        setup(NULL);
        struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4));
        struct endpoint weights = ramp(shape_of(4, 3), -40, 10);
        struct endpoint y = build_binary(&b, "MatMul", NULL, x, weights);
        y = build_binary(&b, "Mul", NULL, y, const_floats(NULL, shape_scalar(), &scales[i]));
        struct plan *plan = plan_of(1, &x, 1, &y, NULL);
        assert_int_equal(plan_steps_count(plan), 2);
        plan_destroy(plan);
        teardown(NULL);
    }
}

/* TensorFlow's optimizer also writes fused ops, of kinds that we do not support. */
static void a_fused_op_of_another_kind_is_refused(void **state)
{
    (void)state;
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4));
    struct endpoint inputs[] = { x, ramp(shape_of(4, 3), -0.5f, 0.1f) };
    const struct attr_value ops[] = { { .kind = ATTR_STRING, .s = bytes_of("BiasAdd") },
                                      { .kind = ATTR_STRING, .s = bytes_of("MatMul") } };
    for (int count = 1; count <= 2; count++) { /* no bias; then an unsupported op */
        struct attr fused = {
            "fused_ops",
            { .kind = ATTR_LIST, .element_kind = ATTR_STRING, .count = count, .elements = ops }
        };
        struct endpoint y = build(&b, "_FusedMatMul", "y", 2, inputs,
                                  (struct attr[]){ fused, attr_int("num_args", 0), ATTR_END });
        struct endpoint z = build_unary(&b, "Relu", NULL, y);
        struct flatten_request request = {
            .feeds = &x, .feeds_count = 1, .fetches = &z, .fetches_count = 1
        };
        struct plan *plan;
        assert_ok(builder_status(&b));
        assert_int_equal(plan_create(graph, &request, resources, NULL, NULL, &plan).code,
                         STATUS_UNIMPLEMENTED);
    }
    teardown(NULL);
}

/* ---- trees that a file describes ---- */

static struct attr list_attr(const char *name, enum attr_kind kind, int count,
                             const struct attr_value *elements)
{
    return (struct attr){
        name,
        { .kind = ATTR_LIST, .element_kind = kind, .count = count, .elements = (void *)elements }
    };
}

/* Select takes three operands, Split makes two results, While needs a body, Rank makes an int32. */
static void a_tree_of_other_ops_is_refused(void **state)
{
    static const char *const ops[] = { "Select", "Split", "While", "Rank",           "Conv2D",
                                       "Const",  "AddV2", "None",  "_FusedPointwise" };
    (void)state;
    for (size_t i = 0; i < COUNT(ops); i++) {
        setup(NULL);
        struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4));
        const struct attr_value op = { .kind = ATTR_STRING, .s = bytes_of(ops[i]) };
        const struct attr_value sources[] = { { .kind = ATTR_INT, .i = 0 },
                                              { .kind = ATTR_INT, .i = -1 } };
        struct endpoint y =
            build(&b, "_FusedPointwise", "y", 1, &x,
                  (struct attr[]){ attr_int("N", 1), list_attr("ops", ATTR_STRING, 1, &op),
                                   list_attr("sources", ATTR_INT, 2, sources), ATTR_END });
        struct flatten_request request = {
            .feeds = &x, .feeds_count = 1, .fetches = &y, .fetches_count = 1
        };
        struct plan *plan;
        assert_ok(builder_status(&b));
        assert_int_equal(plan_create(graph, &request, resources, NULL, NULL, &plan).code,
                         STATUS_INVALID_ARGUMENT);
        teardown(NULL);
    }
}

/* The filter is dropped once oneDNN has packed it. NaN, which oneDNN's activation might lose, then
 * runs through the plain kernel, which needs it again. */
static void a_packed_filter_serves_the_plain_kernel_as_well(void **state)
{
    (void)state;
    enum { EDGE = 5, CHANNELS = 40, FILTERS = 48, SIZE = EDGE * EDGE * CHANNELS };
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, EDGE, EDGE, CHANNELS));
    struct endpoint y = convolution("Conv2D", x, shape_of(3, 3, CHANNELS, FILTERS));
    y = build_binary(&b, "Mul", NULL, y, ramp(shape_of(FILTERS), 0.1f, 0.02f));
    y = build(&b, "Relu", NULL, 1, &y, NULL);
    struct plan *fused = plan_of(1, &x, 1, &y, NULL);
    struct plan *single = plan_of(1, &x, 1, &y, &(struct plan_options){ .no_fuse = true });
    float values[SIZE];
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < SIZE; i++)
            values[i] = (float)(i * 7 % 23) / 23 - 0.5f;
        if (round % 2 == 1)
            values[SIZE / 2] = NAN;
        struct tensor feed = floats(shape_of(1, EDGE, EDGE, CHANNELS), values), got, want;
        assert_ok(plan_run(fused, run, &feed, &got));
        assert_ok(plan_run(single, run, &feed, &want));
        for (int64_t i = 0; i < want.size; i++)
            if (!is_close(tensor_floats(&got)[i], tensor_floats(&want)[i], 100))
                fail_msg("round %d: element %lld is %g, not %g", round, (long long)i,
                         (double)tensor_floats(&got)[i], (double)tensor_floats(&want)[i]);
        tensor_release(&got);
        tensor_release(&want);
        tensor_release(&feed);
    }
    plan_destroy(fused);
    plan_destroy(single);
    teardown(NULL);
}

/* Where a size is 0, TensorFlow leaves out all zeros and infers -1 from what is left. */
static void a_reshape_without_rows_infers_what_tensorflow_infers(void **state)
{
    (void)state;
    setup(NULL);
    struct endpoint x = build_placeholder(&b, "x", DT_FLOAT, shape_of(-1, 4, -1));
    struct endpoint y = columns_of_rows(x, -1);
    struct plan *plan = plan_of(1, &x, 1, &y, NULL);
    const struct shape feeds[] = { shape_of(0, 4, 3), shape_of(0, 4, 0), shape_of(2, 4, 0) };
    const struct shape wants[] = { shape_of(0, 12), shape_of(0, 4), shape_of(2, 0) };
    for (size_t i = 0; i < COUNT(feeds); i++) {
        struct tensor feed = floats(feeds[i], VALUES(0)), got;
        assert_ok(plan_run(plan, run, &feed, &got));
        assert_string_equal(shape_text(&got.shape), shape_text(&wants[i]));
        tensor_release(&got);
        tensor_release(&feed);
    }
    plan_destroy(plan);
    teardown(NULL);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_fused_op_of_another_kind_is_refused),
        cmocka_unit_test(fails_the_same_with_fusing_off),
        cmocka_unit_test(a_run_that_counts_is_not_repeated),
        cmocka_unit_test(a_stride_that_moves_hides_no_error),
        cmocka_unit_test(a_scale_that_overflows_stays),
        cmocka_unit_test(gives_the_same_in_blocks),
        cmocka_unit_test(a_tree_of_other_ops_is_refused),
        cmocka_unit_test(gives_the_same_in_blocks_of_short_rows),
        cmocka_unit_test(a_packed_filter_serves_the_plain_kernel_as_well),
        cmocka_unit_test(a_reshape_without_rows_infers_what_tensorflow_infers),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, gives_the_same_with_fusing_off);
    ADD_ROWS(&group, products, label, gives_the_same_for_every_activation);
    ADD_TESTS(&group, plain);
    return test_group_run(&group, "fuse", NULL, NULL);
}
