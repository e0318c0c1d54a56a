/* Builds functions for the tests of branches and loops, in the form that a file has. */
#ifndef TESTS_FUNCTION_FIXTURE_H
#define TESTS_FUNCTION_FIXTURE_H

#include <string.h>

#include "graph/library.h"
#include "plan_fixture.h"

/* A node "name = Op(a, b)". T_FLOAT and T_INT are values of its attribute T. */
struct line {
    const char *name, *op;
    const char *inputs[4];
    struct attr attrs[3];
};

#define T_FLOAT attr_type("T", DT_FLOAT)
#define T_INT   attr_type("T", DT_INT32)

static struct function_library *library(void)
{
    if (graph->library == NULL)
        graph->library = ARENA_NEW(arena, struct function_library);
    struct function_library *l = graph->library;
    if (l->functions == NULL)
        l->functions = ARENA_ARRAY(arena, struct function, 16);
    return l;
}

static struct op_arg *args_of(int count, const enum dtype *dtypes, const char *prefix)
{
    struct op_arg *args = ARENA_ARRAY(arena, struct op_arg, count + 1);
    for (int i = 0; i < count; i++)
        args[i] =
            (struct op_arg){ .name = arena_printf(arena, "%s%d", prefix, i), .type = dtypes[i] };
    return args;
}

static void add_node(struct function *f, const struct line *line)
{
    struct body_node *node = &f->nodes[f->nodes_count++];
    node->name = line->name;
    node->op_name = line->op;
    node->device = "";
    node->inputs = ARENA_ARRAY(arena, const char *, 5);
    while (node->inputs_count < 4 && line->inputs[node->inputs_count] != NULL) {
        node->inputs[node->inputs_count] = line->inputs[node->inputs_count];
        node->inputs_count++;
    }
    node->attrs = ARENA_ARRAY(arena, struct attr, 4);
    while (node->attrs_count < 3 && line->attrs[node->attrs_count].name != NULL) {
        node->attrs[node->attrs_count] = line->attrs[node->attrs_count];
        node->attrs_count++;
    }
}

/* The arguments are named a0, a1, …, and the results r0, r1, … */
static void add_function(const char *name, int args, const enum dtype *arg_dtypes, int results,
                         const enum dtype *result_dtypes, const char *const *returns, int lines,
                         const struct line *body)
{
    struct function_library *l = library();
    struct function *f = &l->functions[l->count++];
    f->signature.name = name;
    f->signature.inputs = args_of(args, arg_dtypes, "a");
    f->signature.inputs_count = args;
    f->signature.outputs = args_of(results, result_dtypes, "r");
    f->signature.outputs_count = results;
    f->nodes = ARENA_ARRAY(arena, struct body_node, lines + 1);
    for (int i = 0; i < lines; i++)
        add_node(f, &body[i]);
    f->results = ARENA_ARRAY(arena, struct body_result, results + 1);
    for (int i = 0; i < results; i++)
        f->results[i] = (struct body_result){ f->signature.outputs[i].name, returns[i] };
    map_put_text(&l->by_name, name, f);
}

#define DTYPES_OF(...) ((const enum dtype[]){ __VA_ARGS__ })
#define TEXTS(...)     ((const char *const[]){ __VA_ARGS__ })

static struct attr attr_func(const char *name, const char *function)
{
    struct function_name *value = ARENA_NEW(arena, struct function_name);
    value->name = arena_strdup(arena, function);
    return (struct attr){ name, { .kind = ATTR_FUNC, .func = value } };
}

static int teardown_functions(void **state)
{
    if (graph->library != NULL)
        map_finish(&graph->library->by_name);
    return teardown(state);
}

#define TEST_WITH_FUNCTIONS(name) cmocka_unit_test_setup_teardown(name, setup, teardown_functions)

#endif
