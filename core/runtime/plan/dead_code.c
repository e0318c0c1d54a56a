/*
 * Nodes that others only wait for, such as an EnsureShape or a Cholesky in tf.control_dependencies:
 * if they have no effect, nobody can tell whether they ran, except by the error that they may
 * return. TensorFlow's optimizer makes a NoOp of each, and so do we. Assert and CheckNumerics count
 * as having an effect.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "graph/arguments.h"
#include "runtime/plan/maker.h"

static bool has_effect(const struct node *node)
{
    return node->op == NULL || !op_is_pure(node->op) || node->inputs_count == 0 ||
           node_takes_reference(node);
}

/* Nodes that wait for it then wait for its inputs. */
static void make_noop(struct region *region, struct node *node)
{
    for (int i = 0; i < node->inputs_count; i++)
        node_add_control(region->graph, node, node->inputs[i].node);
    node->op_name = "NoOp";
    node->op = op_find(node->op_name);
    node->attrs_count = 0;
    node->inputs_count = 0;
    node->outputs_count = 0;
}

void region_remove_dead_code(struct region *region)
{
    const struct graph *graph = region->graph;
    bool *kept = zalloc((size_t)region->ids_count * sizeof *kept);
    for (int i = 0; i < region->args_count; i++)
        kept[region->args[i].node->id] = true;
    for (int i = 0; i < region->results_count; i++)
        kept[region->results[i].node->id] = true;
    for (int i = 0; i < region->targets_count; i++)
        kept[region->targets[i]->id] = true;
    for (int i = graph->count - 1; i >= 0; i--) { /* users come after what they read */
        struct node *node = graph->nodes[i];
        if (!kept[node->id] && !has_effect(node)) {
            make_noop(region, node);
            continue;
        }
        for (int k = 0; k < node->inputs_count; k++)
            kept[node->inputs[k].node->id] = true;
    }
    free(kept);
}
