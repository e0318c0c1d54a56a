/* tls_session: what the files of tls share. Not for others: it speaks GnuTLS. */
#ifndef RPC_TLS_SESSION_H
#define RPC_TLS_SESSION_H

#include <gnutls/gnutls.h>
#include <stdint.h>

#include "rpc/tls.h"

struct tls {
    struct transport_maker maker;
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    bool server, verify_client;
    char *believed; /* for errors: "'ca.pem'" or "the system's CAs" */
};

/* The transport of one connection (tls_transport.c). The descriptor is owned, also on failure. */
struct status tls_transport_make(struct transport_maker *maker, int fd, const char *peer,
                                 struct transport **out);

/* Why the handshake failed with `error`. host: of the server that was dialled; NULL on a server. */
struct status tls_handshake_error(gnutls_session_t session, const struct tls *tls, const char *host,
                                  int error);

/* What went wrong in a read or write, in words. */
void tls_words(gnutls_session_t session, int error, char *out, size_t out_size);

#endif
