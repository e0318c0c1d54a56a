/* function_add: makes a function of a graph that was built. */
#include "graph/arguments.h"
#include "graph/function.h"
#include "graph/library.h"

/* Nodes of all functions that are added to a graph: the gradient of a branch holds that of each
 * branch inside it, so a small file may ask for any number. */
#define ADDED_NODES_MAX (1 << 20)

/* The name of an argument of a signature: "arg_3"; the nodes of the body must not have it. */
static const char *arg_name(struct arena *arena, int index)
{
    return arena_printf(arena, "arg_%d", index);
}

/* A body's name for an endpoint: "arg_3", or "node:out:1". */
static struct status endpoint_reference(const struct graph *body, struct endpoint endpoint,
                                        struct arena *arena, const char **out)
{
    const struct node *node = endpoint.node;
    int first = 0, count;

    if (strcmp(node->op_name, "_Arg") == 0) {
        int64_t index;
        TRY(node_attr_int(node, "index", &index));
        *out = arg_name(arena, (int)index);
        return status_ok();
    }
    const struct op *op = node_signature(body, node);
    for (int i = 0; op != NULL && i < op->outputs_count; i++) {
        TRY(argument_count(node, op, &op->outputs[i], &count));
        if (endpoint.index < first + count) {
            *out = arena_printf(arena, "%s:%s:%d", node->name, op->outputs[i].name,
                                endpoint.index - first);
            return status_ok();
        }
        first += count;
    }
    if (op == NULL) { /* unknown: any name will do for its outputs */
        *out = arena_printf(arena, "%s:output:%d", node->name, endpoint.index);
        return status_ok();
    }
    return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s) has no output %d", node->name,
                        node->op_name, endpoint.index);
}

static struct status add_body_node(const struct graph *body, const struct node *node,
                                   struct arena *arena, struct body_node *out)
{
    *out = (struct body_node){ .name = node->name,
                               .op_name = node->op_name,
                               .device = node->device,
                               .attrs = node->attrs,
                               .attrs_count = node->attrs_count };
    out->inputs = ARENA_ARRAY(arena, const char *, node->inputs_count + node->controls_count + 1);
    for (int i = 0; i < node->inputs_count; i++)
        TRY(endpoint_reference(body, node->inputs[i], arena, &out->inputs[out->inputs_count++]));
    for (int i = 0; i < node->controls_count; i++)
        out->inputs[out->inputs_count++] = arena_printf(arena, "^%s", node->controls[i]->name);
    return status_ok();
}

static struct op_arg *describe(struct arena *arena, int count, const struct endpoint *endpoints,
                               const char *name)
{
    struct op_arg *args = ARENA_ARRAY(arena, struct op_arg, count + 1);

    for (int i = 0; i < count; i++)
        args[i] = (struct op_arg){ .name = arena_printf(arena, "%s_%d", name, i),
                                   .type = endpoint_dtype(endpoints[i]) };
    return args;
}

static struct status fill(struct function *function, const char *name,
                          const struct function_body *from, struct arena *arena)
{
    const struct graph *body = from->graph;
    struct op *signature = &function->signature;

    *signature =
        (struct op){ .name = name,
                     .index = -1,
                     .inputs = describe(arena, from->args_count, from->args, "arg"),
                     .inputs_count = from->args_count,
                     .outputs = describe(arena, from->results_count, from->results, "result"),
                     .outputs_count = from->results_count };
    function->nodes = ARENA_ARRAY(arena, struct body_node, body->count + 1);
    for (int i = 0; i < body->count; i++) {
        const struct node *node = body->nodes[i];
        if (strcmp(node->op_name, "_Arg") == 0)
            continue;
        TRY(add_body_node(body, node, arena, &function->nodes[function->nodes_count++]));
        if (op_has(node->op, OP_STATEFUL))
            signature->traits = OP_STATEFUL;
    }
    function->results = ARENA_ARRAY(arena, struct body_result, from->results_count + 1);
    for (int i = 0; i < from->results_count; i++) {
        function->results[i].name = signature->outputs[i].name;
        TRY(endpoint_reference(body, from->results[i], arena, &function->results[i].value));
    }
    function->controls = ARENA_ARRAY(arena, struct body_result, from->controls_count + 1);
    for (int i = 0; i < from->controls_count; i++)
        function->controls[function->controls_count++] =
            (struct body_result){ from->controls[i]->name, from->controls[i]->name };
    return status_ok();
}

