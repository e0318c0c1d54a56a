/* One rule per op: how dimension 0 goes through. See rows.c. */
#include <stdlib.h>
#include <string.h>

#include "runtime/rows.h"

static const struct row_fact none = { .kind = FACT_NONE };
static const struct row_fact same = { .kind = FACT_SAME };
static const struct row_fact is_rows = { .kind = FACT_ROWS };

static enum fact_kind kind_of(const struct rows *rows, const struct node *node, int index)
{
    return rows_input(rows, node, index)->kind;
}

static int rank_of(const struct rows *rows, const struct node *node, int index)
{
    return rows_rank(rows, node->inputs[index]);
}

static bool others_same(const struct rows *rows, const struct node *node, int but)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (i != but && kind_of(rows, node, i) != FACT_SAME)
            return false;
    }
    return true;
}

/* ---- element by element ---- */

static struct row_fact unary(const struct rows *rows, const struct node *node)
{
    return others_same(rows, node, 0) ? *rows_input(rows, node, 0) : none;
}

/* One whose result is no list of counts any more. */
static struct row_fact unary_value(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = rows_input(rows, node, 0);
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && others_same(rows, node, 0) ? *fact : none;
}

/* Does an operand that is the same for all keep out of dimension 0 of one with rows? */
static bool leaves_rows_alone(const struct rows *rows, struct endpoint operand, int rank)
{
    const struct shape *shape = &operand.node->outputs[operand.index].shape;
    const struct tensor *constant = region_value(rows->region, operand)->constant;
    if (constant != NULL)
        shape = &constant->shape;
    if (shape->rank < 0 || rank < 1)
        return false;
    return shape->rank < rank || (shape->rank == rank && shape->dims[0] == 1);
}

/* numpy's broadcasting aligns at the end: operands with rows must have one rank. */
static struct row_fact broadcast(const struct rows *rows, const struct node *node)
{
    int rank = -1;
    struct row_fact fact = none;
    int with_rows = 0;
    for (int i = 0; i < node->inputs_count; i++) {
        enum fact_kind kind = kind_of(rows, node, i);
        if (kind == FACT_SAME)
            continue;
        if (kind != FACT_ROWS && kind != FACT_BLOCKS)
            return none;
        int own = rank_of(rows, node, i);
        bool first = with_rows++ == 0;
        if (own < 1 || (!first && (own != rank || kind != fact.kind || kind == FACT_BLOCKS)))
            return none;
        rank = own;
        fact.kind = kind;
    }
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) == FACT_SAME && !leaves_rows_alone(rows, node->inputs[i], rank))
            return none;
    }
    return fact;
}

/* Arithmetic on counts: a scalar times something that is the same. */
static struct row_fact product_of_counts(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < 2; i++) {
        const struct row_fact *fact = rows_input(rows, node, i);
        if (fact->kind == FACT_COUNTS && fact->rank == 0 &&
            kind_of(rows, node, 1 - i) == FACT_SAME && rank_of(rows, node, 1 - i) == 0) {
            struct row_fact multiple = *fact;
            if (multiple.elements[0] == COUNT_ROWS)
                multiple.elements[0] = COUNT_MULTIPLE;
            return multiple;
        }
    }
    return broadcast(rows, node);
}

/* Ragged ranks broadcast otherwise than numpy: the condition of a Select may be a vector. */
static struct row_fact select_rule(const struct rows *rows, const struct node *node)
{
    for (int i = 1; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS)
            return none;
    }
    return kind_of(rows, node, 0) == FACT_ROWS ? is_rows : none;
}

static struct row_fact add_n(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS)
            return none;
    }
    return is_rows;
}

/* ---- products and windows: input 0 has rows, the weights are the same ---- */

static bool flag(const struct node *node, const char *name)
{
    bool value = false;
    status_ignore(node_attr_bool(node, name, &value));
    return value;
}

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

