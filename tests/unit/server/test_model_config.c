/* What a ModelServerConfig says, in text and on the wire. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"
#include "base/log.h"
#include "proto/message.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"
#include "server/models/model_config.h"
#include "server/models/source.h"
#include "support/test_group.h"

static char path[64];

static struct status read_text(const char *text, struct model_configs **out)
{
    assert_int_equal(file_write(path, bytes_of(text)).code, STATUS_OK);
    return model_configs_read_file(path, out);
}

#define X16   "xxxxxxxxxxxxxxxx"
#define X256  X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16 X16
#define X4096 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256 X256
#define MODEL(more)                                                                             \
    "model_config_list { config { name: 'm' base_path: '/m' model_platform: 'tensorflow' " more \
    "} }"

static void a_file_names_models_policies_and_labels(void **state)
{
    struct model_configs *configs;
    int64_t version;
    (void)state;
    struct status status = read_text(
        "# two models\n"
        "model_config_list <\n"
        "  config: { name: 'a' 'b', base_path: \"/x\"; model_type: TENSORFLOW\n"
        "    model_version_policy { specific { versions: [42, 43] versions: 7 } }\n"
        "    version_labels { key: 'stable' value: 42 } version_labels { key: 'new' value: 43 } }\n"
        "  config { name: 'c' base_path: 'file:///y' model_platform: 'tensorflow'\n"
        "    logging_config { sampling_config { sampling_rate: 1 }\n"
        "      log_collector_config { filename_prefix: 'file:///logs/c' } } }\n"
        ">\n",
        &configs);
    assert_string_equal(status.message, "");
    assert_int_equal(configs->kind, CONFIGS_LIST);
    assert_int_equal(configs->count, 2);
    const struct model_config *first = &configs->items[0], *second = &configs->items[1];
    assert_string_equal(first->name, "ab");
    assert_string_equal(first->base_path, "/x");
    assert_string_equal(first->platform, PLATFORM_TENSORFLOW);
    assert_int_equal(first->policy.kind, POLICY_SPECIFIC);
    assert_int_equal(first->policy.versions_count, 3);
    assert_int_equal(first->policy.versions[2], 7);
    assert_true(model_config_find_label(first, bytes_of("new"), &version));
    assert_int_equal(version, 43);
    assert_false(model_config_find_label(first, bytes_of("ne"), &version));
    assert_string_equal(second->name, "c");
    assert_string_equal(second->base_path, "/y");
    assert_string_equal(second->logging.prefix, "/logs/c");
    assert_int_equal(second->policy.kind, POLICY_LATEST);
    model_configs_destroy(configs);
}

static void an_empty_file_is_not_an_empty_list(void **state)
{
    struct model_configs *configs;
    (void)state;
    assert_int_equal(read_text("", &configs).code, STATUS_OK);
    assert_int_equal(configs->kind, CONFIGS_NONE);
    model_configs_destroy(configs);
    assert_int_equal(read_text("model_config_list {}", &configs).code, STATUS_OK);
    assert_int_equal(configs->kind, CONFIGS_LIST);
    assert_int_equal(configs->count, 0);
    model_configs_destroy(configs);
    assert_int_equal(read_text("custom_model_config {}", &configs).code, STATUS_OK);
    assert_int_equal(configs->kind, CONFIGS_CUSTOM);
    model_configs_destroy(configs);
}

static const struct row {
    const char *label, *text, *message;
    enum status_code code;
} rows[] = {
    { "a field that does not exist", "model_config_list {\n  config { nam: 'm' }\n}",
      "Error parsing text-format tensorflow.serving.ModelServerConfig: 2:12:",
      STATUS_INVALID_ARGUMENT },
    { "a brace that is not closed", "model_config_list {\n", "2:1:", STATUS_INVALID_ARGUMENT },
    { "a model that is listed twice",
      "model_config_list { config { name: 'm' } config { name: 'm' } }",
      "Illegal to list model m multiple times in config list", STATUS_INVALID_ARGUMENT },
    { "a relative base path",
      "model_config_list { config { name: 'm' base_path: 'x/m' model_platform: 'tensorflow' } }",
      "Expected model m to have an absolute path or URI; got base_path()=x/m",
      STATUS_INVALID_ARGUMENT },
    { "a base path in a cloud",
      "model_config_list { config { name: 'm' base_path: 'gs://m' model_platform: 'tensorflow' } }",
      "File system scheme 'gs' not implemented", STATUS_UNIMPLEMENTED },
    { "a name that is not UTF-8", "model_config_list { config { name: '\\xff' } }",
      "Field \"name\" holds bytes that are not UTF-8.", STATUS_INVALID_ARGUMENT },
    { "no platform", "model_config_list { config { name: 'm' base_path: '/m' } }",
      "Illegal setting neither ModelServerConfig::model_type (deprecated) nor "
      "ModelServerConfig::model_platform.",
      STATUS_INVALID_ARGUMENT },
    { "a type and a platform", MODEL("model_type: TENSORFLOW"),
      "Illegal setting both ModelServerConfig::model_type (deprecated) and "
      "ModelServerConfig::model_platform.",
      STATUS_INVALID_ARGUMENT },
    { "another type",
      "model_config_list { config { name: 'm' base_path: '/m' model_type: OTHER } }",
      "ModelServerConfig::model_type choice 2 not supported.", STATUS_INVALID_ARGUMENT },
    { "a log without a place", MODEL("logging_config { sampling_config { sampling_rate: 1 } }"),
      "model m: logging_config: log_collector_config has no filename_prefix",
      STATUS_INVALID_ARGUMENT },
    { "a log in a cloud",
      MODEL("logging_config { sampling_config { sampling_rate: 1 } log_collector_config { "
            "filename_prefix: 's3://logs/m' } }"),
      "model m: logging_config: log_collector_config: filename_prefix: File system scheme 's3' not "
      "implemented",
      STATUS_UNIMPLEMENTED },
    { "more than all requests", MODEL("logging_config { sampling_config { sampling_rate: 1.5 } }"),
      "sampling_rate is 1.5; it wants 0 to 1", STATUS_INVALID_ARGUMENT },
    { "another collector",
      MODEL("logging_config { sampling_config { sampling_rate: 1 } log_collector_config { type: "
            "'kafka' filename_prefix: '/l' } }"),
      "type 'kafka' is not supported", STATUS_UNIMPLEMENTED },
    { "another collector, of no requests",
      MODEL("logging_config { sampling_config { sampling_rate: 0 } log_collector_config { type: "
            "'kafka' filename_prefix: '/l' } }"),
      "type 'kafka' is not supported", STATUS_UNIMPLEMENTED },
    { "another collector, without a rate",
      MODEL("logging_config { log_collector_config { type: 'kafka' filename_prefix: '/l' } }"),
      "type 'kafka' is not supported", STATUS_UNIMPLEMENTED },
    { "a log with an endless name",
      MODEL("logging_config { sampling_config { sampling_rate: 1 } log_collector_config { "
            "filename_prefix: '" X4096 "x' } }"),
      "filename_prefix has more than 4096 bytes", STATUS_INVALID_ARGUMENT },
    { "sampling by task",
      MODEL("logging_config { sampling_config { per_task_sampling_configs { dc: 'x' } } }"),
      "per_task_sampling_configs is not supported", STATUS_UNIMPLEMENTED },
    { "sampling by attributes", MODEL("logging_config { sampling_config { attributes: 1 } }"),
      "attributes is not supported", STATUS_UNIMPLEMENTED },
};

static void a_bad_file_is_refused(void **state)
{
    const struct row *row = *state;
    struct model_configs *configs;
    struct status status = read_text(row->text, &configs);
    assert_int_equal(status.code, row->code);
    if (strstr(status.message, row->message) == NULL)
        fail_msg("'%s' is not in '%s'", row->message, status.message);
}

static void a_file_that_does_not_parse_is_named(void **state)
{
    struct model_configs *configs;
    char expected[128];
    (void)state;
    snprintf(expected, sizeof expected, "Invalid protobuf file: '%s'", path);
    assert_non_null(strstr(read_text("x", &configs).message, expected));
}

static void a_message_says_the_same_as_a_file(void **state)
{
    static const char text[] = MODEL("model_version_policy { latest { num_versions: 3 } } ");
    Tensorflow__Serving__ModelServerConfig *message;
    struct model_configs *configs;
    struct buffer bytes = { 0 };
    struct arena *arena = arena_create(0);
    (void)state;
    assert_int_equal(proto_text_read(&tensorflow__serving__model_server_config__descriptor,
                                     bytes_of(text), 0, arena, &message)
                         .code,
                     STATUS_OK);
    proto_pack(message, &bytes);
    struct bytes whole = { bytes.data, bytes.size }, cut = { bytes.data, bytes.size - 1 };
    assert_int_equal(model_configs_unpack(whole, NULL, &configs).code, STATUS_OK);
    assert_int_equal(configs->count, 1);
    assert_string_equal(configs->items[0].name, "m");
    assert_int_equal(configs->items[0].policy.latest, 3);
    model_configs_destroy(configs);
    assert_int_equal(model_configs_unpack(cut, NULL, &configs).code, STATUS_INTERNAL);
    buffer_finish(&bytes);
    arena_destroy(arena);
}

/* A list of one model, of whose fields one holds the three bytes. */
static void assert_message_refused(char field, const char *bytes, const char *message)
{
    char wire[] = { 0x0a, 7, 0x0a, 5, (char)(field << 3 | 2), 3, bytes[0], bytes[1], bytes[2] };
    struct model_configs *configs;
    struct status status =
        model_configs_unpack((struct bytes){ wire, sizeof wire }, NULL, &configs);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_string_equal(status.message, message);
}

