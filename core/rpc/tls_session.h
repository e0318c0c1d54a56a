/* tls_session: the types and functions that the files of tls share. Only for them: it exposes
 * GnuTLS. */
#ifndef RPC_TLS_SESSION_H
#define RPC_TLS_SESSION_H

#include <gnutls/gnutls.h>
#include <pthread.h>

#include "rpc/tls.h"

/* The certificates of one load. A connection keeps those that it started with. */
struct tls_keys {
    gnutls_certificate_credentials_t credentials;
    bool server, verify_client;
    char *believed; /* names the trusted CAs in errors: "'ca.pem'" or "the system's CAs" */
    int references; /* under the lock of the tls */
};

struct tls {
    struct transport_maker maker;
    gnutls_priority_t priority;
    bool server;
    enum tls_protocols protocols;
    struct budget *budget;
    pthread_mutex_t lock;
    struct tls_keys *keys; /* for new connections */
};

struct tls_keys *tls_keys_acquire(struct tls *tls);
void tls_keys_release(struct tls *tls, struct tls_keys *keys);

/* The transport of one connection (tls_transport.c). Owns the descriptor, even if it fails. */
struct status tls_transport_make(struct transport_maker *maker, int fd, const char *peer,
                                 struct transport **out);

/* Explains why the handshake failed with `error`. host: the server that was dialled; NULL on a
 * server. */
struct status tls_handshake_error(gnutls_session_t session, const struct tls_keys *keys,
                                  const char *host, int error);

/* Describes in words why a read or write failed. */
void tls_describe_error(gnutls_session_t session, int error, char *out, size_t out_size);

#endif