static struct row_fact rows_of_rank(const struct rows *rows, const struct node *node, int rank_min)
{
    return rank_of(rows, node, 0) >= rank_min && kind_of(rows, node, 0) == FACT_ROWS &&
                   others_same(rows, node, 0)
               ? is_rows
               : none;
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

/* ---- axes ---- */

/* An axis of a tensor of that rank (negative: unknown), never dimension 0. */
static bool is_inner_axis(int64_t axis, int rank)
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

/* ---- shapes ---- */

static struct row_fact shape_rule(const struct rows *rows, const struct node *node)
{
    enum fact_kind kind = kind_of(rows, node, 0);
    int rank = rank_of(rows, node, 0);
    if ((kind != FACT_ROWS && kind != FACT_BLOCKS) || rank < 1 || rank > SHAPE_RANK_MAX)
        return none;
    struct row_fact counts = { .kind = FACT_COUNTS, .rank = 1, .elements_count = rank };
    counts.elements[0] = kind == FACT_ROWS ? COUNT_ROWS : COUNT_MULTIPLE;
    return counts; /* COUNT_SAME is 0: all riders have rows of one shape */
}

static int64_t mask(const struct node *node, const char *name)
{
    int64_t value = 0;
    status_ignore(node_attr_int(node, name, &value));
    return value;
}

/* counts[begin : end] with stride 1, or counts[begin]. */
static struct row_fact slice_counts(const struct rows *rows, const struct node *node)
{
    const struct row_fact *counts = rows_input(rows, node, 0);
    const struct tensor *begin = rows_constant(rows, node, 1), *end = rows_constant(rows, node, 2);
    const struct tensor *stride = rows_constant(rows, node, 3);
    if (counts->rank != 1 || begin == NULL || end == NULL || stride == NULL || begin->size != 1 ||
        tensor_index(stride, 0) != 1 || mask(node, "new_axis_mask") != 0 ||
        mask(node, "ellipsis_mask") != 0)
        return none;
    int64_t count = counts->elements_count;
    int64_t from = mask(node, "begin_mask") ? 0 : tensor_index(begin, 0);
    int64_t to = mask(node, "end_mask") ? count : tensor_index(end, 0);
    from += from < 0 ? count : 0;
    to += to < 0 ? count : 0;
    struct row_fact slice = { .kind = FACT_COUNTS, .rank = 1 };
    if (mask(node, "shrink_axis_mask")) {
        slice.rank = 0;
        to = from + 1;
    }
    if (from < 0 || from > count || to > count)
        return none;
    for (int64_t i = from; i < to; i++)
        slice.elements[slice.elements_count++] = counts->elements[i];
    return slice;
}

static struct row_fact strided_slice(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = rows_input(rows, node, 0);
    if (fact->kind == FACT_COUNTS)
        return slice_counts(rows, node);
    const struct tensor *stride = rows_constant(rows, node, 3);
    bool fits =
        fact->kind == FACT_ROWS && others_same(rows, node, 0) && stride != NULL && stride->size > 0;
    if (!fits || (mask(node, "new_axis_mask") & 1) != 0 ||
        (mask(node, "shrink_axis_mask") & 1) != 0)
        return none;
    if ((mask(node, "ellipsis_mask") & 1) != 0) /* it must stand for dimension 0 at least */
        return rank_of(rows, node, 0) >= stride->size ? is_rows : none;
    bool whole = (mask(node, "begin_mask") & 1) != 0 && (mask(node, "end_mask") & 1) != 0 &&
                 tensor_index(stride, 0) == 1;
    return whole ? is_rows : none;
}

static struct row_fact slice(const struct rows *rows, const struct node *node)
{
    const struct tensor *begin = rows_constant(rows, node, 1), *size = rows_constant(rows, node, 2);
    bool whole = begin != NULL && size != NULL && begin->size > 0 && size->size > 0 &&
                 tensor_index(begin, 0) == 0 && tensor_index(size, 0) == -1;
    return whole && kind_of(rows, node, 0) == FACT_ROWS ? is_rows : none;
}

/* Elements in a row, from the inferred shape; 0: not known. */
static int64_t row_size(const struct rows *rows, struct endpoint endpoint)
{
    (void)rows;
    const struct shape *shape = &endpoint.node->outputs[endpoint.index].shape;
    int64_t size = shape->rank > 0;
    for (int i = 1; i < shape->rank; i++) {
        if (shape->dims[i] <= 0 || __builtin_mul_overflow(size, shape->dims[i], &size))
            return 0;
    }
    return size;
}

/* [-1, constants]: the rows stay where a row has exactly as many elements as the constants say. */
static struct row_fact reshape_constant(const struct rows *rows, const struct node *node,
                                        const struct tensor *shape)
{
    int64_t size = row_size(rows, node->inputs[0]), wanted = 1;
    if (kind_of(rows, node, 0) != FACT_ROWS || shape->size < 1 || tensor_index(shape, 0) != -1 ||
        size == 0)
        return none;
    for (int64_t i = 1; i < shape->size; i++) {
        int64_t dim = tensor_index(shape, i);
        if (dim <= 0 || __builtin_mul_overflow(wanted, dim, &wanted))
            return none;
    }
    if (size == wanted)
        return is_rows;
    return size % wanted == 0 ? (struct row_fact){ .kind = FACT_BLOCKS } : none;
}

static struct row_fact reshape(const struct rows *rows, const struct node *node)
{
    enum fact_kind kind = kind_of(rows, node, 0);
    const struct row_fact *counts = rows_input(rows, node, 1);
    const struct tensor *constant = rows_constant(rows, node, 1);
    if (constant != NULL)
        return reshape_constant(rows, node, constant);
    if ((kind != FACT_ROWS && kind != FACT_BLOCKS) || counts->kind != FACT_COUNTS ||
        counts->rank != 1 || counts->elements_count < 1 || counts->elements[0] == COUNT_SAME)
        return none;
    for (int i = 1; i < counts->elements_count; i++) {
        if (counts->elements[i] != COUNT_SAME)
            return none;
    }
    return (struct row_fact){ .kind = counts->elements[0] == COUNT_ROWS ? FACT_ROWS : FACT_BLOCKS };
}

static struct row_fact reshape_rows(const struct rows *rows, const struct node *node)
{
    return kind_of(rows, node, 0) == FACT_ROWS ? is_rows : none;
}

static bool is_row_shape(const struct row_fact *counts)
{
    if (counts->kind != FACT_COUNTS || counts->rank != 1 || counts->elements_count < 1 ||
        counts->elements[0] != COUNT_ROWS)
        return false;
    for (int i = 1; i < counts->elements_count; i++) {
        if (counts->elements[i] != COUNT_SAME)
            return false;
    }
    return true;
}

static struct row_fact fill(const struct rows *rows, const struct node *node)
{
    bool fits = is_row_shape(rows_input(rows, node, 0)) && kind_of(rows, node, 1) == FACT_SAME;
    return fits ? is_rows : none;
}

static struct row_fact broadcast_to(const struct rows *rows, const struct node *node)
{
    const struct row_fact *counts = rows_input(rows, node, 1);
    if (!is_row_shape(counts))
        return none;
    if (kind_of(rows, node, 0) == FACT_ROWS)
        return rank_of(rows, node, 0) == counts->elements_count ? is_rows : none;
    bool fits = kind_of(rows, node, 0) == FACT_SAME &&
                leaves_rows_alone(rows, node->inputs[0], counts->elements_count);
    return fits ? is_rows : none;
}

static struct row_fact stays_same(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_SAME)
            return none;
    }
    return same;
}

