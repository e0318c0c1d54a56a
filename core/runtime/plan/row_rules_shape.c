/* Rules of shapes and of ops that take shapes, of variables, tables and examples. */
#include "runtime/plan/row_rules.h"

static const struct row_fact same = { .kind = FACT_SAME };

struct row_fact rows_shape(const struct rows *rows, const struct node *node)
{
    enum fact_kind kind = kind_of(rows, node, 0);
    int rank = rank_of(rows, node, 0);
    if ((kind != FACT_ROWS && kind != FACT_BLOCKS) || rank < 1 || rank > SHAPE_RANK_MAX)
        return none;
    struct row_fact counts = { .kind = FACT_COUNTS, .rank = 1, .elements_count = rank };
    counts.elements[0] = kind == FACT_ROWS ? COUNT_ROWS : COUNT_MULTIPLE;
    return counts; /* COUNT_SAME is 0: all requests have rows of one shape */
}

static bool is_one(const struct tensor *constant)
{
    return constant != NULL && constant->size == 1;
}

/* counts[begin : end] with stride 1, or counts[begin]. Only bit 0 of each mask matters. */
static struct row_fact slice_counts(const struct rows *rows, const struct node *node)
{
    const struct row_fact *counts = input_fact(rows, node, 0);
    const struct tensor *begin = input_constant(rows, node, 1),
                        *end = input_constant(rows, node, 2);
    const struct tensor *stride = input_constant(rows, node, 3);
    if (counts->rank != 1 || !is_one(begin) || !is_one(end) || !is_one(stride) ||
        tensor_index(stride, 0) != 1 || node_attr_int_or_0(node, "new_axis_mask") != 0 ||
        node_attr_int_or_0(node, "ellipsis_mask") != 0)
        return none;
    int64_t count = counts->elements_count;
    bool is_element = (node_attr_int_or_0(node, "shrink_axis_mask") & 1) != 0;
    bool has_begin = is_element || (node_attr_int_or_0(node, "begin_mask") & 1) == 0;
    bool has_end = (node_attr_int_or_0(node, "end_mask") & 1) == 0;
    int64_t from = has_begin ? tensor_index(begin, 0) : 0;
    int64_t to = has_end ? tensor_index(end, 0) : count;
    from += from < 0 ? count : 0;
    to += to < 0 ? count : 0;
    struct row_fact slice = { .kind = FACT_COUNTS, .rank = 1 };
    if (is_element) {
        slice.rank = 0;
        to = from + 1;
    }
    if (from < 0 || from > count || to > count)
        return none;
    for (int64_t i = from; i < to; i++)
        slice.elements[slice.elements_count++] = counts->elements[i];
    return slice;
}

struct row_fact rows_strided_slice(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = input_fact(rows, node, 0);
    if (fact->kind == FACT_COUNTS)
        return slice_counts(rows, node);
    const struct tensor *stride = input_constant(rows, node, 3);
    bool fits =
        fact->kind == FACT_ROWS && others_same(rows, node, 0) && stride != NULL && stride->size > 0;
    if (!fits || (node_attr_int_or_0(node, "new_axis_mask") & 1) != 0 ||
        (node_attr_int_or_0(node, "shrink_axis_mask") & 1) != 0)
        return none;
    if ((node_attr_int_or_0(node, "ellipsis_mask") & 1) != 0) /* it must include dimension 0 */
        return rank_of(rows, node, 0) >= stride->size ? is_rows : none;
    bool whole = (node_attr_int_or_0(node, "begin_mask") & 1) != 0 &&
                 (node_attr_int_or_0(node, "end_mask") & 1) != 0 && tensor_index(stride, 0) == 1;
    return whole ? is_rows : none;
}

