/*
 * control_flow: the kinds of nodes in TensorFlow 1's branches and loops (lower.h). The variants for
 * references count as the same.
 */
#ifndef GRAPH_CONTROL_FLOW_H
#define GRAPH_CONTROL_FLOW_H

#include <string.h>

#include "graph/graph.h"

static inline bool node_is_either(const struct node *node, const char *name, const char *other)
{
    return strcmp(node->op_name, name) == 0 || strcmp(node->op_name, other) == 0;
}

static inline bool is_switch(const struct node *node)
{
    return node_is_either(node, "Switch", "RefSwitch");
}

static inline bool is_merge(const struct node *node)
{
    return node_is_either(node, "Merge", "RefMerge");
}

static inline bool is_enter(const struct node *node)
{
    return node_is_either(node, "Enter", "RefEnter");
}

static inline bool is_exit(const struct node *node)
{
    return node_is_either(node, "Exit", "RefExit");
}

static inline bool is_next_iteration(const struct node *node)
{
    return node_is_either(node, "NextIteration", "RefNextIteration");
}

/* TensorFlow turns a node with this attribute into Switch and Merge before it runs. */
#define ATTR_LOWERED "_lower_using_switch_merge"

/* Does TensorFlow lower this If, Case or While? It then takes only a scalar of type bool as the
 * condition and only a scalar as the index of a Case, and otherwise other tensors as well. */
static inline bool node_is_lowered(const struct node *node)
{
    const struct attr_value *value = node_attr(node, ATTR_LOWERED);
    return value != NULL && value->kind == ATTR_BOOL && value->b;
}

#endif
