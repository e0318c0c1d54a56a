/*
 * tls: encrypted transports (GnuTLS): TLS 1.2 and 1.3, the ciphers that HTTP/2 allows, and ALPN.
 *
 *     struct tls_options options = { .cert = { .file = "cert.pem" }, .key = { .file = "key.pem" },
 *                                    .ca = { .file = "ca.pem" }, .verify_client = true };
 *     TRY(tls_server_create(&options, &tls));
 *     rpc_server_options.tls = tls_maker(tls);
 *
 * A client's context is made in the same way. A client accepts a server whose certificate names the
 * host it asked for and is signed by the CA. With verify_client, a server accepts any client whose
 * certificate is signed by the CA.
 */
#ifndef RPC_TLS_H
#define RPC_TLS_H

#include "base/budget.h"
#include "rpc/transport.h"

struct tls;

/* PEM: a file, or the text itself, which errors call `name`. Both NULL: none. */
struct tls_pem {
    const char *file;
    const char *text, *name;
};

/* The protocol that both sides offer by ALPN. A peer that offers others only is refused. */
enum tls_protocols {
    TLS_HTTP2, /* h2 */
    TLS_HTTP1, /* http/1.1 */
    TLS_HTTP2_OR_1,
};

struct tls_options {
    /* what this side presents: its certificate, then its issuers'. A server needs one */
    struct tls_pem cert;
    struct tls_pem key; /* the private key of the certificate */
    struct tls_pem ca;  /* the CA that this side trusts; none: the system's */
    bool verify_client; /* a server's: refuse a client without a certificate signed by the CA */
    enum tls_protocols protocols;
    /* Charged for encrypted bytes that a peer does not take; a connection without room for them
     * ends. NULL: none. Outlives the connections */
    struct budget *budget;
};

/**
 * Reads and checks the certificates. Keeps nothing of `options` but the budget.
 *
 * Errors  those of file_read; INVALID_ARGUMENT a file holds no PEM of its kind, the key is
 * encrypted or belongs to another certificate, or one of the two is missing; FAILED_PRECONDITION
 * our own certificate has expired or is not valid yet
 */
struct status tls_server_create(const struct tls_options *options, struct tls **out);
struct status tls_client_create(const struct tls_options *options, struct tls **out);
/* Replaces the certificates, the key and the CA of a server, for connections that come from now on;
 * `protocols` and `budget` stay. After a failure the old ones stay. The errors are the same.
 * Threads: safe. */
struct status tls_server_reload(struct tls *tls, const struct tls_options *options);
void tls_destroy(struct tls *tls); /* after its last transport; accepts NULL */

/* Lives as long as `tls`. Threads: safe. */
struct transport_maker *tls_maker(struct tls *tls);

/* After the handshake: have the peers agreed on HTTP/2? `transport` is one of tls_maker's. */
bool tls_chose_http2(const struct transport *transport);

#endif
