/* ModelServerConfig: the text of --model_config_file, and the message of HandleReloadConfigRequest.
 * The checks and their order are those of TensorFlow Serving's ServerCore::ReloadConfig. */

#include "base/file.h"
#include "base/map.h"
#include "proto/message.h"
#include "proto/serving_config.pb-c.h"
#include "proto/strings.h"
#include "proto/text.h"
#include "server/models/model_config.h"

#define CONFIG_BYTES_MAX ((size_t)64 << 20)
#define ARENA_BYTES_MAX  (16 * CONFIG_BYTES_MAX)
/* A request log keeps its prefix as long as the server runs. No path is longer. */
#define PREFIX_BYTES_MAX 4096

typedef Tensorflow__Serving__ModelServerConfig message_type;
typedef Tensorflow__Serving__FileSystemStoragePathSourceConfig__ServableVersionPolicy policy_type;

#define POLICY_CASE(name) \
    TENSORFLOW__SERVING__FILE_SYSTEM_STORAGE_PATH_SOURCE_CONFIG__SERVABLE_VERSION_POLICY__##name

static struct status check_names(const Tensorflow__Serving__ModelConfigList *list,
                                 struct arena *arena)
{
    struct map names = { .arena = arena };
    const char *twice = NULL;
    for (size_t i = 0; i < list->n_config && twice == NULL; i++) {
        const char *name = list->config[i]->name;
        if (map_has(&names, bytes_of(name)))
            twice = name;
        map_put_text(&names, name, list->config[i]);
    }
    if (twice != NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Illegal to list model %s multiple times in config list", twice);
    return status_ok();
}

static struct status check_paths(const Tensorflow__Serving__ModelConfigList *list)
{
    for (size_t i = 0; i < list->n_config; i++) {
        const char *path = file_path_of_uri(list->config[i]->base_path);
        /* A path gs://… is absolute, but not on a local disk. */
        struct status status = file_check_local(path);
        if (!status_is_ok(status))
            return status_in(status, "model %s", list->config[i]->name);
        if (path[0] != '/')
            return status_error(STATUS_INVALID_ARGUMENT,
                                "Expected model %s to have an absolute path or URI; got "
                                "base_path()=%s",
                                list->config[i]->name, path);
    }
    return status_ok();
}

static struct status read_platform(const Tensorflow__Serving__ModelConfig *config,
                                   const char **platform)
{
    bool has_type = config->model_type != TENSORFLOW__SERVING__MODEL_TYPE__MODEL_TYPE_UNSPECIFIED;
    if (has_type && config->model_platform[0] != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Illegal setting both ModelServerConfig::model_type (deprecated) and "
                            "ModelServerConfig::model_platform.");
    if (!has_type && config->model_platform[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Illegal setting neither ModelServerConfig::model_type (deprecated) "
                            "nor ModelServerConfig::model_platform.");
    if (has_type && config->model_type != TENSORFLOW__SERVING__MODEL_TYPE__TENSORFLOW)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "ModelServerConfig::model_type choice %d not supported.",
                            (int)config->model_type);
    *platform = has_type ? PLATFORM_TENSORFLOW : config->model_platform;
    return status_ok();
}

static struct version_policy read_policy(const policy_type *policy)
{
    if (policy == NULL)
        return (struct version_policy){ .kind = POLICY_LATEST, .latest = 1 };
    switch (policy->policy_choice_case) {
    case POLICY_CASE(POLICY_CHOICE_ALL):
        return (struct version_policy){ .kind = POLICY_ALL };
    case POLICY_CASE(POLICY_CHOICE_SPECIFIC):
        return (struct version_policy){ .kind = POLICY_SPECIFIC,
                                        .versions = policy->specific->versions,
                                        .versions_count = policy->specific->n_versions };
    case POLICY_CASE(POLICY_CHOICE_LATEST):
        return (struct version_policy){ .kind = POLICY_LATEST,
                                        .latest = policy->latest->num_versions };
    default:
        return (struct version_policy){ .kind = POLICY_LATEST, .latest = 1 };
    }
}

/* Refuses the fields that are not implemented, by name. */
static struct status check_logging(const Tensorflow__Serving__LoggingConfig *from)
{
    const Tensorflow__Serving__SamplingConfig *sampling = from->sampling_config;
    if (from->custom_logging_config != NULL)
        return status_error(STATUS_UNIMPLEMENTED, "custom_logging_config is not supported");
    if (sampling == NULL)
        return status_ok();
    if (sampling->n_per_task_sampling_configs > 0)
        return status_error(STATUS_UNIMPLEMENTED, "per_task_sampling_configs is not supported");
    if (sampling->attributes != 0)
        return status_error(STATUS_UNIMPLEMENTED, "attributes is not supported");
    if (!(sampling->sampling_rate >= 0 && sampling->sampling_rate <= 1))
        return status_error(STATUS_INVALID_ARGUMENT, "sampling_rate is %g; it wants 0 to 1",
                            sampling->sampling_rate);
    return status_ok();
}

/* TensorFlow Serving looks the type up among the collectors that were linked in. */
static struct status check_collector(const Tensorflow__Serving__LogCollectorConfig *collector)
{
    static const char *const types[] = { "", "file", "tfrecord" };
    if (collector == NULL || collector->filename_prefix[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "log_collector_config has no filename_prefix");
    if (strlen(collector->filename_prefix) > PREFIX_BYTES_MAX)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "log_collector_config: filename_prefix has more than %d bytes",
                            PREFIX_BYTES_MAX);
    if (BYTES_FIND(bytes_of(collector->type), types) < 0)
        return status_error(STATUS_UNIMPLEMENTED,
                            "log_collector_config: type '%s' is not supported; file is",
                            collector->type);
    return status_in(file_check_local(file_path_of_uri(collector->filename_prefix)),
                     "log_collector_config: filename_prefix");
}

static struct status read_logging(const Tensorflow__Serving__LoggingConfig *from,
                                  struct model_logging *to)
{
    *to = (struct model_logging){ 0 };
    if (from == NULL)
        return status_ok();
    TRY(check_logging(from));
    bool logs = from->sampling_config != NULL && from->sampling_config->sampling_rate > 0;
    if (logs || from->log_collector_config != NULL) /* a mistake shows before the first sample */
        TRY(check_collector(from->log_collector_config));
    if (!logs)
        return status_ok();
    to->rate = from->sampling_config->sampling_rate;
    to->prefix = file_path_of_uri(from->log_collector_config->filename_prefix);
    return status_ok();
}

static struct status read_model(const Tensorflow__Serving__ModelConfig *from, struct arena *arena,
                                struct model_config *to)
{
    struct version_label *labels = ARENA_ARRAY(arena, struct version_label, from->n_version_labels);
    struct map labels_by_name = { .arena = arena };
    for (size_t i = 0; i < from->n_version_labels; i++) {
        labels[i] =
            (struct version_label){ from->version_labels[i]->key, from->version_labels[i]->value };
        map_put_text(&labels_by_name, labels[i].label, &labels[i]);
    }
    *to = (struct model_config){ .name = from->name,
                                 .base_path = file_path_of_uri(from->base_path),
                                 .policy = read_policy(from->model_version_policy),
                                 .labels = labels,
                                 .labels_count = from->n_version_labels,
                                 .labels_by_name = labels_by_name };
    TRY(status_in(read_logging(from->logging_config, &to->logging), "model %s: logging_config",
                  from->name));
    return read_platform(from, &to->platform);
}

static struct status read_list(const Tensorflow__Serving__ModelConfigList *list,
                               struct model_configs *out)
{
    TRY(check_names(list, out->arena));
    TRY(check_paths(list));
    out->kind = CONFIGS_LIST;
    out->items = ARENA_ARRAY(out->arena, struct model_config, list->n_config);
    for (; out->count < list->n_config; out->count++)
        TRY(read_model(list->config[out->count], out->arena, &out->items[out->count]));
    return status_ok();
}

static struct status read_message(const message_type *message, struct model_configs *out)
{
    switch (message->config_case) {
    case TENSORFLOW__SERVING__MODEL_SERVER_CONFIG__CONFIG_MODEL_CONFIG_LIST:
        return read_list(message->model_config_list, out);
    case TENSORFLOW__SERVING__MODEL_SERVER_CONFIG__CONFIG_CUSTOM_MODEL_CONFIG:
        out->kind = CONFIGS_CUSTOM;
        return status_ok();
    default:
        return status_ok();
    }
}

static struct status read_text(const char *path, struct model_configs *configs, message_type **out)
{
    struct buffer text = { 0 };
    struct status status = file_read(path, CONFIG_BYTES_MAX, &text);
    if (status_is_ok(status)) {
        struct bytes bytes = { text.data, text.size };
        configs->text_hash = bytes_hash(bytes);
        status = status_in(proto_text_read(&tensorflow__serving__model_server_config__descriptor,
                                           bytes, PROTO_TEXT_CHECK_UTF8, configs->arena, out),
                           "Invalid protobuf file: '%s'", path);
    }
    buffer_finish(&text);
    return status;
}

static struct model_configs *make_configs(struct budget *budget)
{
    struct model_configs *configs = zalloc(sizeof *configs);
    configs->arena = arena_create(ARENA_BYTES_MAX);
    arena_charge(configs->arena, budget);
    return configs;
}

static struct status keep_or_destroy(struct model_configs *configs, struct status status,
                                     struct model_configs **out)
{
    if (!status_is_ok(status)) {
        model_configs_destroy(configs);
        return status;
    }
    *out = configs;
    return status;
}

struct status model_configs_read_file(const char *path, struct model_configs **out)
{
    struct model_configs *configs = make_configs(NULL);
    message_type *message;
    struct status status = read_text(path, configs, &message);
    if (status_is_ok(status))
        status = read_message(message, configs);
    return keep_or_destroy(configs, status, out);
}

struct status model_configs_unpack(struct bytes bytes, struct budget *budget,
                                   struct model_configs **out)
{
    struct model_configs *configs = make_configs(budget);
    const ProtobufCMessageDescriptor *type = &tensorflow__serving__model_server_config__descriptor;
    message_type *message;
    struct status status = proto_check_strings(type, bytes);
    if (status_is_ok(status))
        status = proto_unpack(type, bytes, configs->arena, &message);
    if (status_is_ok(status))
        status = read_message(message, configs);
    return keep_or_destroy(configs, status, out);
}
