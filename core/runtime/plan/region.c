/*
 * The tree of regions: the signature's graph, and for each branch and loop in it the flattened
 * graphs of its bodies, instantiated with the attributes of the call.
 */
#include <assert.h>
#include <string.h>

#include "graph/arguments.h"
#include "graph/function.h"
#include "graph/lower/lower.h"
#include "runtime/plan/maker.h"

static void reserve_ids(struct plan_maker *maker, struct region *region, int ids)
{
    if (ids <= region->ids_capacity)
        return;
    int capacity = region->ids_capacity == 0 ? ids : 2 * ids;
    struct plan_value **values = ARENA_ARRAY(maker->arena, struct plan_value *, capacity);
    struct branches **branches = ARENA_ARRAY(maker->arena, struct branches *, capacity);
    if (region->ids_capacity > 0) {
        memcpy(values, region->values, sizeof *values * (size_t)region->ids_capacity);
        memcpy(branches, region->branches, sizeof *branches * (size_t)region->ids_capacity);
    }
    region->values = values;
    region->branches = branches;
    region->ids_capacity = capacity;
}

/* Nothing is known of the outputs of a new node. */
static void create_values(struct plan_maker *maker, struct region *region, const struct node *node)
{
    int count = node->outputs_count;
    struct plan_value *values = ARENA_ARRAY(maker->arena, struct plan_value, count > 0 ? count : 1);
    for (int i = 0; i < count; i++)
        values[i].slot = SLOT_NONE;
    region->values[node->id] = values;
}

struct plan_value *region_value(const struct region *region, struct endpoint endpoint)
{
    assert(endpoint.node->id < region->ids_count);
    assert(endpoint.index < endpoint.node->outputs_count);
    return &region->values[endpoint.node->id][endpoint.index];
}

struct endpoint region_resolve(const struct region *region, struct endpoint endpoint)
{
    while (endpoint.index < endpoint.node->outputs_count) {
        struct endpoint same = region_value(region, endpoint)->same;
        if (same.node == NULL)
            break;
        endpoint = same;
    }
    return endpoint;
}

void region_append(struct plan_maker *maker, struct region *region, struct node *node)
{
    if (region->nodes_count == region->nodes_capacity) {
        int capacity = region->nodes_capacity * 2 + 16;
        struct node **nodes = ARENA_ARRAY(maker->arena, struct node *, capacity);
        if (region->nodes_count > 0)
            memcpy(nodes, region->nodes, sizeof *nodes * (size_t)region->nodes_count);
        region->nodes = nodes;
        region->nodes_capacity = capacity;
    }
    region->nodes[region->nodes_count++] = node;
}

struct node *region_add(struct plan_maker *maker, struct region *region, const char *op,
                        const char *name, int inputs_count)
{
    struct node *node = ARENA_NEW(maker->arena, struct node);
    node->name = name;
    node->op_name = op;
    node->op = op_find(op);
    node->id = region->ids_count;
    node->inputs = ARENA_ARRAY(maker->arena, struct endpoint, inputs_count > 0 ? inputs_count : 1);
    node->inputs_count = node->inputs_capacity = inputs_count;
    node->outputs = ARENA_NEW(maker->arena, struct output);
    node->outputs_count = 1;
    node->outputs[0].shape = shape_unknown();
    node->device = "";
    reserve_ids(maker, region, region->ids_count + 1);
    region->ids_count++;
    create_values(maker, region, node);
    return node;
}

static struct status note_output(struct plan_maker *maker, struct endpoint endpoint)
{
    struct node *node = endpoint.node;
    if (endpoint.index < node->outputs_count)
        return status_ok();
    maker->unknown_outputs += (int64_t)endpoint.index + 1 - node->outputs_count;
    if (maker->unknown_outputs > UNKNOWN_OUTPUTS_MAX)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "output %d is wanted of node '%s' (%s): ops that are not known may have "
            "%d outputs, all together",
            endpoint.index, node->name, node->op_name, UNKNOWN_OUTPUTS_MAX);
    node->outputs = NULL;
    node->outputs_count = endpoint.index + 1;
    return status_ok();
}

