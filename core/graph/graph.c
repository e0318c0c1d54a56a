#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>

/* Makes room for one more element: a full array moves within the arena. */
static void *grow(struct arena *arena, void *array, size_t element, int count, int *capacity)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity > 0 ? 2 * *capacity : 4;
    void *larger = arena_array(arena, element, (size_t)*capacity);
    if (count > 0)
        memcpy(larger, array, element * (size_t)count);
    return larger;
}

struct graph *graph_create(struct arena *arena)
{
    struct graph *graph = ARENA_NEW(arena, struct graph);
    graph->arena = arena;
    graph->names.arena = graph->name_counters.arena = arena;
    return graph;
}

void graph_finish(struct graph *graph)
{
    if (graph == NULL)
        return;
    tensors_release(graph->owned_count, graph->owned);
    free(graph->owned);
    graph->owned = NULL;
    graph->owned_count = 0;
}

void graph_own(struct graph *graph, struct tensor tensor)
{
    if (graph->owned_count == graph->owned_capacity) {
        graph->owned_capacity = graph->owned_capacity > 0 ? 2 * graph->owned_capacity : 16;
        graph->owned = xrealloc(graph->owned, (size_t)graph->owned_capacity * sizeof *graph->owned);
    }
    graph->owned[graph->owned_count++] = tensor;
}

struct status graph_add(struct graph *graph, const char *op_name, const char *name,
                        struct node **out)
{
    if (map_has(&graph->names, bytes_of(name)))
        return status_error(STATUS_INVALID_ARGUMENT, "there are two nodes named '%s'", name);
    graph->nodes =
        grow(graph->arena, graph->nodes, sizeof(struct node *), graph->count, &graph->capacity);
    struct node *node = ARENA_NEW(graph->arena, struct node);
    node->name = name;
    node->op_name = op_name;
    node->op = op_find(op_name);
    node->id = graph->count;
    node->device = "";
    graph->nodes[graph->count++] = node;
    map_put_text(&graph->names, name, node);
    *out = node;
    return status_ok();
}

void node_add_input(struct graph *graph, struct node *node, struct endpoint input)
{
    node->inputs = grow(graph->arena, node->inputs, sizeof *node->inputs, node->inputs_count,
                        &node->inputs_capacity);
    node->inputs[node->inputs_count++] = input;
}

void node_add_control(struct graph *graph, struct node *node, struct node *control)
{
    node->controls = grow(graph->arena, node->controls, sizeof(struct node *), node->controls_count,
                          &node->controls_capacity);
    node->controls[node->controls_count++] = control;
}

void node_set_attr(struct graph *graph, struct node *node, const struct attr *attr)
{
    for (int i = 0; i < node->attrs_count; i++)
        if (strcmp(node->attrs[i].name, attr->name) == 0) {
            node->attrs[i].value = attr->value;
            return;
        }
    node->attrs = grow(graph->arena, node->attrs, sizeof *node->attrs, node->attrs_count,
                       &node->attrs_capacity);
    node->attrs[node->attrs_count++] = *attr;
}

void node_own_attrs(struct graph *graph, struct node *node)
{
    struct attr *own = ARENA_ARRAY(graph->arena, struct attr, node->attrs_count + 1);

    if (node->attrs_count > 0)
        memcpy(own, node->attrs, (size_t)node->attrs_count * sizeof *own);
    node->attrs = own;
    node->attrs_capacity = node->attrs_count;
}

struct node *graph_find(const struct graph *graph, const char *name)
{
    return map_get_text(&graph->names, name);
}

/* The number after the last colon; -1: no colon, -2: not a number. */
static int output_number(const char *colon)
{
    if (colon == NULL)
        return -1;
    char *end;
    long number = strtol(colon + 1, &end, 10);
    bool digits = colon[1] >= '0' && colon[1] <= '9' && *end == '\0';
    return digits && number <= INT32_MAX ? (int)number : -2;
}

struct status graph_endpoint(const struct graph *graph, const char *text, struct endpoint *out)
{
    const char *colon = strrchr(text, ':');
    int index = output_number(colon);
    if (index == -2)
        return status_error(STATUS_INVALID_ARGUMENT, "tensor '%s': no output number after ':'",
                            text);
    size_t size = colon != NULL ? (size_t)(colon - text) : strlen(text);
    struct node *node = map_get(&graph->names, (struct bytes){ text, size });
    if (node == NULL)
        return status_error(STATUS_NOT_FOUND, "tensor '%s': the graph has no node '%.*s'", text,
                            (int)size, text);
    if (index < 0)
        index = 0;
    bool counted = node->op != NULL || node->outputs_count > 0;
    if (counted && index >= node->outputs_count)
        return status_error(STATUS_INVALID_ARGUMENT, "tensor '%s': node '%s' (%s) has %d outputs",
                            text, node->name, node->op_name, node->outputs_count);
    *out = (struct endpoint){ node, index };
    return status_ok();
}

const char *endpoint_text(struct endpoint endpoint)
{
    enum { RING = 8 };
    static _Thread_local char ring[RING][256];
    static _Thread_local unsigned next;

    char *text = ring[next++ % RING];
    if (endpoint.node == NULL)
        return "<none>";
    snprintf(text, sizeof ring[0], "%s:%d", endpoint.node->name, endpoint.index);
    return text;
}

enum dtype endpoint_dtype(struct endpoint endpoint)
{
    if (endpoint.node == NULL || endpoint.index >= endpoint.node->outputs_count)
        return DT_INVALID;
    return endpoint.node->outputs[endpoint.index].dtype;
}

const struct shape *endpoint_shape(struct endpoint endpoint)
{
    static const struct shape unknown = { .rank = SHAPE_UNKNOWN_RANK };
    if (endpoint.node == NULL || endpoint.index >= endpoint.node->outputs_count)
        return &unknown;
    return &endpoint.node->outputs[endpoint.index].shape;
}
