#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/model_report.h"
#include "support/directory.h"

#define MODEL "tests/golden/savedmodel/two_towers"

struct fixture {
    struct arena *arena;
    struct savedmodel *model;
    struct buffer out;
};

static int open_model(void **state)
{
    static struct fixture fixture;
    struct savedmodel_options options = { 0 };
    fixture = (struct fixture){ .arena = arena_create(0) };
    *state = &fixture;
    return !status_is_ok(savedmodel_load(MODEL, &options, &fixture.model));
}

static int close_model(void **state)
{
    struct fixture *fixture = *state;
    savedmodel_destroy(fixture->model);
    buffer_finish(&fixture->out);
    arena_destroy(fixture->arena);
    return 0;
}

static void text_lists_signatures_variables_and_ops(void **state)
{
    struct fixture *fixture = *state;
    struct model_report report;
    model_report_make(fixture->model, fixture->arena, &report);
    model_report_to_text(&report, &fixture->out);
    buffer_append_char(&fixture->out, '\0');
    /* clang-format off */
    assert_string_equal(fixture->out.data,
        MODEL " (written by TensorFlow 2.21.0)\n"
        "\n"
        "signatures\n"
        "  __saved_model_init_op  \n"
        "    outputs __saved_model_init_op    INVALID  <unknown>        NoOp\n"
        "  item  tensorflow/serving/predict\n"
        "    inputs  x                        float    [2]              item_x:0\n"
        "    outputs y                        float    [2]              StatefulPartitionedCall:0\n"
        "  serving_default  tensorflow/serving/predict\n"
        "    inputs  x                        float    [2]              serving_default_x:0\n"
        "    outputs y                        float    [2]              StatefulPartitionedCall_1:0\n"
        "\n"
        "variables: 2, 16 bytes\n"
        "  offset                                   float    [2]              8\n"
        "  offset_1                                 float    [2]              8\n"
        "\n"
        "ops of the signatures: 6 kinds\n"
        "  AddV2                                2\n"
        "  Identity                             4\n"
        "  NoOp                                 6\n"
        "  Placeholder                          2\n"
        "  ReadVariableOp                       2\n"
        "  VarHandleOp                          2\n");
    /* clang-format on */
}

static void an_op_without_a_kernel_is_marked(void **state)
{
    struct fixture *fixture = *state;
    struct op_use uses[] = { { "Have", 1, false }, { "Lack", 3, true } };
    struct model_report report = { .model = fixture->model, .ops = uses, .ops_count = 2 };
    model_report_to_text(&report, &fixture->out);
    buffer_append_char(&fixture->out, '\0');
    const char *ops = strstr(fixture->out.data, "\nops of");
    assert_non_null(ops);
    assert_string_equal(ops, "\nops of the signatures: 2 kinds\n"
                             "  Have                                 1\n"
                             "  Lack                                 3  no kernel\n");
}

static void json_says_the_same(void **state)
{
    struct fixture *fixture = *state;
    struct op_use uses[] = { { "Have", 1, false }, { "Lack", 3, true } };
    struct model_report report;
    model_report_make(fixture->model, fixture->arena, &report);
    report.ops = uses;
    report.ops_count = 2;
    model_report_to_json(&report, &fixture->out);
    buffer_append_char(&fixture->out, '\0');
    const char *json = fixture->out.data, *end = strstr(json, "  \"variables\": [");
    assert_non_null(strstr(json, "\"__saved_model_init_op\": {\n"
                                 "      \"method\": \"\",\n"
                                 "      \"inputs\": {},\n"));
    assert_non_null(strstr(json, "          \"dtype\": \"INVALID\",\n"
                                 "          \"shape\": null\n"));
    assert_non_null(strstr(json, "        \"x\": {\n"
                                 "          \"name\": \"item_x:0\",\n"
                                 "          \"dtype\": \"float\",\n"
                                 "          \"shape\": [\n"
                                 "            2\n"
                                 "          ]\n"));
    assert_non_null(end);
    assert_non_null(strstr(end, "      \"bytes\": 8\n"
                                "    }\n"
                                "  ],\n"
                                "  \"variables_bytes\": 16,\n"
                                "  \"ops\": [\n"
                                "    {\n"
                                "      \"op\": \"Have\",\n"
                                "      \"nodes\": 1,\n"
                                "      \"kernel\": true\n"
                                "    },\n"
                                "    {\n"
                                "      \"op\": \"Lack\",\n"
                                "      \"nodes\": 3,\n"
                                "      \"kernel\": false\n"
                                "    }\n"
                                "  ]\n"
                                "}\n"));
}

