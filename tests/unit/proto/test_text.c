#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "proto/checkpoint.pb-c.h"
#include "proto/message.h"
#include "proto/saved_model.pb-c.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"
#include "proto/variable.pb-c.h"
#include "support/test_group.h"
#include "support/arena.h"

#define READ(name, text, out) \
    assert_string_equal(      \
        proto_text_read(&name##__descriptor, bytes_of(text), 0, arena, out).message, "")

static void a_server_config_is_read(void **state)
{
    (void)state;
    Tensorflow__Serving__ModelServerConfig *config;
    READ(
        tensorflow__serving__model_server_config,
        "# two models\n"
        "model_config_list {\n"
        "  config: { name: 'm' base_path: \"/models/\" 'm', model_platform: \"tensorflow\";\n"
        "    model_version_policy < specific { versions: 42 versions: [43, 0x2c] } >\n"
        "    version_labels { key: \"stable\" value: 42 } version_labels { key: 'c' value: -1 } }\n"
        "  config { name: \"n\" model_type: TENSORFLOW model_version_policy { all {} } }\n"
        "}",
        &config);
    assert_int_equal(config->config_case,
                     TENSORFLOW__SERVING__MODEL_SERVER_CONFIG__CONFIG_MODEL_CONFIG_LIST);
    assert_int_equal(config->model_config_list->n_config, 2);
    Tensorflow__Serving__ModelConfig *m = config->model_config_list->config[0];
    assert_string_equal(m->base_path, "/models/m");
    assert_int_equal(m->model_version_policy->specific->n_versions, 3);
    assert_int_equal(m->model_version_policy->specific->versions[2], 44);
    assert_int_equal(m->n_version_labels, 2);
    assert_int_equal(m->version_labels[1]->value, -1);
    Tensorflow__Serving__ModelConfig *n = config->model_config_list->config[1];
    assert_int_equal(n->model_type, TENSORFLOW__SERVING__MODEL_TYPE__TENSORFLOW);
    assert_non_null(n->model_version_policy->all);
}

static void a_checkpoint_state_is_read(void **state)
{
    (void)state;
    Tensorflow__CheckpointState *checkpoint;
    READ(tensorflow__checkpoint_state,
         "model_checkpoint_path: \"a\\\\b\\303\\274\\x21\"\n"
         "all_model_checkpoint_paths: \"x\"\nall_model_checkpoint_timestamps: 1.5e9\n"
         "last_preserved_timestamp: -.5f",
         &checkpoint);
    assert_string_equal(checkpoint->model_checkpoint_path, "a\\b\xc3\xbc!");
    assert_true(checkpoint->all_model_checkpoint_timestamps[0] == 1.5e9);
    assert_true(checkpoint->last_preserved_timestamp == -0.5);
}

static void two_escapes_may_be_one_character(void **state)
{
    (void)state;
    Tensorflow__TensorProto *tensor;
    READ(tensorflow__tensor_proto,
         "string_val: ['\\ud83d\\ude00', '\\U0001f600', '\\ud83d', '\\ud83d\\u0041', "
         "'\\ude00\\ud83d']",
         &tensor);
    static const char *const wanted[] = { "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xed\xa0\xbd",
                                          "\xed\xa0\xbd"
                                          "A",
                                          "\xed\xb8\x80\xed\xa0\xbd" };
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_int_equal(tensor->string_val[i].len, strlen(wanted[i]));
        assert_memory_equal(tensor->string_val[i].data, wanted[i], strlen(wanted[i]));
    }
}

static void numbers_of_every_form_are_read(void **state)
{
    (void)state;
    Tensorflow__TensorProto *tensor;
    READ(tensorflow__tensor_proto,
         "dtype: DT_HALF_REF int_val: 0x7fffffff int_val: -2147483648 int_val: 010\n"
         "float_val: [inf, -inf, nan, 1, 2.5F, 1e-3] uint64_val: 18446744073709551615\n"
         "int64_val: -9223372036854775808 bool_val: [true, f, 1, t, 00, 0x1]\n"
         "tensor_content: \"\\000\\377\\n\" tensor_shape { dim { size: 2 } dim { } }",
         &tensor);
    assert_int_equal(tensor->dtype, 119);
    assert_int_equal(tensor->int_val[0], INT32_MAX);
    assert_int_equal(tensor->int_val[1], INT32_MIN);
    assert_int_equal(tensor->int_val[2], 8);
    assert_true(isinf(tensor->float_val[0]) && tensor->float_val[1] < 0);
    assert_true(isnan(tensor->float_val[2]));
    assert_true(tensor->float_val[4] == 2.5f);
    assert_true(tensor->uint64_val[0] == UINT64_MAX);
    assert_true(tensor->int64_val[0] == INT64_MIN);
    assert_true(tensor->bool_val[0] && !tensor->bool_val[1] && tensor->bool_val[3]);
    assert_true(!tensor->bool_val[4] && tensor->bool_val[5]);
    assert_int_equal(tensor->tensor_content.len, 3);
    assert_memory_equal(tensor->tensor_content.data, "\0\377\n", 3);
    assert_int_equal(tensor->tensor_shape->n_dim, 2);
}

static void a_value_may_follow_zeros(void **state)
{
    (void)state;
    Tensorflow__Serving__ModelServerConfig *config;
    READ(tensorflow__serving__model_server_config,
         "model_config_list { config { name: '' name: 'm' model_type: 0 model_type: TENSORFLOW\n"
         "  version_labels { value: 0 value: 7 } logging_config { sampling_config {\n"
         "    sampling_rate: 0 sampling_rate: 0.5 } } } }",
         &config);
    const Tensorflow__Serving__ModelConfig *model = config->model_config_list->config[0];
    assert_string_equal(model->name, "m");
    assert_int_equal(model->model_type, TENSORFLOW__SERVING__MODEL_TYPE__TENSORFLOW);
    assert_int_equal(model->version_labels[0]->value, 7);
    assert_true(model->logging_config->sampling_config->sampling_rate == 0.5);
}

static void an_any_is_read_in_brackets_and_printed_so(void **state)
{
    (void)state;
    static const char text[] = "any_list {\n"
                               "  value {\n"
                               "    [type.googleapis.com/tensorflow.AssetFileDef] {\n"
                               "      tensor_info {\n"
                               "        name: \"Const:0\"\n"
                               "      }\n"
                               "      filename: \"vocab.txt\"\n"
                               "    }\n"
                               "  }\n"
                               "}\n";
    Tensorflow__CollectionDef *collection;
    READ(tensorflow__collection_def, text, &collection);
    Google__Protobuf__Any *any = collection->any_list->value[0];
    assert_string_equal(any->type_url, "type.googleapis.com/tensorflow.AssetFileDef");
    assert_int_equal(any->value.len, 22);
    struct buffer out = { 0 };
    proto_text_print(collection, &out);
    buffer_append_char(&out, '\0');
    assert_string_equal(out.data, text);
    buffer_finish(&out);
}

static void printing_and_reading_give_the_same_message(void **state)
{
    (void)state;
    Tensorflow__TensorProto *tensor, *again;
    READ(tensorflow__tensor_proto,
         "dtype: 7 float_val: [0.1, 1e30, 16777217, -0, 3] double_val: [0.1, 1e300]\n"
         "string_val: 'q\"\\'\\\\\\001\\n\\t\\r' bool_val: [false, true]\n"
         "tensor_shape { unknown_rank: true } resource_handle_val { dtypes_and_shapes { dtype: 999 "
         "} }",
         &tensor);
    struct buffer text = { 0 }, one = { 0 }, two = { 0 };
    proto_text_print(tensor, &text);
    buffer_append_char(&text, '\0');
    READ(tensorflow__tensor_proto, text.data, &again);
    proto_pack(tensor, &one);
    proto_pack(again, &two);
    assert_int_equal(one.size, two.size);
    assert_memory_equal(one.data, two.data, one.size);
    buffer_finish(&text);
    buffer_finish(&one);
    buffer_finish(&two);
}

static void unknown_fields_are_skipped_when_asked(void **state)
{
    (void)state;
    Tensorflow__NodeDef *node;
    struct bytes text = bytes_of(
        "name: 'n' experimental_type { type_id: TFT_PRODUCT args { args < x: -1.5 > } "
        "s: 'a' 'b' [a.b/c] { d: 1 } } new_field: [1, { a: 2 }] [ext.name]: 3 op: 'Const'");
    struct status status = proto_text_read(&tensorflow__node_def__descriptor, text,
                                           PROTO_TEXT_SKIP_UNKNOWN, arena, &node);
    assert_string_equal(status.message, "");
    assert_string_equal(node->op, "Const");
}

static const struct row {
    const char *label, *text, *error;
} errors[] = {
    { "unknown field", "model_config_list {\n  confg { }\n}",
      "Error parsing text-format tensorflow.serving.ModelServerConfig: 2:3: Message type "
      "\"tensorflow.serving.ModelConfigList\" has no field named \"confg\"." },
    { "missing brace", "model_config_list { config {", "1:29: Expected identifier, got: " },
    { "missing colon", "model_config_list { config { name 'm' } }", "1:35: Expected \":\"" },
    { "twice", "model_config_list { config { name: 'm' name: 'n' } }",
      "1:40: Non-repeated field \"name\" is specified multiple times." },
    { "a zero after a value", "model_config_list { config { name: 'm' name: '' } }",
      "1:40: Non-repeated field \"name\" is specified multiple times." },
    { "a oneof twice",
      "model_config_list { config { logging_config { sampling_config { "
      "per_task_sampling_configs { task_index: 0 task_index: 1 } } } } }",
      "Non-repeated field \"task_index\" is specified multiple times." },
    { "two of a oneof", "model_config_list { } custom_model_config { }",
      "1:23: Field \"custom_model_config\" is specified along with another member of its oneof." },
    { "string without end", "model_config_list { config { name: \"m\n\" } }",
      "1:36: String literals cannot cross line boundaries." },
    { "unknown enum", "model_config_list { config { model_type: NONE } }",
      "1:42: Unknown enumeration value of \"NONE\" for field \"model_type\"." },
    { "word for a string", "model_config_list { config { name: m } }", "Expected string, got: m" },
    { "word for a number", "model_config_list { config { version_labels { value: x } } }",
      "Expected integer, got: x" },
    { "real for an integer", "model_config_list { config { version_labels { value: 1.5 } } }",
      "Expected integer, got: 1.5" },
    { "word for a bool",
      "custom_model_config { [a/tensorflow.serving.SavedModelBundleSourceAdapterConfig] { "
      "legacy_config { enable_model_warmup: yes } } }",
      "Invalid value for boolean field \"enable_model_warmup\". Value: \"yes\"." },
    { "too large", "model_config_list { config { version_labels { value: 9223372036854775808 } } }",
      "Integer out of range (9223372036854775808)" },
    { "octal for a real",
      "model_config_list { config { logging_config { sampling_config { sampling_rate: 01 } } } }",
      "Expect a decimal number, got: 01" },
    { "hexadecimal for a real",
      "model_config_list { config { logging_config { sampling_config { sampling_rate: 0x1 } } } }",
      "Expect a decimal number, got: 0x1" },
    { "wrong closing", "model_config_list { config < name: 'm' } }",
      "Expected identifier, got: }" },
    { "bad escape", "model_config_list { config { name: 'a\\q' } }", "Invalid escape sequence" },
    { "NUL in a string", "model_config_list { config { name: '\\0' } }", "holds a NUL" },
    { "list of a singular", "model_config_list { config { name: ['m'] } }",
      "Expected string, got: [" },
    { "unknown any", "custom_model_config { [x/foo.Bar] { } }",
      "Could not find type \"x/foo.Bar\"" },
    { "any without end", "custom_model_config { [x/foo", "Expected \"]\"" },
    { "stray byte", "\x01", "1:1: Invalid character \\001 in text." },
};

static void says_what_is_wrong_and_where(void **state)
{
    const struct row *row = *state;
    void *config;
    arena = arena_create(0);
    struct status status = proto_text_read(&tensorflow__serving__model_server_config__descriptor,
                                           bytes_of(row->text), 0, arena, &config);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    if (strstr(status.message, row->error) == NULL)
        fail_msg("'%s'", status.message);
    arena_destroy(arena);
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    struct buffer text = { 0 };
    for (int i = 0; i < 100000; i++)
        buffer_append_text(&text, "experimental_distributed_variable_components{");
    void *variable;
    for (int flags = 0; flags < 2; flags++) {
        struct status status = proto_text_read(
            flags ? &tensorflow__version_def__descriptor : &tensorflow__saved_variable__descriptor,
            (struct bytes){ text.data, text.size }, flags, arena, &variable);
        assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
        assert_non_null(strstr(status.message, "too deep"));
    }
    text.size = 0;
    buffer_append_text(&text, "unknown: ");
    for (int i = 0; i < 100000; i++)
        buffer_append_char(&text, '[');
    struct status status = proto_text_read(&tensorflow__version_def__descriptor,
                                           (struct bytes){ text.data, text.size },
                                           PROTO_TEXT_SKIP_UNKNOWN, arena, &variable);
    assert_non_null(strstr(status.message, "too deep"));
    buffer_finish(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, arena_setup, arena_teardown)

int main(void)
{
    static const struct CMUnitTest plain[] = {
        TEST(a_server_config_is_read),
        TEST(a_checkpoint_state_is_read),
        TEST(two_escapes_may_be_one_character),
        TEST(numbers_of_every_form_are_read),
        TEST(a_value_may_follow_zeros),
        TEST(an_any_is_read_in_brackets_and_printed_so),
        TEST(printing_and_reading_give_the_same_message),
        TEST(unknown_fields_are_skipped_when_asked),
        TEST(deep_nesting_is_refused),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, errors, label, says_what_is_wrong_and_where);
    return test_group_run(&group, "text", NULL, NULL);
}
