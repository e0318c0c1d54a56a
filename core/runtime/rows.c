/*
 * May rows of different requests ride in one run? A proof: each value gets a fact, each op has a
 * rule that makes the facts of its outputs from those of its inputs, and an op without a rule, or a
 * case that its rule does not know, makes FACT_NONE. Only where every fetch ends as FACT_ROWS is
 * the answer yes. A wrong yes is a wrong answer for a stranger, so rules prefer no.
 *
 * The proof takes each feed to have the rank of its Placeholder, and riders to have rows of one
 * shape; plan_rows_fit checks the former when a batch is made.
 */
#include <string.h>

#include "runtime/plan_internal.h"
#include "runtime/rows.h"

static bool is_known(const struct row_fact *fact)
{
    return fact->kind != FACT_NONE;
}

static const struct row_fact *fact_of(const struct rows *rows, struct endpoint endpoint)
{
    static const struct row_fact same = { .kind = FACT_SAME };
    static const struct row_fact none = { .kind = FACT_NONE };
    if (region_value(rows->region, endpoint)->constant != NULL)
        return &same;
    const struct row_fact *facts = rows->facts[endpoint.node->id];
    return facts != NULL ? &facts[endpoint.index] : &none;
}

const struct row_fact *rows_input(const struct rows *rows, const struct node *node, int index)
{
    return fact_of(rows, node->inputs[index]);
}

const struct tensor *rows_constant(const struct rows *rows, const struct node *node, int index)
{
    return region_value(rows->region, node->inputs[index])->constant;
}

int rows_rank(const struct rows *rows, struct endpoint endpoint)
{
    const struct tensor *constant = region_value(rows->region, endpoint)->constant;
    return constant != NULL ? constant->shape.rank
                            : endpoint.node->outputs[endpoint.index].shape.rank;
}

static bool all_inputs_same(const struct rows *rows, const struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        if (rows_input(rows, node, i)->kind != FACT_SAME)
            return false;
    }
    return true;
}

/* What reads no feed is the same for all riders, unless it differs from run to run. */
static bool is_same(const struct rows *rows, const struct node *node)
{
    bool reads = strcmp(node->op_name, "ReadVariableOp") == 0;
    bool pure = node->op != NULL && (node->op->flags == 0 || reads);
    return pure && !node_is_control(node) && all_inputs_same(rows, node);
}

static void put_all(struct rows *rows, const struct node *node, struct row_fact fact)
{
    for (int i = 0; i < node->outputs_count; i++)
        rows->facts[node->id][i] = fact;
}

static bool visit_region(struct rows *rows, struct region *region);

/* A branch that is known to be taken is part of the region around it. */
static bool visit_chosen(struct rows *rows, struct node *node, struct region *body)
{
    struct rows inner = { .arena = rows->arena, .region = body };
    inner.facts = ARENA_ARRAY(rows->arena, struct row_fact *, body->ids_count + 1);
    for (int i = 0; i < body->args_count; i++) {
        struct row_fact *fact = ARENA_NEW(rows->arena, struct row_fact);
        *fact = *rows_input(rows, node, i + 1);
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
    if (is_same(rows, node)) {
        put_all(rows, node, (struct row_fact){ .kind = FACT_SAME });
        return true;
    }
    const struct row_rule *rule = row_rule_find(node->op_name);
    if (rule != NULL) {
        put_all(rows, node, rule->apply(rows, node));
        return true;
    }
    /* An unknown op that only makes a value spoils that value; one with an effect spoils all. */
    return node->op != NULL && node->op->flags == 0;
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

/* A feed of rows: rank known and at least 1, any number of rows. */
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
        independent = is_known(fact) && fact->kind == FACT_ROWS;
    }
    arena_destroy(rows.arena);
    return independent;
}

/* A batch shares the stream of weights through a product, and the overhead of steps; a convolution
 * uses its weights often enough within one row. */
bool region_batch_pays(const struct region *region)
{
    static const char *const heavy[] = {
        "Conv2D", "Conv3D", "DepthwiseConv2dNative", "ConvBackpropInput", "While", "Resize"
    };
    for (int i = 0; i < region->nodes_count; i++) {
        for (size_t j = 0; j < COUNT(heavy); j++) {
            if (strstr(region->nodes[i]->op_name, heavy[j]) != NULL)
                return false;
        }
    }
    return true;
}