/* A node of an unknown op has as many outputs as its users name. */
static struct status count_unknown_outputs(struct plan_maker *maker, const struct region *region)
{
    const struct graph *graph = region->graph;
    for (int i = 0; i < graph->count; i++)
        for (int j = 0; j < graph->nodes[i]->inputs_count; j++)
            TRY(note_output(maker, graph->nodes[i]->inputs[j]));
    for (int i = 0; i < region->results_count; i++)
        TRY(note_output(maker, region->results[i]));
    for (int i = 0; i < graph->count; i++) {
        struct node *node = graph->nodes[i];
        if (node->outputs != NULL)
            continue;
        node->outputs = ARENA_ARRAY(maker->arena, struct output, node->outputs_count + 1);
        for (int k = 0; k < node->outputs_count; k++)
            node->outputs[k].shape = shape_unknown();
    }
    return status_ok();
}

static struct status check_size(struct plan_maker *maker, const struct region *region)
{
    maker->nodes_count += region->graph->count;
    if (maker->nodes_count > REGION_NODES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "the bodies of branches and loops have more than %d nodes",
                            REGION_NODES_MAX);
    return status_ok();
}

static struct status check_tensors(struct plan_maker *maker, const struct graph *body)
{
    maker->tensors_count += graph_tensors(body);
    if (maker->tensors_count > 2 * GRAPH_OUTPUTS_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "the bodies of branches and loops have more than %d inputs and outputs",
                            2 * GRAPH_OUTPUTS_MAX);
    return status_ok();
}

/* Frees the graph's heap memory when the plan is made; its nodes are in the plan's arena. */
static void keep_graph(struct plan_maker *maker, struct graph *graph)
{
    if (maker->graphs_count == maker->graphs_capacity) {
        maker->graphs_capacity = maker->graphs_capacity * 2 + 16;
        maker->graphs =
            xrealloc(maker->graphs, (size_t)maker->graphs_capacity * sizeof *maker->graphs);
    }
    maker->graphs[maker->graphs_count++] = graph;
}

struct status region_create(struct plan_maker *maker, struct region *parent,
                            const struct flatten_result *flattened,
                            const struct flatten_request *request, struct region **out)
{
    struct flatten_result flat = *flattened;
    keep_graph(maker, flat.graph);
    TRY(graph_lower(request, &flat));

    struct region *region = ARENA_NEW(maker->arena, struct region);
    region->graph = flat.graph;
    region->parent = parent;
    region->depth = parent != NULL ? parent->depth + 1 : 0;
    region->args = flat.feeds;
    region->args_count = request->feeds_count;
    region->results = flat.fetches;
    region->results_count = request->fetches_count;
    region->targets = flat.targets;
    region->targets_count = request->targets_count;
    TRY(check_size(maker, region));

    TRY(count_unknown_outputs(maker, region));
    reserve_ids(maker, region, flat.graph->count + 1);
    for (int i = 0; i < flat.graph->count; i++) {
        flat.graph->nodes[i]->id = i;
        region->ids_count = i + 1;
        create_values(maker, region, flat.graph->nodes[i]);
    }
    if (parent == NULL)
        TRY(check_feeds(region));
    *out = region;
    return status_ok();
}

bool node_is_control(const struct node *node)
{
    return op_has(node->op, OP_CONTROL);
}

bool node_is_identity(const struct node *node)
{
    return op_has(node->op, OP_IDENTITY) && node->inputs_count >= node->outputs_count;
}

/* ---- bodies ---- */

static struct status check_recursion(const struct region *region, const char *function)
{
    for (; region != NULL; region = region->parent) {
        if (region->function != NULL && strcmp(region->function, function) == 0)
            return status_error(STATUS_UNIMPLEMENTED, "function '%s' calls itself", function);
    }
    return status_ok();
}

/* For a body whose kernel knows what it takes and gives. */
#define ANY_COUNT (-1)

