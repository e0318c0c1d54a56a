#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "graph/build.h"
#include "savedmodel/shared_plans.h"
#include "support/status.h"
#include "support/test_group.h"

/* One variable, which `op` gets as it is or through an Identity, with a value if it takes one.
 * NULL: the request fetches it. `type`: the name of the op's attribute for its type. */
static const struct row {
    const char *label, *handle, *op, *type;
    bool has_identity, has_value, is_taken;
} rows[] = {
    { .label = "a variable that is read",
      .handle = "VarHandleOp",
      .op = "ReadVariableOp",
      .type = "dtype",
      .is_taken = true },
    { .label = "a variable that is assigned",
      .handle = "VarHandleOp",
      .op = "AssignVariableOp",
      .type = "dtype",
      .has_value = true },
    { .label = "a reference whose value an op takes",
      .handle = "VariableV2",
      .op = "AddV2",
      .type = "T",
      .has_value = true,
      .is_taken = true },
    { .label = "a reference whose value an op takes behind an Identity",
      .handle = "VariableV2",
      .op = "AddV2",
      .type = "T",
      .has_identity = true,
      .has_value = true,
      .is_taken = true },
    { .label = "a reference that is assigned",
      .handle = "VariableV2",
      .op = "Assign",
      .type = "T",
      .has_value = true },
    { .label = "a reference that an op looks at",
      .handle = "VariableV2",
      .op = "IsVariableInitialized",
      .type = "dtype" },
    { .label = "a reference that is fetched", .handle = "VariableV2", .has_identity = true },
};

static void a_plan_takes_variables_that_it_only_reads(void **state)
{
    const struct row *row = *state;
    struct arena *arena = arena_create(0);
    struct graph *graph = graph_create(arena);
    struct builder b = builder_init(graph);
    struct shape shape = shape_of(2);
    struct endpoint fetch =
        build(&b, row->handle, "v", 0, NULL,
              (struct attr[]){ attr_type("dtype", DT_FLOAT), attr_shape("shape", &shape),
                               attr_text("shared_name", "v"), ATTR_END });
    if (row->has_identity)
        fetch = build_unary(&b, "Identity", "same", fetch);
    struct node *target = NULL;
    if (row->op != NULL) {
        struct endpoint inputs[] = { fetch, build_placeholder(&b, "x", DT_FLOAT, shape) };
        target = build_node(&b, row->op, "use", row->has_value ? 2 : 1, inputs, 0, NULL,
                            (struct attr[]){ attr_type(row->type, DT_FLOAT), ATTR_END });
    }
    assert_ok(builder_status(&b));
    struct flatten_request request = { .fetches = &fetch,
                                       .fetches_count = target == NULL,
                                       .targets = &target,
                                       .targets_count = target != NULL };
    struct flat_graph flat, *flats[] = { &flat };
    struct shared_plans shared;
    assert_ok(flat_graph_create(graph, &request, &flat));
    shared_plans_find(flats, &request, 1, arena, &shared);
    assert_int_equal(map_has(&shared.own[0], bytes_of("v")), row->is_taken);
    flat_graph_drop(&flat);
    graph_finish(graph);
    arena_destroy(arena);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, a_plan_takes_variables_that_it_only_reads);
    return test_group_run(&group, "shared_plans", NULL, NULL);
}
