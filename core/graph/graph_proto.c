#include "graph/graph_proto.h"

#include "graph/arguments.h"
#include "graph/library_proto.h"
#include "proto/message.h"

#define NODES_MAX (1 << 24)

/* ---- reading ---- */

/* Refuses characters that would make a reference to the node ambiguous; TensorFlow allows fewer. */
static struct status check_name(const char *name)
{
    if (name[0] == '\0' || name[0] == '^' || strchr(name, ':') != NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is not a name for a node", name);
    return status_ok();
}

static struct status read_node(const struct proto_reader *reader, const Tensorflow__NodeDef *proto)
{
    struct node *node;
    const struct op *op = op_find(proto->op);
    const char *op_name = op != NULL ? op->name : arena_strdup(reader->arena, proto->op);

    TRY(check_name(proto->name));
    TRY(graph_add(reader->graph, op_name, arena_strdup(reader->arena, proto->name), &node));
    if (proto->device[0] != '\0')
        node->device = arena_strdup(reader->arena, proto->device);
    TRY(status_in(
        attrs_from_proto(reader, proto->n_attr, proto->attr, op, &node->attrs, &node->attrs_count),
        "node '%s' (%s)", node->name, node->op_name));
    node->attrs_capacity = node->attrs_count;
    return node_fill_outputs(reader->graph, node);
}

static struct status read_input(struct graph *graph, struct node *node, const char *text)
{
    if (text[0] == '^') {
        struct node *control = graph_find(graph, text + 1);
        if (control == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "the graph has no node '%s'", text + 1);
        node_add_control(graph, node, control);
        return status_ok();
    }
    struct endpoint input;
    struct status status = graph_endpoint(graph, text, &input);
    if (status.code == STATUS_NOT_FOUND)
        status.code = STATUS_INVALID_ARGUMENT; /* the file is wrong, not the request */
    TRY(status);
    if (node->controls_count > 0)
        return status_error(STATUS_INVALID_ARGUMENT, "input '%s' comes after a control input",
                            text);
    node_add_input(graph, node, input);
    return status_ok();
}

static struct status read_inputs(struct graph *graph, struct node *node,
                                 const Tensorflow__NodeDef *proto)
{
    for (size_t i = 0; i < proto->n_input; i++)
        TRY(status_in(read_input(graph, node, proto->input[i]), "node '%s' (%s): input %zu",
                      node->name, node->op_name, i));
    return node_check_inputs(graph, node);
}

static struct status read_graph(const struct proto_reader *reader,
                                const Tensorflow__GraphDef *proto)
{
    struct graph *graph = reader->graph;

    if (proto->versions != NULL) {
        graph->producer = proto->versions->producer;
        graph->min_consumer = proto->versions->min_consumer;
    }
    if (proto->library != NULL)
        TRY(library_from_proto(reader, proto->library, &graph->library));
    if (proto->n_node > NODES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "%zu nodes", proto->n_node);
    for (size_t i = 0; i < proto->n_node; i++)
        TRY(read_node(reader, proto->node[i]));
    for (size_t i = 0; i < proto->n_node; i++)
        TRY(read_inputs(graph, graph->nodes[i], proto->node[i]));
    return status_ok();
}

struct status graph_from_proto(const Tensorflow__GraphDef *proto, struct arena *arena, bool borrow,
                               struct graph **out)
{
    struct graph *graph = graph_create(arena);
    size_t repeated = 0;
    struct proto_reader reader = { arena, graph, borrow, &repeated };
    struct status status = read_graph(&reader, proto);

    if (!status_is_ok(status)) {
        graph_finish(graph);
        return status;
    }
    *out = graph;
    return status_ok();
}

/* ---- writing ---- */

static char *input_text(struct endpoint input, struct arena *arena)
{
    if (input.index == 0)
        return (char *)input.node->name;
    return arena_printf(arena, "%s:%d", input.node->name, input.index);
}

static Tensorflow__NodeDef *write_node(const struct node *node, struct arena *arena)
{
    Tensorflow__NodeDef *proto = PROTO_NEW(arena, Tensorflow__NodeDef, tensorflow__node_def);
    int inputs = node->inputs_count + node->controls_count;

    proto->name = (char *)node->name;
    proto->op = (char *)node->op_name;
    proto->device = (char *)node->device;
    proto->input = ARENA_ARRAY(arena, char *, inputs + 1);
    proto->n_input = (size_t)inputs;
    for (int i = 0; i < node->inputs_count; i++)
        proto->input[i] = input_text(node->inputs[i], arena);
    for (int i = 0; i < node->controls_count; i++)
        proto->input[node->inputs_count + i] = arena_printf(arena, "^%s", node->controls[i]->name);
    proto->n_attr = (size_t)node->attrs_count;
    proto->attr = attrs_to_proto(node->attrs, node->attrs_count, arena);
    return proto;
}

Tensorflow__GraphDef *graph_to_proto(const struct graph *graph, struct arena *arena)
{
    Tensorflow__GraphDef *proto = PROTO_NEW(arena, Tensorflow__GraphDef, tensorflow__graph_def);

    proto->n_node = (size_t)graph->count;
    proto->node = ARENA_ARRAY(arena, Tensorflow__NodeDef *, graph->count + 1);
    for (int i = 0; i < graph->count; i++)
        proto->node[i] = write_node(graph->nodes[i], arena);
    if (graph->library != NULL)
        proto->library = library_to_proto(graph->library, arena);
    proto->versions = PROTO_NEW(arena, Tensorflow__VersionDef, tensorflow__version_def);
    proto->versions->producer = graph->producer;
    proto->versions->min_consumer = graph->min_consumer;
    return proto;
}

uint64_t graph_hash(const struct graph *graph)
{
    struct arena *arena = arena_create(0);
    const Tensorflow__GraphDef *proto = graph_to_proto(graph, arena);
    size_t size = protobuf_c_message_get_packed_size(&proto->base);
    uint8_t *packed = arena_alloc(arena, size + 1);

    protobuf_c_message_pack(&proto->base, packed);
    uint64_t hash = bytes_hash((struct bytes){ (const char *)packed, size });
    arena_destroy(arena);
    return hash;
}