static struct status body_create(struct plan_maker *maker, struct region *parent,
                                 const struct node *node, const struct function_name *name,
                                 int args_count, int results_count, struct region **out)
{
    if (parent->depth >= REGION_DEPTH_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s' (%s): branches and loops are nested deeper than %d levels",
                            node->name, node->op_name, REGION_DEPTH_MAX);
    TRY(check_recursion(parent, name->name));
    struct function_body body;
    TRY(function_instantiate(parent->graph, name, maker->arena, &body));
    keep_graph(maker, body.graph);
    TRY(check_tensors(maker, body.graph));
    bool fits = args_count == ANY_COUNT ||
                (body.args_count == args_count && body.results_count == results_count);
    if (!fits)
        return status_error(
            STATUS_INVALID_ARGUMENT,
            "node '%s' (%s): function '%s' takes %d and gives %d values, wanted %d and %d",
            node->name, node->op_name, name->name, body.args_count, body.results_count, args_count,
            results_count);

    struct flatten_request request = { .feeds = body.args,
                                       .feeds_count = body.args_count,
                                       .fetches = body.results,
                                       .fetches_count = body.results_count,
                                       .targets = body.controls,
                                       .targets_count = body.controls_count };
    struct flatten_result flat;
    struct status status = graph_flatten(body.graph, &request, maker->arena, &flat);
    if (status_is_ok(status))
        status = region_create(maker, parent, &flat, &request, out);
    TRY(status_in(status, "function '%s'", name->name));
    (*out)->function = name->name;
    return status_ok();
}

/* Argument `arg` of a body is input `input` of `node`, so the facts about the input hold for it. */
static void bind(const struct region *parent, const struct node *node, int input,
                 struct region *body, int arg)
{
    const struct plan_value *from =
        region_value(parent, region_resolve(parent, node->inputs[input]));
    struct plan_value *to = region_value(body, body->args[arg]);
    to->constant = from->constant;
    to->handle = from->handle;
}

/* Is result `index` of a body its argument `index`, unchanged? */
static bool is_invariant(const struct region *body, int index)
{
    struct endpoint at = body->results[index];
    while (node_is_identity(at.node))
        at = at.node->inputs[at.index];
    return at.node == body->args[index].node && at.index == body->args[index].index;
}

static struct branches *branches_create(struct plan_maker *maker, int count, bool is_loop)
{
    struct branches *branches = ARENA_NEW(maker->arena, struct branches);
    branches->regions = ARENA_ARRAY(maker->arena, struct region *, count);
    branches->count = count;
    branches->is_loop = is_loop;
    branches->chosen = -1;
    return branches;
}

static struct status make_loop(struct plan_maker *maker, struct region *region, struct node *node,
                               struct branches **out)
{
    const struct function_name *cond, *body;
    TRY(node_attr_func(node, "cond", &cond));
    TRY(node_attr_func(node, "body", &body));
    int count = node->inputs_count;
    if (node->outputs_count != count)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): %d inputs, %d outputs",
                            node->name, node->op_name, count, node->outputs_count);

    struct branches *loop = branches_create(maker, 2, true);
    TRY(body_create(maker, region, node, cond, count, 1, &loop->regions[0]));
    TRY(body_create(maker, region, node, body, count, count, &loop->regions[1]));
    TRY(check_body(node, loop->regions[0], 0, true));
    TRY(check_body(node, loop->regions[1], 0, false));
    loop->invariant = ARENA_ARRAY(maker->arena, bool, count + 1);
    for (int i = 0; i < count; i++) {
        loop->invariant[i] = is_invariant(loop->regions[1], i);
        if (!loop->invariant[i])
            continue;
        bind(region, node, i, loop->regions[0], i);
        bind(region, node, i, loop->regions[1], i);
        region_value(region, (struct endpoint){ node, i })->same =
            region_resolve(region, node->inputs[i]);
    }
    *out = loop;
    return status_ok();
}

/* The functions of an If, then_branch first, or of a Case. */
static struct status branch_names(struct plan_maker *maker, const struct node *node,
                                  const struct function_name ***out, int *out_count)
{
    const struct function_name **names;
    if (op_has(node->op, OP_IF)) {
        names = ARENA_ARRAY(maker->arena, const struct function_name *, 2);
        TRY(node_attr_func(node, "then_branch", &names[0]));
        TRY(node_attr_func(node, "else_branch", &names[1]));
        *out_count = 2;
    } else {
        const struct attr_value *list;
        TRY(node_attr_list(node, "branches", &list));
        if (list->count == 0 || list->element_kind != ATTR_FUNC)
            return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): no branches", node->name,
                                node->op_name);
        names = ARENA_ARRAY(maker->arena, const struct function_name *, list->count);
        for (int i = 0; i < list->count; i++)
            names[i] = list->elements[i].func;
        *out_count = list->count;
    }
    *out = names;
    return status_ok();
}

