#include "graph/lower/lower.h"

#include "graph/function.h"
#include "graph/lower/lowering.h"
#include "graph/order.h"
#include "graph/prune.h"

struct status not_structured(const struct node *node, const char *why)
{
    return status_error(STATUS_UNIMPLEMENTED, "node '%s' (%s): %s", node->name, node->op_name, why);
}

/* ---- putting the new nodes into the graph ---- */

static const struct lowered_node *fate_of(const struct lowering *lowering, const struct node *node)
{
    static const struct lowered_node stays = { 0 };

    return node->id < lowering->count ? &lowering->lowered_nodes[node->id] : &stays;
}

static struct status follow(const struct lowering *lowering, struct endpoint *endpoint)
{
    const struct lowered_node *lowered = fate_of(lowering, endpoint->node);

    while (endpoint->index < 2 && lowered->has_value[endpoint->index]) {
        *endpoint = (struct endpoint){ lowered->node, lowered->first_output + endpoint->index };
        lowered = fate_of(lowering, endpoint->node);
    }
    if (!lowered->is_gone)
        return status_ok();
    return not_structured(endpoint->node, "it is part of a branch or loop, and used outside");
}

static bool takes_reference(const struct node *node)
{
    for (int i = 0; node->op != NULL && i < node->op->inputs_count; i++)
        if (node->op->inputs[i].is_ref)
            return true;
    return false;
}

/* Branches and loops return values, but no references. */
static struct status follow_inputs(const struct lowering *lowering, struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++) {
        struct endpoint before = node->inputs[i];
        TRY(follow(lowering, &node->inputs[i]));
        if (before.node != node->inputs[i].node && takes_reference(node) &&
            node->inputs[i].node->id >= lowering->count)
            return not_structured(node, "a reference that comes out of a branch or loop");
    }
    return status_ok();
}

/* A node that waited for a node of a branch or loop waits for all of it. */
static void follow_controls(const struct lowering *lowering, struct node *node)
{
    int count = 0;

    for (int i = 0; i < node->controls_count; i++) {
        struct node *control = node->controls[i];
        while (control != NULL && fate_of(lowering, control)->is_gone)
            control = fate_of(lowering, control)->node;
        if (control != NULL && control != node)
            node->controls[count++] = control;
    }
    node->controls_count = count;
}

static struct status add_noop(struct graph *graph, struct node **out)
{
    struct builder b = builder_init(graph);

    *out = build_node(&b, "NoOp", "never", 0, NULL, 0, NULL, NULL);
    return builder_status(&b);
}

static struct status follow_all(struct lowering *lowering, const struct flatten_request *request,
                                struct flatten_result *flat)
{
    struct graph *graph = lowering->graph;

    for (int i = 0; i < graph->count; i++) {
        struct node *node = graph->nodes[i];
        if (i < lowering->count && lowering->lowered_nodes[i].is_gone)
            continue;
        TRY(follow_inputs(lowering, node));
        follow_controls(lowering, node);
    }
    for (int i = 0; i < request->fetches_count; i++)
        TRY(follow(lowering, &flat->fetches[i]));
    for (int i = 0; i < request->targets_count; i++) {
        struct node **target = &flat->targets[i];
        while (*target != NULL && fate_of(lowering, *target)->is_gone)
            *target = fate_of(lowering, *target)->node;
        if (*target == NULL) /* it never runs */
            TRY(add_noop(graph, target));
    }
    return status_ok();
}

static struct status put_in_order(struct graph *graph, struct arena *scratch)
{
    struct node **order;
    struct status status = graph_order(graph, scratch, &order);

    if (!status_is_ok(status))
        return status_in(status_error(STATUS_UNIMPLEMENTED, "%s", status.message),
                         "branches or loops that cannot be told apart");
    for (int i = 0; i < graph->count; i++) {
        graph->nodes[i] = order[i];
        order[i]->id = i;
    }
    return status_ok();
}

static struct status keep_the_rest(struct lowering *lowering)
{
    struct graph *graph = lowering->graph;
    struct node **kept = ARENA_ARRAY(lowering->scratch, struct node *, graph->count + 1);
    int count = 0;

    for (int i = 0; i < graph->count; i++)
        if (i >= lowering->count || !lowering->lowered_nodes[i].is_gone)
            kept[count++] = graph->nodes[i];
    graph_prune(graph, kept, count, lowering->scratch);
    return put_in_order(graph, lowering->scratch);
}

static struct status run_pass(const struct flatten_request *request, struct flatten_result *flat,
                              struct status (*pass)(struct lowering *))
{
    struct graph *graph = flat->graph;
    struct lowering lowering = { .graph = graph,
                                 .scratch = arena_create(0),
                                 .count = graph->count };

    lowering.lowered_nodes = ARENA_ARRAY(lowering.scratch, struct lowered_node, graph->count + 1);
    cut_tables_init(&lowering.tables, graph, lowering.scratch);
    struct status status = pass(&lowering);
    if (status_is_ok(status))
        status = follow_all(&lowering, request, flat);
    if (status_is_ok(status))
        status = keep_the_rest(&lowering);
    arena_destroy(lowering.scratch);
    return status;
}

static bool has(const struct graph *graph, bool (*is_kind)(const struct node *))
{
    for (int i = 0; i < graph->count; i++)
        if (is_kind(graph->nodes[i]))
            return true;
    return false;
}

static bool is_lowered(const struct node *node)
{
    return op_has(node->op, OP_LOWERED);
}

struct status graph_lower(const struct flatten_request *request, struct flatten_result *flat)
{
    if (!has(flat->graph, is_lowered))
        return status_ok();
    function_nest_library(flat->graph);
    TRY(run_pass(request, flat, drop_dead_branches));
    if (has(flat->graph, is_enter))
        TRY(run_pass(request, flat, lower_loops));
    if (has(flat->graph, is_lowered))
        TRY(run_pass(request, flat, lower_branches));
    return status_ok();
}
