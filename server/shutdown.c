/*
 * Ends the server: the first SIGTERM, SIGINT or SIGHUP lets requests in flight finish, the second
 * one does not wait for them.
 */
#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/inference/inference_pool.h"
#include "server/models/model_limits.h"
#include "server/server.h"
#include "server/service_manager.h"

#define FINISH_SECONDS 30 /* for runs and loads that were told to end at once */

/* ---- requests in flight ---- */

/* Called when the last request in flight has been answered. */
static void on_drained(void *context)
{
    loop_stop(server_loop(context));
}

static void drain_is_over(void *context)
{
    struct server *server = context;
    log_warning("requests in flight did not end within %d s (--drain_timeout_seconds): stopping at "
                "once",
                server->options.drain_timeout_seconds);
    loop_stop(server_loop(server));
}

static void drain(struct server *server)
{
    struct loop *loop = server_loop(server);
    manager_end_loads(server->manager); /* a HandleReloadConfigRequest may wait for a load */
    server->drain_end = (struct loop_timer){ .expired = drain_is_over, .context = server };
    loop_set_timer(loop, &server->drain_end,
                   loop_now_ns(loop) + server->options.drain_timeout_seconds * NS_PER_S);
    serving_loops_drain(&server->loops, on_drained, server);
}

static void end_serving(void *context)
{
    struct server *server = context;
    log_info("stopping: finishing requests in flight");
    listener_close(server->listener);
    server->listener = NULL;
    drain(server);
}

/* Reports not ready first, so that load balancers stop sending requests while all are still
 * answered. */
static void begin_grace(struct server *server)
{
    struct loop *loop = server_loop(server);
    int seconds = server->options.shutdown_grace_seconds;
    log_info("not ready any more; stopping in %d s (--shutdown_grace_seconds)", seconds);
    server->grace_end = (struct loop_timer){ .expired = end_serving, .context = server };
    loop_set_timer(loop, &server->grace_end, loop_now_ns(loop) + seconds * NS_PER_S);
    server_models_changed(server);
}

/* ---- signals ---- */

/* The signal handler writes to it; below 0: no loop will read it yet. A signalfd would not do:
 * libraries start threads before main, and a signal that one of them does not block ends the
 * process. */
static _Atomic int signal_fd = -1;

static void handle_signal(int number)
{
    uint64_t one = 1;
    int error = errno;
    (void)number;
    if (signal_fd < 0)
        _exit(0); /* nothing has begun that has to finish */
    ssize_t size = write(signal_fd, &one, sizeof one);
    (void)size;
    errno = error;
}

/* Keeps the service manager from killing the process before the deadlines that its flags set. */
static void tell_stopping(const struct server_options *options)
{
    int64_t seconds =
        (int64_t)options->shutdown_grace_seconds + options->drain_timeout_seconds + FINISH_SECONDS;
    service_manager_notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%lld000000\n"
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
    atomic_store(&server->going_down, true);
    if (second) {
        log_info("stopping at once");
        loop_stop(server_loop(server));
    } else if (server->options.shutdown_grace_seconds > 0 && server->opened) {
        begin_grace(server);
    } else {
        end_serving(server);
    }
}

void server_catch_signals(void)
{
    struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESTART };
    sigset_t ours;
    signal(SIGPIPE, SIG_IGN);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    struct sigaction before;
    /* nohup ignores it */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    /* whoever started the process may have blocked them */
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
}

struct status server_watch_signals(struct server *server)
{
    signal_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (signal_fd < 0)
        return status_errno(errno, "eventfd");
    return loop_watch(server_loop(server), signal_fd, EPOLLIN, on_signal, server, &server->signals);
}

/* ---- the parts of the server ---- */

/* Ends the process if a kernel or a load never checks whether to stop: threads cannot be killed. */
static void end_anyway(int number)
{
    static const char words[] = "modelserver: a run or a load did not end: exiting without it\n";
    (void)number;
    log_write(words, sizeof words - 1);
    _exit(1);
}

void server_finish(struct server *server)
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
        loop_unwatch(server_loop(server), server->signals);
    serving_loops_destroy(&server->loops); /* a load may have been warming up with the first one */
    request_log_finish(&server->request_log);
    trimmer_finish(&server->trimmer);
    arena_destroy(server->arena);
}
