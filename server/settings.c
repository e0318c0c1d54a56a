#include "server/settings.h"

#include <limits.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "server/config/platform_config.h"
#include "server/metrics/monitoring_config.h"

/* The errors of whoever reads a file later do not name the flag. */
static struct status check_opens(const char *path)
{
    struct file_reader reader;
    TRY(file_check_local(path));
    TRY(file_reader_open(path, &reader));
    file_reader_close(&reader);
    return status_ok();
}

/* TensorFlow Serving does not read the files whose flags --platform_config_file replaces. */
static struct status check_files(const struct server_options *options)
{
    bool replaced = options->platform_config_file[0] != '\0';
    const struct {
        const char *flag, *path;
    } rows[] = {
        { "--model_config_file", options->model_config_file },
        { "--model_limits_file", options->model_limits_file },
        { "--platform_config_file", options->platform_config_file },
        { "--batching_parameters_file", replaced ? "" : options->batching_parameters_file },
        { "--tensorflow_session_config_file",
          replaced ? "" : options->tensorflow_session_config_file },
        { "--monitoring_config_file", options->monitoring_config_file },
        { "--ssl_config_file", options->ssl_config_file },
        { "--rest_ssl_config_file", options->rest_ssl_config_file },
        { "--auth_token_file", options->auth_token_file },
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].path[0] != '\0')
            TRY(status_in(check_opens(rows[i].path), "%s", rows[i].flag));
    return status_ok();
}

/* TensorFlow Serving fails in the same way, with the same text and exit status. */
static struct status check_flags(const struct server_options *options)
{
    bool one_model = options->model_config_file[0] == '\0';
    if (one_model && options->model_base_path[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "Both server_options.model_base_path "
                                                     "and server_options.model_config_file are "
                                                     "empty!");
    if (one_model && options->model_name[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--model_name is empty: no request could name the model");
    if (options->port == 0 && options->rest_api_port == 0 && options->grpc_socket_path[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--port=0, --rest_api_port=0 and no --grpc_socket_path: no client "
                            "could connect");
    if (options->use_alts_credentials && options->ssl_config_file[0] != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--use_alts_credentials and --ssl_config_file exclude each other");
    if (options->platform_config_file[0] == '\0' && !options->enable_batching &&
        options->batching_parameters_file[0] != '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "server_options.batching_parameters_file is set without setting "
                            "server_options.enable_batching to true.");
    if (options->tensorflow_intra_op_parallelism > 0 &&
        options->tensorflow_inter_op_parallelism > 0 && options->tensorflow_session_parallelism > 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "Either configure server_options.tensorflow_session_parallelism or "
                            "(server_options.tensorflow_intra_op_parallelism, "
                            "server_options.tensorflow_inter_op_parallelism) separately. You "
                            "cannot configure all.");
    return one_model ? status_in(file_check_local(options->model_base_path), "--model_base_path")
                     : status_ok();
}

static struct status read_monitoring(const struct server_options *options, struct arena *arena,
                                     struct settings *out)
{
    const char *file = options->monitoring_config_file;
    return file[0] == '\0' ? status_ok()
                           : monitoring_config_load(file, arena, &out->monitoring_path);
}

/* The fields of the file replace the flags. */
static struct status read_platform(struct server_options *options, struct arena *arena,
                                   struct settings *out)
{
    struct platform_config config;
    TRY(platform_config_load(options->platform_config_file, arena, &config));
    options_log_replaced();
    options->enable_batching = config.enable_batching;
    options->enable_per_model_batching_parameters = config.enable_per_model_batching_parameters;
    options->saved_model_tags = config.saved_model_tags;
    options->enable_model_warmup = config.enable_model_warmup;
    options->num_request_iterations_for_warmup = config.num_request_iterations_for_warmup;
    options->tensorflow_intra_op_parallelism = 0;
    options->tensorflow_inter_op_parallelism = 0;
    options->tensorflow_session_parallelism = 0;
    out->batching = config.batching;
    out->session = config.session;
    return status_ok();
}

static struct status read_batching(const struct server_options *options, struct arena *arena,
                                   struct settings *out)
{
    const char *file = options->batching_parameters_file;
    out->batching = batching_default();
    if (!options->enable_batching && options->enable_per_model_batching_parameters)
        log_warning("--enable_per_model_batching_parameters has no effect without "
                    "--enable_batching");
    return file[0] != '\0' ? batching_read(file, arena, &out->batching) : status_ok();
}

static struct status read_session(const struct server_options *options, struct settings *out)
{
    const char *file = options->tensorflow_session_config_file;
    return file[0] != '\0' ? session_config_load(file, &out->session) : status_ok();
}

/* Reads how models are loaded and run, from flags or the file that replaces them. */
static struct status read_models_settings(struct server_options *options, struct arena *arena,
                                          struct settings *out)
{
    if (options->platform_config_file[0] != '\0')
        return read_platform(options, arena, out);
    TRY(read_session(options, out));
    return read_batching(options, arena, out);
}

/* The flag still applies to versions without their own batching_params.pbtxt. */
static void warn_of_target(const struct server_options *options)
{
    bool all_wait = options->enable_batching && !options->enable_per_model_batching_parameters;
    if (options->target_p99_ms > 0 && (all_wait || !options->batch_ready))
        log_warning("--target_p99_ms has no effect with %s",
                    all_wait ? "--enable_batching" : "--batch_ready=false");
}

struct status settings_read(struct server_options *options, struct arena *arena,
                            struct settings *out)
{
    TRY(check_flags(options));
    TRY(check_files(options));
    TRY(read_models_settings(options, arena, out));
    TRY(read_monitoring(options, arena, out));
    warn_of_target(options);
    return status_ok();
}

/* TensorFlow's default, such as that of a container with fewer processors than its host. */
static int width_of_environment(void)
{
    const char *text = getenv("TF_NUM_INTRAOP_THREADS");
    char *end;
    long width = text != NULL ? strtol(text, &end, 10) : 0;
    return width > 0 && width <= INT_MAX && *end == '\0' ? (int)width : 0;
}

int settings_width(const struct server_options *options, const struct settings *settings)
{
    int width = options_width(options);
    if (width <= 0)
        width = settings->session.intra_op_threads;
    return width > 0 ? width : width_of_environment();
}
