/*
 * security: authentication and encryption: the certificates of gRPC and REST, and the tokens. Their
 * files are reloaded when they change, for later connections and requests.
 */
#ifndef SERVER_SECURITY_H
#define SERVER_SECURITY_H

#include "rpc/tls.h"
#include "server/file_watcher.h"
#include "server/inference/auth.h"
#include "server/options.h"

#define SECURITY_FILES_MAX 3

/* Zero-initialise it. */
struct security {
    struct auth *auth;               /* NULL: no token is required */
    struct tls *grpc_tls, *rest_tls; /* NULL: not encrypted */
    const struct server_options *options;
    struct budget *budget;
    struct watched_file files[SECURITY_FILES_MAX];
    size_t files_count;
    struct file_watcher *watcher;
};

/* Reads the files that the options name. The budget is for connections, which come later. Owner:
 * *out, also after a failure. Errors: those of the files; INVALID_ARGUMENT REST and gRPC share a
 * port but not the certificates. */
struct status security_create(const struct server_options *options, struct budget *budget,
                              struct security *out);
/* After the connections. */
void security_destroy(struct security *security);

/* The makers of transports; NULL: not encrypted. */
struct transport_maker *security_grpc(const struct security *security);
struct transport_maker *security_rest(const struct security *security);

#endif
