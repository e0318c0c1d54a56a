/*
 * Gradient of If and Case: a second If or Case, whose branches compute the gradients of the first
 * one's branches. A branch of the second computes its forward values again, from the same inputs.
 */
#include "graph/function.h"
#include "graph/gradients/emit.h"

struct branch_gradient {
    struct gradient_context *c;
    struct arena *arena; /* of the graph */
    int count;           /* inputs of a branch; the node has its condition before them */
    bool *wanted;        /* which inputs get a gradient [count] */
    int wanted_count;
};

static bool is_differentiable(enum dtype dtype)
{
    return dtype == DT_VARIANT || (DTYPES_FLOATING & DTYPES(dtype)) != 0;
}

static struct status check_random(const struct function_body *body, const struct node *node)
{
    for (int i = 0; i < body->graph->count; i++)
        if (op_has(body->graph->nodes[i]->op, OP_RANDOM))
            return status_error(STATUS_UNIMPLEMENTED,
                                "node '%s': the gradient of %s with random numbers in a branch",
                                node->name, node->op_name);
    return status_ok();
}

static struct status instantiate(const struct branch_gradient *g, const struct function_name *name,
                                 struct function_body *body)
{
    const struct node *node = g->c->node;

    TRY(function_instantiate(g->c->builder->graph, name, g->arena, body));
    if (body->args_count != g->count || body->results_count != node->outputs_count)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "node '%s': branch '%s' has %d arguments and %d results, expected %d "
                            "and %d",
                            node->name, name->name, body->args_count, body->results_count, g->count,
                            node->outputs_count);
    TRY(check_random(body, node));
    for (int i = 0; i < g->count; i++)
        body->args[i].node->outputs[0].shape = *endpoint_shape(node->inputs[1 + i]);
    return graph_infer(body->graph);
}

/* Turns a branch into the branch of its gradients. Its new arguments are the gradients of the
 * outputs; its results are the gradients of the wanted inputs, zeros for those that it does not
 * use. */
static struct status differentiate(const struct branch_gradient *g, struct function_body *body)
{
    const struct gradient_context *c = g->c;
    struct builder b = builder_init(body->graph);
    int outputs = c->node->outputs_count, seeds = 0, results = 0;
    struct endpoint *ys = ARENA_ARRAY(g->arena, struct endpoint, outputs);
    struct endpoint *dys = ARENA_ARRAY(g->arena, struct endpoint, outputs);
    struct endpoint *found = ARENA_ARRAY(g->arena, struct endpoint, g->count);
    struct endpoint *args = ARENA_ARRAY(g->arena, struct endpoint, g->count + outputs);

    memcpy(args, body->args, (size_t)g->count * sizeof *args);
    body->args = args;
    for (int i = 0; i < outputs; i++) {
        if (c->outputs[i].node == NULL)
            continue;
        ys[seeds] = body->results[i];
        dys[seeds++] = function_add_arg(&b, body, endpoint_dtype(c->outputs[i]),
                                        endpoint_shape(c->outputs[i]));
    }
    TRY(builder_status(&b));
    TRY(graph_gradients_from(&b, seeds, ys, dys, g->count, args, found));
    body->results = ARENA_ARRAY(g->arena, struct endpoint, g->wanted_count + 1);
    for (int i = 0; i < g->count; i++)
        if (g->wanted[i])
            body->results[results++] =
                found[i].node != NULL ? found[i] : build_unary(&b, "ZerosLike", NULL, args[i]);
    body->results_count = results;
    return builder_status(&b);
}

static struct status add_branch(const struct branch_gradient *g, const struct function_name *name,
                                const char **out)
{
    struct function_body body;

    TRY(instantiate(g, name, &body));
    TRY(status_in(differentiate(g, &body), "branch '%s'", name->name));
    return function_add(g->c->builder->graph, arena_printf(g->arena, "%s_grad", name->name), &body,
                        out);
}

/* The second node: the condition, the inputs and the gradients of the outputs. `branches` are its
 * functions, in one attribute or two. */
static struct node *add_node(const struct branch_gradient *g, const struct attr *branches)
{
    const struct gradient_context *c = g->c;
    struct builder *b = c->builder;
    int count = c->node->inputs_count;
    struct endpoint *inputs =
        ARENA_ARRAY(g->arena, struct endpoint, count + c->node->outputs_count);
    enum dtype *types = ARENA_ARRAY(g->arena, enum dtype, g->wanted_count + 1);
    struct shape *shapes = ARENA_ARRAY(g->arena, struct shape, g->wanted_count + 1);
    int results = 0;

    memcpy(inputs, c->node->inputs, (size_t)count * sizeof *inputs);
    for (int i = 0; i < c->node->outputs_count; i++)
        if (c->outputs[i].node != NULL)
            inputs[count++] = c->outputs[i];
    for (int i = 0; i < g->count; i++) {
        if (!g->wanted[i])
            continue;
        types[results] = endpoint_dtype(inputs[1 + i]);
        shapes[results++] = *endpoint_shape(inputs[1 + i]);
    }
    const struct attr attrs[] = { attr_types(b, "Tout", results, types),
                                  attr_shapes(b, "output_shapes", results, shapes), branches[0],
                                  branches[1], ATTR_END };
    return build_node(b, c->node->op_name, NULL, count, inputs, 0, NULL, attrs);
}

static struct status send_all(const struct branch_gradient *g, struct node *node)
{
    TRY(builder_status(g->c->builder));
    for (int i = 0, result = 0; i < g->count; i++)
        if (g->wanted[i])
            send(g->c, 1 + i, (struct endpoint){ node, result++ });
    return status_ok();
}

static struct branch_gradient begin(struct gradient_context *c)
{
    struct arena *arena = c->builder->graph->arena;
    struct branch_gradient g = { .c = c, .arena = arena, .count = c->node->inputs_count - 1 };

    g.wanted = ARENA_ARRAY(arena, bool, g.count + 1);
    for (int i = 0; i < g.count; i++) {
        g.wanted[i] = c->wanted[1 + i] && is_differentiable(endpoint_dtype(input(c, 1 + i)));
        g.wanted_count += g.wanted[i];
    }
    return g;
}

struct status gradient_if(struct gradient_context *c)
{
    struct branch_gradient g = begin(c);
    static const char *const branches[] = { "then_branch", "else_branch" };
    struct attr attrs[2];

    if (g.wanted_count == 0)
        return status_ok();
    for (int i = 0; i < 2; i++) {
        const struct function_name *name;
        const char *added;
        TRY(node_attr_func(c->node, branches[i], &name));
        TRY(add_branch(&g, name, &added));
        attrs[i] = attr_function(c->builder, branches[i], added);
    }
    return send_all(&g, add_node(&g, attrs));
}

struct status gradient_case(struct gradient_context *c)
{
    struct branch_gradient g = begin(c);
    const struct attr_value *branches;

    if (g.wanted_count == 0)
        return status_ok();
    TRY(node_attr_list_of(c->node, "branches", ATTR_FUNC, &branches));
    struct attr_value *added = ARENA_ARRAY(g.arena, struct attr_value, branches->count);
    for (int i = 0; i < branches->count; i++) {
        const char *name;
        TRY(add_branch(&g, branches->elements[i].func, &name));
        added[i] = attr_function(c->builder, "branches", name).value;
    }
    struct attr attrs[] = { { "branches", *branches }, ATTR_END };
    attrs[0].value.elements = added;
    return send_all(&g, add_node(&g, attrs));
}
