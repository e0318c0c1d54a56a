/*
 * rows: the proof that a plan treats the rows of its feeds one by one, and thus that rows of
 * different requests may share a run. rows.c walks over the nodes; each row of graph/ops.def names
 * the rule of its op (row_rules.h). Internal to core/runtime.
 */
#ifndef RUNTIME_PLAN_ROWS_H
#define RUNTIME_PLAN_ROWS_H

#include "runtime/plan/maker.h"

enum fact_kind {
    FACT_NONE,   /* nothing is proved */
    FACT_SAME,   /* depends neither on the values of feeds nor on the number of rows; it may depend
                    on the shape of a row, which all requests share */
    FACT_ROWS,   /* dimension 0 has one slice per row, which depends on that row alone */
    FACT_BLOCKS, /* the same with k consecutive slices per row (rows · k in all) */
    FACT_COUNTS, /* integers such as a shape; elements[i] tells which hold the number of rows */
};

enum count_kind {
    COUNT_SAME,     /* the same for all requests */
    COUNT_ROWS,     /* the number of rows */
    COUNT_MULTIPLE, /* the number of rows times a number that is the same for all requests */
};

struct row_fact {
    enum fact_kind kind;
    int rank;           /* of FACT_COUNTS: 0 or 1 */
    int elements_count; /* of FACT_COUNTS */
    unsigned char elements[SHAPE_RANK_MAX];
};

struct rows {
    struct arena *arena;
    struct region *region;
    struct row_fact **facts; /* by node id; NULL: not visited */
};

/* Derives the facts about the outputs of `node` from the facts about its inputs. */
typedef struct row_fact row_rule(const struct rows *rows, const struct node *node);

/* The rule that the op's row of ops.def names; rows_unknown for an op that has no row. */
row_rule *row_rule_of(const struct op *op);

/* Is the value the same for all requests? Also counts that do not contain the number of rows. */
bool fact_is_same(const struct row_fact *fact);
const struct row_fact *input_fact(const struct rows *rows, const struct node *node, int index);
/* The value of an input that the plan knows, or NULL. */
const struct tensor *input_constant(const struct rows *rows, const struct node *node, int index);
/* As inferred from the feeds' declared shapes; SHAPE_UNKNOWN_RANK. */
int endpoint_rank(const struct rows *rows, struct endpoint endpoint);

bool region_rows_independent(struct region *region);
bool region_batch_pays(const struct region *region);

#endif
