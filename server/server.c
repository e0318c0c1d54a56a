#include "server/server.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/cores.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/libraries.h"
#include "server/inference/inference_pool.h"
#include "server/inference/request_metrics.h"
#include "server/models/model_limits.h"
#include "server/service_manager.h"

/* between sweeps; a run that stays idle for three of them is freed */
#define SWEEP_NS      ((int64_t)NS_PER_S)
#define SWEEP_HOLDERS 64 /* in a round of the loop: some 40 µs */

void server_print_start_failure(struct status status)
{
    printf("Failed to start server. Error: %s: %s\n", status_code_name(status.code),
           status.message);
}

/* ---- what the flags say ---- */

static const char **split_tags(const char *text, struct arena *arena, int *count)
{
    char *rest = arena_strdup(arena, text), *tag;
    const char **tags = ARENA_ARRAY(arena, const char *, strlen(text) + 1);
    *count = 0;
    while ((tag = strsep(&rest, ",")) != NULL)
        if (*tag != '\0')
            tags[(*count)++] = tag;
    return tags;
}

static void fill_budget(struct budget *budget, int64_t bytes)
{
    budget->limit_bytes = bytes > 0 ? bytes : (int64_t)(memory_of_machine() / 2);
    budget->reserve_bytes = budget->limit_bytes / 16;
}

static void fill_context(struct server_context *context, const struct server *server)
{
    const struct server_options *options = &server->options;
    context->rest_port = options->rest_api_port;
    context->timeout_ns = (int64_t)options->rest_api_timeout_in_ms * NS_PER_MS;
    context->body_bytes_max = options->max_request_bytes;
    context->cors = options->rest_api_enable_cors_support;
    context->cors_origins = options->cors_allowed_origins;
    context->check_method_names = options->enable_signature_method_name_check;
    context->allow_model_control = options->allow_model_control;
    context->going_down = &server->going_down;
    context->tensor_content = options->enable_serialization_as_tensor_content;
}

static struct status create_pool(struct server *server)
{
    struct inference_options inference = {
        .batch_ready = server->options.batch_ready,
        .target_p99_ns = server->options.target_p99_ms * NS_PER_MS,
        .batch_threads = server->options.enable_batching ? server->settings.batching.threads : 0,
        .threads = server->options.rest_api_num_threads,
        .run_memory_limit_bytes = (size_t)server->budget.limit_bytes,
    };
    return inference_pool_create(&inference, &server->pool);
}

static void create_request_log(struct server *server, struct server_context *context)
{
    const struct server_options *options = &server->options;
    struct log_writer_options writer = {
        .files = { .file_bytes_max = options->request_log_file_bytes,
                   .file_ns_max = options->request_log_file_seconds * NS_PER_S,
                   .files_max = options->request_log_files_max },
        .waiting_bytes_max = (size_t)options->request_log_waiting_bytes,
        .budget = &server->budget,
    };
    int count;
    const char **tags = split_tags(options->saved_model_tags, server->arena, &count);
    request_log_init(&server->request_log, &writer, tags, count);
    request_observe(context, &server->request_log.observer);
}

static struct status create_loops(struct server *server)
{
    const struct server_options *options = &server->options;
    int threads = options->rest_api_num_threads;
    int count = threads > 0 ? threads : cores_available();
    struct grpc_port_options port = { .rpc = { .tls = security_grpc(&server->security),
                                               .accepted = serving_loops_accept_grpc,
                                               .accepted_context = &server->loops },
                                      .health = options->enable_grpc_healthcheck_service };
    TRY(grpc_port_read_arguments(options->grpc_channel_arguments, &port.rpc));
    struct serving_options serving = {
        .context = { .budget = &server->budget, .loops = count },
        .pool = server->pool,
    };
    fill_context(&serving.context, server);
    serving.context.auth = server->security.auth;
    serving.context.rest_tls = security_rest(&server->security);
    serving.context.monitoring_path = server->settings.monitoring_path;
    create_request_log(server, &serving.context);
    request_metrics_init(&server->request_metrics);
    request_observe(&serving.context, &server->request_metrics); /* before any version warms up */
    if (options->port != 0 || options->grpc_socket_path[0] != '\0')
        serving.port = &port;
    return serving_loops_create(&server->loops, &serving, count);
}

/* ---- the models ---- */

void server_models_changed(void *context)
{
    struct server *server = context;
    serving_loops_changed(&server->loops);
}

static void give_up(struct server *server, int code)
{
    server->exit_code = code;
    loop_stop(server_loop(server));
}

/* Opens the ports once a model is ready, because probes rely on that. */
static void on_started(void *context, struct status status)
{
    struct server *server = context;
    if (server->ending)
        return;
    if (!status_is_ok(status)) {
        server_print_start_failure(status);
        give_up(server, SERVER_EXIT_MODEL);
        return;
    }
    server->opened = true;
    server_metrics_start(&server->metrics, &server->loops.items[0]->context, server->pool);
    status = server_open_ports(server);
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        give_up(server, 1);
    }
}

static struct status read_configs(const struct server_options *options, struct model_configs **out)
{
    if (options->model_config_file[0] != '\0')
        return model_configs_read_file(options->model_config_file, out);
    *out = model_configs_single(options->model_name, options->model_base_path);
    return status_ok();
}