/* ---- examples ---- */

/* Sparse and ragged outputs, and dense ones padded to the longest, depend on the whole batch. */
static bool dense_shapes_are_known(const struct node *node)
{
    const struct attr_value *shapes;
    if (!status_is_ok(node_attr_list(node, "dense_shapes", &shapes)))
        return false;
    for (int i = 0; i < shapes->count; i++) {
        if (!shape_is_known(shapes->elements[i].shape))
            return false;
    }
    return true;
}

static bool has_none(const struct node *node, const char *name)
{
    int64_t count;
    return node_attr(node, name) == NULL ||
           (status_is_ok(node_attr_int(node, name, &count)) && count == 0);
}

static struct row_fact parse_example(const struct rows *rows, const struct node *node)
{
    const struct attr_value *ragged = node_attr(node, "ragged_value_types");
    const struct tensor *names = rows_constant(rows, node, 1);
    bool fits = rank_of(rows, node, 0) == 1 && has_none(node, "Nsparse") &&
                has_none(node, "num_sparse") && (ragged == NULL || ragged->count == 0) &&
                names != NULL && names->size == 0 && dense_shapes_are_known(node);
    return fits ? unary_value(rows, node) : none;
}

/* A table, then keys that have rows, then the default. */
static struct row_fact table_find(const struct rows *rows, const struct node *node)
{
    bool fits = kind_of(rows, node, 0) == FACT_SAME && kind_of(rows, node, 1) == FACT_ROWS &&
                kind_of(rows, node, 2) == FACT_SAME;
    return fits ? is_rows : none;
}

