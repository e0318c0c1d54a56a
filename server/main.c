/*
 * modelserver: serves a SavedModel over REST and gRPC.
 *
 * Exit status: 0 after a signal, --help or --version; 1 if the server fails; 2 if the command line
 * is wrong; 255, as in TensorFlow Serving, if a model cannot be loaded.
 */
#include <errno.h>
#include <malloc.h>
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/libraries.h"
#include "server/example_line.h"
#include "server/options.h"
#include "server/service_manager.h"
#include "server/serving_loops.h"
#include "server/settings.h"
#include "server/inference/request_log.h"
#include "server/security.h"
#include "server/server_metrics.h"
#include "server/grpc/warmup.h"
#include "server/models/model_limits.h"
#include "server/inference/request_metrics.h"

#define EXIT_USAGE 2
#define EXIT_MODEL 255

#define FINISH_SECONDS 30 /* for runs and loads that were told to end at once */
/* between sweeps; a run that stays idle for three of them is freed */
#define SWEEP_NS       ((int64_t)NS_PER_S)

struct server {
    struct server_options options;
    struct settings settings;
    struct budget budget;
    struct inference_pool *pool;
    struct manager *manager;
    struct serving_loops loops;
    struct arena *arena; /* lives until the program ends */
    struct security security;
    struct request_log request_log;
    struct listener *listener;
    struct server_metrics metrics;
    struct request_observer request_metrics;
    struct warmup warmup;
    struct model_limits_table *limits; /* NULL: none */
    struct loop_watch *signals;
    struct loop_timer grace_end, drain_end;
    struct loop_timer sweep; /* frees memory that was not used for a while */
    bool opened;             /* the ports */
    bool ending;
    int exit_code;
};

static void print_version(void)
{
    struct buffer libraries = { 0 };
    libraries_print(&libraries);
    printf("modelserver %s\nlibmicrohttpd %s\n%.*s", SLIPWAY_VERSION, MHD_get_version(),
           (int)libraries.size, libraries.data);
    buffer_finish(&libraries);
}

static struct loop *main_loop(struct server *server)
{
    return serving_loops_main(&server->loops);
}

/* The last request in flight is answered. */
static void on_drained(void *context)
{
    loop_stop(main_loop(context));
}

static void drain_is_over(void *context)
{
    struct server *server = context;
    log_warning("requests in flight did not end within %d s (--drain_timeout_seconds): stopping at "
                "once",
                server->options.drain_timeout_seconds);
    loop_stop(main_loop(server));
}

static void drain(struct server *server)
{
    struct loop *loop = main_loop(server);
    manager_end_loads(server->manager); /* a HandleReloadConfigRequest may wait for one */
    server->drain_end = (struct loop_timer){ .expired = drain_is_over, .context = server };
    loop_set_timer(loop, &server->drain_end,
                   loop_now_ns(loop) + server->options.drain_timeout_seconds * NS_PER_S);
    serving_loops_drain(&server->loops, on_drained, server);
}

static _Atomic bool going_down;

/* The signal handler writes to it. It is not a signalfd: libraries start threads before main, and a
 * signal that one of them does not block ends the process. */
static int signal_fd = -1;

static void handle_signal(int number)
{
    uint64_t one = 1;
    int error = errno;
    (void)number;
    ssize_t size = write(signal_fd, &one, sizeof one);
    (void)size;
    errno = error;
}

static void on_models_changed(void *context)
{
    struct server *server = context;
    serving_loops_changed(&server->loops);
}

static void end_serving(void *context)
{
    struct server *server = context;
    log_info("stopping: finishing requests in flight");
    listener_close(server->listener);
    server->listener = NULL;
    drain(server);
}

/* Readiness goes down first, so that load balancers stop sending requests while all are answered.
 */
static void begin_grace(struct server *server)
{
    struct loop *loop = main_loop(server);
    int seconds = server->options.shutdown_grace_seconds;
    log_info("not ready any more; stopping in %d s (--shutdown_grace_seconds)", seconds);
    server->grace_end = (struct loop_timer){ .expired = end_serving, .context = server };
    loop_set_timer(loop, &server->grace_end, loop_now_ns(loop) + seconds * NS_PER_S);
    on_models_changed(server);
}

/* The service manager must not kill the process before the deadlines that its flags set. */
static void tell_stopping(const struct server_options *options)
{
    int64_t seconds =
        (int64_t)options->shutdown_grace_seconds + options->drain_timeout_seconds + FINISH_SECONDS;
    service_manager_tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld000000\n"
                         "STATUS=Finishing requests in flight",
                         (long long)seconds);
}

