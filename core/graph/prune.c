#include "graph/prune.h"

/* The nodes that are needed, and a stack of those whose inputs are still to be visited. */
struct marks {
    bool *needed; /* by id */
    struct node **stack;
    int depth;
};

static void mark(struct marks *marks, struct node *node)
{
    if (!marks->needed[node->id]) {
        marks->needed[node->id] = true;
        marks->stack[marks->depth++] = node;
    }
}

void graph_prune(struct graph *graph, struct node *const *kept, int kept_count,
                 struct arena *scratch)
{
    struct marks marks = { ARENA_ARRAY(scratch, bool, graph->count + 1),
                           ARENA_ARRAY(scratch, struct node *, graph->count + 1), 0 };
    int count = 0;

    for (int i = 0; i < kept_count; i++)
        mark(&marks, kept[i]);
    while (marks.depth > 0) {
        const struct node *node = marks.stack[--marks.depth];
        for (int i = 0; i < node->inputs_count; i++)
            mark(&marks, node->inputs[i].node);
        for (int i = 0; i < node->controls_count; i++)
            mark(&marks, node->controls[i]);
    }
    for (int i = 0; i < graph->count; i++) {
        struct node *node = graph->nodes[i];
        if (!marks.needed[i]) {
            map_remove(&graph->names, bytes_of(node->name));
            continue;
        }
        node->id = count;
        graph->nodes[count++] = node;
    }
    graph->count = count;
}
