#include "server/metrics/monitoring_config.h"

#include "base/file.h"
#include "proto/serving_config.pb-c.h"
#include "proto/text.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20)

/* Can a request have this path? */
static bool is_path(const char *path)
{
    if (path[0] != '/')
        return false;
    for (const char *at = path; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || *at == '?' || *at == '#')
            return false;
    return true;
}

struct status monitoring_config_read(struct bytes text, struct arena *arena, const char **path)
{
    Tensorflow__Serving__MonitoringConfig *config;
    TRY(proto_text_read(&tensorflow__serving__monitoring_config__descriptor, text,
                        PROTO_TEXT_CHECK_UTF8, arena, &config));
    *path = NULL;
    if (config->prometheus_config == NULL || !config->prometheus_config->enable)
        return status_ok();
    const char *given = config->prometheus_config->path;
    if (given[0] == '\0')
        given = MONITORING_PATH;
    if (!is_path(given))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "prometheus_config: path \"%s\" is not the path of a URL: it begins "
                            "with '/' and has no blanks, '?' or '#'",
                            given);
    *path = arena_strdup(arena, given);
    return status_ok();
}

struct status monitoring_config_load(const char *file, struct arena *arena, const char **path)
{
    struct buffer text = { 0 };
    struct status status = file_read(file, CONFIG_BYTES_MAX, &text);
    if (status_is_ok(status))
        status =
            status_in(monitoring_config_read((struct bytes){ text.data, text.size }, arena, path),
                      "Invalid protobuf file: '%s'", file);
    buffer_finish(&text);
    return status;
}