/* A table's handle: the same for all, though its op is stateful. */
static struct row_fact handle(const struct rows *rows, const struct node *node)
{
    (void)rows;
    return node->inputs_count == 0 ? same : none;
}

/* Rows of the result are those of input 0; what else there is, is the same for all. */
static const char *const unary_ops[] = { "Abs",
                                         "Acos",
                                         "Acosh",
                                         "Asin",
                                         "Asinh",
                                         "Atan",
                                         "Atanh",
                                         "Ceil",
                                         "Cos",
                                         "Cosh",
                                         "Digamma",
                                         "Elu",
                                         "Erf",
                                         "Erfc",
                                         "Exp",
                                         "Expm1",
                                         "Floor",
                                         "Inv",
                                         "IsFinite",
                                         "IsInf",
                                         "IsNan",
                                         "LeakyRelu",
                                         "Lgamma",
                                         "Log",
                                         "Log1p",
                                         "LogicalNot",
                                         "Neg",
                                         "OnesLike",
                                         "Reciprocal",
                                         "Relu",
                                         "Relu6",
                                         "Rint",
                                         "Round",
                                         "Rsqrt",
                                         "Selu",
                                         "Sigmoid",
                                         "Sign",
                                         "Sin",
                                         "Sinh",
                                         "Softplus",
                                         "Softsign",
                                         "Sqrt",
                                         "Square",
                                         "Tan",
                                         "Tanh",
                                         "ZerosLike",
                                         "AsString",
                                         "StringLower",
                                         "StringUpper",
                                         "StringStrip",
                                         "StringLength",
                                         "StaticRegexReplace",
                                         "StaticRegexFullMatch",
                                         "StringToHashBucketFast",
                                         "StringToNumber",
                                         "Bucketize",
                                         "CheckNumerics" };

/* numpy's broadcasting over all inputs. */
static const char *const broadcast_ops[] = { "Add",
                                             "AddV2",
                                             "Sub",
                                             "RealDiv",
                                             "Div",
                                             "DivNoNan",
                                             "FloorDiv",
                                             "FloorMod",
                                             "Mod",
                                             "Maximum",
                                             "Minimum",
                                             "Pow",
                                             "SquaredDifference",
                                             "Equal",
                                             "NotEqual",
                                             "Less",
                                             "LessEqual",
                                             "Greater",
                                             "GreaterEqual",
                                             "LogicalAnd",
                                             "LogicalOr",
                                             "Atan2",
                                             "SelectV2",
                                             "TruncateDiv",
                                             "TruncateMod",
                                             "Xdivy",
                                             "Xlogy",
                                             "MulNoNan",
                                             "ClipByValue" };

static const struct row_rule rules[] = {
    { "Identity", unary },
    { "StopGradient", unary },
    { "PreventGradient", unary },
    { "Cast", unary },
    { "Mul", product_of_counts },
    { "Select", select_rule },
    { "AddN", add_n },
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
    { "Shape", shape_rule },
    { "StridedSlice", strided_slice },
    { "Slice", slice },
    { "Reshape", reshape },
    { "_ReshapeRows", reshape_rows },
    { "Fill", fill },
    { "BroadcastTo", broadcast_to },
    { "ReadVariableOp", stays_same },
    { "ParseExample", parse_example },
    { "ParseExampleV2", parse_example },
    { "LookupTableFind", table_find },
    { "LookupTableFindV2", table_find },
    { "HashTable", handle },
    { "HashTableV2", handle },
    { "MutableHashTableV2", handle },
};

static bool is_one_of(const char *op, const char *const *ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(ops[i], op) == 0)
            return true;
    }
    return false;
}

const struct row_rule *row_rule_find(const char *op)
{
    static const struct row_rule unary_rule = { "", unary_value },
                                 broadcast_rule = { "", broadcast };
    if (is_one_of(op, unary_ops, COUNT(unary_ops)))
        return &unary_rule;
    if (is_one_of(op, broadcast_ops, COUNT(broadcast_ops)))
        return &broadcast_rule;
    for (size_t i = 0; i < COUNT(rules); i++) {
        if (strcmp(rules[i].op, op) == 0)
            return &rules[i];
    }
    return NULL;
}
