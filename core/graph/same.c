#include "graph/same.h"

#include <string.h>

/* Both graphs are numbered in their order, so equal numbers are equal places. */
static bool same_endpoints(const struct endpoint *a, const struct endpoint *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].node->id != b[i].node->id || a[i].index != b[i].index)
            return false;
    }
    return true;
}

static bool same_nodes(struct node *const *a, struct node *const *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i]->id != b[i]->id)
            return false;
    }
    return true;
}

/* A variable or table without a shared name goes by the name of its node. */
static bool name_matters(const struct node *node)
{
    return node->op == NULL || (op_has(node->op, OP_STATEFUL) && !op_has(node->op, OP_READS)) ||
           op_has(node->op, OP_VARIABLE);
}

static bool same_node(const struct node *a, const struct node *b)
{
    return a->op == b->op && strcmp(a->op_name, b->op_name) == 0 &&
           a->inputs_count == b->inputs_count && a->controls_count == b->controls_count &&
           (!name_matters(a) || strcmp(a->name, b->name) == 0) &&
           same_endpoints(a->inputs, b->inputs, a->inputs_count) &&
           same_nodes(a->controls, b->controls, a->controls_count) &&
           attrs_equal(a->attrs, a->attrs_count, b->attrs, b->attrs_count);
}

bool graph_is_same(const struct flatten_result *a, const struct flatten_request *a_request,
                   const struct flatten_result *b, const struct flatten_request *b_request)
{
    if (a->graph->count != b->graph->count || a->graph->library != b->graph->library ||
        a_request->feeds_count != b_request->feeds_count ||
        a_request->fetches_count != b_request->fetches_count ||
        a_request->targets_count != b_request->targets_count ||
        !same_endpoints(a->feeds, b->feeds, a_request->feeds_count) ||
        !same_endpoints(a->fetches, b->fetches, a_request->fetches_count) ||
        !same_nodes(a->targets, b->targets, a_request->targets_count))
        return false;
    for (int i = 0; i < a->graph->count; i++) {
        if (!same_node(a->graph->nodes[i], b->graph->nodes[i]))
            return false;
    }
    return true;
}