static struct status make_branch(struct plan_maker *maker, struct region *region, struct node *node,
                                 struct branches **out)
{
    const struct function_name **names = NULL;
    int count = 0;
    TRY(branch_names(maker, node, &names, &count));
    if (node->inputs_count < 1)
        return status_error(STATUS_INVALID_ARGUMENT, "node '%s' (%s): no condition", node->name,
                            node->op_name);
    struct branches *branches = branches_create(maker, count, false);
    for (int i = 0; i < count; i++) {
        TRY(body_create(maker, region, node, names[i], node->inputs_count - 1, node->outputs_count,
                        &branches->regions[i]));
        TRY(check_body(node, branches->regions[i], 1, false));
        for (int j = 1; j < node->inputs_count; j++)
            bind(region, node, j, branches->regions[i], j - 1);
    }
    *out = branches;
    return status_ok();
}

/* ---- the functions that a kernel runs ---- */

/* The inputs of the node for argument `name` of its op; false: the op has no such argument. */
static bool find_inputs(const struct node *node, const char *name, int *first, int *count)
{
    *first = 0;
    for (int i = 0; i < node->op->inputs_count; i++) {
        const struct op_arg *arg = &node->op->inputs[i];
        if (!status_is_ok(argument_count(node, node->op, arg, count)))
            return false;
        if (strcmp(arg->name, name) == 0)
            return *first + *count <= node->inputs_count;
        *first += *count;
    }
    return false;
}

/* The inputs that each call of a function gets, by the names that TensorFlow gives to such
 * arguments of its ops. */
static int find_captures(struct plan_maker *maker, const struct node *node, const char *attr,
                         int *first)
{
    const char *const names[] = { arena_printf(maker->arena, "%s_other_arguments", attr),
                                  "other_arguments", "captured_inputs" };
    int count = 0;
    for (size_t i = 0; i < COUNT(names); i++)
        if (find_inputs(node, names[i], first, &count))
            return count;
    return 0;
}

static struct status make_function(struct plan_maker *maker, struct region *region,
                                   const struct node *node, const char *attr,
                                   struct branches *functions)
{
    const struct function_name *name;
    int first = 0, count = find_captures(maker, node, attr, &first);
    struct region *body;
    TRY(node_attr_func(node, attr, &name));
    TRY(body_create(maker, region, node, name, ANY_COUNT, ANY_COUNT, &body));
    TRY(check_captures(node, body, first, count));
    for (int i = 0; i < count; i++) {
        bind(region, node, first + i, body, body->args_count - count + i);
        functions->invariant[first + i] = true;
    }
    functions->captures[functions->count] = first;
    functions->captures_count[functions->count] = count;
    functions->regions[functions->count++] = body;
    return status_ok();
}

struct status region_functions(struct plan_maker *maker, struct region *region, struct node *node)
{
    const struct op *op = node->op;
    struct branches *functions = branches_create(maker, op->attrs_count, false);
    functions->invariant = ARENA_ARRAY(maker->arena, bool, node->inputs_count + 1);
    functions->captures = ARENA_ARRAY(maker->arena, int, op->attrs_count + 1);
    functions->captures_count = ARENA_ARRAY(maker->arena, int, op->attrs_count + 1);
    functions->count = 0;
    region->branches[node->id] = functions;
    for (int i = 0; i < op->attrs_count; i++)
        if (op->attrs[i].kind == ATTR_FUNC)
            TRY(make_function(maker, region, node, op->attrs[i].name, functions));
    return status_ok();
}

struct status region_branches(struct plan_maker *maker, struct region *region, struct node *node)
{
    struct branches **out = &region->branches[node->id];
    return op_has(node->op, OP_LOOP) ? make_loop(maker, region, node, out)
                                     : make_branch(maker, region, node, out);
}
