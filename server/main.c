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
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "runtime/kernels/libraries.h"
#include "server/example_line.h"
#include "server/options.h"
#include "server/round.h"
#include "server/inference/request_log.h"
#include "server/security.h"
#include "server/grpc/warmup.h"
#include "server/models/model_limits.h"

#define EXIT_USAGE 2
#define EXIT_MODEL 255

#define FINISH_SECONDS 30 /* for runs and loads that were told to end at once */
/* between sweeps; a run that stays idle for three of them is freed */
#define SWEEP_NS       ((int64_t)NS_PER_S)

struct server {
    struct server_options options;
    struct server_context context;
    struct budget budget;
    struct inference_pool *pool;
    struct arena *arena; /* lives until the program ends */
    struct rest *rest;
    struct grpc_service *grpc;
    struct grpc_port *grpc_port; /* NULL: gRPC is off */
    struct security security;
    struct round round;
    struct request_log request_log;
    struct listener *listener;
    struct warmup warmup;
    struct model_limits_table *limits; /* NULL: none */
    struct loop_watch *signals;
    struct loop_timer grace_end, drain_end;
    struct loop_timer sweep; /* frees memory that was not used for a while */
    bool opened;             /* the ports */
    bool ending;
    int draining; /* protocols that still have requests in flight */
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

/* A protocol has answered its requests in flight. The last protocol ends the program. */
static void on_drained(void *context)
{
    struct server *server = context;
    if (--server->draining == 0)
        loop_stop(server->context.loop);
}

static void drain_is_over(void *context)
{
    struct server *server = context;
    log_warning("requests in flight did not end within %d s (--drain_timeout_seconds): stopping at "
                "once",
                server->options.drain_timeout_seconds);
    loop_stop(server->context.loop);
}

static void drain(struct server *server)
{
    struct loop *loop = server->context.loop;
    manager_end_loads(server->context.manager); /* a HandleReloadConfigRequest may wait for one */
    server->drain_end = (struct loop_timer){ .expired = drain_is_over, .context = server };
    loop_set_timer(loop, &server->drain_end,
                   loop_now_ns(loop) + server->options.drain_timeout_seconds * NS_PER_S);
    server->draining = 1 + (server->grpc_port != NULL);
    if (server->grpc_port != NULL)
        grpc_port_drain(server->grpc_port, on_drained, server);
    rest_drain(server->rest, on_drained, server);
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
    if (server->grpc_port != NULL)
        grpc_port_models_changed(server->grpc_port);
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
    struct loop *loop = server->context.loop;
    int seconds = server->options.shutdown_grace_seconds;
    log_info("not ready any more; stopping in %d s (--shutdown_grace_seconds)", seconds);
    server->grace_end = (struct loop_timer){ .expired = end_serving, .context = server };
    loop_set_timer(loop, &server->grace_end, loop_now_ns(loop) + seconds * NS_PER_S);
    on_models_changed(server);
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
    server->ending = true;
    atomic_store(&going_down, true);
    if (second) {
        log_info("stopping at once");
        loop_stop(server->context.loop);
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
    return loop_watch(server->context.loop, signal_fd, EPOLLIN, on_signal, server,
                      &server->signals);
}

/* Prints the line that scripts wait for, and a command that a person can paste. */
static void say_ready(struct server *server)
{
    struct servable *servable = manager_find_any(server->context.manager);
    struct buffer line = { 0 };
    int port = server->options.rest_api_port;
    if (servable != NULL) {
        example_line_print(servable, port, &line);
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
    loop_stop(server->context.loop);
}

/* Both protocols share one port: connections that do not speak HTTP/1 are for gRPC. If REST is
 * encrypted, the TLS handshake tells. */
static void accept_either(void *context, int fd, enum listener_protocol protocol,
                          const struct sockaddr *address, socklen_t address_size)
{
    struct server *server = context;
    bool encrypted = protocol == LISTENER_TLS && server->context.rest_tls != NULL;
    if (protocol == LISTENER_HTTP1 || encrypted)
        rest_accept(server->rest, fd, protocol, address, address_size);
    else
        grpc_port_accept(server->grpc_port, fd);
}

static struct status open_grpc(struct server *server)
{
    const struct server_options *options = &server->options;
    bool shared = options->port == options->rest_api_port;
    if (options->port != 0) {
        if (!shared)
            TRY(grpc_port_listen(server->grpc_port, options->port));
        log_info("Running gRPC ModelServer at 0.0.0.0:%d ...", options->port);
    }
    if (options->grpc_socket_path[0] != '\0') {
        TRY(grpc_port_listen_unix(server->grpc_port, options->grpc_socket_path));
        log_info("Running gRPC ModelServer at UNIX socket %s ...", options->grpc_socket_path);
    }
    return status_ok();
}

static struct status open_ports(struct server *server)
{
    const struct server_options *options = &server->options;
    int port = options->rest_api_port;
    bool shared = port != 0 && port == options->port;
    if (port != 0)
        TRY(listener_open(server->context.loop, port, shared ? accept_either : rest_accept,
                          shared ? (void *)server : server->rest, &server->listener));
    if (server->grpc_port != NULL)
        TRY(open_grpc(server));
    if (port != 0)
        say_ready(server);
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
    loop_set_timer(server->context.loop, &server->sweep,
                   loop_now_ns(server->context.loop) + SWEEP_NS);
}

/* Memory beside the budget: for the program and its libraries. */
#define OTHERS_BYTES ((size_t)96 << 20)

/* A helper of loops without a buffer of OpenBLAS would be slow, and its stack takes room: with
 * little address space, there are fewer helpers. */
static void reserve_libraries(const struct server *server)
{
    /* the pool's, the loop's, and those that load: the manager's thread and its workers */
    int own = inference_pool_threads(server->pool) + 1 + 1 + server->options.num_load_threads;
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

static struct status create_grpc(struct server *server)
{
    const struct server_options *options = &server->options;
    struct grpc_port_options port = { .channel_arguments = options->grpc_channel_arguments,
                                      .health = options->enable_grpc_healthcheck_service,
                                      .tls = security_grpc(&server->security) };
    server->grpc = grpc_service_create(&server->context);
    if (options->port == 0 && options->grpc_socket_path[0] == '\0')
        return status_ok();
    TRY(grpc_port_create(&server->context, server->grpc, &port, &server->grpc_port));
    rest_set_http2(server->rest, grpc_port_take, server->grpc_port);
    return status_ok();
}

static void fill_budget(struct budget *budget, int64_t bytes)
{
    budget->limit_bytes = bytes > 0 ? bytes : (int64_t)(memory_of_machine() / 2);
    budget->reserve_bytes = budget->limit_bytes / 16;
}

static void fill_context(struct server_context *context, const struct server_options *options)
{
    context->loops = 1;
    context->timeout_ns = (int64_t)options->rest_api_timeout_in_ms * NS_PER_MS;
    context->body_bytes_max = options->max_request_bytes;
    context->cors = options->rest_api_enable_cors_support;
    context->cors_origins = options->cors_allowed_origins;
    context->check_method_names = options->enable_signature_method_name_check;
    context->going_down = &going_down;
    context->tensor_content = options->enable_serialization_as_tensor_content;
}

static struct status create_inference(struct server *server)
{
    struct inference_options inference = {
        .batch_ready = server->options.batch_ready,
        .threads = server->options.rest_api_num_threads,
        .run_memory_limit_bytes = (size_t)server->budget.limit_bytes,
    };
    TRY(inference_pool_create(&inference, &server->pool));
    server->context.inference = inference_create(server->pool, server->context.loop);
    reserve_libraries(server);
    return status_ok();
}

static void begin_rounds(struct server *server)
{
    server->round = (struct round){
        .server = &server->context,
        .rest = server->rest,
        .grpc = server->grpc,
        .port = server->grpc_port,
    };
    server->sweep = (struct loop_timer){ .expired = sweep, .context = server };
    sweep(server);
    loop_set_round(server->context.loop, round_run, &server->round);
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
        .open_log_context = &server->request_log,
        .budget = &server->budget,
        .limits = server->limits,
        .warm_up = options->enable_model_warmup ? warmup_run : NULL,
        .warm_up_context = &server->warmup,
        .clock = clock_monotonic(),
        .source = &source_disk,
        .loader = &servable_loader,
        .loop = server->context.loop,
        .started = on_started,
        .changed = on_models_changed,
        .context = server,
    };
    manager.savedmodel.tags = server->request_log.tags;
    manager.savedmodel.tags_count = server->request_log.tags_count;
    int iterations = options->num_request_iterations_for_warmup;
    server->warmup = (struct warmup){ .server = &server->context,
                                      .iterations = iterations > 0 ? iterations : 1,
                                      .zeros = options->warm_up_with_zeros };
    TRY(read_configs(options, &configs));
    return manager_start(&manager, configs, &server->context.manager);
}

/* False: the configuration is wrong. */
static bool start_models(struct server *server)
{
    struct status status = start_manager(server);
    if (status_is_ok(status))
        return true;
    log_error("%s", status.message); /* scripts look for it on stderr */
    print_start_failure(status);
    server->exit_code = EXIT_MODEL;
    return false;
}

static void create_request_log(struct server *server)
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
    request_observe(&server->context, &server->request_log.observer);
}

static struct status start(struct server *server)
{
    struct server_context *context = &server->context;
    fill_budget(&server->budget, server->options.memory_budget_bytes);
    context->budget = &server->budget;
    fill_context(context, &server->options);
    server->arena = arena_create(0);
    if (server->options.model_limits_file[0] != '\0')
        TRY(model_limits_read_file(server->options.model_limits_file, &server->limits));
    TRY(loop_create(&context->loop));
    create_request_log(server);
    TRY(security_create(&server->options, &server->security));
    context->auth = server->security.auth;
    context->rest_tls = security_rest(&server->security);
    TRY(watch_signals(server));
    TRY(create_inference(server));
    TRY(rest_create(context, &server->rest));
    TRY(create_grpc(server));
    begin_rounds(server);
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
    loop_clear_timer(server->context.loop, &server->grace_end);
    loop_clear_timer(server->context.loop, &server->drain_end);
    listener_close(server->listener);
    inference_pool_stop(server->pool);
    inference_destroy(server->context.inference);
    inference_pool_destroy(server->pool);
    rest_destroy(server->rest);
    grpc_service_abandon(server->grpc);
    grpc_port_destroy(server->grpc_port);
    security_destroy(&server->security);
    manager_stop(server->context.manager);
    model_limits_destroy(server->limits);
    grpc_service_destroy(server->grpc); /* a load may have been warming up with it */
    request_log_finish(&server->request_log);
    loop_clear_timer(server->context.loop, &server->sweep);
    loop_unwatch(server->context.loop, server->signals);
    loop_destroy(server->context.loop);
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
        status = loop_run(server->context.loop);
    }
    if (!status_is_ok(status)) {
        fprintf(stderr, "modelserver: %s\n", status.message);
        server->exit_code = 1;
    }
    fflush(stdout);
    finish(server);
    return server->exit_code;
}

/* TensorFlow Serving fails in the same way, with the same text and exit status. */
static struct status check_start(const struct server_options *options)
{
    bool one_model = options->model_config_file[0] == '\0';
    if (one_model && options->model_base_path[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT, "Both server_options.model_base_path "
                                                     "and server_options.model_config_file are "
                                                     "empty!");
    if (options->port == 0 && options->rest_api_port == 0 && options->grpc_socket_path[0] == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--port=0, --rest_api_port=0 and no --grpc_socket_path: no client "
                            "could connect");
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
        return 0;
    }
    if (server.options.version) {
        print_version();
        return 0;
    }
    if (log_level_parse(server.options.log_level, &level))
        log_set_level(level);
    status = check_start(&server.options);
    if (!status_is_ok(status)) {
        print_start_failure(status);
        return EXIT_MODEL;
    }
    options_log_foreign();
    parallel_set_width(options_width(&server.options));
    return serve(&server);
}
