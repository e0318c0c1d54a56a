#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/build.h"
#include "savedmodel/restore_graph.h"
#include "support/test_group.h"

/* A graph of one variable. `op` gets its handle as it is or through an Identity, and `value` if the
 * op takes one; NULL: there is no such op. */
static const struct row {
    const char *label, *handle, *op;
    bool has_identity, has_value, is_fetched, may_write;
} rows[] = {
    { .label = "a variable that is read", .handle = "VarHandleOp", .op = "ReadVariableOp" },
    { .label = "a variable that is read through an Identity",
      .handle = "VarHandleOp",
      .op = "ReadVariableOp",
      .has_identity = true },
    { .label = "a variable that is assigned",
      .handle = "VarHandleOp",
      .op = "AssignVariableOp",
      .has_value = true,
      .may_write = true },
    { .label = "a variable that is assigned through an Identity",
      .handle = "VarHandleOp",
      .op = "AssignAddVariableOp",
      .has_identity = true,
      .has_value = true,
      .may_write = true },
    { .label = "a variable of references that is assigned",
      .handle = "VariableV2",
      .op = "Assign",
      .has_value = true,
      .may_write = true },
    { .label = "a handle that the caller gets",
      .handle = "VarHandleOp",
      .is_fetched = true,
      .may_write = true },
};

static void says_whether_a_variable_may_be_written(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    struct shape shape = shape_of(2);
    struct endpoint handle = build(
        &builder, row->handle, "v", 0, NULL,
        (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape), ATTR_END });
    if (row->has_identity)
        handle = build_unary(&builder, "Identity", "same", handle);
    if (row->op != NULL) {
        struct endpoint inputs[] = { handle, build_placeholder(&builder, "x", DT_FLOAT, shape) };
        const char *type = strcmp(row->op, "Assign") == 0 ? "T" : "dtype";
        build_node(&builder, row->op, "use", row->has_value ? 2 : 1, inputs, 0, NULL,
                   (struct attr[]){ attr_type(type, DT_FLOAT), ATTR_END });
    }
    assert_true(status_is_ok(builder_status(&builder)));
    const struct flatten_result flat = { .graph = graph, .fetches = &handle };
    assert_int_equal(may_write_variables(&flat, row->is_fetched), row->may_write);
    graph_finish(graph);
    arena_destroy(arena);
}

/* The function may have a handle of its own, which this graph does not show. */
static void a_function_that_a_kernel_runs_may_write(void **state)
{
    (void)state;
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    const enum dtype types[] = { DT_FLOAT };
    const struct shape shapes[] = { shape_scalar() };
    struct endpoint input = build_placeholder(&builder, "input", DT_VARIANT, shape_scalar());
    struct endpoint mapped =
        build(&builder, "MapDataset", "mapped", 1, &input,
              (struct attr[]){ attr_function(&builder, "f", "writes"),
                               attr_types(&builder, "output_types", 1, types),
                               attr_shapes(&builder, "output_shapes", 1, shapes), ATTR_END });
    assert_true(status_is_ok(builder_status(&builder)));
    const struct flatten_result flat = { .graph = graph, .fetches = &mapped };
    assert_true(may_write_variables(&flat, 1));
    graph_finish(graph);
    arena_destroy(arena);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_function_that_a_kernel_runs_may_write),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, says_whether_a_variable_may_be_written);
    return test_group_run(&group, "restore_graph", NULL, NULL);
}
