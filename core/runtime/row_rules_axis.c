/* Rules of ops with an axis: it must not be dimension 0. */
#include <string.h>

#include "runtime/row_rules.h"

bool is_inner_axis(int64_t axis, int rank)
{
    return axis > 0 || (axis < 0 && rank > 0 && axis + rank > 0);
}

static bool inner_axes(const struct rows *rows, const struct node *node, int input)
{
    const struct tensor *axes = rows_constant(rows, node, input);
    if (axes == NULL || (axes->dtype != DT_INT32 && axes->dtype != DT_INT64))
        return false;
    for (int64_t i = 0; i < axes->size; i++) {
        if (!is_inner_axis(tensor_index(axes, i), rank_of(rows, node, 0)))
            return false;
    }
    return true;
}

static struct row_fact reduction(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = rows_input(rows, node, 0);
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && inner_axes(rows, node, 1) ? *fact : none;
}

/* Prod over a list of counts in which the number of rows stands once. */
static struct row_fact prod(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = rows_input(rows, node, 0);
    const struct tensor *axis = rows_constant(rows, node, 1);
    if (fact->kind != FACT_COUNTS)
        return reduction(rows, node);
    if (fact->rank != 1 || axis == NULL || axis->size != 1 || tensor_index(axis, 0) != 0 ||
        flag(node, "keep_dims"))
        return none;
    int with_rows = 0, at = 0;
    for (int i = 0; i < fact->elements_count; i++) {
        if (fact->elements[i] != COUNT_SAME) {
            with_rows++;
            at = i;
        }
    }
    if (with_rows > 1)
        return none;
    bool alone = with_rows == 1 && fact->elements_count == 1;
    unsigned char kind = with_rows == 0 ? COUNT_SAME : COUNT_MULTIPLE;
    return (struct row_fact){ .kind = FACT_COUNTS,
                              .elements_count = 1,
                              .elements = { alone ? fact->elements[at] : kind } };
}

static struct row_fact last_axis(const struct rows *rows, const struct node *node)
{
    return rows_of_rank(rows, node, 2);
}

static struct row_fact expand_dims(const struct rows *rows, const struct node *node)
{
    const struct tensor *axis = rows_constant(rows, node, 1);
    const struct row_fact *fact = rows_input(rows, node, 0);
    int rank = rank_of(rows, node, 0);
    if (axis == NULL || axis->size != 1)
        return none;
    int64_t at = tensor_index(axis, 0);
    if (fact->kind == FACT_COUNTS && fact->rank == 0 && (at == 0 || at == -1)) {
        struct row_fact vector = *fact;
        vector.rank = 1;
        return vector;
    }
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && rank > 0 && is_inner_axis(at, rank + 1) ? *fact : none;
}

static struct row_fact squeeze(const struct rows *rows, const struct node *node)
{
    const struct attr_value *axes;
    enum fact_kind kind = kind_of(rows, node, 0);
    if (!status_is_ok(node_attr_list(node, "squeeze_dims", &axes)) || axes->count == 0 ||
        (kind != FACT_ROWS && kind != FACT_BLOCKS))
        return none;
    for (int i = 0; i < axes->count; i++) {
        if (!is_inner_axis(axes->elements[i].i, rank_of(rows, node, 0)))
            return none;
    }
    return *rows_input(rows, node, 0);
}

static struct row_fact transpose(const struct rows *rows, const struct node *node)
{
    const struct tensor *order = rows_constant(rows, node, 1);
    if (order == NULL || order->size == 0 || tensor_index(order, 0) != 0)
        return none;
    return unary_value(rows, node);
}

static struct row_fact reverse(const struct rows *rows, const struct node *node)
{
    return inner_axes(rows, node, 1) ? unary_value(rows, node) : none;
}

static bool all_rows(const struct rows *rows, const struct node *node, int count)
{
    for (int i = 0; i < count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS || rank_of(rows, node, i) != rank_of(rows, node, 0))
            return false;
    }
    return count > 0;
}

/* Lists of counts, one behind the other. `vectors`: how many inputs are lists. */
static struct row_fact join_counts(const struct rows *rows, const struct node *node, int count,
                                   int rank)
{
    struct row_fact joined = { .kind = FACT_COUNTS, .rank = 1 };
    for (int i = 0; i < count; i++) {
        const struct row_fact *fact = rows_input(rows, node, i);
        const struct tensor *constant = rows_constant(rows, node, i);
        int64_t size;
        if (fact->kind == FACT_COUNTS && fact->rank == rank)
            size = fact->elements_count;
        else if (fact->kind == FACT_SAME && rank == 0)
            size = 1;
        else if (fact->kind == FACT_SAME && constant != NULL && constant->shape.rank == 1)
            size = constant->size;
        else
            return none;
        if (joined.elements_count + size > SHAPE_RANK_MAX)
            return none;
        for (int64_t j = 0; j < size; j++)
            joined.elements[joined.elements_count++] =
                fact->kind == FACT_COUNTS ? fact->elements[j] : COUNT_SAME;
    }
    return joined;
}

static struct row_fact concat(const struct rows *rows, const struct node *node)
{
    int count = node->inputs_count - 1;
    const struct tensor *axis = rows_constant(rows, node, count);
    if (count < 1 || axis == NULL || axis->size != 1)
        return none;
    if (all_rows(rows, node, count))
        return is_inner_axis(tensor_index(axis, 0), rank_of(rows, node, 0)) ? is_rows : none;
    return tensor_index(axis, 0) == 0 ? join_counts(rows, node, count, 1) : none;
}