/* The first signal lets requests in flight finish; the second one does not wait for them. */
static void on_signal(void *context, uint32_t events)
{
    struct server *server = context;
    uint64_t count;
    (void)events;
    if (read(signal_fd, &count, sizeof count) != sizeof count)
        return;
    bool second = server->ending || count > 1;
    if (!server->ending)
        tell_stopping(&server->options);
    server->ending = true;
    atomic_store(&going_down, true);
    if (second) {
        log_info("stopping at once");
        loop_stop(main_loop(server));
    } else if (server->options.shutdown_grace_seconds > 0 && server->opened) {
        begin_grace(server);
    } else {
        end_serving(server);
    }
}

static struct status watch_signals(struct server *server)
{
    struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESTART };
    signal_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (signal_fd < 0)
        return status_errno(errno, "eventfd");
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    struct sigaction before;
    /* nohup ignores it */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    return loop_watch(main_loop(server), signal_fd, EPOLLIN, on_signal, server, &server->signals);
}

/* Prints the line that scripts wait for, and a command that a person can paste. */
static void say_ready(struct server *server)
{
    struct servable *servable = manager_find_any(server->manager);
    struct buffer line = { 0 };
    int port = server->options.rest_api_port;
    if (servable != NULL) {
        char url[64];
        snprintf(url, sizeof url, "%s://localhost:%d",
                 security_rest(&server->security) != NULL ? "https" : "http", port);
        example_line_print(servable, url, &line);
        servable_release(servable);
    }
    log_info("Exporting HTTP/REST API at:localhost:%d ...", port);
    if (line.size > 0)
        fprintf(stderr, "%.*s\n", (int)line.size, line.data);
    buffer_finish(&line);
}

/* TensorFlow Serving's text. */
static void print_start_failure(struct status status)
{
    printf("Failed to start server. Error: %s: %s\n", status_code_name(status.code),
           status.message);
}

static void give_up(struct server *server, int code)
{
    server->exit_code = code;
    loop_stop(main_loop(server));
}

static struct status open_grpc(struct server *server)
{
    const struct server_options *options = &server->options;
    struct grpc_port *port = server->loops.items[0]->port;
    bool shared = options->port == options->rest_api_port;
    if (port == NULL)
        return status_ok();
    if (options->port != 0) {
        if (!shared)
            TRY(grpc_port_listen(port, options->port));
        log_info("Running gRPC ModelServer at 0.0.0.0:%d ...", options->port);
    }
    if (options->grpc_socket_path[0] != '\0') {
        TRY(grpc_port_listen_unix(port, options->grpc_socket_path));
        log_info("Running gRPC ModelServer at UNIX socket %s ...", options->grpc_socket_path);
    }
    return status_ok();
}

/* The first loop accepts for all. */
static struct status open_ports(struct server *server)
{
    const struct server_options *options = &server->options;
    int port = options->rest_api_port;
    bool shared = port != 0 && port == options->port;
    TRY(serving_loops_start(&server->loops));
    if (port != 0)
        TRY(listener_open(main_loop(server), port,
                          shared ? serving_loops_accept_either : serving_loops_accept_rest,
                          &server->loops, &server->listener));
    TRY(open_grpc(server));
    if (port != 0)
        say_ready(server);
    service_manager_tell("READY=1\nSTATUS=Serving: REST on port %d, gRPC on port %d", port,
                         options->port);
    return status_ok();
}

/* Opens the ports once a model serves, because probes rely on that. */
static void on_started(void *context, struct status status)
{
    struct server *server = context;
    if (server->ending)
        return;
    if (!status_is_ok(status)) {
        print_start_failure(status);
        give_up(server, EXIT_MODEL);
        return;
    }
    server->opened = true;
    server_metrics_start(&server->metrics, &server->loops.items[0]->context, server->pool);
    status = open_ports(server);
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        give_up(server, 1);
    }
}

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

static void sweep(void *context)
{
    struct server *server = context;
    budget_sweep(&server->budget);
    if (service_manager_watches())
        service_manager_tell("WATCHDOG=1");
    struct loop *loop = main_loop(server);
    loop_set_timer(loop, &server->sweep, loop_now_ns(loop) + SWEEP_NS);
}

/* Memory beside the budget: for the program and its libraries. */
#define OTHERS_BYTES ((size_t)96 << 20)

/* A helper of loops without a buffer of OpenBLAS would be slow, and its stack takes room: with
 * little address space, there are fewer helpers. */
