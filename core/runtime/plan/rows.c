/*
 * May rows of different requests share a run? The proof gives each value a fact; the
 * rule of an op derives the facts of its outputs from those of its inputs, and derives FACT_NONE in
 * every case that it does not cover. The answer is yes only if every fetch ends as FACT_ROWS. A
 * wrong yes would give one client the rows of another.
 *
 * The proof assumes that each feed has the rank of its Placeholder, which plan_rows_fit checks when
 * a batch is formed, and that all requests have rows of the same shape.
 */
#include "runtime/plan/rows.h"

#include <string.h>

#include "runtime/plan/maker.h"
#include "runtime/plan/row_rules.h"

static const struct row_fact *fact_of(const struct rows *rows, struct endpoint endpoint)
{
    static const struct row_fact same = { .kind = FACT_SAME };
    if (region_value(rows->region, endpoint)->constant != NULL)
        return &same;
    const struct row_fact *facts = rows->facts[endpoint.node->id];
    return facts != NULL ? &facts[endpoint.index] : &none;
}

const struct row_fact *input_fact(const struct rows *rows, const struct node *node, int index)
{
    return fact_of(rows, node->inputs[index]);
}

const struct tensor *input_constant(const struct rows *rows, const struct node *node, int index)
{
    return region_value(rows->region, node->inputs[index])->constant;
}

int endpoint_rank(const struct rows *rows, struct endpoint endpoint)
{
    const struct tensor *constant = region_value(rows->region, endpoint)->constant;
    return constant != NULL ? constant->shape.rank
                            : endpoint.node->outputs[endpoint.index].shape.rank;
}

bool fact_is_same(const struct row_fact *fact)
{
    for (int i = 0; fact->kind == FACT_COUNTS && i < fact->elements_count; i++) {
        if (fact->elements[i] != COUNT_SAME)
            return false;
    }
    return fact->kind == FACT_SAME || fact->kind == FACT_COUNTS;
}

/* A pure op of values that are the same for all requests gives another such value. */
static bool is_same(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (!fact_is_same(input_fact(rows, node, i)))
            return false;
    }
    return op_is_pure(node->op) && !node_is_control(node);
}

static bool has_counts(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (input_fact(rows, node, i)->kind == FACT_COUNTS)
            return true;
    }
    return false;
}

static void put_all(struct rows *rows, const struct node *node, struct row_fact fact)
{
    for (int i = 0; i < node->outputs_count; i++)
        rows->facts[node->id][i] = fact;
}

static bool visit_region(struct rows *rows, struct region *region);

/* A branch that is always chosen is part of the region around it. */
static bool visit_chosen(struct rows *rows, struct node *node, struct region *body)
{
    struct rows inner = { .arena = rows->arena, .region = body };
    inner.facts = ARENA_ARRAY(rows->arena, struct row_fact *, body->ids_count + 1);
    for (int i = 0; i < body->args_count; i++) {
        struct row_fact *fact = ARENA_NEW(rows->arena, struct row_fact);
        *fact = *input_fact(rows, node, i + 1);
        inner.facts[body->args[i].node->id] = fact;
    }
    if (!visit_region(&inner, body))
        return false;
    for (int i = 0; i < node->outputs_count; i++)
        rows->facts[node->id][i] = *fact_of(&inner, body->results[i]);
    return true;
}

static bool visit_node(struct rows *rows, struct node *node)
{
    rows->facts[node->id] = ARENA_ARRAY(rows->arena, struct row_fact, node->outputs_count + 1);
    const struct branches *branches = rows->region->branches[node->id];
    if (branches != NULL && branches->chosen >= 0)
        return visit_chosen(rows, node, branches->regions[branches->chosen]);
    if (op_has(node->op, OP_FUNCTIONS))
        return false; /* the functions may have effects */
    bool same = is_same(rows, node);
    row_rule *rule = row_rule_of(node->op);
    /* A rule knows more of counts than that they are the same, such as how many they are. */
    struct row_fact fact = same && !has_counts(rows, node) ? none : rule(rows, node);
    if (same && fact.kind == FACT_NONE)
        fact.kind = FACT_SAME;
    put_all(rows, node, fact);
    /* Nothing is known of the values that an op without a rule makes. If it also has a side
     * effect, nothing is known of the plan. */
    return same || rule != rows_unknown || op_is_pure(node->op);
}

static bool visit_region(struct rows *rows, struct region *region)
{
    for (int i = 0; i < region->nodes_count; i++) {
        struct node *node = region->nodes[i];
        bool is_argument = rows->facts[node->id] != NULL;
        if (is_argument || strcmp(node->op_name, "NoOp") == 0)
            continue;
        if (!visit_node(rows, node))
            return false;
    }
    return true;
}

/* Every feed must have rows: a known rank of at least 1, and a first dimension of any size. */
static bool seed_feeds(struct rows *rows)
{
    struct region *region = rows->region;
    for (int i = 0; i < region->args_count; i++) {
        const struct node *feed = region->args[i].node;
        const struct shape *shape = &feed->outputs[0].shape;
        if (shape->rank < 1 || shape->dims[0] != -1)
            return false;
        struct row_fact *fact = ARENA_NEW(rows->arena, struct row_fact);
        fact->kind = FACT_ROWS;
        rows->facts[feed->id] = fact;
    }
    return region->args_count > 0;
}

bool region_rows_independent(struct region *region)
{
    struct rows rows = { .arena = arena_create(0), .region = region };
    rows.facts = ARENA_ARRAY(rows.arena, struct row_fact *, region->ids_count + 1);
    bool independent = seed_feeds(&rows) && visit_region(&rows, region);
    for (int i = 0; independent && i < region->results_count; i++) {
        const struct row_fact *fact = fact_of(&rows, region->results[i]);
        independent = fact->kind == FACT_ROWS;
    }
    arena_destroy(rows.arena);
    return independent;
}

bool region_batch_pays(const struct region *region)
{
    for (int i = 0; i < region->nodes_count; i++) {
        if (op_has(region->nodes[i]->op, OP_HEAVY))
            return false;
    }
    return true;
}
