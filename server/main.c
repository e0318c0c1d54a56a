/*
 * modelserver: serves a SavedModel over REST and gRPC.
 *
 * Exit status: 0 after a signal, --help or --version; 1 if the server fails; 2 if the command line
 * is wrong; 255, as in TensorFlow Serving, if a model or a file that a flag names is wrong.
 */
#include <malloc.h>
#include <microhttpd.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/command.h"
#include "base/file.h"
#include "base/log.h"
#include "base/parallel.h"
#include "runtime/kernels/libraries.h"
#include "server/server.h"

#define EXIT_USAGE 2

/* The server must not hang because nobody reads its log, such as a pager or a paused terminal. */
#define LOG_PATIENCE_MS 200

static void print_version(void)
{
    struct buffer libraries = { 0 };
    libraries_print(&libraries);
    printf("modelserver %s\nlibmicrohttpd %s\n%.*s", SLIPWAY_VERSION, MHD_get_version(),
           (int)libraries.size, libraries.data);
    buffer_finish(&libraries);
}

/* If the address space is limited, uses a single malloc arena: glibc would reserve 64 MiB for
 * each thread. */
static void spare_address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
}

int main(int argc, char **argv)
{
    server_catch_signals();
    file_prepare_process();
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
        log_error("%s", status.message);
        server_print_start_failure(status);
        arena_destroy(server.arena);
        return SERVER_EXIT_MODEL;
    }
    log_set_patience(LOG_PATIENCE_MS);
    options_log_foreign();
    options_log_ignored();
    parallel_set_width(settings_width(&server.options, &server.settings));
    return server_run(&server);
}
