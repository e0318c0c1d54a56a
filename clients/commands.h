/*
 * commands: what modelclient can do: one row of the table in main.c each.
 */
#ifndef CLIENTS_COMMANDS_H
#define CLIENTS_COMMANDS_H

#include "base/flags.h"
#include "clients/load.h"

#define EXIT_USAGE 2

struct tls;

/* What the command line says; one table of flags for all commands. */
struct command_options {
    const char *server, *model, *label, *signature, *format, *examples, *context;
    int64_t version_number, timeout_ms, repeat;
    int32_t concurrency, connections;
    struct flag_texts inputs;
    bool tls, help;
    const char *tls_ca, *tls_cert, *tls_key, *server_name;
};

struct session {
    struct command_options options;
    struct client_target target;
    struct client *client;
    struct transport_maker *maker; /* NULL: plain */
    struct arena *arena;           /* of one answer */
    bool json;                     /* --format=json */
    struct buffer out;             /* what is printed when all went well */
};

/* Asks and prints into `out`. */
typedef struct status command_function(struct session *session);
command_function command_predict, command_classify, command_regress, command_metadata,
    command_status;

/* Reads the flags, connects, runs, prints; gives the exit status. argv[0]: the command's name. */
int command_main(int argc, char **argv, command_function *run);

/* A failure that is the command line's, or of a file that it names: exit status 2. */
struct status command_usage(const char *format, ...) PRINTF_LIKE(1, 2);
struct status command_line_fault(struct status status);

/* --repeat and what goes with it. */
struct load_options command_load(const struct session *session);
/* Takes *result: prints it into `out`. */
void command_print_load(struct session *session, struct load_result *result);

#endif