static struct status start_manager(struct server *server)
{
    const struct server_options *options = &server->options;
    struct model_configs *configs;
    struct manager_options manager = {
        .poll_wait_seconds = options->file_system_poll_wait_seconds,
        .load_retries_max = options->max_num_load_retries,
        .load_retry_interval_us = options->load_retry_interval_micros,
        .load_timeout_ms = options->load_timeout_in_ms,
        .resource_preserving = strcmp(options->version_transition, "resource_preserving") == 0,
        .load_threads = options->num_load_threads,
        .unload_threads = options->num_unload_threads,
        .start_threads = inference_pool_threads(server->pool),
        .memory_bytes = memory_of_machine(),
        .labels_in_advance = options->allow_version_labels_for_unavailable_models,
        .keep_going = options->keep_going,
        .config_file = options->model_config_file,
        .config_poll_wait_seconds = options->model_config_file[0] != '\0'
                                        ? options->model_config_file_poll_wait_seconds
                                        : 0,
        .savedmodel.allow_paths_outside_model = options->allow_paths_outside_model,
        .open_log = request_log_open,
        .close_log = request_log_close,
        .log_context = &server->request_log,
        .budget = &server->budget,
        .limits = server->limits,
        .batching = options->enable_batching ? &server->settings.batching : NULL,
        .batching_per_version = options->enable_per_model_batching_parameters,
        .warm_up = options->enable_model_warmup ? warmup_run : NULL,
        .warm_up_context = &server->warmup,
        .clock = clock_monotonic(),
        .source = &source_disk,
        .loader = &servable_loader,
        .loops = server->loops.count,
        .loop = server_loop(server),
        .started = on_started,
        .changed = server_models_changed,
        .context = server,
    };
    manager.savedmodel.tags = server->request_log.tags;
    manager.savedmodel.tags_count = server->request_log.tags_count;
    int iterations = options->num_request_iterations_for_warmup;
    server->warmup = (struct warmup){ .server = &server->loops.items[0]->context,
                                      .iterations = iterations > 0 ? iterations : 1,
                                      .zeros = options->warm_up_with_zeros };
    TRY(read_configs(options, &configs));
    TRY(manager_start(&manager, configs, &server->manager));
    serving_loops_set_manager(&server->loops, server->manager);
    return status_ok();
}

/* Reports that the configuration is wrong. */
static void fail_to_start(struct server *server, struct status status)
{
    log_error("%s", status.message); /* scripts look for it on stderr */
    server_print_start_failure(status);
    server->exit_code = SERVER_EXIT_MODEL;
}

/* Returns false if the configuration is wrong, which it has reported. */
static bool start_models(struct server *server)
{
    if (server->options.file_system_poll_wait_seconds < 0)
        log_warning(
            "--file_system_poll_wait_seconds=%d: no base path is read, and no version loaded",
            server->options.file_system_poll_wait_seconds);
    service_manager_notify("STATUS=Waiting for a version that serves");
    struct status status = start_manager(server);
    if (!status_is_ok(status))
        fail_to_start(server, status);
    return status_is_ok(status);
}

/* ---- running ---- */

static void sweep(void *context)
{
    struct server *server = context;
    bool ended = budget_sweep(&server->budget, SWEEP_HOLDERS);
    if (ended && service_manager_has_watchdog())
        service_manager_notify("WATCHDOG=1");
    struct loop *loop = server_loop(server);
    trimmer_check(&server->trimmer, loop_now_ns(loop));
    loop_set_timer(loop, &server->sweep, loop_now_ns(loop) + (ended ? SWEEP_NS : 0));
}

/* Memory beyond the budget: for the program and its libraries. */
#define OTHERS_BYTES ((size_t)96 << 20)

/* A helper thread without an OpenBLAS buffer would be slow, and its stack takes address space:
 * if that is limited, there are fewer helpers. */
static void reserve_libraries(const struct server *server)
{
    /* threads of the pool, of the loops, and for loading: the manager's thread and its workers */
    int own = inference_pool_threads(server->pool) + server->loops.count + 1 +
              server->options.num_load_threads;
    int threads = own + parallel_width() - 1;
    int got = libraries_reserve(threads, (size_t)server->budget.limit_bytes + OTHERS_BYTES);
    if (got == threads)
        return;
    parallel_set_width(got > own ? 1 + got - own : 1);
    log_warning("the limit on address space (ulimit -v) leaves OpenBLAS room for %d of %d threads, "
                "128 MiB each: runs of models use %d cores%s",
                got, threads, parallel_width(),
                got < own ? ", and some matrix products will be slow" : "");
}

/* Reads the files that settings_read does not read. Returns false if one is wrong, which it has
 * reported. */
static bool read_files(struct server *server)
{
    const char *limits = server->options.model_limits_file;
    struct status status = status_ok();
    if (limits[0] != '\0')
        status = model_limits_read_file(limits, &server->limits);
    if (status_is_ok(status))
        status = security_create(&server->options, &server->budget, &server->security);
    if (!status_is_ok(status))
        fail_to_start(server, status);
    return status_is_ok(status);
}

static struct status start(struct server *server)
{
    fill_budget(&server->budget, server->options.memory_budget_bytes);
    TRY(create_pool(server));
    TRY(create_loops(server));
    TRY(server_watch_signals(server));
    reserve_libraries(server);
    server->trimmer.budget = &server->budget;
    server->sweep = (struct loop_timer){ .expired = sweep, .context = server };
    sweep(server);
    return status_ok();
}

/* Called after starting the threads that the server cannot do without. */
static void start_helpers(void)
{
    char text[PARALLEL_TEXT_BYTES];

    if (!parallel_start_all(text))
        log_warning("%s", text);
}

static struct status run(struct server *server)
{
    if (!read_files(server))
        return status_ok();
    TRY(start(server));
    if (!start_models(server))
        return status_ok();
    start_helpers();
    return serving_loops_run(&server->loops);
}

int server_run(struct server *server)
{
    struct status status = run(server);
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        server->exit_code = 1;
    }
    fflush(stdout);
    server_finish(server);
    return server->exit_code;
}
