/* Tests the texts of --platform_config_file and --tensorflow_session_config_file: what counts, what
 * is met anyway, and what is refused by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "proto/session_config.pb-c.h"
#include "proto/text.h"
#include "server/config/platform_config.h"
#include "support/test_group.h"

#define ADAPTER "[type.googleapis.com/tensorflow.serving.SavedModelBundleSourceAdapterConfig] { "
#define BEFORE                                                                      \
    "platform_configs { key: 'tensorflow' value { source_adapter_config { " ADAPTER \
    "legacy_config { "
#define AFTER " } } } } }"

static struct status read_platform(const char *text, struct arena *arena,
                                   struct platform_config *out)
{
    return platform_config_read(bytes_of(text), arena, out);
}

static struct status read_session(const char *text, struct arena *arena, struct session_config *out)
{
    Tensorflow__ConfigProto *message;
    TRY(proto_text_read(&tensorflow__config_proto__descriptor, bytes_of(text), 0, arena, &message));
    return session_config_read(message, out);
}

static void gives_what_the_text_says(void **state)
{
    static const char text[] = BEFORE
        "session_config { intra_op_parallelism_threads: 3 } "
        "batching_parameters { max_batch_size { value: 32 } allowed_batch_sizes: [8, 32] } "
        "enable_per_model_batching_params: true saved_model_tags: 'serve' saved_model_tags: 'gpu' "
        "enable_model_warmup: true "
        "model_warmup_options { num_request_iterations { value: 4 } }" AFTER;
    struct arena *arena = arena_create(0);
    struct platform_config config;
    (void)state;
    assert_string_equal(read_platform(text, arena, &config).message, "");
    assert_int_equal(config.session.intra_op_threads, 3);
    assert_true(config.enable_batching);
    assert_int_equal(config.batching.rows_max, 32);
    assert_int_equal(config.batching.allowed_count, 2);
    assert_int_equal(config.batching.allowed_sizes[0], 8);
    assert_true(config.enable_per_model_batching_parameters);
    assert_string_equal(config.saved_model_tags, "serve,gpu");
    assert_true(config.enable_model_warmup);
    assert_int_equal(config.num_request_iterations_for_warmup, 4);
    arena_destroy(arena);
}

static void has_the_defaults_of_the_message(void **state)
{
    static const char *const texts[] = {
        BEFORE AFTER,
        "platform_configs { key: 'tensorflow' value { source_adapter_config { " ADAPTER "} } } }",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct arena *arena = arena_create(0);
        struct platform_config config;
        assert_string_equal(read_platform(texts[i], arena, &config).message, "");
        assert_false(config.enable_batching);
        assert_false(config.enable_model_warmup);
        assert_string_equal(config.saved_model_tags, "serve");
        assert_int_equal(config.session.intra_op_threads, 0);
        arena_destroy(arena);
    }
}

static const struct row {
    const char *label, *text, *error; /* error NULL: accepted */
} platform_rows[] = {
    { "no text format", "platform_configs {", "Error parsing text-format" },
    { "no platform", "", "no source_adapter_config for the platform 'tensorflow'" },
    { "another platform", "platform_configs { key: 'x' value { } }", "platform 'x'" },
    { "a platform without an adapter", "platform_configs { key: 'tensorflow' }",
      "no source_adapter_config" },
    { "an unknown type of adapter",
      "platform_configs { key: 'tensorflow' value { source_adapter_config { [a/x.Y] { } } } }",
      "Could not find type \"a/x.Y\"" },
    { "another type of adapter",
      "platform_configs { key: 'tensorflow' value { source_adapter_config { "
      "[type.googleapis.com/tensorflow.GraphDef] { } } } }",
      "source_adapter_config of type 'type.googleapis.com/tensorflow.GraphDef'" },
    { "an adapter of damaged bytes",
      "platform_configs { key: 'tensorflow' value { source_adapter_config { "
      "type_url: 'tensorflow.serving.SavedModelBundleSourceAdapterConfig' value: '\\xff' } } }",
      "" },
    { "wrong batching parameters",
      BEFORE "batching_parameters { max_batch_size { value: 0 } }" AFTER,
      "legacy_config: batching_parameters: input_batch_size_limit must be positive; was 0" },
    { "a wrong session", BEFORE "session_config { use_per_session_threads: true }" AFTER,
      "legacy_config: session_config: use_per_session_threads: this server does not" },
    { "mixed precision", BEFORE "mixed_precision: 'bfloat16'" AFTER, "mixed_precision: " },
    { "a session elsewhere", BEFORE "session_target: 'grpc://a:1'" AFTER, "session_target: " },
    { "warm-up in several threads",
      BEFORE "model_warmup_options { num_model_warmup_threads { value: 2 } }" AFTER,
      "model_warmup_options.num_model_warmup_threads.value: " },
    { "warm-up in one thread",
      BEFORE "model_warmup_options { num_model_warmup_threads { value: 1 } }" AFTER, NULL },
    { "TFLite", BEFORE "prefer_tflite_model: true num_tflite_pools: 4" AFTER, NULL },
    { "metagraphs", BEFORE "remove_unused_fields_from_bundle_metagraph: true" AFTER, NULL },
    { "fixed inputs", BEFORE "experimental_fixed_input_tensors { name: 'x' }" AFTER, NULL },
    { "batches in the graph",
      BEFORE "in_graph_batching_parameters { max_batch_size { value: 3 } }" AFTER, NULL },
    { "versions with a configuration", BEFORE "enable_saved_model_config: true" AFTER, NULL },
};

