#include "savedmodel/trainable/trainable_reads.h"

#include "graph/function.h"
#include "graph/prune.h"
#include "savedmodel/restore_graph.h"

/* ---- nodes that read ---- */

void variable_reads_begin(struct variable_reads *reads, int handles_max)
{
    struct arena *arena = reads->builder.graph->arena;

    reads->count = reads->builder.graph->count;
    reads->images = ARENA_ARRAY(arena, struct endpoint, reads->count + 1);
    reads->handles = ARENA_ARRAY(arena, struct variable_handle, handles_max + 1);
    reads->handles_count = 0;
}

void variable_reads_add(struct variable_reads *reads, const struct node *handle, int variable)
{
    reads->handles[reads->handles_count++] = (struct variable_handle){ handle, variable };
}

int variable_reads_find(const struct variable_reads *reads, struct endpoint endpoint)
{
    int index;
    const struct node *node = skip_identity(endpoint, &index);

    if (index != 0 || node->outputs_count == 0 ||
        (node->outputs[0].dtype != DT_RESOURCE && !node->outputs[0].is_ref))
        return -1;
    for (int i = 0; i < reads->handles_count; i++)
        if (reads->handles[i].node == node)
            return reads->handles[i].variable;
    return -1;
}

static struct endpoint gather(struct variable_reads *reads, const struct node *node,
                              struct endpoint table)
{
    int64_t batch_dims = node_attr_int_or_0(node, "batch_dims");
    struct builder *b = &reads->builder;
    const struct endpoint inputs[] = { table, node->inputs[1],
                                       build_const_int(b, (int32_t)batch_dims) };

    return build(b, "GatherV2", node->name, 3, inputs,
                 (const struct attr[]){ attr_int("batch_dims", batch_dims), ATTR_END });
}

static struct endpoint shape_of_value(struct variable_reads *reads, const struct node *node,
                                      struct endpoint value)
{
    enum dtype dtype = DT_INT32;

    status_ignore(node_attr_type(node, "out_type", &dtype)); /* absent: the default */
    return build(&reads->builder, "Shape", node->name, 1, &value,
                 (const struct attr[]){ attr_type("out_type", dtype), ATTR_END });
}

/* The replacement of a node that reads a variable; a null node: it does not read one. */
static struct endpoint replacement(struct variable_reads *reads, struct node *node)
{
    int variable = node->inputs_count > 0 ? variable_reads_find(reads, node->inputs[0]) : -1;

    if (node_is_handle(node) && strcmp(node->op_name, "VarHandleOp") != 0) { /* a reference */
        int own = variable_reads_find(reads, (struct endpoint){ node, 0 });
        return own >= 0 ? reads->values[own] : (struct endpoint){ 0 };
    }
    if (variable < 0)
        return (struct endpoint){ 0 };
    if (strcmp(node->op_name, "ReadVariableOp") == 0)
        return reads->values[variable];
    if (strcmp(node->op_name, "ResourceGather") == 0)
        return gather(reads, node, reads->values[variable]);
    if (strcmp(node->op_name, "VariableShape") == 0)
        return shape_of_value(reads, node, reads->values[variable]);
    return (struct endpoint){ 0 };
}

static bool is_replaced(const struct variable_reads *reads, const struct node *node)
{
    return node->id < reads->count && reads->images[node->id].node != NULL;
}

struct endpoint variable_reads_image(const struct variable_reads *reads, struct endpoint endpoint)
{
    while (endpoint.index == 0 && is_replaced(reads, endpoint.node))
        endpoint = reads->images[endpoint.node->id];
    return endpoint;
}

static void rewire(const struct variable_reads *reads, struct node *node)
{
    int kept = 0;

    for (int i = 0; i < node->inputs_count; i++)
        node->inputs[i] = variable_reads_image(reads, node->inputs[i]);
    /* The order of reads does not matter: nothing writes. */
    for (int i = 0; i < node->controls_count; i++)
        if (!is_replaced(reads, node->controls[i]) && !node_is_handle(node->controls[i]))
            node->controls[kept++] = node->controls[i];
    node->controls_count = kept;
}

struct status variable_reads_check(const struct variable_reads *reads)
{
    const struct graph *graph = reads->builder.graph;

    for (int i = 0; i < graph->count; i++)
        for (int k = 0; k < graph->nodes[i]->inputs_count; k++) {
            const struct node *node = graph->nodes[i];
            int variable = variable_reads_find(reads, node->inputs[k]);
            if (variable >= 0 && strcmp(node->op_name, "Identity") != 0)
                return status_error(STATUS_UNIMPLEMENTED,
                                    "node '%s' (%s) uses the variable '%s' in a way that cannot be "
                                    "trained",
                                    node->name, node->op_name,
                                    reads->trainable->variables[variable].name);
        }
    return status_ok();
}

/* ---- functions of loops and branches ---- */

/* A function whose arguments become values instead of handles. */
struct captures {
    struct variable_reads *caller;
    struct node *node; /* the loop or branch */
    int first;         /* index of the input that is argument 0, which follows the condition of a
                        * branch */
    int count;         /* arguments */
};

