#include "server/options.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/flags.h"
#include "base/log.h"

static struct server_options options;

/* The values of flags that have no use here: only whether they are the default matters. */
static struct {
    const char *thread_pool_factory_config_file, *mixed_precision;
    bool remove_unused_fields_from_bundle_metagraph, enable_profiler;
    bool flush_filesystem_caches, prefer_tflite_model;
    bool xla_cpu_compilation_enabled, xla_gpu_compilation_enabled, skip_initialize_tpu;
    int32_t grpc_max_threads, num_tflite_pools, num_tflite_interpreters_per_pool;
    double per_process_gpu_memory_fraction;
} unused;

#define PORT_MAX     .max = 65535
#define ANY_POSITIVE .max = INFINITY
#define MET          "accepted for compatibility; both values give the same behaviour"
#define REFUSED      "known, but refused unless it is empty"
#define FOREIGN      "accepted for compatibility; has no effect"

static const struct flag rows[] = {
    { "model_name", FLAG_TEXT, &options.model_name, "default", .help = "name of the model in URLs",
      .group = "models" },
    { "model_base_path", FLAG_PATH, &options.model_base_path, "",
      .help = "directory with a numbered subdirectory for each version of the model" },
    { "model_config_file", FLAG_PATH, &options.model_config_file, "",
      .help = "file with a ModelServerConfig in text format, which lists several models; overrides "
              "--model_name and --model_base_path" },
    { "model_config_file_poll_wait_seconds", FLAG_INT32,
      &options.model_config_file_poll_wait_seconds, "0",
      .help = "seconds between readings of --model_config_file, whose changes are applied while "
              "models serve; 0 or less: it is read once" },
    { "file_system_poll_wait_seconds", FLAG_INT32, &options.file_system_poll_wait_seconds, "1",
      .help = "seconds between polls for new versions; 0: poll once, at the start; less: never" },
    { "version_transition", FLAG_TEXT, &options.version_transition, "availability_preserving",
      .help = "availability_preserving: the old version of a model serves until the new one does; "
              "resource_preserving: the old one is unloaded first, so that both need not fit into "
              "memory",
      .choices = "availability_preserving resource_preserving" },
    { "allow_version_labels_for_unavailable_models", FLAG_BOOL,
      &options.allow_version_labels_for_unavailable_models, "false",
      .help = "let a new label stand for a version that is not available yet; labels in "
              "--model_config_file need this at the start" },
    { "allow_model_control", FLAG_BOOL, &options.allow_model_control, "false",
      .help = "let clients unload and load the configured models by the Open Inference Protocol: "
              "POST /v2/repository/models/NAME/unload, and its gRPC methods" },
    { "keep_going", FLAG_BOOL, &options.keep_going, "false",
      .help = "open the ports although a model failed to load, or has no version yet" },

    { "saved_model_tags", FLAG_TEXT, &options.saved_model_tags, "serve",
      .help = "tags of the meta graph to serve, separated by commas",
      .group = "loading a version" },
    { "num_load_threads", FLAG_INT32, &options.num_load_threads, "0",
      .help = "threads that load versions; 0: one thread loads, unloads and polls. During the "
              "start, each core loads",
      .max = 4096 },
    { "num_unload_threads", FLAG_INT32, &options.num_unload_threads, "0",
      .help = "threads that unload versions; 0: as for --num_load_threads", .max = 4096 },
    { "max_num_load_retries", FLAG_INT32, &options.max_num_load_retries, "5",
      .help = "number of retries to load a version that failed", ANY_POSITIVE },
    { "load_retry_interval_micros", FLAG_INT64, &options.load_retry_interval_micros, "60000000",
      .help = "microseconds between attempts to load a version; 0 or less: none" },
    { "load_timeout_in_ms", FLAG_INT64, &options.load_timeout_in_ms, "600000",
      .help = "time limit in milliseconds for the init op of a version, and for preparing each "
              "signature; 0: no limit",
      .max = 1e12 },
    { "enable_model_warmup", FLAG_BOOL, &options.enable_model_warmup, "true",
      .help = "replay the requests in assets.extra/tf_serving_warmup_requests of a version before "
              "it serves" },
    { "num_request_iterations_for_warmup", FLAG_INT32, &options.num_request_iterations_for_warmup,
      "0", .help = "number of times that each of these requests is replayed; 0 or less: once" },
    { "warm_up_with_zeros", FLAG_BOOL, &options.warm_up_with_zeros, "true",
      .help = "run each signature of a version without such requests once, with zeros, before it "
              "serves, unless that could have side effects; needs --enable_model_warmup" },
    { "allow_paths_outside_model", FLAG_BOOL, &options.allow_paths_outside_model, "false",
      .help = "let a model read files outside its directory, also through links: tables from "
              "text files, and ReadFile, with a path that a client may choose" },
    { "platform_config_file", FLAG_PATH, &options.platform_config_file, "",
      .help =
          "file with a PlatformConfigMap in text format, whose SessionBundleConfig replaces the "
          "flags for batching, sessions, tags and warm-up" },

    { "port", FLAG_INT32, &options.port, "8500", .help = "port for gRPC; 0: none", PORT_MAX,
      .group = "ports and access" },
    { "rest_api_port", FLAG_INT32, &options.rest_api_port, "8501",
      .help = "port for the REST API, which may be the port for gRPC; 0: none", PORT_MAX },
    { "grpc_socket_path", FLAG_TEXT, &options.grpc_socket_path, "",
      .help = "Unix socket for gRPC, in addition to the port or instead of it" },
    { "grpc_channel_arguments", FLAG_TEXT, &options.grpc_channel_arguments, "",
      .help = "gRPC settings, as name=value separated by commas: grpc.max_receive_message_length, "
              "grpc.max_concurrent_streams, grpc.max_connection_idle_ms, "
              "grpc.max_connection_age_ms, grpc.max_connection_age_grace_ms, "
              "grpc.keepalive_time_ms, grpc.keepalive_timeout_ms, grpc.max_metadata_size" },
    { "ssl_config_file", FLAG_PATH, &options.ssl_config_file, "",
      .help = "file with an SSLConfig in text format, which contains the certificates as PEM; "
              "encrypts gRPC. It is read again when it changes" },
    { "rest_ssl_config_file", FLAG_PATH, &options.rest_ssl_config_file, "",
      .help =
          "the same for the REST API; it may be the same file, and has to be if the two share a "
          "port" },
    { "auth_token_file", FLAG_PATH, &options.auth_token_file, "",
      .help = "file with a token per line. A request must have one of them: in REST's header "
              "'Authorization: Bearer TOKEN', or in gRPC's metadata authorization. Health checks "
              "need none. It is read again when it changes" },
    { "rest_api_enable_cors_support", FLAG_BOOL, &options.rest_api_enable_cors_support, "false",
      .help = "send CORS headers, so that web pages from other origins may use the REST API" },
    { "cors_allowed_origins", FLAG_TEXT, &options.cors_allowed_origins, "",
      .help = "origins, separated by commas, whose web pages may use the REST API, such as "
              "https://example.com; without it, --rest_api_enable_cors_support allows all" },
    { "enable_grpc_healthcheck_service", FLAG_BOOL, &options.enable_grpc_healthcheck_service,
      "false", .help = "serve grpc.health.v1.Health, with a status for each model" },

    { "rest_api_timeout_in_ms", FLAG_INT32, &options.rest_api_timeout_in_ms, "30000",
      .help = "milliseconds that a REST request may run; 0 or less: no limit",
      .group = "requests" },
    { "max_request_bytes", FLAG_INT64, &options.max_request_bytes, "0",
      .help = "the largest request body; larger ones are answered with 429. 0: no limit",
      ANY_POSITIVE },
    { "memory_budget_bytes", FLAG_INT64, &options.memory_budget_bytes, "0",
      .help = "memory that requests, runs, answers and connections may hold together; beyond it, "
              "requests are answered with 429. 0: half of the memory of the machine or of the "
              "control group",
      ANY_POSITIVE },
    { "model_limits_file", FLAG_PATH, &options.model_limits_file, "",
      .help =
          "file with limits per model in text format, over which requests for it get 429 or 503: "
          "model { name: \"m\" max_requests: 32 max_waiting_requests: 16 max_run_memory_bytes: "
          "100000000 deadline_ms: 500 }, and others { … } for those that are not named" },
    { "enable_serialization_as_tensor_content", FLAG_BOOL,
      &options.enable_serialization_as_tensor_content, "false",
      .help = "answer gRPC Predict with tensor_content instead of float_val and similar fields" },
    { "enable_signature_method_name_check", FLAG_BOOL, &options.enable_signature_method_name_check,
      "false", .help = "refuse requests that do not fit the method name of the signature" },

    { "batch_ready", FLAG_BOOL, &options.batch_ready, "true",
      .help = "run requests that are ready at the same time as one batch, if the rows of the model "
              "are independent and a batch is cheaper; no request waits for another",
      .group = "batches" },
    { "target_p99_ms", FLAG_INT64, &options.target_p99_ms, "0",
      .help = "milliseconds within which the server tries to answer 99 of 100 requests: it limits "
              "the rows that share a run (--batch_ready) so that two such runs fit, by measured "
              "costs. 0: no limit but 64 rows",
      .max = 1e9 },
    { "enable_batching", FLAG_BOOL, &options.enable_batching, "false",
      .help = "let requests for a signature wait for others and run with them as one batch, as "
              "TensorFlow Serving does; replaces --batch_ready" },
    { "batching_parameters_file", FLAG_PATH, &options.batching_parameters_file, "",
      .help = "file with BatchingParameters in text format, for --enable_batching" },
    { "enable_per_model_batching_parameters", FLAG_BOOL,
      &options.enable_per_model_batching_parameters, "false",
      .help = "with --enable_batching: each version has its own batching_params.pbtxt in its "
              "directory; versions without it form no batches. Threads are still those of "
              "--batching_parameters_file" },

    { "rest_api_num_threads", FLAG_INT32, &options.rest_api_num_threads, "0",
      .help =
          "event loops, each with a thread that serves connections of REST and gRPC; and as many "
          "more threads for expensive requests. 0: one of each per core of the process or its "
          "control group",
      .max = 4096, .group = "threads" },
    { "tensorflow_intra_op_parallelism", FLAG_INT64, &options.tensorflow_intra_op_parallelism, "0",
      .help = "cores that all runs of models use together. A run alone uses all of them for its "
              "large ops; runs at the same time share them. 0 or less: TF_NUM_INTRAOP_THREADS of "
              "the environment, or every core of the process or its control group" },
    { "tensorflow_inter_op_parallelism", FLAG_INT64, &options.tensorflow_inter_op_parallelism, "0",
      .help = "the most ops of a run that may be computed at the same time. Any value is "
              "satisfied, because ops are computed one after another" },
    { "tensorflow_session_parallelism", FLAG_INT64, &options.tensorflow_session_parallelism, "0",
      .help = "the value of both, if neither is given" },
    { "tensorflow_session_config_file", FLAG_PATH, &options.tensorflow_session_config_file, "",
      .help =
          "file with a ConfigProto in text format, whose intra_op_parallelism_threads applies if "
          "none of these three flags is given; fields for unsupported features are refused" },

    { "monitoring_config_file", FLAG_PATH, &options.monitoring_config_file, "",
      .help =
          "file with a MonitoringConfig in text format: prometheus_config { enable: true path: "
          "\"/monitoring/prometheus/metrics\" } serves TensorFlow Serving's metrics at that path "
          "of the REST port. Ours are always at /metrics",
      .group = "metrics and logs" },
    { "request_log_file_bytes", FLAG_INT64, &options.request_log_file_bytes, "268435456",
      .help = "size of a file of a model's request log (logging_config), after which another one "
              "begins",
      .min = 1, .max = INFINITY },
    { "request_log_file_seconds", FLAG_INT64, &options.request_log_file_seconds, "3600",
      .help = "age of such a file, after which another one begins; 0: no limit", .max = 1e9 },
    { "request_log_files_max", FLAG_INT32, &options.request_log_files_max, "0",
      .help = "number of files of a log to keep; the oldest are deleted first. 0: all",
      ANY_POSITIVE },
    { "request_log_waiting_bytes", FLAG_INT64, &options.request_log_waiting_bytes, "67108864",
      .help = "memory for logged requests that wait for the disk, within --memory_budget_bytes; "
              "beyond it, requests are not logged",
      ANY_POSITIVE },
    { "log_level", FLAG_TEXT, &options.log_level, "info", .help = "the lowest level that is logged",
      .choices = LOG_LEVEL_NAMES },

    { "shutdown_grace_seconds", FLAG_INT32, &options.shutdown_grace_seconds, "0",
      .help = "seconds between SIGTERM and the end of serving. Meanwhile /readyz and gRPC's health "
              "say that the server is not ready, and all requests are answered",
      .max = 86400, .group = "the program" },
    { "drain_timeout_seconds", FLAG_INT32, &options.drain_timeout_seconds, "60",
      .help = "seconds that requests in flight may take to finish after SIGTERM and "
              "--shutdown_grace_seconds",
      ANY_POSITIVE },
    { "version", FLAG_BOOL, &options.version, "false", .help = "print versions and exit",
      .alone = true },
    HELP_FLAG(&options.help),

    { "thread_pool_factory_config_file", FLAG_TEXT, &unused.thread_pool_factory_config_file, "",
      .help = REFUSED, .group = "flags of TensorFlow Serving without a use here" },
    { "mixed_precision", FLAG_TEXT, &unused.mixed_precision, "", .help = REFUSED },
    { "remove_unused_fields_from_bundle_metagraph", FLAG_BOOL,
      &unused.remove_unused_fields_from_bundle_metagraph, "true", .help = MET },
    { "enable_profiler", FLAG_BOOL, &unused.enable_profiler, "true", .help = MET },
    { "flush_filesystem_caches", FLAG_BOOL, &unused.flush_filesystem_caches, "true",
      .help = FOREIGN },
    { "grpc_max_threads", FLAG_INT32, &unused.grpc_max_threads, "0", .help = FOREIGN },
    { "use_alts_credentials", FLAG_BOOL, &options.use_alts_credentials, "false", .help = FOREIGN },
    { "per_process_gpu_memory_fraction", FLAG_DOUBLE, &unused.per_process_gpu_memory_fraction, "0",
      .help = FOREIGN },
    { "prefer_tflite_model", FLAG_BOOL, &unused.prefer_tflite_model, "false", .help = FOREIGN },
    { "num_tflite_pools", FLAG_INT32, &unused.num_tflite_pools, "0", .help = FOREIGN },
    { "num_tflite_interpreters_per_pool", FLAG_INT32, &unused.num_tflite_interpreters_per_pool, "1",
      .help = FOREIGN },
    { "xla_cpu_compilation_enabled", FLAG_BOOL, &unused.xla_cpu_compilation_enabled, "false",
      .help = FOREIGN },
    { "xla_gpu_compilation_enabled", FLAG_BOOL, &unused.xla_gpu_compilation_enabled, "false",
      .help = FOREIGN },
    { "skip_initialize_tpu", FLAG_BOOL, &unused.skip_initialize_tpu, "false", .help = FOREIGN },
};

