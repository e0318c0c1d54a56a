#include "server/config/platform_config.h"

#include <string.h>

#include "base/file.h"
#include "proto/message.h"
#include "proto/platform_config.pb-c.h"
#include "proto/text.h"
#include "proto/types.h"
#include "server/config/config_fields.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define PLATFORM       "tensorflow"
#define WARMUP         "model_warmup_options."
#define NO_TFLITE      "this server has no TFLite"

typedef Tensorflow__Serving__SessionBundleConfig message_type;

/* session_config and batching_parameters have separate checks. */
static const struct config_field rows[] = {
    { "session_config", FIELD_ANY, NULL },
    { "batching_parameters", FIELD_ANY, NULL },
    { "saved_model_tags", FIELD_ANY, NULL },
    { "enable_model_warmup", FIELD_ANY, NULL },
    { WARMUP "num_request_iterations", FIELD_ANY, NULL },
    { WARMUP "num_model_warmup_threads.value", 1, NULL },
    { "enable_per_model_batching_params", FIELD_ANY, NULL },
    { "remove_unused_fields_from_bundle_metagraph", FIELD_ANY, NULL }, /* they are never kept */
    { "enable_session_metadata", FIELD_ANY, NULL }, /* metrics have the model's name and version */
    { "resource_estimation_uses_validation_result", FIELD_ANY, NULL },
    { "wrap_session_with_no_threading_params", FIELD_ANY, NULL },
    { "experimental_transient_ram_bytes_during_load", FIELD_ANY,
      "the memory of a load is estimated from its files" },
    { "in_graph_batching_parameters", FIELD_ANY,
      "BatchFunction calls its function for each request" },
    { "experimental_fixed_input_tensors", FIELD_ANY, "runs have the inputs of their signature" },
    { "enable_saved_model_config", FIELD_ANY, "no version has a configuration of its own" },
    { "prefer_tflite_model", FIELD_ANY, NO_TFLITE },
    { "num_tflite_interpreters", FIELD_ANY, NO_TFLITE },
    { "num_tflite_interpreters_per_pool", FIELD_ANY, NO_TFLITE },
    { "num_tflite_pools", FIELD_ANY, NO_TFLITE },
};

static const char *join_tags(const message_type *message, struct arena *arena)
{
    struct buffer text = { 0 };
    for (size_t i = 0; i < message->n_saved_model_tags; i++) {
        if (i > 0)
            buffer_append_char(&text, ',');
        buffer_append_text(&text, message->saved_model_tags[i]);
    }
    buffer_append_char(&text, '\0');
    const char *tags = message->n_saved_model_tags > 0 ? arena_strdup(arena, text.data) : "serve";
    buffer_finish(&text);
    return tags;
}

static int32_t iterations_of(const Tensorflow__Serving__ModelWarmupOptions *options)
{
    return options != NULL && options->num_request_iterations != NULL
               ? options->num_request_iterations->value
               : 0;
}

static struct status read_message(const message_type *message, struct arena *arena,
                                  struct platform_config *out)
{
    *out = (struct platform_config){ .batching = batching_default() };
    TRY(config_fields_check(message, rows, COUNT(rows)));
    if (message->session_config != NULL)
        TRY(status_in(session_config_read(message->session_config, &out->session),
                      "session_config"));
    out->enable_batching = message->batching_parameters != NULL;
    if (out->enable_batching)
        TRY(status_in(batching_read_message(message->batching_parameters, &out->batching),
                      "batching_parameters"));
    out->enable_per_model_batching_parameters = message->enable_per_model_batching_params;
    out->saved_model_tags = join_tags(message, arena);
    out->enable_model_warmup = message->enable_model_warmup;
    out->num_request_iterations_for_warmup = iterations_of(message->model_warmup_options);
    return status_ok();
}

static struct status read_adapter(const Google__Protobuf__Any *any, struct arena *arena,
                                  struct platform_config *out)
{
    static const ProtobufCMessageDescriptor *const type =
        &tensorflow__serving__saved_model_bundle_source_adapter_config__descriptor;
    Tensorflow__Serving__SavedModelBundleSourceAdapterConfig *adapter;
    message_type *message;
    if (proto_type_find(bytes_of(any->type_url)) != type)
        return status_error(STATUS_UNIMPLEMENTED,
                            "source_adapter_config of type '%s'; this server has %s", any->type_url,
                            type->name);
    TRY(proto_unpack(type, (struct bytes){ (const char *)any->value.data, any->value.len }, arena,
                     &adapter));
    message = adapter->legacy_config;
    if (message == NULL)
        message = PROTO_NEW(arena, message_type, tensorflow__serving__session_bundle_config);
    return status_in(read_message(message, arena, out), "legacy_config");
}

struct status platform_config_read(struct bytes text, struct arena *arena,
                                   struct platform_config *out)
{
    Tensorflow__Serving__PlatformConfigMap *map;
    const Tensorflow__Serving__PlatformConfig *platform = NULL;
    TRY(proto_text_read(&tensorflow__serving__platform_config_map__descriptor, text,
                        PROTO_TEXT_CHECK_UTF8, arena, &map));
    for (size_t i = 0; i < map->n_platform_configs; i++) {
        if (strcmp(map->platform_configs[i]->key, PLATFORM) != 0)
            return status_error(STATUS_UNIMPLEMENTED, "platform '%s'; this server has '%s'",
                                map->platform_configs[i]->key, PLATFORM);
        platform = map->platform_configs[i]->value;
    }
    if (platform == NULL || platform->source_adapter_config == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "no source_adapter_config for the platform '%s'", PLATFORM);
    return read_adapter(platform->source_adapter_config, arena, out);
}

struct status platform_config_load(const char *path, struct arena *arena,
                                   struct platform_config *out)
{
    struct buffer text = { 0 };
    struct status status = file_read(path, FILE_BYTES_MAX, &text);
    if (status_is_ok(status))
        status = platform_config_read((struct bytes){ text.data, text.size }, arena, out);
    buffer_finish(&text);
    return status_in(
        status, status.code == STATUS_UNIMPLEMENTED ? "'%s'" : "Invalid protobuf file: '%s'", path);
}
