#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/model_report.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_lists_signatures_variables_and_ops, open_model,
                                        close_model),
        cmocka_unit_test_setup_teardown(an_op_without_a_kernel_is_marked, open_model, close_model),
        cmocka_unit_test_setup_teardown(json_says_the_same, open_model, close_model),
    };
    return cmocka_run_group_tests_name("model report", tests, NULL, NULL);
}
