/* Finding an op's rule, and the rules of what goes element by element. */
#include "runtime/plan/row_rules.h"

#include <string.h>

#define OP(name, traits, inputs, outputs, attrs, infer, gradient, rows) rows,
static row_rule *const rules[] = {
#include "graph/ops.def"
};
#undef OP

row_rule *row_rule_of(const struct op *op)
{
    return op != NULL && op->index >= 0 ? rules[op->index] : rows_unknown;
}

struct row_fact rows_unknown(const struct rows *rows, const struct node *node)
{
    (void)rows;
    (void)node;
    return none;
}

struct row_fact rows_kept(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = input_fact(rows, node, 0);
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && others_same(rows, node, 0) ? *fact : none;
}

struct row_fact keep_rows_of_rank(const struct rows *rows, const struct node *node, int rank_min)
{
    return rank_of(rows, node, 0) >= rank_min && kind_of(rows, node, 0) == FACT_ROWS &&
                   others_same(rows, node, 0)
               ? is_rows
               : none;
}

bool leaves_rows_alone(const struct rows *rows, struct endpoint operand, int rank)
{
    const struct shape *shape = &operand.node->outputs[operand.index].shape;
    const struct tensor *constant = region_value(rows->region, operand)->constant;
    if (constant != NULL)
        shape = &constant->shape;
    if (shape->rank < 0 || rank < 1)
        return false;
    return shape->rank < rank || (shape->rank == rank && shape->dims[0] == 1);
}

bool begins_with(const struct rows *rows, const struct node *node, int index, int count,
                 int64_t number)
{
    const struct tensor *list = input_constant(rows, node, index);
    const struct node *made = node->inputs[index].node;

    for (int i = 0; list != NULL && i < count; i++)
        if (i >= list->size || tensor_index(list, i) != number)
            return false;
    if (list != NULL || kind_of(rows, node, index) != FACT_SAME)
        return list != NULL;
    if (strcmp(made->op_name, "Reshape") == 0)
        made = made->inputs[0].node;
    if (strcmp(made->op_name, "Pack") != 0 || made->inputs_count < count)
        return false;
    for (int i = 0; i < count; i++) {
        const struct tensor *element = input_constant(rows, made, i);
        if (element == NULL || element->size != 1 || tensor_index(element, 0) != number)
            return false;
    }
    return true;
}

/* Counts stay integers: a product of a float is no multiple, and narrow types do not hold them. */
struct row_fact rows_passed_on(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = input_fact(rows, node, 0);
    enum dtype dtype = node->outputs[0].dtype;
    bool fits = fact->kind != FACT_COUNTS || dtype == DT_INT32 || dtype == DT_INT64;

    return fits && others_same(rows, node, 0) ? *fact : none;
}

/* numpy aligns shapes at the last dimension: operands with rows must have the same rank. */
struct row_fact rows_broadcast(const struct rows *rows, const struct node *node)
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

/* Covers rows, and also a scalar count times a scalar that is the same for all requests. */
struct row_fact rows_mul(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < 2; i++) {
        const struct row_fact *fact = input_fact(rows, node, i);
        if (fact->kind == FACT_COUNTS && fact->rank == 0 &&
            kind_of(rows, node, 1 - i) == FACT_SAME && rank_of(rows, node, 1 - i) == 0) {
            struct row_fact multiple = *fact;
            if (multiple.elements[0] == COUNT_ROWS)
                multiple.elements[0] = COUNT_MULTIPLE;
            return multiple;
        }
    }
    return rows_broadcast(rows, node);
}

/* The condition of a Select may be a vector, which does not broadcast as in numpy: all must have
 * rows. */
struct row_fact rows_select(const struct rows *rows, const struct node *node)
{
    for (int i = 1; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS)
            return none;
    }
    return kind_of(rows, node, 0) == FACT_ROWS ? is_rows : none;
}

/* Row i of the outputs comes from row i of inputs 0 and 1; the other inputs are the same. */
struct row_fact rows_two_inputs(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != (i < 2 ? FACT_ROWS : FACT_SAME))
            return none;
    }
    return is_rows;
}

/* Each image has a transform of its own, or all have the same one. */
struct row_fact rows_projective(const struct rows *rows, const struct node *node)
{
    if (kind_of(rows, node, 1) == FACT_SAME && !leaves_rows_alone(rows, node->inputs[1], 2))
        return none;
    return kind_of(rows, node, 1) == FACT_SAME ? keep_rows_of_rank(rows, node, 4)
                                               : rows_two_inputs(rows, node);
}

struct row_fact rows_add_n(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (kind_of(rows, node, i) != FACT_ROWS)
            return none;
    }
    return is_rows;
}
