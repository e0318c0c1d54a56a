#include "graph/lower/lowering.h"

struct deadness {
    struct lowering *lowering;
    bool *is_dead; /* [id] never runs */
};

/* The value of a predicate that does not depend on the run. */
static bool is_constant(struct endpoint at, bool *out)
{
    const struct tensor *value;

    while (at.node->inputs_count > 0 && at.node->controls_count == 0 &&
           (is_enter(at.node) || strcmp(at.node->op_name, "Identity") == 0 ||
            strcmp(at.node->op_name, "PlaceholderWithDefault") == 0))
        at = at.node->inputs[0];
    if (strcmp(at.node->op_name, "Const") != 0 ||
        !status_is_ok(node_attr_tensor(at.node, "value", &value)) || value->dtype != DT_BOOL ||
        value->shape.rank != 0)
        return false;
    *out = tensor_bools(value)[0];
    return true;
}

static bool is_dead(const struct deadness *deadness, struct endpoint endpoint)
{
    bool value;

    if (deadness->is_dead[endpoint.node->id])
        return true;
    return is_switch(endpoint.node) && is_constant(endpoint.node->inputs[1], &value) &&
           endpoint.index != (int)value;
}

/* A Merge with one live input is that value. The Merge of a loop stays. */
static bool visit_merge(struct deadness *deadness, struct node *merge)
{
    struct lowered_node *lowered = &deadness->lowering->lowered_nodes[merge->id];
    struct endpoint live = { NULL, 0 };
    int live_count = 0;
    bool is_loop = false;

    for (int i = 0; i < merge->inputs_count; i++) {
        if (is_next_iteration(merge->inputs[i].node)) {
            is_loop = true;
        } else if (!is_dead(deadness, merge->inputs[i])) {
            live = merge->inputs[i];
            live_count++;
        }
    }
    if (live_count == 1 && !is_loop && merge->inputs_count > 1)
        *lowered = (struct lowered_node){
            .is_gone = true, .has_value = { true }, .node = live.node, .first_output = live.index
        };
    return live_count == 0;
}

static bool visit(struct deadness *deadness, struct node *node)
{
    struct lowered_node *lowered = &deadness->lowering->lowered_nodes[node->id];
    bool value;

    if (is_merge(node))
        return visit_merge(deadness, node);
    if (strcmp(node->op_name, "ControlTrigger") == 0)
        return false;
    for (int i = 0; i < node->inputs_count; i++)
        if (is_dead(deadness, node->inputs[i]))
            return true;
    for (int i = 0; i < node->controls_count; i++)
        if (deadness->is_dead[node->controls[i]->id])
            return true;
    if (is_switch(node) && is_constant(node->inputs[1], &value)) {
        struct endpoint data = node->inputs[0];
        *lowered = (struct lowered_node){ .is_gone = true,
                                          .has_value = { !value, value },
                                          .node = data.node,
                                          .first_output = data.index - (int)value };
    }
    return false;
}

/* A Switch or Merge that waits, and a Merge whose input number is used, are more than a value.
 * They are rare; branches with constant predicates then stay branches. */
static bool is_simple(const struct graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        const struct node *node = graph->nodes[i];
        if ((is_switch(node) || is_merge(node)) && node->controls_count > 0)
            return false;
        for (int k = 0; k < node->inputs_count; k++)
            if (is_merge(node->inputs[k].node) && node->inputs[k].index == 1)
                return false;
    }
    return true;
}

struct status drop_dead_branches(struct lowering *lowering)
{
    struct deadness deadness = { .lowering = lowering };

    if (!is_simple(lowering->graph))
        return status_ok();
    deadness.is_dead = ARENA_ARRAY(lowering->scratch, bool, lowering->count + 1);
    for (int i = 0; i < lowering->count; i++) {
        struct node *node = lowering->graph->nodes[i];
        deadness.is_dead[i] = visit(&deadness, node);
        lowering->lowered_nodes[i].is_gone |= deadness.is_dead[i];
    }
    return status_ok();
}
