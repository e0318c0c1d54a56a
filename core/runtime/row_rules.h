/*
 * row_rules: what the files of rules share. Internal to core/runtime; see rows.h.
 */
#ifndef RUNTIME_ROW_RULES_H
#define RUNTIME_ROW_RULES_H

#include "runtime/rows.h"

struct row_rule_table {
    const struct row_rule *rules;
    size_t count;
};

extern const struct row_rule_table row_rules_product, row_rules_axis, row_rules_shape;

static const struct row_fact none = { .kind = FACT_NONE };
static const struct row_fact is_rows = { .kind = FACT_ROWS };

static inline enum fact_kind kind_of(const struct rows *rows, const struct node *node, int index)
{
    return rows_input(rows, node, index)->kind;
}

static inline int rank_of(const struct rows *rows, const struct node *node, int index)
{
    return rows_rank(rows, node->inputs[index]);
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

/* The rows of input 0, where all other inputs are the same for all riders. */
struct row_fact unary_value(const struct rows *rows, const struct node *node);
/* The same, where its rank is `rank_min` at least. */
struct row_fact rows_of_rank(const struct rows *rows, const struct node *node, int rank_min);
/* Does an operand that is the same for all keep out of dimension 0 of one with rows? */
bool leaves_rows_alone(const struct rows *rows, struct endpoint operand, int rank);
/* An axis of a tensor of that rank (negative: unknown), never dimension 0. */
bool is_inner_axis(int64_t axis, int rank);

#endif
