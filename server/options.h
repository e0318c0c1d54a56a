/*
 * options: the command line of modelserver: TensorFlow Serving's flags, and a few of our own.
 */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* A field per flag, in the groups of --help. Units and meanings: see --help. */
struct server_options {
    /* models */
    const char *model_name, *model_base_path, *model_config_file;
    int32_t model_config_file_poll_wait_seconds, file_system_poll_wait_seconds;
    const char *version_transition;
    bool allow_version_labels_for_unavailable_models, allow_model_control, keep_going;

    /* loading a version */
    const char *saved_model_tags;
    int32_t num_load_threads, num_unload_threads;
    int32_t max_num_load_retries;
    int64_t load_retry_interval_micros, load_timeout_in_ms;
    bool enable_model_warmup, warm_up_with_zeros;
    int32_t num_request_iterations_for_warmup;
    bool allow_paths_outside_model;
    const char *platform_config_file;

    /* ports and access */
    int32_t port, rest_api_port;
    const char *grpc_socket_path, *grpc_channel_arguments;
    const char *ssl_config_file, *rest_ssl_config_file, *auth_token_file;
    bool use_alts_credentials; /* has no effect, but excludes ssl_config_file */
    bool rest_api_enable_cors_support;
    const char *cors_allowed_origins;
    bool enable_grpc_healthcheck_service;

    /* requests */
    int32_t rest_api_timeout_in_ms;
    int64_t max_request_bytes, memory_budget_bytes;
    const char *model_limits_file;
    bool enable_serialization_as_tensor_content, enable_signature_method_name_check;

    /* batches */
    bool batch_ready, enable_batching, enable_per_model_batching_parameters;
    int64_t target_p99_ms;
    const char *batching_parameters_file;

    /* threads */
    int32_t rest_api_num_threads;
    int64_t tensorflow_intra_op_parallelism, tensorflow_inter_op_parallelism;
    int64_t tensorflow_session_parallelism; /* see options_width */
    const char *tensorflow_session_config_file;

    /* metrics and logs */
    const char *monitoring_config_file;
    int64_t request_log_file_bytes, request_log_file_seconds, request_log_waiting_bytes;
    int32_t request_log_files_max;
    const char *log_level;

    /* the program */
    int32_t shutdown_grace_seconds, drain_timeout_seconds;
    bool version, help;
};

/**
 * Reads the command line. After a failure, the program ends with status 2.
 *
 * Errors  NOT_FOUND an unknown argument; INVALID_ARGUMENT an impossible value; UNIMPLEMENTED a flag
 *         for something that this server does not support
 */
struct status options_parse(int argc, char **argv, struct server_options *out);

/* The number of cores for parallel_set_width; 0: all. Like TensorFlow Serving, ignores
 * tensorflow_session_parallelism if one of the other two is given. */
int options_width(const struct server_options *options);

/* Logs the flags that have no effect because --platform_config_file is given. */
void options_log_replaced(void);

/* Logs the flags that have no effect here: for GPU, TPU, XLA, TFLite, ALTS and gRPC threads. */
void options_log_foreign(void);
void options_log_ignored(void); /* arguments that are no flags */
/* --rest_api_port has its default, so perhaps nobody wants REST. */
bool options_rest_port_is_default(void);

void options_print_help(void);

#endif
