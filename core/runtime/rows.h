/*
 * rows: the facts and rules by which a plan is proved to treat its rows one by one. Internal to
 * core/runtime; rows.c walks, row_rules.c holds one rule per op.
 */
#ifndef RUNTIME_ROWS_H
#define RUNTIME_ROWS_H

#include "runtime/plan_internal.h"

enum fact_kind {
    FACT_NONE,   /* nothing is proved */
    FACT_SAME,   /* does not depend on the values of feeds nor on how many rows there are; it may
                    depend on the shape of a row, which all riders share */
    FACT_ROWS,   /* dimension 0 has one slice per row, made of that row alone */
    FACT_BLOCKS, /* the same, with several slices in a line for each row (rows · k in all) */
    FACT_COUNTS, /* integers: shape-like. elements[i] says which contain the number of rows */
};

enum count_kind {
    COUNT_SAME,     /* the same for all riders */
    COUNT_ROWS,     /* the number of rows */
    COUNT_MULTIPLE, /* the number of rows, times something that is the same */
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

struct row_rule {
    const char *op;
    struct row_fact (*apply)(const struct rows *rows, const struct node *node);
};

const struct row_rule *row_rule_find(const char *op);

const struct row_fact *rows_input(const struct rows *rows, const struct node *node, int index);
const struct tensor *rows_constant(const struct rows *rows, const struct node *node, int index);
/* As inferred from the feeds' declared shapes; SHAPE_UNKNOWN_RANK. */
int rows_rank(const struct rows *rows, struct endpoint endpoint);

bool region_rows_independent(struct region *region);
bool region_batch_pays(const struct region *region);

#endif
