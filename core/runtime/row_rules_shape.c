/* Rules of shapes and of what is made by them, and of examples and tables. */
#include <string.h>

#include "runtime/row_rules.h"

static const struct row_fact same = { .kind = FACT_SAME };

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

static const struct row_rule rules[] = {
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
const struct row_rule_table row_rules_shape = { rules, COUNT(rules) };