/* The body with calls inlined, with placeholders for its arguments in out->args. */
static struct status flatten_body(const struct captures *captures, const struct function_name *name,
                                  struct function_body *out)
{
    const struct graph *graph = captures->caller->builder.graph;
    struct flatten_result flat;
    struct function_body body;

    TRY(function_instantiate(graph, name, graph->arena, &body));
    if (body.args_count != captures->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s': function '%s' has %d arguments, expected %d",
                            captures->node->name, name->name, body.args_count, captures->count);
    const struct flatten_request request = { .feeds = body.args,
                                             .feeds_count = body.args_count,
                                             .fetches = body.results,
                                             .fetches_count = body.results_count };
    TRY(graph_flatten(body.graph, &request, graph->arena, &flat));
    *out = (struct function_body){ .graph = flat.graph,
                                   .args = flat.feeds,
                                   .args_count = body.args_count,
                                   .results = flat.fetches,
                                   .results_count = body.results_count };
    return status_ok();
}

/* Turns the placeholders into arguments: values for those that were handles. */
static void replace_args(const struct captures *captures, struct function_body *body,
                         struct variable_reads *reads)
{
    const struct variable_reads *caller = captures->caller;
    struct arena *arena = body->graph->arena;
    struct endpoint *placeholders = body->args;
    const struct shape unknown = shape_unknown();

    body->args = ARENA_ARRAY(arena, struct endpoint, captures->count + 1);
    body->args_count = 0;
    for (int i = 0; i < captures->count; i++) {
        int v = variable_reads_find(caller, captures->node->inputs[captures->first + i]);
        const struct trainable_variable *variable = v >= 0 ? &reads->trainable->variables[v] : NULL;
        struct endpoint arg = function_add_arg(
            &reads->builder, body, v >= 0 ? variable->dtype : endpoint_dtype(placeholders[i]),
            v >= 0 ? &variable->shape : &unknown);
        if (v < 0) {
            reads->images[placeholders[i].node->id] = arg;
            continue;
        }
        variable_reads_add(reads, placeholders[i].node, v);
        reads->values[v] = arg;
    }
}

/* A loop returns the handles that it takes; returning anything else is an error. */
static struct status replace_results(const struct captures *captures,
                                     const struct variable_reads *reads, struct function_body *body)
{
    for (int i = 0; i < body->results_count; i++) {
        int variable = variable_reads_find(reads, body->results[i]);
        bool same = op_has(captures->node->op, OP_LOOP) && i < captures->count &&
                    variable == variable_reads_find(captures->caller, captures->node->inputs[i]);
        if (variable >= 0 && !same)
            return status_error(STATUS_UNIMPLEMENTED,
                                "node '%s' (%s) returns the variable '%s' as another value",
                                captures->node->name, captures->node->op_name,
                                reads->trainable->variables[variable].name);
        body->results[i] =
            variable >= 0 ? reads->values[variable] : variable_reads_image(reads, body->results[i]);
    }
    return status_ok();
}

static void prune_body(const struct function_body *body)
{
    struct arena *scratch = arena_create(0);
    struct node **kept =
        ARENA_ARRAY(scratch, struct node *, body->args_count + body->results_count + 1);
    int count = 0;

    for (int i = 0; i < body->args_count; i++)
        kept[count++] = body->args[i].node;
    for (int i = 0; i < body->results_count; i++)
        kept[count++] = body->results[i].node;
    graph_prune(body->graph, kept, count, scratch);
    arena_destroy(scratch);
}

/* Nodes of a function that are variables themselves have no value here. */
static struct status check_body(const struct variable_reads *reads)
{
    const struct graph *graph = reads->builder.graph;

    for (int i = 0; i < graph->count; i++)
        if (node_is_handle(graph->nodes[i]))
            return status_error(
                STATUS_UNIMPLEMENTED,
                "node '%s' (%s) is a variable inside a function of a loop or branch",
                graph->nodes[i]->name, graph->nodes[i]->op_name);
    return variable_reads_check(reads);
}

#define FUNCTION_DEPTH_MAX    64
#define FUNCTIONS_WRITTEN_MAX 1000

/* May the body of this function be rewritten? Functions of a damaged file may call themselves,
 * or each other so often that their bodies double at every level. */
static struct status check_calls(struct variable_reads *caller, const char *function)
{
    struct variable_reads *root = caller;
    int depth = 0;

    for (struct variable_reads *at = caller; at != NULL; at = at->caller, depth++) {
        if (at->function != NULL && strcmp(at->function, function) == 0)
            return status_error(STATUS_UNIMPLEMENTED, "function '%s' calls itself", function);
        root = at;
    }
    if (depth > FUNCTION_DEPTH_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "branches and loops are nested deeper than %d levels",
                            FUNCTION_DEPTH_MAX);
    if (++root->functions_written > FUNCTIONS_WRITTEN_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "more than %d functions of branches and loops", FUNCTIONS_WRITTEN_MAX);
    return status_ok();
}