static const struct row session_rows[] = {
    { "threads", "intra_op_parallelism_threads: 2 inter_op_parallelism_threads: 5", NULL },
    { "no GPU", "device_count { key: 'GPU' value: 0 }", NULL },
    { "options of a GPU",
      "gpu_options { allow_growth: true experimental { use_unified_memory: true "
      "} }",
      NULL },
    { "soft placement", "allow_soft_placement: true", NULL },
    { "no XLA", "graph_options { optimizer_options { global_jit_level: OFF } }", NULL },
    { "XLA", "graph_options { optimizer_options { global_jit_level: ON_2 } }", NULL },
    { "folding", "graph_options { rewrite_options { constant_folding: ON } }", NULL },
    { "no folding", "graph_options { rewrite_options { constant_folding: OFF } }",
      "graph_options.rewrite_options.constant_folding: this server does not" },
    { "no optimization", "graph_options { optimizer_options { opt_level: L0 } }",
      "graph_options.optimizer_options.opt_level: " },
    { "a field after one that is met", "allow_soft_placement: true log_device_placement: true",
      "log_device_placement: " },
    { "a pool", "session_inter_op_thread_pool { num_threads: 4 }",
      "session_inter_op_thread_pool: " },
    { "a number", "operation_timeout_in_ms: 5", "operation_timeout_in_ms: " },
    { "a text", "experimental { executor_type: 'X' }", "experimental.executor_type: " },
    { "a cluster", "cluster_def { job { name: 'w' } }", "cluster_def.job: " },
    { "an unknown field", "no_such_field: 1", "has no field named \"no_such_field\"" },
};

static void check_row(const struct row *row, struct status status)
{
    if (row->error == NULL)
        assert_string_equal(status.message, "");
    else if (status_is_ok(status) || strstr(status.message, row->error) == NULL)
        fail_msg("%s: %s", row->label, status.message);
}

static void checks_a_platform(void **state)
{
    struct arena *arena = arena_create(0);
    struct platform_config config;
    const struct row *row = *state;
    check_row(row, read_platform(row->text, arena, &config));
    arena_destroy(arena);
}

static void checks_a_session(void **state)
{
    struct arena *arena = arena_create(0);
    struct session_config config;
    const struct row *row = *state;
    check_row(row, read_session(row->text, arena, &config));
    arena_destroy(arena);
}

#define ROWS (COUNT(platform_rows) + COUNT(session_rows))

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(gives_what_the_text_says),
        cmocka_unit_test(has_the_defaults_of_the_message),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, platform_rows, label, checks_a_platform);
    ADD_ROWS(&group, session_rows, label, checks_a_session);
    return test_group_run(&group, "platform config", NULL, NULL);
}
