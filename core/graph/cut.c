#include "graph/cut.h"

#include <assert.h>

void cut_tables_init(struct cut_tables *tables, struct graph *graph, struct arena *scratch)
{
    int count = graph->count + 1;

    *tables = (struct cut_tables){ .graph = graph,
                                   .scratch = scratch,
                                   .arguments = ARENA_ARRAY(scratch, int *, count),
                                   .copies = ARENA_ARRAY(scratch, struct node *, count),
                                   .is_inside = ARENA_ARRAY(scratch, bool, count) };
}

void cut_begin(struct cut *cut, struct cut_tables *tables)
{
    *cut = (struct cut){ .tables = tables };
}

void cut_end(struct cut *cut)
{
    for (int i = 0; i < cut->marked_count; i++)
        cut->tables->arguments[cut->marked[i].node->id][cut->marked[i].index] = 0;
}

/* Makes room for one more element of an array in the scratch arena. */
#define GROW(cut, array)                                                                 \
    do {                                                                                 \
        if ((cut)->array##_count < (cut)->array##_capacity)                              \
            break;                                                                       \
        (cut)->array##_capacity = 2 * (cut)->array##_capacity + 8;                       \
        (cut)->array = grown((cut)->tables->scratch, (cut)->array, sizeof *(cut)->array, \
                             (cut)->array##_count, (cut)->array##_capacity);             \
    } while (0)

static void *grown(struct arena *arena, const void *array, size_t element, int count, int capacity)
{
    void *larger = arena_array(arena, element, (size_t)capacity);

    if (count > 0)
        memcpy(larger, array, element * (size_t)count);
    return larger;
}

/* ---- arguments ---- */

static int *entry_of(const struct cut *cut, struct endpoint endpoint)
{
    int **row = &cut->tables->arguments[endpoint.node->id];

    if (*row == NULL)
        *row = ARENA_ARRAY(cut->tables->scratch, int, endpoint.node->outputs_count + 1);
    return &(*row)[endpoint.index];
}

static struct status check_typed(struct endpoint endpoint)
{
    if (endpoint_dtype(endpoint) != DT_INVALID)
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED, "op '%s' of node '%s' is not implemented",
                        endpoint.node->op_name, endpoint.node->name);
}

static void mark(struct cut *cut, struct endpoint endpoint, int entry)
{
    GROW(cut, marked);
    cut->marked[cut->marked_count++] = endpoint;
    *entry_of(cut, endpoint) = entry;
}

static bool is_reference(struct endpoint endpoint)
{
    return endpoint.node->outputs[endpoint.index].is_ref;
}

/* The variable of a reference: through Switch, Enter, Assign and the like, whose first input is
 * the reference that they give. */
static struct status find_variable(const struct cut *cut, struct endpoint reference,
                                   struct node **out)
{
    struct endpoint at = reference;

    for (int steps = 0; steps <= cut->tables->graph->count; steps++) {
        bool is_source = at.node->inputs_count == 0;
        if (is_source && op_has(at.node->op, OP_MAKES))
            break; /* a copy of the node would make another variable */
        if (is_source) {
            *out = at.node;
            return status_ok();
        }
        at = at.node->inputs[0];
        if (endpoint_dtype(at) == DT_INVALID || !is_reference(at))
            break;
    }
    return status_error(STATUS_UNIMPLEMENTED,
                        "node '%s' (%s): a reference to a variable that only a run knows is not "
                        "implemented in a branch or loop",
                        reference.node->name, reference.node->op_name);
}

static struct status add_variable(struct cut *cut, struct endpoint inside, struct endpoint source)
{
    struct node *variable;
    int at = 0;

    TRY(find_variable(cut, source, &variable));
    while (at < cut->variables_count && cut->variables[at] != variable)
        at++;
    if (at == cut->variables_count) {
        GROW(cut, variables);
        cut->variables[cut->variables_count++] = variable;
    }
    if (source.node != variable)
        cut_wait(cut, source.node);
    mark(cut, inside, -1 - at);
    return status_ok();
}

struct status cut_argument(struct cut *cut, struct endpoint inside, struct endpoint source)
{
    TRY(check_typed(inside));
    if (is_reference(inside)) {
        TRY(check_typed(source));
        return add_variable(cut, inside, source);
    }
    if (cut->sources_count == cut->sources_capacity) {
        struct arena *scratch = cut->tables->scratch;
        int capacity = 2 * cut->sources_capacity + 8;
        cut->sources =
            grown(scratch, cut->sources, sizeof *cut->sources, cut->sources_count, capacity);
        cut->dtypes =
            grown(scratch, cut->dtypes, sizeof *cut->dtypes, cut->sources_count, capacity);
        cut->sources_capacity = capacity;
    }
    cut->dtypes[cut->sources_count] = endpoint_dtype(inside);
    cut->sources[cut->sources_count++] = source;
    mark(cut, inside, cut->sources_count);
    return status_ok();
}

struct status cut_alias(struct cut *cut, struct endpoint inside, struct endpoint same)
{
    TRY(check_typed(inside));
    mark(cut, inside, *entry_of(cut, same));
    return status_ok();
}

void cut_wait(struct cut *cut, struct node *control)
{
    GROW(cut, controls);
    cut->controls[cut->controls_count++] = control;
}

static void set_inside(struct cut *cut, const struct cut_body *body, bool value)
{
    for (int i = 0; i < body->nodes_count; i++)
        cut->tables->is_inside[body->nodes[i]->id] = value;
}

static struct status capture(struct cut *cut, struct endpoint used)
{
    if (used.node == NULL || cut->tables->is_inside[used.node->id])
        return status_ok();
    TRY(check_typed(used));
    if (*entry_of(cut, used) != 0)
        return status_ok();
    return cut_argument(cut, used, used);
}

struct status cut_capture(struct cut *cut, const struct cut_body *body)
{
    struct status status = status_ok();

    set_inside(cut, body, true);
    for (int i = 0; i < body->nodes_count && status_is_ok(status); i++) {
        const struct node *node = body->nodes[i];
        for (int k = 0; k < node->inputs_count && status_is_ok(status); k++)
            status = capture(cut, node->inputs[k]);
        for (int k = 0; k < node->controls_count; k++)
            if (!cut->tables->is_inside[node->controls[k]->id])
                cut_wait(cut, node->controls[k]);
        cut->stateful |= node->op == NULL || op_has(node->op, OP_STATEFUL);
    }
    for (int i = 0; i < body->results_count && status_is_ok(status); i++)
        status = capture(cut, body->results[i]);
    set_inside(cut, body, false);
    return status;
}

/* ---- the function ---- */

struct cutting {
    const struct cut *cut;
    const struct cut_body *from;
    struct function_body body;
    struct builder builder;
    struct node **variables; /* made at their first use */
};

/* Attributes stay those of the node in the graph, which a body may share. */
static struct status copy_node(struct cutting *cutting, const struct node *from, struct node **out)
{
    struct graph *graph = cutting->body.graph;
    const char *name = from->name;
    struct node *to;

    for (unsigned i = 1; graph_find(graph, name) != NULL; i++) /* an argument has this name */
        name = arena_printf(graph->arena, "%s_%u", from->name, i);
    TRY(graph_add(graph, from->op_name, name, &to));
    to->device = from->device;
    to->attrs = from->attrs;
    to->attrs_count = to->attrs_capacity = from->attrs_count;
    to->outputs = from->outputs;
    to->outputs_count = from->outputs_count;
    *out = to;
    return status_ok();
}

/* A variable without a shared name goes by the name of its node. */
static struct status copy_variable(struct cutting *cutting, int index, struct node **out)
{
    const struct node *variable = cutting->cut->variables[index];
    struct node **copy = &cutting->variables[index];
    const struct attr_value *name = node_attr(variable, "shared_name");

    if (*copy == NULL) {
        TRY(copy_node(cutting, variable, copy));
        if (name != NULL && name->kind == ATTR_STRING && name->s.size == 0) {
            struct attr attr = attr_text("shared_name", variable->name);
            node_own_attrs(cutting->body.graph, *copy);
            node_set_attr(cutting->body.graph, *copy, &attr);
        }
    }
    *out = *copy;
    return status_ok();
}

static struct status map_endpoint(struct cutting *cutting, struct endpoint from,
                                  struct endpoint *out)
{
    if (from.node == NULL) {
        *out = build_const_int(&cutting->builder, from.index);
        return builder_status(&cutting->builder);
    }
    struct node *copy = cutting->cut->tables->copies[from.node->id];
    if (copy != NULL) {
        *out = (struct endpoint){ copy, from.index };
        return status_ok();
    }
    int entry = *entry_of(cutting->cut, from);
    assert(entry != 0); /* cut_capture has seen all that the body uses */
    if (entry > 0) {
        *out = cutting->body.args[entry - 1];
        return status_ok();
    }
    *out = (struct endpoint){ NULL, 0 };
    return copy_variable(cutting, -1 - entry, &out->node);
}

static struct status add_arguments(struct cutting *cutting)
{
    const struct cut *cut = cutting->cut;

    cutting->body.args = ARENA_ARRAY(cut->tables->scratch, struct endpoint, cut->sources_count + 1);
    for (int i = 0; i < cut->sources_count; i++)
        function_add_arg(&cutting->builder, &cutting->body, cut->dtypes[i],
                         endpoint_shape(cut->sources[i]));
    return builder_status(&cutting->builder);
}

/* Control edges from nodes outside hold for the caller. */
static struct status add_edges(struct cutting *cutting, const struct node *from, bool *is_used)
{
    const struct cut_tables *tables = cutting->cut->tables;
    struct graph *graph = cutting->body.graph;
    struct node *to = tables->copies[from->id];

    for (int i = 0; i < from->inputs_count; i++) {
        struct endpoint input;
        TRY(map_endpoint(cutting, from->inputs[i], &input));
        node_add_input(graph, to, input);
        is_used[input.node->id] = true;
    }
    for (int i = 0; i < from->controls_count; i++) {
        struct node *control = tables->copies[from->controls[i]->id];
        if (control == NULL)
            continue;
        node_add_control(graph, to, control);
        is_used[control->id] = true;
    }
    return status_ok();
}

static void add_sinks(struct cutting *cutting, const bool *is_used)
{
    const struct cut_body *from = cutting->from;
    struct function_body *body = &cutting->body;

    body->controls =
        ARENA_ARRAY(cutting->cut->tables->scratch, struct node *, from->nodes_count + 1);
    for (int i = 0; i < from->nodes_count; i++) {
        struct node *node = cutting->cut->tables->copies[from->nodes[i]->id];
        if (!is_used[node->id])
            body->controls[body->controls_count++] = node;
    }
}

static struct status fill(struct cutting *cutting)
{
    const struct cut *cut = cutting->cut;
    const struct cut_body *from = cutting->from;
    struct function_body *body = &cutting->body;
    struct arena *scratch = cut->tables->scratch;

    TRY(add_arguments(cutting));
    for (int i = 0; i < from->nodes_count; i++)
        TRY(copy_node(cutting, from->nodes[i], &cut->tables->copies[from->nodes[i]->id]));
    /* variables and constants may be added to the copies */
    int nodes_max = body->graph->count + cut->variables_count + from->results_count;
    bool *is_used = ARENA_ARRAY(scratch, bool, nodes_max + 1);
    for (int i = 0; i < from->nodes_count; i++)
        TRY(add_edges(cutting, from->nodes[i], is_used));
    body->results = ARENA_ARRAY(scratch, struct endpoint, from->results_count + 1);
    for (int i = 0; i < from->results_count; i++) {
        struct endpoint *result = &body->results[body->results_count++];
        TRY(map_endpoint(cutting, from->results[i], result));
        is_used[result->node->id] = true;
    }
    if (from->runs_sinks)
        add_sinks(cutting, is_used);
    return status_ok();
}

struct status cut_function(struct cut *cut, const struct cut_body *body, const char *wanted,
                           const char **out)
{
    struct graph *graph = cut->tables->graph;
    struct arena *scratch = cut->tables->scratch;
    struct cutting cutting = { .cut = cut, .from = body };

    cutting.body.graph = graph_create(graph->arena);
    cutting.body.graph->library = graph->library;
    cutting.builder = builder_init(cutting.body.graph);
    cutting.variables = ARENA_ARRAY(scratch, struct node *, cut->variables_count + 1);
    struct status status = fill(&cutting);
    if (status_is_ok(status))
        status = function_add(graph, wanted, &cutting.body, out);
    for (int i = 0; i < body->nodes_count; i++)
        cut->tables->copies[body->nodes[i]->id] = NULL;
    return status;
}