struct row_fact rows_slice(const struct rows *rows, const struct node *node)
{
    bool whole = begins_with(rows, node, 1, 1, 0) && begins_with(rows, node, 2, 1, -1);

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

/* [-1, constants]: rows stay rows if the size of a row is the product of the constants. */
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

struct row_fact rows_reshape(const struct rows *rows, const struct node *node)
{
    enum fact_kind kind = kind_of(rows, node, 0);
    const struct row_fact *counts = input_fact(rows, node, 1);
    const struct tensor *constant = input_constant(rows, node, 1);
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

struct row_fact rows_reshape_rows(const struct rows *rows, const struct node *node)
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

struct row_fact rows_fill(const struct rows *rows, const struct node *node)
{
    bool fits = is_row_shape(input_fact(rows, node, 0)) && kind_of(rows, node, 1) == FACT_SAME;
    return fits ? is_rows : none;
}

struct row_fact rows_broadcast_to(const struct rows *rows, const struct node *node)
{
    const struct row_fact *counts = input_fact(rows, node, 1);
    if (!is_row_shape(counts))
        return none;
    if (kind_of(rows, node, 0) == FACT_ROWS)
        return rank_of(rows, node, 0) == counts->elements_count ? is_rows : none;
    bool fits = kind_of(rows, node, 0) == FACT_SAME &&
                leaves_rows_alone(rows, node->inputs[0], counts->elements_count);
    return fits ? is_rows : none;
}

struct row_fact rows_read_variable(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_SAME)
            return none;
    }
    return same;
}

/* ---- examples ---- */

/* A dense output of unknown shape is padded to the longest example, and depends on the whole batch,
 * as do sparse and ragged outputs. */
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

struct row_fact rows_parse_example(const struct rows *rows, const struct node *node)
{
    const struct attr_value *ragged = node_attr(node, "ragged_value_types");
    const struct tensor *names = input_constant(rows, node, 1);
    bool fits = rank_of(rows, node, 0) == 1 && has_none(node, "Nsparse") &&
                has_none(node, "num_sparse") && (ragged == NULL || ragged->count == 0) &&
                names != NULL && names->size == 0 && dense_shapes_are_known(node);
    return fits ? rows_kept(rows, node) : none;
}

/* A table or a model, then keys that have rows, then for instance a default. */
struct row_fact rows_lookup(const struct rows *rows, const struct node *node)
{
    return kind_of(rows, node, 1) == FACT_ROWS && others_same(rows, node, 1) ? is_rows : none;
}

/* Does anything take an output of the node but the first? */
static bool others_are_taken(const struct rows *rows, const struct node *node)
{
    const struct region *region = rows->region;
    bool taken = false;
    for (int i = 0; i < region->nodes_count; i++) {
        const struct node *user = region->nodes[i];
        for (int k = 0; k < user->inputs_count; k++)
            taken = taken || (user->inputs[k].node == node && user->inputs[k].index > 0);
    }
    for (int i = 0; i < region->results_count; i++)
        taken = taken || (region->results[i].node == node && region->results[i].index > 0);
    return taken;
}

/* The features of each kind have rows, or are the constant of a kind that no feature has: without
 * rows, and of sets only the 0 that splits begin with. The second output has no rows: the names of
 * the columns. */
struct row_fact rows_forest(const struct rows *rows, const struct node *node)
{
    enum { MATRICES = 3, OUTER_SPLITS = 5 };
    bool has_rows = false;
    for (int i = 0; i < node->inputs_count; i++) {
        const struct tensor *constant = input_constant(rows, node, i);
        bool is_matrix = i < MATRICES;
        if (is_matrix && kind_of(rows, node, i) == FACT_ROWS && rank_of(rows, node, i) == 2)
            has_rows = true;
        else if (i <= OUTER_SPLITS && (constant == NULL || constant->shape.rank < 1 ||
                                       constant->shape.dims[0] > (is_matrix ? 0 : 1)))
            return none;
        else if (kind_of(rows, node, i) != FACT_SAME)
            return none;
    }
    return has_rows && !others_are_taken(rows, node) ? is_rows : none;
}

/* The handle of a table or a model that never changes is the same for all requests, though its op
 * is stateful; and so is what the op finds by it. */
struct row_fact rows_table_handle(const struct rows *rows, const struct node *node)
{
    return others_same(rows, node, -1) ? same : none;
}
