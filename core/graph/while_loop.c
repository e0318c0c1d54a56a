#include "graph/while_loop.h"

const char *while_loop_function_name(struct arena *arena, const char *node, const char *what)
{
    char *name = arena_printf(arena, "%s_%s", node, what);

    for (char *at = name; *at != '\0'; at++)
        if (*at == '/' || *at == '-' || *at == '.')
            *at = '_';
    return name;
}

struct status while_loop_begin(struct while_loop *loop, struct builder *outer, const char *name,
                               int count, const struct endpoint *carried)
{
    struct arena *arena = outer->graph->arena;
    const struct shape scalar = shape_scalar();

    TRY(builder_status(outer));
    *loop = (struct while_loop){
        .outer = outer, .name = name, .count = count, .carried = carried, .limit = -1
    };
    function_share_library(outer->graph);
    loop->body.graph = graph_create(arena);
    loop->body.graph->library = outer->graph->library;
    loop->body.args = ARENA_ARRAY(arena, struct endpoint, count + 1);
    loop->builder = builder_init(loop->body.graph);
    loop->time = function_add_arg(&loop->builder, &loop->body, DT_INT32, &scalar);
    for (int i = 0; i < count; i++)
        function_add_arg(&loop->builder, &loop->body, endpoint_dtype(carried[i]),
                         endpoint_shape(carried[i]));
    loop->values = loop->body.args + 1;
    loop->builder.float_dtype = outer->float_dtype;
    return builder_status(&loop->builder);
}

/* The name of the node that the loop will be, for its functions. */
static const char *function_base(const struct while_loop *loop)
{
    const char *scope = loop->outer->scope;

    return arena_printf(loop->outer->graph->arena, "%s%s", scope != NULL ? scope : "", loop->name);
}

/* time < iterations */
static struct status add_condition(const struct while_loop *loop, int32_t iterations,
                                   const char **out)
{
    struct arena *arena = loop->outer->graph->arena;
    struct function_body body = { .graph = graph_create(arena) };
    struct builder b = builder_init(body.graph);

    body.args = ARENA_ARRAY(arena, struct endpoint, loop->body.args_count);
    for (int i = 0; i < loop->body.args_count; i++)
        function_add_arg(&b, &body, endpoint_dtype(loop->body.args[i]),
                         endpoint_shape(loop->body.args[i]));
    TRY(builder_status(&b));
    struct endpoint end =
        loop->limit >= 0 ? body.args[1 + loop->limit] : build_const_int(&b, iterations);
    struct endpoint goes_on = build_binary(&b, "Less", NULL, body.args[0], end);
    TRY(builder_status(&b));
    body.results = &goes_on;
    body.results_count = 1;
    return function_add(loop->outer->graph,
                        while_loop_function_name(arena, function_base(loop), "cond"), &body, out);
}

static struct status add_body(struct while_loop *loop, const struct endpoint *results,
                              const char **out)
{
    struct arena *arena = loop->outer->graph->arena;
    struct function_body *body = &loop->body;
    struct endpoint next =
        build_binary(&loop->builder, "AddV2", NULL, loop->time, build_const_int(&loop->builder, 1));

    TRY(builder_status(&loop->builder));
    body->results = ARENA_ARRAY(arena, struct endpoint, loop->count + 1);
    body->results[0] = next;
    for (int i = 0; i < loop->count; i++)
        body->results[i + 1] = results[i];
    body->results_count = loop->count + 1;
    return function_add(loop->outer->graph,
                        while_loop_function_name(arena, function_base(loop), "body"), body, out);
}

struct status while_loop_end(struct while_loop *loop, int32_t iterations,
                             const struct endpoint *results, struct endpoint *outputs)
{
    struct builder *b = loop->outer;
    struct arena *arena = b->graph->arena;
    struct endpoint *inputs = ARENA_ARRAY(arena, struct endpoint, loop->count + 1);
    struct shape *shapes = ARENA_ARRAY(arena, struct shape, loop->count + 1);
    const char *cond, *body;

    TRY(add_condition(loop, iterations, &cond));
    TRY(add_body(loop, results, &body));
    inputs[0] = build_const_int(b, 0);
    TRY(builder_status(b));
    for (int i = 0; i < loop->count; i++) {
        inputs[i + 1] = loop->carried[i];
        shapes[i + 1] = *endpoint_shape(loop->carried[i]);
    }
    const struct attr attrs[] = { attr_function(b, "cond", cond), attr_function(b, "body", body),
                                  attr_shapes(b, "output_shapes", loop->count + 1, shapes),
                                  ATTR_END };
    struct node *node =
        build_node(b, "StatelessWhile", loop->name, loop->count + 1, inputs, 0, NULL, attrs);
    TRY(builder_status(b));
    for (int i = 0; i < loop->count; i++)
        outputs[i] = (struct endpoint){ node, i + 1 };
    return status_ok();
}