static const struct flag_set flags = {
    "usage: modelserver --model_base_path=DIR [flags]\n"
    "       modelserver --model_config_file=FILE [flags]\n\n"
    "Serves the highest version of the SavedModel in DIR (DIR/1/saved_model.pb, …) over REST and\n"
    "gRPC, like TensorFlow Serving.",
    rows, COUNT(rows)
};

/* Flags that are always refused, and the reasons. */
static const struct {
    const char *name, *why;
} refused[] = {
    { "thread_pool_factory_config_file",
      "runs use the threads of this server, and no other pools can be added" },
    { "mixed_precision", "models are computed in the types that they have" },
};

static struct status check_refused(void)
{
    for (size_t i = 0; i < COUNT(refused); i++)
        if (!flag_is_default(flags_find(&flags, refused[i].name)))
            return status_error(STATUS_UNIMPLEMENTED, "--%s is not implemented: %s",
                                refused[i].name, refused[i].why);
    return status_ok();
}

/* The entry point of TensorFlow Serving's image passes the words of CMD on as arguments. In many
 * images and manifests they begin with the program's name, which TensorFlow Serving ignores. */
static struct {
    const char *name;    /* NULL: none */
    const char *command; /* of a CMD without brackets, which Docker gives to /bin/sh; NULL: none */
} ignored;