#define FLOATS "{ list { type: DT_FLOAT } }"

/* Two nodes, each of which calls `callee` in both branches. */
static void append_level(struct buffer *out, const char *name, const char *callee)
{
    buffer_printf(out,
                  "function { signature { name: \"%s\" input_arg { name: \"x\" type: DT_FLOAT } "
                  "output_arg { name: \"y\" type: DT_FLOAT } } "
                  "ret { key: \"y\" value: \"b:output:0\" }",
                  name);
    for (int i = 0; i < 2; i++)
        buffer_printf(out,
                      "node_def { name: \"%s\" op: \"StatelessIf\" input: \"x\" input: \"%s\" "
                      "attr { key: \"Tcond\" value { type: DT_FLOAT } } "
                      "attr { key: \"Tin\" value " FLOATS " } "
                      "attr { key: \"Tout\" value " FLOATS " } "
                      "attr { key: \"then_branch\" value { func { name: \"%s\" } } } "
                      "attr { key: \"else_branch\" value { func { name: \"%s\" } } } }",
                      i == 0 ? "a" : "b", i == 0 ? "x" : "a:output:0", callee, callee);
    buffer_append_text(out, "}");
}

/* Counted by calls, this file would have 4^8 bodies; with twice the levels, counting would not
 * end. */
static void a_function_is_counted_once(void **state)
{
    struct buffer text = { 0 };
    struct savedmodel_options options = { 0 };
    struct savedmodel *model;
    struct model_report report;
    char names[10][4];
    (void)state;
    buffer_append_text(&text, "meta_graphs { meta_info_def { tags: \"serve\" } graph_def { "
                              "node { name: \"x\" op: \"Placeholder\" "
                              "attr { key: \"dtype\" value { type: DT_FLOAT } } "
                              "attr { key: \"shape\" value { shape { } } } } "
                              "node { name: \"y\" op: \"PartitionedCall\" input: \"x\" "
                              "attr { key: \"Tin\" value " FLOATS " } "
                              "attr { key: \"Tout\" value " FLOATS " } "
                              "attr { key: \"f\" value { func { name: \"f8\" } } } } library { "
                              "function { signature { name: \"f0\" "
                              "input_arg { name: \"x\" type: DT_FLOAT } "
                              "output_arg { name: \"y\" type: DT_FLOAT } } "
                              "ret { key: \"y\" value: \"n:y:0\" } "
                              "node_def { name: \"n\" op: \"Neg\" input: \"x\" "
                              "attr { key: \"T\" value { type: DT_FLOAT } } } }");
    for (int i = 0; i < 9; i++) {
        snprintf(names[i], sizeof names[i], "f%d", i);
        if (i > 0)
            append_level(&text, names[i], names[i - 1]);
    }
    buffer_append_text(&text, "} } signature_def { key: \"serving_default\" value { "
                              "inputs { key: \"x\" value { name: \"x:0\" dtype: DT_FLOAT } } "
                              "outputs { key: \"y\" value { name: \"y:0\" dtype: DT_FLOAT } } "
                              "method_name: \"tensorflow/serving/predict\" } } }");
    assert_ok(file_write(in("saved_model.pbtxt"), (struct bytes){ text.data, text.size }));
    assert_ok(savedmodel_load(directory, &options, &model));
    model_report_make(model, arena, &report);
    for (int i = 0; i < report.ops_count; i++) {
        if (strcmp(report.ops[i].name, "Neg") == 0)
            assert_int_equal(report.ops[i].nodes, 1);
        else if (strcmp(report.ops[i].name, "StatelessIf") == 0)
            assert_int_equal(report.ops[i].nodes, 8 * 2);
        else
            assert_string_equal(report.ops[i].name, "Placeholder");
    }
    assert_int_equal(report.ops_count, 3);
    savedmodel_destroy(model);
    buffer_finish(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_lists_signatures_variables_and_ops, open_model,
                                        close_model),
        cmocka_unit_test_setup_teardown(an_op_without_a_kernel_is_marked, open_model, close_model),
        cmocka_unit_test_setup_teardown(json_says_the_same, open_model, close_model),
        TEST_IN_DIRECTORY(a_function_is_counted_once),
    };
    return cmocka_run_group_tests_name("model report", tests, NULL, NULL);
}
