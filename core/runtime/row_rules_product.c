/* Rules of products and windows: input 0 has the rows, the weights are the same for all. */
#include <string.h>

#include "runtime/row_rules.h"

static struct row_fact matmul(const struct rows *rows, const struct node *node)
{
    return flag(node, "transpose_a") ? none : unary_value(rows, node);
}

static struct row_fact batch_matmul(const struct rows *rows, const struct node *node)
{
    int rank = rank_of(rows, node, 0), other = rank_of(rows, node, 1);
    if (kind_of(rows, node, 0) != FACT_ROWS || rank < 2)
        return none;
    if (kind_of(rows, node, 1) == FACT_ROWS)
        return rank == other && rank >= 3 ? is_rows : none;
    bool fits = kind_of(rows, node, 1) == FACT_SAME && (rank >= 3 || !flag(node, "adj_x")) &&
                other >= 2 && (other == 2 || leaves_rows_alone(rows, node->inputs[1], rank));
    return fits ? is_rows : none;
}

static bool is_nhwc(const struct node *node)
{
    const struct attr_value *format = node_attr(node, "data_format");
    return format == NULL || format->kind != ATTR_STRING ||
           bytes_equal(format->s, bytes_of("NHWC"));
}

static struct row_fact image(const struct rows *rows, const struct node *node)
{
    return rows_of_rank(rows, node, 4);
}

/* Windows that stay within a row, whatever the layout: N comes first in all. */
static struct row_fact pool(const struct rows *rows, const struct node *node)
{
    static const char *const names[] = { "ksize", "strides" };
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct attr_value *list;
        if (!status_is_ok(node_attr_list(node, names[i], &list)) || list->count < 1 ||
            list->elements[0].i != 1)
            return none;
    }
    return image(rows, node);
}

static struct row_fact matrix(const struct rows *rows, const struct node *node)
{
    return rows_of_rank(rows, node, 2);
}

static struct row_fact bias_add(const struct rows *rows, const struct node *node)
{
    bool fits = is_nhwc(node) ? rank_of(rows, node, 0) >= 2 : rank_of(rows, node, 0) >= 3;
    return fits ? unary_value(rows, node) : none;
}

static struct row_fact batch_norm(const struct rows *rows, const struct node *node)
{
    bool training = true;
    status_ignore(node_attr_bool(node, "is_training", &training));
    return training ? none : image(rows, node);
}

/* Conv2DBackpropInput as a layer: the rows are those of out_backprop. */
static struct row_fact transposed_convolution(const struct rows *rows, const struct node *node)
{
    const struct row_fact *sizes = rows_input(rows, node, 0);
    bool size_fits = sizes->kind == FACT_COUNTS && sizes->rank == 1 && sizes->elements_count > 0 &&
                     sizes->elements[0] == COUNT_ROWS;
    for (int i = 1; i < sizes->elements_count; i++)
        size_fits = size_fits && sizes->elements[i] == COUNT_SAME;
    for (int i = 1; i < node->inputs_count; i++) {
        if (i != 2 && kind_of(rows, node, i) != FACT_SAME)
            return none;
    }
    return size_fits && kind_of(rows, node, 2) == FACT_ROWS ? is_rows : none;
}

static const struct row_rule rules[] = {
    { "MatMul", matmul },
    { "_FusedMatMul", matmul },
    { "BatchMatMul", batch_matmul },
    { "BatchMatMulV2", batch_matmul },
    { "BatchMatMulV3", batch_matmul },
    { "BiasAdd", bias_add },
    { "Conv2D", image },
    { "_FusedConv2D", image },
    { "Conv3D", image },
    { "DepthwiseConv2dNative", image },
    { "_FusedDepthwiseConv2dNative", image },
    { "Conv2DBackpropInput", transposed_convolution },
    { "_FusedConv2DBackpropInput", transposed_convolution },
    { "FusedBatchNorm", batch_norm },
    { "FusedBatchNormV2", batch_norm },
    { "FusedBatchNormV3", batch_norm },
    { "MaxPool", pool },
    { "AvgPool", pool },
    { "ResizeBilinear", image },
    { "ResizeNearestNeighbor", image },
    { "DepthToSpace", image },
    { "SpaceToDepth", image },
    { "Softmax", matrix },
    { "LogSoftmax", matrix },
};
const struct row_rule_table row_rules_product = { rules, COUNT(rules) };
