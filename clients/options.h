/*
 * options: the command line of `modelclient`: one table of flags for all commands, and which
 * command takes which.
 */
#ifndef CLIENTS_OPTIONS_H
#define CLIENTS_OPTIONS_H

#include <stdio.h>

#include "base/flags.h"

struct modelclient_options {
    const char *server, *model, *label, *signature, *format, *examples, *context;
    const char *log; /* replay's file; NULL: not given */
    const char *against, *auth_token_file;
    int64_t version_number, timeout_ms, repeat, count, show;
    double rate, rtol, atol;
    int32_t concurrency, connections;
    struct flag_texts inputs;
    bool tls, help;
    const char *tls_ca, *tls_cert, *tls_key, *server_name;
};

/* Fills the options that `out` then points to; they last as long as the program. argv[0] is the
 * command's name. Errors are INVALID_ARGUMENT. */
struct status options_parse(int argc, char **argv, const struct modelclient_options **out);

/* Prints `usage` and the flags that apply to the command. */
void options_print_help(const char *command, const char *usage, FILE *out);

/* NULL for the empty text, which is the default of a flag that is not given. */
const char *or_null(const char *text);

#endif
