/*
 * server: the parts of modelserver, made as its flags and their files say. The main thread makes
 * them, runs the first loop, and ends them. ports.c opens the ports once a model serves;
 * shutdown.c handles the signals.
 *
 *     static struct server server = { .options = …, .settings = …, .arena = … };
 *     return server_run(&server);
 *
 * Threads  the main thread's only, except going_down, which all loops read.
 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include "server/grpc/warmup.h"
#include "server/inference/request_log.h"
#include "server/security.h"
#include "server/server_metrics.h"
#include "server/serving_loops.h"
#include "server/settings.h"
#include "server/trimmer.h"

/* A model, or a file that a flag names, is wrong: the exit status of TensorFlow Serving. */
#define SERVER_EXIT_MODEL 255

struct server {
    struct server_options options;
    struct settings settings;
    struct arena *arena; /* of the settings; lives until the server ends */

    struct budget budget;
    struct inference_pool *pool;
    struct manager *manager;
    struct serving_loops loops;
    struct security security;
    struct request_log request_log;
    struct listener *listener;
    struct server_metrics metrics;
    struct request_observer request_metrics;
    struct warmup warmup;
    struct model_limits_table *limits; /* NULL: none */
    struct loop_timer sweep;           /* frees memory that has not been used for some time */
    struct trimmer trimmer;
    bool opened; /* the ports */
    int exit_code;

    struct loop_watch *signals;
    struct loop_timer grace_end, drain_end;
    bool ending;             /* a signal has come */
    _Atomic bool going_down; /* the same, for all loops */
};

/* Serves until a signal or a failure ends the server. Returns the exit status of the program. If it
 * is not 0, the reason was printed. */
int server_run(struct server *server);

/* Prints why the server does not start, in TensorFlow Serving's form. */
void server_print_start_failure(struct status status);

/* Notifies the loops that versions were added or removed, or that the server is going down. */
void server_models_changed(void *server);

static inline struct loop *server_loop(const struct server *server)
{
    return serving_loops_main(&server->loops);
}

/* ports.c: opens the ports, and logs them. */
struct status server_open_ports(struct server *server);

/* shutdown.c: the end of the server, in order. */
/* Until the server watches them, SIGTERM, SIGINT and SIGHUP end the process with status 0. */
void server_catch_signals(void);
struct status server_watch_signals(struct server *server);
/* Ends the requests, then the threads that served them, then the models. The process exits with
 * status 1 if that takes too long. */
void server_finish(struct server *server);

#endif