static struct status replace_in_function(const struct captures *captures,
                                         const struct function_name *name, const char **out)
{
    struct variable_reads *caller = captures->caller;
    struct graph *graph = caller->builder.graph;
    struct function_body body;

    TRY(check_calls(caller, name->name));
    TRY(flatten_body(captures, name, &body));
    struct variable_reads reads = {
        .caller = caller,
        .function = name->name,
        .trainable = caller->trainable,
        .builder = builder_init(body.graph),
        .values =
            ARENA_ARRAY(graph->arena, struct endpoint, caller->trainable->variables_count + 1),
    };
    variable_reads_begin(&reads, captures->count);
    replace_args(captures, &body, &reads);
    TRY(variable_reads_replace(&reads));
    TRY(replace_results(captures, &reads, &body));
    prune_body(&body);
    TRY(check_body(&reads));
    return function_add(graph, arena_printf(graph->arena, "%s_values", name->name), &body, out);
}

/* Replaces the functions in an attribute by those that take values. */
static struct status replace_in_attr(const struct captures *captures, struct attr *attr)
{
    struct variable_reads *caller = captures->caller;
    struct arena *arena = caller->builder.graph->arena;
    struct attr_value *value = &attr->value;
    const char *name;

    if (value->kind == ATTR_FUNC) {
        TRY(replace_in_function(captures, value->func, &name));
        value->func = attr_function(&caller->builder, attr->name, name).value.func;
    }
    if (value->kind != ATTR_LIST || value->element_kind != ATTR_FUNC)
        return status_ok();
    struct attr_value *elements = ARENA_ARRAY(arena, struct attr_value, value->count + 1);
    for (int i = 0; i < value->count; i++) {
        TRY(replace_in_function(captures, value->elements[i].func, &name));
        elements[i] = attr_function(&caller->builder, attr->name, name).value;
    }
    value->elements = elements;
    return status_ok();
}

/* Sets the declared shapes of a loop's outputs to those of values instead of handles. */
static void set_shapes(const struct captures *captures)
{
    struct variable_reads *caller = captures->caller;
    struct node *node = captures->node;
    const struct attr_value *declared = node_attr(node, "output_shapes");
    struct graph *graph = caller->builder.graph;

    if (declared == NULL || declared->kind != ATTR_LIST || declared->count != captures->count)
        return;
    struct shape *shapes = ARENA_ARRAY(graph->arena, struct shape, declared->count + 1);
    for (int i = 0; i < declared->count; i++) {
        int v = variable_reads_find(caller, node->inputs[i]);
        shapes[i] = v >= 0 ? caller->trainable->variables[v].shape : *declared->elements[i].shape;
    }
    const struct attr attr =
        attr_shapes(&caller->builder, "output_shapes", declared->count, shapes);
    node_set_attr(graph, node, &attr);
}

/* Makes the node take values, and a loop return them. */
static void replace_inputs(const struct captures *captures)
{
    struct variable_reads *caller = captures->caller;
    struct node *node = captures->node;
    struct graph *graph = caller->builder.graph;
    bool loop = op_has(node->op, OP_LOOP);
    enum dtype *types = ARENA_ARRAY(graph->arena, enum dtype, captures->count + 1);
    struct output *outputs = ARENA_ARRAY(graph->arena, struct output, node->outputs_count + 1);

    if (node->outputs_count > 0)
        memcpy(outputs, node->outputs, (size_t)node->outputs_count * sizeof *outputs);
    if (loop)
        set_shapes(captures);
    for (int i = 0; i < captures->count; i++) {
        struct endpoint *input = &node->inputs[captures->first + i];
        int v = variable_reads_find(caller, *input);
        if (v >= 0)
            *input = caller->values[v];
        types[i] = endpoint_dtype(*input);
        if (v >= 0 && loop && i < node->outputs_count)
            outputs[i] = (struct output){ .dtype = types[i], .shape = *endpoint_shape(*input) };
    }
    node->outputs = outputs;
    const struct attr attr =
        attr_types(&caller->builder, loop ? "T" : "Tin", captures->count, types);
    node_set_attr(graph, node, &attr);
}

static struct status replace_in_node(struct variable_reads *reads, struct node *node)
{
    const int first = op_has(node->op, OP_LOOP) ? 0 : 1;
    const struct captures captures = {
        .caller = reads, .node = node, .first = first, .count = node->inputs_count - first
    };

    node_own_attrs(reads->builder.graph, node);
    for (int i = 0; i < node->attrs_count; i++)
        TRY(status_in(replace_in_attr(&captures, &node->attrs[i]), "node '%s' (%s)", node->name,
                      node->op_name));
    replace_inputs(&captures);
    return status_ok();
}

struct status variable_reads_replace(struct variable_reads *reads)
{
    struct graph *graph = reads->builder.graph;

    for (int i = 0; i < reads->count; i++)
        if (reads->images[i].node == NULL)
            reads->images[i] = replacement(reads, graph->nodes[i]);
    for (int i = 0; i < reads->count; i++)
        if (op_has(graph->nodes[i]->op, OP_CONTROL))
            TRY(replace_in_node(reads, graph->nodes[i]));
    for (int i = 0; i < graph->count; i++)
        rewire(reads, graph->nodes[i]);
    return builder_status(&reads->builder);
}
