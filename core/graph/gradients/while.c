/*
 * Gradient of While, as TensorFlow's while_v2.py writes it: a second loop runs the iterations
 * backwards. Each iteration of the first loop pushes the values that the gradient of its body needs
 * onto lists, from which the second loop pops them.
 *
 *     forward   … carried values, count, lists        body: … , count + 1, push(list, value)
 *     backward  d carried values, lists               body: gradient nodes over pop(list)
 *
 * A value that is the same in all iterations (a constant, or a carried value that the body returns
 * unchanged) is not pushed: the second loop carries it.
 */
#include "graph/gradients/while.h"
#include "graph/while_loop.h"

/* ---- the body and its gradient ---- */

static bool is_unchanged(const struct function_body *body, int i)
{
    return body->results[i].node == body->args[i].node;
}

/* Widens a shape where iterations differ: where an argument and its result have different
 * shapes. */
static bool widen_shape(struct shape *shape, const struct shape *result)
{
    bool changed = false;

    if (shape->rank != result->rank) {
        changed = shape->rank >= 0;
        *shape = shape_unknown();
        return changed;
    }
    for (int d = 0; d < shape->rank; d++)
        if (shape->dims[d] != result->dims[d] && shape->dims[d] >= 0) {
            shape->dims[d] = -1;
            changed = true;
        }
    return changed;
}

static struct status infer_body(const struct loop_gradient *g, struct function_body *body)
{
    for (int i = 0; i < g->count; i++)
        body->args[i].node->outputs[0].shape = *endpoint_shape(g->loop->inputs[i]);
    for (bool changed = true; changed;) {
        changed = false;
        TRY(graph_infer(body->graph));
        for (int i = 0; i < g->count; i++)
            changed = widen_shape(&body->args[i].node->outputs[0].shape,
                                  endpoint_shape(body->results[i])) ||
                      changed;
    }
    return status_ok();
}

static struct status instantiate(const struct loop_gradient *g, struct function_body *out)
{
    const struct function_name *name;

    TRY(node_attr_func(g->loop, "body", &name));
    TRY(function_instantiate(g->c->builder->graph, name, g->arena, out));
    if (out->args_count != g->count || out->results_count != g->count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s': its body has %d arguments and %d results, expected %d",
                            g->loop->name, out->args_count, out->results_count, g->count);
    return infer_body(g, out);
}

/* Adds the gradient of the body, from placeholders for the gradients of its results. */
static struct status differentiate(struct loop_gradient *g)
{
    struct endpoint *ys = ARENA_ARRAY(g->arena, struct endpoint, g->count);
    struct endpoint *dys = ARENA_ARRAY(g->arena, struct endpoint, g->count);

    TRY(instantiate(g, &g->body));
    g->forward_count = g->body.graph->count;
    g->inner = builder_init(g->body.graph);
    g->given = ARENA_ARRAY(g->arena, struct endpoint, g->count);
    g->found = ARENA_ARRAY(g->arena, struct endpoint, g->count);
    int seeds = 0;
    for (int i = 0; i < g->count; i++) {
        if (!g->flows[i])
            continue;
        g->given[i] = build_placeholder(&g->inner, "gradient", endpoint_dtype(g->body.args[i]),
                                        *endpoint_shape(g->body.results[i]));
        ys[seeds] = g->body.results[i];
        dys[seeds++] = g->given[i];
    }
    TRY(builder_status(&g->inner));
    return graph_gradients_from(&g->inner, seeds, ys, dys, g->count, g->body.args, g->found);
}

/* May the gradient of this carried value be omitted, because it is a constant of the loop whose
 * gradient is not wanted? */
static bool is_unwanted(const struct loop_gradient *g, int i)
{
    return is_unchanged(&g->body, i) && !g->c->wanted[i];
}

/* Finds the carried values through which gradients flow: those whose last value has one, and those
 * that such values depend on. Leaves the body with the gradient for all of them. */
static struct status find_flows(struct loop_gradient *g)
{
    for (int i = 0; i < g->count; i++)
        g->flows[i] = g->c->outputs[i].node != NULL;
    for (bool changed = true; changed;) {
        changed = false;
        TRY(differentiate(g));
        for (int i = 0; i < g->count; i++)
            if (g->found[i].node != NULL && !g->flows[i] && !is_unwanted(g, i))
                changed = g->flows[i] = true;
    }
    return status_ok();
}

/* ---- the values that the forward body computes ---- */

static bool asks_for_shape(const struct node *node)
{
    return strcmp(node->op_name, "Shape") == 0 || strcmp(node->op_name, "Size") == 0;
}