static void a_message_of_strings_that_are_not_utf8_is_refused(void **state)
{
    (void)state;
    assert_message_refused(1, "m\xffm",
                           "tensorflow.serving.ModelConfig: Field \"name\" holds bytes that are "
                           "not UTF-8.");
    assert_message_refused(2, "/\xed\xa0",
                           "tensorflow.serving.ModelConfig: Field \"base_path\" holds bytes that "
                           "are not UTF-8.");
    assert_message_refused(1, "m\0m",
                           "tensorflow.serving.ModelConfig: Field \"name\" holds a NUL "
                           "character.");
}

static void a_budget_pays_for_a_message(void **state)
{
    /* A list of 100 000 models, each of which takes two bytes here and more than 100 in memory. */
    enum { MODELS = 100000 };
    static const char model[] = { 0x0a, 0 };
    struct budget budget = { .limit_bytes = 1 << 20, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct model_configs *configs;
    struct buffer bytes = { 0 };
    (void)state;
    buffer_append(&bytes, "\x0a\xc0\x9a\x0c", 4); /* field 1, 200 000 bytes */
    for (int i = 0; i < MODELS; i++)
        buffer_append(&bytes, model, sizeof model);
    struct bytes message = { bytes.data, bytes.size }, nothing = { "\x0a", 2 };
    assert_int_equal(model_configs_unpack(message, &budget, &configs).code,
                     STATUS_RESOURCE_EXHAUSTED);
    assert_int_equal(budget.used_bytes, 0);
    assert_int_equal(model_configs_unpack(nothing, &budget, &configs).code, STATUS_OK);
    assert_true(budget.used_bytes > 0);
    model_configs_destroy(configs);
    assert_int_equal(budget.used_bytes, 0);
    buffer_finish(&bytes);
}

/* The wanted ones of the versions 1, 3, 5 and 7, as bits. */
static unsigned wanted(struct version_policy policy)
{
    struct source_version items[] = { { 1, NULL }, { 3, NULL }, { 5, NULL }, { 7, NULL } };
    const struct source_versions found = { .items = items, .count = COUNT(items) };
    unsigned bits = 0;
    for (size_t i = 0; i < COUNT(items); i++)
        bits |= version_policy_wants(&policy, &found, i) ? 1U << items[i].number : 0;
    return bits;
}

static void a_policy_wants_some_of_the_versions(void **state)
{
    static const int64_t specific[] = { 5, 1, 6 };
    (void)state;
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_LATEST }), 1U << 7);
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_LATEST, .latest = 1 }),
                     1U << 7);
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_LATEST, .latest = 2 }),
                     1U << 7 | 1U << 5);
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_LATEST, .latest = 9 }),
                     1U << 7 | 1U << 5 | 1U << 3 | 1U << 1);
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_ALL }),
                     1U << 7 | 1U << 5 | 1U << 3 | 1U << 1);
    assert_int_equal(wanted((struct version_policy){ .kind = POLICY_SPECIFIC,
                                                     .versions = specific,
                                                     .versions_count = COUNT(specific) }),
                     1U << 5 | 1U << 1);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(a_file_names_models_policies_and_labels),
        cmocka_unit_test(an_empty_file_is_not_an_empty_list),
        cmocka_unit_test(a_file_that_does_not_parse_is_named),
        cmocka_unit_test(a_message_says_the_same_as_a_file),
        cmocka_unit_test(a_message_of_strings_that_are_not_utf8_is_refused),
        cmocka_unit_test(a_budget_pays_for_a_message),
        cmocka_unit_test(a_policy_wants_some_of_the_versions),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, rows, label, a_bad_file_is_refused);
    log_set_level(LOG_NONE);
    snprintf(path, sizeof path, "/tmp/slipway-config-%d", (int)getpid());
    int failed = test_group_run(&group, "model_config", NULL, NULL);
    unlink(path);
    return failed;
}