static bool is_program(const char *argument)
{
    const char *slash = strrchr(argument, '/');
    const char *name = slash != NULL ? slash + 1 : argument;
    return strcmp(name, "tensorflow_model_server") == 0 || strcmp(name, "modelserver") == 0;
}

/* Returns the number of arguments without "/bin/sh -c COMMAND". */
static int drop_command(int argc, char **argv)
{
    if (argc < 4 || strcmp(argv[argc - 3], "/bin/sh") != 0 || strcmp(argv[argc - 2], "-c") != 0)
        return argc;
    ignored.command = argv[argc - 1];
    return argc - 3;
}

static struct status check_positional(char **arguments, int count)
{
    for (int i = 0; i < count; i++) {
        if (!is_program(arguments[i]))
            return status_error(STATUS_NOT_FOUND,
                                "unknown argument: %s; --help lists what there is", arguments[i]);
        ignored.name = arguments[i];
    }
    return status_ok();
}

void options_log_ignored(void)
{
    if (ignored.name != NULL)
        log_warning("the argument %s is ignored: it is the name of the program", ignored.name);
    if (ignored.command != NULL)
        log_warning("/bin/sh -c '%s' is ignored: these are arguments of the program. In a "
                    "Dockerfile, give CMD a list in brackets, of flags only",
                    ignored.command);
}

