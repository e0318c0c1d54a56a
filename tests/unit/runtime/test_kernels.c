/* Runs every row of tests/golden/kernels and compares our outputs with TensorFlow's. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "graph/build.h"
#include "runtime/kernel.h"
#include "runtime/plan.h"
#include "runtime/resources.h"
#include "unit/runtime/kernel_rows.h"

static struct map ops_with_rows; /* filled while the rows run */

enum how {
    FED,      /* inputs are placeholders of unknown shape */
    CONSTANT, /* inputs are constants: the plan folds the node */
};
static const char *const how_names[] = { "fed", "constant" };

/* Makes a variable that has the value of input i: by reference if the op takes one. */
static struct endpoint row_variable(const struct kernel_row *row, int i, struct builder *builder,
                                    struct resources *resources)
{
    const struct tensor *value = &row->inputs[i];
    bool is_ref = op_find(row->op)->inputs[i].is_ref;
    const char *name = arena_printf(builder->graph->arena, "variable%d", i);
    struct variable *variable;
    struct tensor copy;
    struct status status = variable_find_or_create(resources, bytes_of(""), bytes_of(name),
                                                   value->dtype, &value->shape, &variable);
    assert_true(status_is_ok(status));
    assert_true(status_is_ok(tensor_copy_deep(value, &copy)));
    assert_true(status_is_ok(variable_assign(variable, &copy)));
    object_release(&variable->object);
    return build(builder, is_ref ? "VariableV2" : "VarHandleOp", name, 0, NULL,
                 (struct attr[]){ attr_type("dtype", value->dtype),
                                  attr_shape("shape", &value->shape),
                                  attr_text("shared_name", name), ATTR_END });
}

/* Reads the variable of input i after the op. */
static struct endpoint read_after(const struct kernel_row *row, int i, struct node *node,
                                  struct endpoint handle, struct builder *builder)
{
    bool is_ref = op_find(row->op)->inputs[i].is_ref;
    return (struct endpoint){
        build_node(
            builder, is_ref ? "Identity" : "ReadVariableOp", "after", 1, &handle, 1, &node,
            (struct attr[]){ attr_type(is_ref ? "T" : "dtype", row->inputs[i].dtype), ATTR_END }),
        0
    };
}

static struct status run_row(const struct kernel_row *row, enum how how, struct arena *arena,
                             struct resources *resources, struct run *run, struct plan **plan,
                             struct tensor *got)
{
    struct graph *graph = graph_create(arena);
    struct builder builder = builder_init(graph);
    struct endpoint inputs[ROW_TENSORS_MAX], fetches[ROW_TENSORS_MAX], feeds[ROW_TENSORS_MAX];
    struct tensor fed[ROW_TENSORS_MAX];
    int feeds_count = 0;
    for (int i = 0; i < row->inputs_count; i++) {
        if (row->is_variable[i]) {
            inputs[i] = row_variable(row, i, &builder, resources);
        } else if (how == CONSTANT) {
            inputs[i] = build_const(&builder, "in", &row->inputs[i]);
        } else {
            inputs[i] = build_placeholder(&builder, "in", row->inputs[i].dtype, shape_unknown());
            feeds[feeds_count] = inputs[i];
            fed[feeds_count++] = row->inputs[i];
        }
    }
    struct node *node =
        build_node(&builder, row->op, row->op, row->inputs_count, inputs, 0, NULL, row->attrs);
    TRY(builder_status(&builder));
    int outputs = node->outputs_count;
    for (int i = 0; i < outputs; i++)
        fetches[i] = (struct endpoint){ node, i };
    for (int i = 0; i < row->inputs_count; i++)
        if (row->is_variable[i])
            fetches[outputs++] = read_after(row, i, node, inputs[i], &builder);
    assert_true(row->error_code != 0 || row->outputs_count == outputs);
    struct flatten_request request = { .feeds = feeds,
                                       .feeds_count = feeds_count,
                                       .fetches = fetches,
                                       .fetches_count = outputs,
                                       .targets = &node,
                                       .targets_count = outputs == 0 };
    struct plan_options options = { 0 };
    TRY(plan_create(graph, &request, resources, NULL, &options, plan));
    struct status status = plan_run(*plan, run, fed, got);
    graph_finish(graph);
    return status;
}

/* Our text must begin with the row's, which omits a part that differs between releases. */
static void compare_error(const struct kernel_row *row, struct status status)
{
    if ((int)status.code != row->error_code)
        fail_msg("%s:%d: %s: code %s (%s), not %d (%s)", row->file, row->line, row->op,
                 status_code_name(status.code), status.message, row->error_code, row->error_text);
    if (strncmp(status.message, row->error_text, strlen(row->error_text)) != 0)
        fail_msg("%s:%d: %s: says '%s', not '%s'", row->file, row->line, row->op, status.message,
                 row->error_text);
}

