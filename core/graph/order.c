#include "graph/order.h"

#include "graph/control_flow.h"

/* Depth-first search without recursion: a node stays on the stack until everything that it needs
 * is in the order. */
struct visit {
    struct node *node;
    int next; /* inputs, then controls */
};

enum { UNSEEN, OPEN, DONE };

struct walk {
    const struct order_request *request;
    struct visit *stack;
    char *states;
    struct node **order;
    struct node **later; /* back edges of loops, visited last */
    int depth, count, later_count;
};

static struct endpoint need(const struct node *node, int index)
{
    return index < node->inputs_count
               ? node->inputs[index]
               : (struct endpoint){ node->controls[index - node->inputs_count], -1 };
}

static bool closes_loop(const struct node *node, struct endpoint from)
{
    return from.index >= 0 && is_next_iteration(from.node) && is_merge(node);
}

static void open(struct walk *walk, struct node *node)
{
    walk->states[node->id] = OPEN;
    walk->stack[walk->depth++] = (struct visit){ node, 0 };
}

/* Visits the next input or control of the node on top of the stack. */
static struct status step(struct walk *walk)
{
    struct visit *top = &walk->stack[walk->depth - 1];
    struct node *node = top->node;
    if (top->next == node->inputs_count + node->controls_count) {
        walk->states[node->id] = DONE;
        walk->order[walk->count++] = node;
        walk->depth--;
        return status_ok();
    }
    struct endpoint from = need(node, top->next++);
    if (walk->request->is_cut != NULL && walk->request->is_cut(walk->request->context, from))
        return status_ok();
    if (closes_loop(node, from)) {
        walk->later[walk->later_count++] = from.node;
        return status_ok();
    }
    if (walk->states[from.node->id] == OPEN)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s) depends on itself: the graph has a cycle",
                            from.node->name, from.node->op_name);
    if (walk->states[from.node->id] == UNSEEN)
        open(walk, from.node);
    return status_ok();
}

static struct status walk_from(struct walk *walk, struct node *seed)
{
    if (walk->states[seed->id] != UNSEEN)
        return status_ok();
    open(walk, seed);
    while (walk->depth > 0)
        TRY(step(walk));
    return status_ok();
}

/* Counts the inputs of all Merges; every NextIteration is one of them. */
static int loops_max(const struct graph *graph)
{
    int count = 0;
    for (int i = 0; i < graph->count; i++)
        if (is_merge(graph->nodes[i]))
            count += graph->nodes[i]->inputs_count;
    return count;
}

struct status graph_order_some(const struct graph *graph, const struct order_request *request,
                               struct arena *arena, struct node ***out, int *out_count)
{
    struct walk walk = {
        .request = request,
        .stack = ARENA_ARRAY(arena, struct visit, graph->count + 1),
        .states = ARENA_ARRAY(arena, char, graph->count + 1),
        .order = ARENA_ARRAY(arena, struct node *, graph->count + 1),
        .later = ARENA_ARRAY(arena, struct node *, loops_max(graph) + 1),
    };

    for (int i = 0; i < request->seeds_count; i++)
        TRY(walk_from(&walk, request->seeds[i]));
    for (int i = 0; i < walk.later_count; i++)
        TRY(walk_from(&walk, walk.later[i]));
    *out = walk.order;
    *out_count = walk.count;
    return status_ok();
}

struct status graph_order(const struct graph *graph, struct arena *arena, struct node ***out)
{
    struct order_request request = { .seeds = graph->nodes, .seeds_count = graph->count };
    int count;
    return graph_order_some(graph, &request, arena, out, &count);
}
