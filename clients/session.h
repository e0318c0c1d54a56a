/*
 * session: runs one command of `modelclient`, from its flags to its output.
 */
#ifndef CLIENTS_SESSION_H
#define CLIENTS_SESSION_H

#include "clients/load.h"
#include "clients/options.h"

struct client_session {
    const struct modelclient_options *options;
    struct client_target target;
    struct client *client;
    struct transport_maker *maker; /* NULL: no TLS */
    const char *token;             /* NULL: none */
    struct arena *arena;           /* holds the answer */
    bool json;                     /* --format=json */
    struct buffer out;             /* is printed if the command succeeds */
};

/* Asks the server and prints the answer to session->out. */
typedef struct status session_function(struct client_session *session);

/* Reads the flags, connects, runs, prints. argv[0] is the command's name. `usage` is what --help
 * prints above the flags. */
struct status session_run(int argc, char **argv, const char *usage, session_function *run);

/* --repeat and the flags that go with it. */
struct load_options session_load_options(const struct client_session *session);
/* Prints *result to session->out and frees it. */
void session_print_load(struct client_session *session, struct load_result *result);

#endif