/* Marks the nodes that the forward body needs: its own, those that the gradient of an inner loop
 * has added, and shapes, which are smaller than the tensors that they describe. */
static void mark_forward(struct loop_gradient *g)
{
    const struct graph *graph = g->body.graph;

    g->is_forward = ARENA_ARRAY(g->arena, bool, graph->count);
    for (int i = 0; i < g->forward_count; i++)
        g->is_forward[i] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < graph->count; i++) {
            const struct node *node = graph->nodes[i];
            if (!g->is_forward[i] && asks_for_shape(node) &&
                g->is_forward[node->inputs[0].node->id])
                g->is_forward[i] = changed = true;
            for (int k = 0; k < node->inputs_count && g->is_forward[i]; k++)
                if (!g->is_forward[node->inputs[k].node->id])
                    g->is_forward[node->inputs[k].node->id] = changed = true;
        }
    }
}

/* The carried value that equals an endpoint in all iterations; -1: none. */
static int unchanged_value(const struct loop_gradient *g, struct endpoint endpoint)
{
    for (int i = 0; i < g->count; i++)
        if (g->body.args[i].node == endpoint.node && is_unchanged(&g->body, i))
            return i;
    return -1;
}

struct taken *while_find_taken(const struct loop_gradient *g, struct endpoint value)
{
    for (int i = 0; i < g->taken_count; i++)
        if (g->taken[i].value.node == value.node && g->taken[i].value.index == value.index)
            return &g->taken[i];
    return NULL;
}

static void add_taken(struct loop_gradient *g, struct endpoint value)
{
    if (while_find_taken(g, value) != NULL)
        return;
    if (g->taken_count == g->taken_capacity) {
        g->taken_capacity = 2 * g->taken_capacity + 8;
        struct taken *larger = ARENA_ARRAY(g->arena, struct taken, g->taken_capacity);
        if (g->taken_count > 0)
            memcpy(larger, g->taken, (size_t)g->taken_count * sizeof *larger);
        g->taken = larger;
    }
    g->taken[g->taken_count++] =
        (struct taken){ .value = value, .carried = unchanged_value(g, value) };
}

static bool is_const(const struct node *node)
{
    return strcmp(node->op_name, "Const") == 0;
}

static bool is_given(const struct loop_gradient *g, const struct node *node)
{
    for (int i = 0; i < g->count; i++)
        if (g->flows[i] && g->given[i].node == node)
            return true;
    return false;
}

/* The backward body needs the value: a node of the gradient, or a forward value. */
static void take(struct loop_gradient *g, struct endpoint value)
{
    if (!g->is_forward[value.node->id])
        g->is_copied[value.node->id] = !is_given(g, value.node);
    else if (!is_const(value.node))
        add_taken(g, value);
}

/* Lists what the backward body needs. In the gradient, a node comes after its inputs. */
static void list_taken(struct loop_gradient *g)
{
    const struct graph *graph = g->body.graph;

    g->gradient_end = graph->count;
    g->is_copied = ARENA_ARRAY(g->arena, bool, graph->count);
    for (int i = 0; i < g->count; i++)
        if (g->flows[i] && g->found[i].node != NULL)
            take(g, g->found[i]);
    for (int id = graph->count - 1; id >= 0; id--)
        for (int k = 0; k < graph->nodes[id]->inputs_count && g->is_copied[id]; k++)
            take(g, graph->nodes[id]->inputs[k]);
}

/* ---- the forward loop, with the count and the lists ---- */

static int pushed_count(const struct loop_gradient *g)
{
    int count = 0;

    for (int i = 0; i < g->taken_count; i++)
        count += g->taken[i].carried < 0;
    return count;
}

/* Room for more arguments and results. */
static void extend(struct arena *arena, struct function_body *body, int room)
{
    struct endpoint *args = ARENA_ARRAY(arena, struct endpoint, body->args_count + room);
    struct endpoint *results = ARENA_ARRAY(arena, struct endpoint, body->results_count + room);

    memcpy(args, body->args, (size_t)body->args_count * sizeof *args);
    memcpy(results, body->results, (size_t)body->results_count * sizeof *results);
    body->args = args;
    body->results = results;
}

static struct status add_forward_body(struct loop_gradient *g, const char **out)
{
    struct function_body body = g->body;
    struct graph *graph = body.graph, only = *graph;
    struct builder *b = &g->inner;
    const struct shape scalar = shape_scalar();