static void reserve_libraries(const struct server *server)
{
    /* the pool's, the loops', and those that load: the manager's thread and its workers */
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

static void fill_budget(struct budget *budget, int64_t bytes)
{
    budget->limit_bytes = bytes > 0 ? bytes : (int64_t)(memory_of_machine() / 2);
    budget->reserve_bytes = budget->limit_bytes / 16;
}

static void fill_context(struct server_context *context, const struct server_options *options)
{
    context->timeout_ns = (int64_t)options->rest_api_timeout_in_ms * NS_PER_MS;
    context->body_bytes_max = options->max_request_bytes;
    context->cors = options->rest_api_enable_cors_support;
    context->cors_origins = options->cors_allowed_origins;
    context->check_method_names = options->enable_signature_method_name_check;
    context->allow_model_control = options->allow_model_control;
    context->going_down = &going_down;
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
    fill_context(&serving.context, options);
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
        .loop = main_loop(server),
        .started = on_started,
        .changed = on_models_changed,
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

/* False: the configuration is wrong. */
static bool start_models(struct server *server)
{
    if (server->options.file_system_poll_wait_seconds < 0)
        log_warning(
            "--file_system_poll_wait_seconds=%d: no base path is read, and no version loaded",
            server->options.file_system_poll_wait_seconds);
    service_manager_tell("STATUS=Waiting for a version that serves");
    struct status status = start_manager(server);
    if (status_is_ok(status))
        return true;
    log_error("%s", status.message); /* scripts look for it on stderr */
    print_start_failure(status);
    server->exit_code = EXIT_MODEL;
    return false;
}

static struct status start(struct server *server)
{
    fill_budget(&server->budget, server->options.memory_budget_bytes);
    if (server->options.model_limits_file[0] != '\0')
        TRY(model_limits_read_file(server->options.model_limits_file, &server->limits));
    TRY(security_create(&server->options, &server->security));
    TRY(create_pool(server));
    TRY(create_loops(server));
    TRY(watch_signals(server));
    reserve_libraries(server);
    server->sweep = (struct loop_timer){ .expired = sweep, .context = server };
    sweep(server);
    return status_ok();
}

/* A kernel or a load that never checks whether to stop may never end, and threads cannot be killed.
 */
static void end_anyway(int number)
{
    static const char words[] = "modelserver: a run or a load did not end: exiting without it\n";
    (void)number;
    ssize_t size = write(STDERR_FILENO, words, sizeof words - 1);
    (void)size;
    _exit(1);
}

/* Ends the requests, then the threads that served them, then the models. */
static void finish(struct server *server)
{
    signal(SIGALRM, end_anyway);
    alarm(FINISH_SECONDS);
    listener_close(server->listener);
    inference_pool_stop(server->pool);
    serving_loops_close(&server->loops);
    inference_pool_destroy(server->pool);
    security_destroy(&server->security);
    manager_stop(server->manager);
    model_limits_destroy(server->limits);
    if (server->loops.count > 0)
        loop_unwatch(main_loop(server), server->signals);
    serving_loops_destroy(&server->loops); /* a load may have been warming up with the first one */
    request_log_finish(&server->request_log);
    arena_destroy(server->arena);
}

/* After the threads that the server cannot do without. */
static void start_helpers(void)
{
    char text[PARALLEL_TEXT_BYTES];

    if (!parallel_start_all(text))
        log_warning("%s", text);
}

static int serve(struct server *server)
{
    struct status status = start(server);
    if (status_is_ok(status) && start_models(server)) {
        start_helpers();
        status = serving_loops_run(&server->loops);
    }
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        server->exit_code = 1;
    }
    fflush(stdout);
    finish(server);
    return server->exit_code;
}

/* If the address space is limited, uses one malloc arena: glibc would reserve 64 MiB for each
 * thread. */
static void spare_address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
    file_claim_standard();
    spare_address_space();
    static struct server server;
    enum log_level level;
    struct status status = options_parse(argc, argv, &server.options);
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        return EXIT_USAGE;
    }
    if (server.options.help) {
        options_print_help();
        return command_printed("modelserver");
    }
    if (server.options.version) {
        print_version();
        return command_printed("modelserver");
    }
    if (log_level_parse(server.options.log_level, &level))
        log_set_level(level);
    server.arena = arena_create(0);
    status = settings_read(&server.options, server.arena, &server.settings);
    if (!status_is_ok(status)) {
        print_start_failure(status);
        arena_destroy(server.arena);
        return EXIT_MODEL;
    }
    options_log_foreign();
    parallel_set_width(settings_width(&server.options, &server.settings));
    return serve(&server);
}
