/*
 * row_rules: the rules that the last column of graph/ops.def names, declared here from it, and the
 * helpers that their files share. Internal to core/runtime; see rows.h.
 *
 * rows_unknown    nothing is proved
 * rows_kept       the rows are those of input 0; all other inputs are the same for all requests
 * rows_passed_on  the same, and counts that contain the number of rows go through as well
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

static inline enum fact_kind kind_of(const struct rows *rows, const struct node *node, int index)
{
    return input_fact(rows, node, index)->kind;
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
/* Does an operand that is the same for all requests broadcast along dimension 0 of one with
 * rows? */
bool leaves_rows_alone(const struct rows *rows, struct endpoint operand, int rank);

#endif
