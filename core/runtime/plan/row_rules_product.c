/* Rules of products and sliding windows: input 0 has rows, the weights are the same for all
 * requests. */
#include "graph/einsum.h"
#include "runtime/plan/row_rules.h"

struct row_fact rows_matmul(const struct rows *rows, const struct node *node)
{
    return flag(node, "transpose_a") ? none : rows_kept(rows, node);
}

struct row_fact rows_batch_matmul(const struct rows *rows, const struct node *node)
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

struct row_fact rows_image(const struct rows *rows, const struct node *node)
{
    return keep_rows_of_rank(rows, node, 4);
}

/* An image that is added has a row for each image. */
struct row_fact rows_fused_image(const struct rows *rows, const struct node *node)
{
    int last = node->inputs_count - 1;
    if (!node_has_addend(node))
        return rows_image(rows, node);
    for (int i = 1; i < last; i++)
        if (kind_of(rows, node, i) != FACT_SAME)
            return none;
    bool fits = kind_of(rows, node, 0) == FACT_ROWS && rank_of(rows, node, 0) == 4 &&
                kind_of(rows, node, last) == FACT_ROWS && rank_of(rows, node, last) == 4;
    return fits ? is_rows : none;
}

struct row_fact rows_volume(const struct rows *rows, const struct node *node)
{
    return keep_rows_of_rank(rows, node, 5);
}

/* Windows must not span rows: ksize and strides of dimension 0, which is N in every layout, are 1.
 */
static bool windows_keep_rows(const struct node *node)
{
    static const char *const names[] = { "ksize", "strides" };
    for (size_t i = 0; i < COUNT(names); i++) {
        const struct attr_value *list;
        if (!status_is_ok(node_attr_list(node, names[i], &list)) || list->count < 1 ||
            list->elements[0].i != 1)
            return false;
    }
    return true;
}

struct row_fact rows_pool(const struct rows *rows, const struct node *node)
{
    return windows_keep_rows(node) ? rows_image(rows, node) : none;
}

struct row_fact rows_pool3d(const struct rows *rows, const struct node *node)
{
    return windows_keep_rows(node) ? rows_volume(rows, node) : none;
}

struct row_fact rows_matrix(const struct rows *rows, const struct node *node)
{
    return keep_rows_of_rank(rows, node, 2);
}

struct row_fact rows_bias_add(const struct rows *rows, const struct node *node)
{
    bool fits = node_is_nhwc(node) ? rank_of(rows, node, 0) >= 2 : rank_of(rows, node, 0) >= 3;
    return fits ? rows_kept(rows, node) : none;
}

struct row_fact rows_batch_norm(const struct rows *rows, const struct node *node)
{
    bool training = true;
    status_ignore(node_attr_bool(node, "is_training", &training));
    return training ? none : rows_image(rows, node);
}

/* Conv2DBackpropInput as a layer (transposed convolution): the rows are those of out_backprop. */
struct row_fact rows_conv_transposed(const struct rows *rows, const struct node *node)
{
    const struct row_fact *sizes = input_fact(rows, node, 0);
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

/* The number of occurrences of a label in an operand or in the output. */
static int count_label(const struct einsum_labels *labels, char label)
{
    int count = 0;
    for (int i = 0; i < labels->count; i++)
        count += labels->at[i] == label;
    return count;
}

/* Is dimension 0 that of this label, and no other dimension? */
static bool leads(const struct einsum_labels *labels, char label)
{
    return labels->ellipsis != 0 && labels->count > 0 && labels->at[0] == label &&
           count_label(labels, label) == 1;
}

/* Is dimension 0 the first of an ellipsis, which is longer than that of all other operands that are
 * the same for all requests, and as long as that of those with rows? */
static bool ellipsis_leads(const struct rows *rows, const struct node *node,
                           const struct einsum_equation *einsum, int n)
{
    const struct einsum_labels *labels = &einsum->inputs[n];
    int length = rank_of(rows, node, n) - labels->count;
    if (labels->ellipsis != 0 || einsum->output.ellipsis != 0 || length < 1)
        return false;
    for (int i = 0; i < einsum->inputs_count; i++) {
        int rank = rank_of(rows, node, i), other = rank - einsum->inputs[i].count;
        bool has_rows = kind_of(rows, node, i) == FACT_ROWS;
        if (i != n && (rank < 0 || (has_rows ? other != length : other >= length)))
            return false;
    }
    return true;
}

/* Dimension 0 of each operand with rows is dimension 0 of the output, and no other. */
struct row_fact rows_einsum(const struct rows *rows, const struct node *node)
{
    struct einsum_equation einsum;
    struct bytes equation;
    bool any = false;
    if (!status_is_ok(node_attr_string(node, "equation", &equation)) ||
        !status_is_ok(einsum_parse(equation, node->inputs_count, &einsum)))
        return none;
    for (int n = 0; n < einsum.inputs_count; n++) {
        const struct einsum_labels *labels = &einsum.inputs[n];
        if (kind_of(rows, node, n) == FACT_SAME) {
            /* With the label of the rows, this operand would have a dimension of as many
             * elements. */
            if (einsum.output.count > 0 && einsum.output.ellipsis != 0 &&
                einsum_has_label(labels, einsum.output.at[0]))
                return none;
            continue;
        }
        bool by_label = einsum.output.count > 0 && leads(&einsum.output, einsum.output.at[0]) &&
                        leads(labels, einsum.output.at[0]);
        if (kind_of(rows, node, n) != FACT_ROWS ||
            (!by_label && !ellipsis_leads(rows, node, &einsum, n)))
            return none;
        any = true;
    }
    return any ? is_rows : none;
}