struct status options_parse(int argc, char **argv, struct server_options *out)
{
    int positional;
    argc = drop_command(argc, argv);
    TRY(flags_parse(&flags, argc, argv, &positional));
    TRY(check_positional(argv + 1, positional));
    TRY(check_refused());
    *out = options;
    return status_ok();
}

/* Flags that --platform_config_file replaces by fields. */
static const char *const replaced[] = {
    "enable_batching",
    "batching_parameters_file",
    "enable_per_model_batching_parameters",
    "tensorflow_session_parallelism",
    "tensorflow_intra_op_parallelism",
    "tensorflow_inter_op_parallelism",
    "tensorflow_session_config_file",
    "saved_model_tags",
    "enable_model_warmup",
    "num_request_iterations_for_warmup",
};

void options_log_replaced(void)
{
    for (size_t i = 0; i < COUNT(replaced); i++)
        if (!flag_is_default(flags_find(&flags, replaced[i])))
            log_warning("--%s has no effect: --platform_config_file takes its place", replaced[i]);
}

int options_width(const struct server_options *from)
{
    int64_t intra = from->tensorflow_intra_op_parallelism;
    int64_t inter = from->tensorflow_inter_op_parallelism;
    int64_t width = intra > 0 || inter > 0 ? intra : from->tensorflow_session_parallelism;
    if (width <= 0) /* as in TensorFlow Serving, automatic */
        return 0;
    return width < INT_MAX ? (int)width : INT_MAX;
}

bool options_rest_port_is_default(void)
{
    return flag_is_default(flags_find(&flags, "rest_api_port"));
}

void options_log_foreign(void)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (strcmp(rows[i].help, FOREIGN) == 0 && !flag_is_default(&rows[i]))
            log_warning("--%s has no effect: this server has no GPU, TPU, XLA, TFLite or ALTS, no "
                        "threads for gRPC, and no cache of files",
                        rows[i].name);
}

void options_print_help(void)
{
    flags_print_help(&flags, stdout);
}
