/*
 * row_rules: the rules that the last column of graph/ops.def names, declared here from it, and the
 * helpers that their files share. Internal to core/runtime; see rows.h.
 *
 * rows_unknown    nothing is proved
 * rows_kept       the rows are those of input 0; all other inputs are the same for all requests
 * rows_passed_on  the same, and integer counts that contain the number of rows go through as well
 * rows_broadcast  any input may have rows; operands broadcast as in numpy
 *
 * All others belong to one op or family and are in row_rules_FAMILY.c. A rule that says FACT_ROWS
 * wrongly gives one client the rows of another: when in doubt, it proves nothing.
 */
#ifndef RUNTIME_PLAN_ROW_RULES_H
#define RUNTIME_PLAN_ROW_RULES_H

#include "runtime/plan/rows.h"

#define OP(name, traits, inputs, outputs, attrs, infer, gradient, rows) row_rule rows;
#include "graph/ops.def"
#undef OP

static const struct row_fact none = { .kind = FACT_NONE };
static const struct row_fact is_rows = { .kind = FACT_ROWS };

/* The kind of an input's fact. Counts that are all the same for all requests are FACT_SAME. */
static inline enum fact_kind kind_of(const struct rows *rows, const struct node *node, int index)
{
    const struct row_fact *fact = input_fact(rows, node, index);
    return fact_is_same(fact) ? FACT_SAME : fact->kind;
}

static inline int rank_of(const struct rows *rows, const struct node *node, int index)
{
    return endpoint_rank(rows, node->inputs[index]);
}

static inline bool others_same(const struct rows *rows, const struct node *node, int but)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (i != but && kind_of(rows, node, i) != FACT_SAME)
            return false;
    }
    return true;
}

static inline bool flag(const struct node *node, const char *name)
{
    bool value = false;
    status_ignore(node_attr_bool(node, name, &value));
    return value;
}

/* As rows_kept, if input 0 has at least `rank_min` dimensions. */
struct row_fact keep_rows_of_rank(const struct rows *rows, const struct node *node, int rank_min);
/* Are the first elements of a list this number, and is the list the same for all requests? It is a
 * constant, or scalars that a Pack joins, which a Reshape may follow. */
bool begins_with(const struct rows *rows, const struct node *node, int index, int count,
                 int64_t number);
/* Does an operand that is the same for all requests broadcast along dimension 0 of one with
 * rows? */
bool leaves_rows_alone(const struct rows *rows, struct endpoint operand, int rank);

#endif