void function_share_library(struct graph *graph)
{
    if (graph->library != NULL)
        return;
    graph->library = ARENA_NEW(graph->arena, struct function_library);
    graph->library->by_name.arena = graph->arena;
}

void function_own_library(struct graph *graph)
{
    const struct function_library *shared = graph->library;

    graph->library = NULL;
    function_share_library(graph);
    if (shared == NULL)
        return;
    *graph->library = *shared;
    graph->library->capacity = shared->count; /* the list is shared: the next function moves it */
    graph->library->by_name = (struct map){ .arena = graph->arena };
    graph->library->name_counters = (struct map){ 0 };
    for (int i = 0; i < shared->count; i++)
        map_put_text(&graph->library->by_name, shared->functions[i].signature.name,
                     &shared->functions[i]);
}

void function_nest_library(struct graph *graph)
{
    const struct function_library *outer = graph->library;

    graph->library = NULL;
    function_share_library(graph);
    graph->library->outer = outer;
    graph->library->added_nodes = outer != NULL ? outer->added_nodes : 0;
}

/* Makes room for one more function. The list at least doubles, so the copies are amortized;
 * earlier functions move. */
static void reserve(struct graph *graph, struct function_library *library)
{
    if (library->count < library->capacity)
        return;
    int capacity = 2 * library->count + 8;
    struct function *all = ARENA_ARRAY(graph->arena, struct function, capacity);
    if (library->count > 0)
        memcpy(all, library->functions, (size_t)library->count * sizeof *all);
    library->functions = all;
    library->capacity = capacity;
    for (int i = 0; i < library->count; i++)
        map_put_text(&library->by_name, all[i].signature.name, &all[i]);
}

static void append(struct graph *graph, const struct function *function)
{
    struct function_library *library = graph->library;
    reserve(graph, library);
    struct function *added = &library->functions[library->count++];
    *added = *function;
    map_put_text(&library->by_name, added->signature.name, added);
}

/* The name, with a number appended if that is taken. */
static const char *unique_name(struct graph *graph, const char *wanted)
{
    struct map *counters = &graph->library->name_counters;
    const char *base = arena_strdup(graph->arena, wanted), *unique = base;
    uintptr_t suffix = (uintptr_t)map_get_text(counters, base);

    while (function_find(graph->library, unique) != NULL)
        unique = arena_printf(graph->arena, "%s_%u", base, (unsigned)++suffix);
    if (suffix > 0)
        map_put_text(counters, base, (void *)suffix);
    return unique;
}

struct status function_add(struct graph *graph, const char *wanted,
                           const struct function_body *body, const char **out)
{
    struct function function = { 0 };

    function_share_library(graph);
    if (graph->library->name_counters.arena == NULL)
        graph->library->name_counters.arena = graph->arena;
    graph->library->added_nodes += body->graph->count + 1;
    if (graph->library->added_nodes > ADDED_NODES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "the functions made for branches and loops have over %d nodes",
                            ADDED_NODES_MAX);
    const char *name = unique_name(graph, wanted);
    TRY(fill(&function, name, body, graph->arena));
    append(graph, &function);
    *out = name;
    return status_ok();
}

struct endpoint function_add_arg(struct builder *builder, struct function_body *body,
                                 enum dtype dtype, const struct shape *shape)
{
    struct endpoint arg =
        build(builder, "_Arg", arg_name(builder->graph->arena, body->args_count), 0, NULL,
              (const struct attr[]){ attr_type("T", dtype), attr_int("index", body->args_count),
                                     ATTR_END });

    if (arg.node != NULL) {
        arg.node->outputs[0].shape = *shape;
        body->args[body->args_count++] = arg;
    }
    return arg;
}
