#include "graph/order.h"

/* Depth first without recursion: a node stands on the stack until its needs are in the order. */
struct visit {
    struct node *node;
    int next; /* inputs, then controls */
};

enum { UNSEEN, OPEN, DONE };

static struct node *need(const struct node *node, int index)
{
    return index < node->inputs_count ? node->inputs[index].node
                                      : node->controls[index - node->inputs_count];
}

static bool closes_loop(const struct node *node, const struct node *from)
{
    return strcmp(from->op_name, "NextIteration") == 0 && strcmp(node->op_name, "Merge") == 0;
}

struct status graph_order(const struct graph *graph, struct arena *arena, struct node ***out)
{
    struct node **order = ARENA_ARRAY(arena, struct node *, graph->count + 1);
    struct visit *stack = ARENA_ARRAY(arena, struct visit, graph->count + 1);
    char *states = ARENA_ARRAY(arena, char, graph->count + 1);
    int count = 0, depth = 0;

    for (int i = 0; i < graph->count; i++) {
        if (states[i] != UNSEEN)
            continue;
        states[i] = OPEN;
        stack[depth++] = (struct visit){ graph->nodes[i], 0 };
        while (depth > 0) {
            struct visit *top = &stack[depth - 1];
            if (top->next == top->node->inputs_count + top->node->controls_count) {
                states[top->node->id] = DONE;
                order[count++] = top->node;
                depth--;
                continue;
            }
            struct node *from = need(top->node, top->next++);
            if (closes_loop(top->node, from))
                continue;
            if (states[from->id] == OPEN)
                return status_error(STATUS_INVALID_ARGUMENT,
                                    "node '%s' (%s) depends on itself: the graph has a cycle",
                                    from->name, from->op_name);
            if (states[from->id] == UNSEEN) {
                states[from->id] = OPEN;
                stack[depth++] = (struct visit){ from, 0 };
            }
        }
    }
    *out = order;
    return status_ok();
}
