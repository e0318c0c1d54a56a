/* Rules of ops with an axis: it must not be dimension 0. */
#include "runtime/plan/row_rules.h"

/* Is it an axis of a tensor of that rank (negative: unknown), and certainly not dimension 0? */
static bool is_inner_axis(int64_t axis, int rank)
{
    return axis > 0 || (axis < 0 && rank > 0 && axis + rank > 0);
}

static bool inner_axes(const struct rows *rows, const struct node *node, int input)
{
    const struct tensor *axes = input_constant(rows, node, input);
    if (axes == NULL || (axes->dtype != DT_INT32 && axes->dtype != DT_INT64))
        return false;
    for (int64_t i = 0; i < axes->size; i++) {
        if (!is_inner_axis(tensor_index(axes, i), rank_of(rows, node, 0)))
            return false;
    }
    return true;
}

struct row_fact rows_reduce(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = input_fact(rows, node, 0);
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && inner_axes(rows, node, 1) ? *fact : none;
}

/* Covers rows, and also the product of a list of counts, of which at most one contains the number
 * of rows. */
struct row_fact rows_prod(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = input_fact(rows, node, 0);
    const struct tensor *axis = input_constant(rows, node, 1);
    if (fact->kind != FACT_COUNTS)
        return rows_reduce(rows, node);
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

struct row_fact rows_expand_dims(const struct rows *rows, const struct node *node)
{
    const struct tensor *axis = input_constant(rows, node, 1);
    const struct row_fact *fact = input_fact(rows, node, 0);
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

struct row_fact rows_squeeze(const struct rows *rows, const struct node *node)
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
    return *input_fact(rows, node, 0);
}

struct row_fact rows_transpose(const struct rows *rows, const struct node *node)
{
    const struct tensor *order = input_constant(rows, node, 1);
    if (order == NULL || order->size == 0 || tensor_index(order, 0) != 0)
        return none;
    return rows_kept(rows, node);
}

struct row_fact rows_reverse(const struct rows *rows, const struct node *node)
{
    return inner_axes(rows, node, 1) ? rows_kept(rows, node) : none;
}

struct row_fact rows_roll(const struct rows *rows, const struct node *node)
{
    return inner_axes(rows, node, 2) ? rows_kept(rows, node) : none;
}

static bool all_rows(const struct rows *rows, const struct node *node, int count)
{
    for (int i = 0; i < count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS || rank_of(rows, node, i) != rank_of(rows, node, 0))
            return false;
    }
    return count > 0;
}

/* Concatenates counts: lists of them (rank 1), or single ones (rank 0). */
static struct row_fact join_counts(const struct rows *rows, const struct node *node, int count,
                                   int rank)
{
    struct row_fact joined = { .kind = FACT_COUNTS, .rank = 1 };
    for (int i = 0; i < count; i++) {
        const struct row_fact *fact = input_fact(rows, node, i);
        const struct tensor *constant = input_constant(rows, node, i);
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

struct row_fact rows_concat(const struct rows *rows, const struct node *node)
{
    int count = node->inputs_count - 1;
    const struct tensor *axis = input_constant(rows, node, count);
    if (count < 1 || axis == NULL || axis->size != 1)
        return none;
    if (all_rows(rows, node, count))
        return is_inner_axis(tensor_index(axis, 0), rank_of(rows, node, 0)) ? is_rows : none;
    return tensor_index(axis, 0) == 0 ? join_counts(rows, node, count, 1) : none;
}

struct row_fact rows_pack(const struct rows *rows, const struct node *node)
{
    int64_t axis = 0;
    status_ignore(node_attr_int(node, "axis", &axis));
    if (all_rows(rows, node, node->inputs_count)) {
        int rank = rank_of(rows, node, 0);
        return rank > 0 && is_inner_axis(axis, rank + 1) ? is_rows : none;
    }
    return axis == 0 ? join_counts(rows, node, node->inputs_count, 0) : none;
}

struct row_fact rows_unpack(const struct rows *rows, const struct node *node)
{
    int64_t axis = 0;
    status_ignore(node_attr_int(node, "axis", &axis));
    return is_inner_axis(axis, rank_of(rows, node, 0)) ? rows_kept(rows, node) : none;
}

static struct row_fact split_axis(const struct rows *rows, const struct node *node, int axis_input,
                                  int value_input)
{
    const struct tensor *axis = input_constant(rows, node, axis_input);
    bool fits = axis != NULL && axis->size == 1 && kind_of(rows, node, value_input) == FACT_ROWS &&
                is_inner_axis(tensor_index(axis, 0), rank_of(rows, node, value_input));
    return fits && others_same(rows, node, value_input) ? is_rows : none;
}

struct row_fact rows_split(const struct rows *rows, const struct node *node)
{
    return split_axis(rows, node, 0, 1);
}

struct row_fact rows_split_v(const struct rows *rows, const struct node *node)
{
    return split_axis(rows, node, 2, 0);
}

struct row_fact rows_one_hot(const struct rows *rows, const struct node *node)
{
    int64_t axis = -1;
    int rank = rank_of(rows, node, 0);
    status_ignore(node_attr_int(node, "axis", &axis));
    return rank > 0 && (axis == -1 || axis > 0) ? rows_kept(rows, node) : none;
}

struct row_fact rows_pad(const struct rows *rows, const struct node *node)
{
    return begins_with(rows, node, 1, 2, 0) ? rows_kept(rows, node) : none;
}

struct row_fact rows_tile(const struct rows *rows, const struct node *node)
{
    const struct tensor *multiples = input_constant(rows, node, 1);
    if (multiples == NULL || multiples->size < 1 || tensor_index(multiples, 0) != 1)
        return none;
    return rows_kept(rows, node);
}

/* Slices of a table by indices with rows; inner slices of a value with rows; elements of counts. */
struct row_fact rows_gather(const struct rows *rows, const struct node *node)
{
    const struct tensor *axis = node->inputs_count > 2 ? input_constant(rows, node, 2) : NULL;
    int64_t at = 0, batch_dims = 0;
    status_ignore(node_attr_int(node, "batch_dims", &batch_dims));
    if (batch_dims != 0 || (node->inputs_count > 2 && (axis == NULL || axis->size != 1)))
        return none;
    if (axis != NULL)
        at = tensor_index(axis, 0);
    enum fact_kind table = kind_of(rows, node, 0), indices = kind_of(rows, node, 1);
    if (table == FACT_SAME && at == 0 && (indices == FACT_ROWS || indices == FACT_BLOCKS))
        return rank_of(rows, node, 1) > 0 ? *input_fact(rows, node, 1) : none;
    if (table == FACT_ROWS && indices == FACT_SAME)
        return is_inner_axis(at, rank_of(rows, node, 0)) ? is_rows : none;

    const struct row_fact *counts = input_fact(rows, node, 0);
    const struct tensor *which = input_constant(rows, node, 1);
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
