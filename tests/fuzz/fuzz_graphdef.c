/* GraphDefs. If the bytes can be read as a graph, the target writes it, infers its shapes, flattens
 * it at its first nodes and instantiates each function. No step may crash. */
#include <stddef.h>
#include <stdint.h>

#include "graph/graph_proto.h"
#include "graph/library.h"
#include "proto/graph.pb-c.h"
#include "proto/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMORY_MAX ((size_t)64 << 20)
#define NODES_MAX  16 /* flattened per graph: each may take seconds with a sanitizer */

static void flatten(const struct graph *graph, struct node *node, struct node *feed)
{
    struct arena *arena = arena_create(0);
    struct endpoint fetch = { node, 0 }, fed = { feed, 0 };
    struct flatten_request request = { .feeds = &fed,
                                       .feeds_count = feed != node,
                                       .fetches = &fetch,
                                       .fetches_count = node->outputs_count > 0,
                                       .targets = &node,
                                       .targets_count = 1 };
    struct flatten_result flat;

    if (status_is_ok(graph_flatten(graph, &request, arena, &flat))) {
        status_ignore(graph_infer(flat.graph)); /* the shapes may contradict each other */
        graph_finish(flat.graph);
    }
    arena_destroy(arena);
}

static void instantiate(const struct graph *graph, const struct function *function)
{
    struct arena *arena = arena_create(0);
    struct function_name name = { function_name(function), function->attrs, function->attrs_count };
    struct function_body body;

    if (status_is_ok(function_instantiate(graph, &name, arena, &body)))
        graph_finish(body.graph);
    arena_destroy(arena);
}

static void use(struct graph *graph, struct arena *arena)
{
    struct buffer bytes = { 0 };

    proto_pack(graph_to_proto(graph, arena), &bytes);
    buffer_finish(&bytes);
    for (int i = 0; i < graph->count && i < NODES_MAX; i++)
        flatten(graph, graph->nodes[i], graph->nodes[0]);
    for (int i = 0; graph->library != NULL && i < graph->library->count; i++)
        instantiate(graph, &graph->library->functions[i]);
    status_ignore(graph_infer(graph)); /* the shapes may contradict each other */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena *arena = arena_create(MEMORY_MAX);
    struct graph *graph;
    Tensorflow__GraphDef *proto = NULL;

    if (status_is_ok(proto_unpack(&tensorflow__graph_def__descriptor,
                                  (struct bytes){ (const char *)data, size }, arena, &proto)) &&
        status_is_ok(graph_from_proto(proto, arena, size % 2 == 0, &graph))) {
        use(graph, arena);
        graph_finish(graph);
    }
    arena_destroy(arena);
    return 0;
}