    extend(g->arena, &body, 1 + pushed_count(g));
    struct endpoint count = function_add_arg(b, &body, DT_INT32, &scalar);
    body.results[body.results_count++] =
        build_binary(b, "AddV2", NULL, count, build_const_int(b, 1));
    for (int i = 0; i < g->taken_count; i++) {
        if (g->taken[i].carried >= 0)
            continue;
        struct endpoint list = function_add_arg(b, &body, DT_VARIANT, &scalar);
        body.results[body.results_count++] =
            build_binary(b, "TensorListPushBack", NULL, list, g->taken[i].value);
    }
    TRY(builder_status(b));
    only.nodes = ARENA_ARRAY(g->arena, struct node *, graph->count);
    only.count = 0;
    for (int i = 0; i < graph->count; i++)
        if (i >= g->gradient_end || g->is_forward[i])
            only.nodes[only.count++] = graph->nodes[i];
    body.graph = &only;
    return function_add(g->c->builder->graph,
                        while_loop_function_name(g->arena, g->loop->name, "forward"), &body, out);
}

/* The condition with as many arguments as the forward body. */
static struct status add_forward_cond(const struct loop_gradient *g, const char **out)
{
    struct graph *graph = g->c->builder->graph;
    const struct function_name *name;
    const struct shape scalar = shape_scalar();
    struct function_body body;

    TRY(node_attr_func(g->loop, "cond", &name));
    TRY(function_instantiate(graph, name, g->arena, &body));
    extend(g->arena, &body, 1 + pushed_count(g));
    struct builder b = builder_init(body.graph);
    function_add_arg(&b, &body, DT_INT32, &scalar);
    for (int i = 0; i < pushed_count(g); i++)
        function_add_arg(&b, &body, DT_VARIANT, &scalar);
    TRY(builder_status(&b));
    return function_add(graph, while_loop_function_name(g->arena, g->loop->name, "cond"), &body,
                        out);
}

static struct endpoint empty_list(struct builder *b, enum dtype dtype)
{
    const struct endpoint inputs[] = { build_const_int(b, -1), build_const_int(b, -1) };

    return build(b, "EmptyTensorList", NULL, 2, inputs,
                 (const struct attr[]){ attr_type("element_dtype", dtype), ATTR_END });
}

/* Adds a carried value to the loop node. */
static void append_input(struct loop_gradient *g, struct endpoint input)
{
    struct node *loop = g->loop;
    struct output *outputs = ARENA_ARRAY(g->arena, struct output, loop->outputs_count + 1);

    node_add_input(g->c->builder->graph, loop, input);
    memcpy(outputs, loop->outputs, (size_t)loop->outputs_count * sizeof *outputs);
    outputs[loop->outputs_count++] =
        (struct output){ .dtype = endpoint_dtype(input), .shape = *endpoint_shape(input) };
    loop->outputs = outputs;
}

static void set_attrs(struct loop_gradient *g, const char *cond, const char *body)
{
    struct builder *b = g->c->builder;
    struct node *loop = g->loop;
    enum dtype *types = ARENA_ARRAY(g->arena, enum dtype, loop->outputs_count);
    struct shape *shapes = ARENA_ARRAY(g->arena, struct shape, loop->outputs_count);

    for (int i = 0; i < loop->outputs_count; i++) {
        types[i] = loop->outputs[i].dtype;
        shapes[i] = loop->outputs[i].shape;
    }
    const struct attr attrs[] = { attr_types(b, "T", loop->outputs_count, types),
                                  attr_shapes(b, "output_shapes", loop->outputs_count, shapes),
                                  attr_function(b, "cond", cond), attr_function(b, "body", body) };
    node_own_attrs(b->graph, loop);
    for (size_t i = 0; i < COUNT(attrs); i++)
        node_set_attr(b->graph, loop, &attrs[i]);
}

/* Makes the loop count its iterations and push the values that the gradient takes. New outputs
 * follow the existing ones. */
static struct status extend_forward(struct loop_gradient *g)
{
    struct builder *b = g->c->builder;
    const char *cond, *body;

    TRY(add_forward_body(g, &body));
    TRY(add_forward_cond(g, &cond));
    append_input(g, build_const_int(b, 0));
    for (int i = 0; i < g->taken_count; i++)
        if (g->taken[i].carried < 0)
            append_input(g, empty_list(b, endpoint_dtype(g->taken[i].value)));
    TRY(builder_status(b));
    set_attrs(g, cond, body);
    return status_ok();
}

struct status gradient_while(struct gradient_context *c)
{
    struct arena *arena = c->builder->graph->arena;
    int count = c->node->inputs_count;
    struct loop_gradient g = { .c = c, .arena = arena, .loop = c->node, .count = count };

    g.flows = ARENA_ARRAY(arena, bool, count);
    TRY(find_flows(&g));
    mark_forward(&g);
    list_taken(&g);
    TRY(extend_forward(&g));
    return while_add_backward(&g);
}
