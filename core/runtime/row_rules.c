/* Rules of what goes element by element, and finding an op's rule: how dimension 0 goes through.
 * See rows.c. */
#include <string.h>

#include "runtime/row_rules.h"

struct row_fact unary_value(const struct rows *rows, const struct node *node)
{
    const struct row_fact *fact = rows_input(rows, node, 0);
    bool fits = fact->kind == FACT_ROWS || fact->kind == FACT_BLOCKS;
    return fits && others_same(rows, node, 0) ? *fact : none;
}

struct row_fact rows_of_rank(const struct rows *rows, const struct node *node, int rank_min)
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

static struct row_fact unary(const struct rows *rows, const struct node *node)
{
    return others_same(rows, node, 0) ? *rows_input(rows, node, 0) : none;
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
                                         "FakeQuantWithMinMaxArgs",
                                         "AsString",
                                         "DecodeBase64",
                                         "EncodeBase64",
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
    { "Identity", unary }, { "StopGradient", unary },    { "PreventGradient", unary },
    { "Cast", unary },     { "Mul", product_of_counts }, { "Select", select_rule },
    { "AddN", add_n },
};

static const struct row_rule *find(const struct row_rule_table *table, const char *op)
{
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->rules[i].op, op) == 0)
            return &table->rules[i];
    }
    return NULL;
}

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

    const struct row_rule_table own = { rules, COUNT(rules) };
    const struct row_rule_table *const tables[] = { &own, &row_rules_product, &row_rules_axis,
                                                    &row_rules_shape };
    const struct row_rule *rule = NULL;
    for (size_t i = 0; i < COUNT(tables) && rule == NULL; i++)
        rule = find(tables[i], op);
    return rule;
}