static void check_row(const struct kernel_row *row, enum how how)
{
    struct arena *arena = arena_create(0);
    struct resources *resources = resources_create();
    struct run *run = run_create(0);
    struct plan *plan = NULL;
    struct tensor got[ROW_TENSORS_MAX] = { 0 };
    struct status status = run_row(row, how, arena, resources, run, &plan, got);
    if (row->error_code != 0)
        compare_error(row, status);
    else if (!status_is_ok(status))
        fail_msg("%s:%d: %s (%s): %s", row->file, row->line, row->op, how_names[how],
                 status.message);
    else
        kernel_row_compare(row, how_names[how], got);
    tensors_release(ROW_TENSORS_MAX, got);
    run_reset(run);
    plan_destroy(plan);
    run_destroy(run);
    resources_destroy(resources);
    arena_destroy(arena);
}

static void gives_what_tensorflow_gives(void **state)
{
    struct kernel_row *row = *state;
    map_put_text(&ops_with_rows, row->op, row);
    check_row(row, FED);
    if (row->error_code == 0)
        check_row(row, CONSTANT);
}

/* Rows cannot describe ops with state, bodies or random results. Other tests cover these. */
static bool is_tested_elsewhere(const char *op)
{
    static const char *const parts[] = {
        "TensorList",
        "Table",
        "Variable",
        "VarHandle",
        "Random",
        "Normal",
        "Assign",
        "While",
        "If",
        "Case",
        "Const",
        "NoOp",
        "Placeholder",
        "ResourceGather",
        "VarIs",
        "Restore",
        "ReadFile",
        "MatchingFiles",
        "StatefulUniform",
        "Rng",
        "TensorArray",
        "TensorMap",
        "Stack",
        "Control",
        "Abort",
        "DeviceIndex",
        "Timestamp",
        "Variant",
        "Optional",
        "NonDeterministic",
        "Queue",
        "Stage",
        "Unstage",
        "Mutex",
        "Dataset",
        "Iterator",
        "WindowOp",
        "Dummy",
        "TensorsMap",
        "MapDefun",
        "XlaReduce",
        "XlaVariadic",
        "XlaScatter",
        "XlaSelectAndScatter",
        "SeedGenerator",
        "MapPeek",
        "MapSize",
        "MapIncompleteSize",
        "MapClear",
        "CSRSparseMatrix",
        "SparseMatrix",
        "Sentencepiece",
        "Wordpiece",
        "OffsetsMap",
        "FindSourceOffsets",
        "GetElementAtIndex",
        "SimpleML",
    };
    for (size_t i = 0; i < COUNT(parts); i++)
        if (strstr(op, parts[i]) != NULL)
            return true;
    if (strcmp(op, "For") == 0) /* see test_lower.c */
        return true;
    return op[0] == '_'; /* made by fusing: see test_fuse.c */
}

static const char *file_of_first_row(const char *op)
{
    size_t count;
    const struct kernel_table *const *tables = kernel_tables(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < tables[i]->count; k++)
            if (strcmp(tables[i]->rows[k].op, op) == 0)
                return kernel_table_file(i);
    return "";
}

/* conv2d.c and fused.c have rows of the same ops; kernel_find takes the first. */
static void onednn_has_the_first_row_of_its_ops(void **state)
{
    (void)state;
    static const char *const ops[] = { "Conv2D", "DepthwiseConv2dNative", "_FusedConv2D",
                                       "_FusedDepthwiseConv2dNative" };
    for (size_t i = 0; i < COUNT(ops); i++)
        assert_string_equal(file_of_first_row(ops[i]), "nn/onednn_ops.c");
}

static void has_rows_for_every_op(void **state)
{
    (void)state;
    size_t count;
    const struct kernel_table *const *tables = kernel_tables(&count);
    for (size_t t = 0; t < count; t++)
        for (size_t r = 0; r < tables[t]->count; r++) {
            const char *op = tables[t]->rows[r].op;
            if (!is_tested_elsewhere(op) && !map_has(&ops_with_rows, bytes_of(op)))
                fail_msg("op %s has a kernel but no row in tests/golden/kernels", op);
        }
}

/* Runs one family (the program's argument) or all. */
int main(int argc, char **argv)
{
    struct arena *arena = arena_create(0);
    int failed = kernel_rows_run(argc > 1 ? argv[1] : NULL, gives_what_tensorflow_gives, arena);
    if (argc == 1) {
        const struct CMUnitTest every[] = {
            cmocka_unit_test(has_rows_for_every_op),
            cmocka_unit_test(onednn_has_the_first_row_of_its_ops),
        };
        failed += cmocka_run_group_tests_name("every op", every, NULL, NULL);
    }
    map_finish(&ops_with_rows);
    arena_destroy(arena);
    return failed;
}