static struct row_fact pack(const struct rows *rows, const struct node *node)
{
    int64_t axis = 0;
    status_ignore(node_attr_int(node, "axis", &axis));
    if (all_rows(rows, node, node->inputs_count)) {
        int rank = rank_of(rows, node, 0);
        return rank > 0 && is_inner_axis(axis, rank + 1) ? is_rows : none;
    }
    return axis == 0 ? join_counts(rows, node, node->inputs_count, 0) : none;
}

static struct row_fact axis_attr(const struct rows *rows, const struct node *node)
{
    int64_t axis = 0;
    status_ignore(node_attr_int(node, "axis", &axis));
    return is_inner_axis(axis, rank_of(rows, node, 0)) ? unary_value(rows, node) : none;
}

static struct row_fact split_axis(const struct rows *rows, const struct node *node, int axis_input,
                                  int value_input)
{
    const struct tensor *axis = rows_constant(rows, node, axis_input);
    bool fits = axis != NULL && axis->size == 1 && kind_of(rows, node, value_input) == FACT_ROWS &&
                is_inner_axis(tensor_index(axis, 0), rank_of(rows, node, value_input));
    return fits && others_same(rows, node, value_input) ? is_rows : none;
}

static struct row_fact split(const struct rows *rows, const struct node *node)
{
    return split_axis(rows, node, 0, 1);
}

static struct row_fact split_v(const struct rows *rows, const struct node *node)
{
    return split_axis(rows, node, 2, 0);
}

static struct row_fact one_hot(const struct rows *rows, const struct node *node)
{
    int64_t axis = -1;
    int rank = rank_of(rows, node, 0);
    status_ignore(node_attr_int(node, "axis", &axis));
    return rank > 0 && (axis == -1 || axis > 0) ? unary_value(rows, node) : none;
}

static struct row_fact pad(const struct rows *rows, const struct node *node)
{
    const struct tensor *paddings = rows_constant(rows, node, 1);
    if (paddings == NULL || paddings->size < 2 || tensor_index(paddings, 0) != 0 ||
        tensor_index(paddings, 1) != 0)
        return none;
    return unary_value(rows, node);
}

static struct row_fact tile(const struct rows *rows, const struct node *node)
{
    const struct tensor *multiples = rows_constant(rows, node, 1);
    if (multiples == NULL || multiples->size < 1 || tensor_index(multiples, 0) != 1)
        return none;
    return unary_value(rows, node);
}

/* Rows of a table chosen by indices that have rows, or inner slices of what has rows. */
static struct row_fact gather(const struct rows *rows, const struct node *node)
{
    const struct tensor *axis = node->inputs_count > 2 ? rows_constant(rows, node, 2) : NULL;
    int64_t at = 0, batch_dims = 0;
    status_ignore(node_attr_int(node, "batch_dims", &batch_dims));
    if (batch_dims != 0 || (node->inputs_count > 2 && (axis == NULL || axis->size != 1)))
        return none;
    if (axis != NULL)
        at = tensor_index(axis, 0);
    enum fact_kind table = kind_of(rows, node, 0), indices = kind_of(rows, node, 1);
    if (table == FACT_SAME && at == 0 && (indices == FACT_ROWS || indices == FACT_BLOCKS))
        return rank_of(rows, node, 1) > 0 ? *rows_input(rows, node, 1) : none;
    if (table == FACT_ROWS && indices == FACT_SAME)
        return is_inner_axis(at, rank_of(rows, node, 0)) ? is_rows : none;

    const struct row_fact *counts = rows_input(rows, node, 0);
    const struct tensor *which = rows_constant(rows, node, 1);
    if (counts->kind != FACT_COUNTS || counts->rank != 1 || at != 0 || which == NULL ||
        which->shape.rank > 1 || which->size > SHAPE_RANK_MAX)
        return none;
    struct row_fact chosen = { .kind = FACT_COUNTS, .rank = which->shape.rank };
    for (int64_t i = 0; i < which->size; i++) {
        int64_t index = tensor_index(which, i);
        if (index < 0 || index >= counts->elements_count)
            return none;
        chosen.elements[chosen.elements_count++] = counts->elements[index];
    }
    return chosen;
}

static const struct row_rule rules[] = {
    { "TopKV2", last_axis },
    { "Sum", reduction },
    { "Mean", reduction },
    { "Max", reduction },
    { "Min", reduction },
    { "All", reduction },
    { "Any", reduction },
    { "Prod", prod },
    { "ArgMax", reduction },
    { "ArgMin", reduction },
    { "ExpandDims", expand_dims },
    { "Squeeze", squeeze },
    { "Transpose", transpose },
    { "ReverseV2", reverse },
    { "ConcatV2", concat },
    { "Pack", pack },
    { "Unpack", axis_attr },
    { "Split", split },
    { "SplitV", split_v },
    { "OneHot", one_hot },
    { "Pad", pad },
    { "PadV2", pad },
    { "MirrorPad", pad },
    { "Tile", tile },
    { "Gather", gather },
    { "GatherV2", gather },
    { "ResourceGather", gather },
};
const struct row_rule_table row_rules_axis = { rules, COUNT(rules) };
