/*
 * tls: transports that encrypt (GnuTLS): TLS 1.2 and 1.3, with the ciphers that HTTP/2 allows, ALPN
 * h2.
 *
 *     struct tls_options options = { .cert = { .file = "cert.pem" }, .key = { .file = "key.pem" },
 *                                    .ca = { .file = "ca.pem" }, .verify_client = true };
 *     TRY(tls_server_create(&options, &tls));
 *     rpc_server_options.tls = tls_maker(tls);
 *
 * A client's context is made likewise. A server that shows a certificate for the host that was
 * asked for and that the CA vouches for is believed; the server believes any client whose
 * certificate the CA vouches for (verify_client).
 */
#ifndef RPC_TLS_H
#define RPC_TLS_H

#include "rpc/transport.h"

struct tls;

/* PEM: a file, or the text itself, for which errors use `name`. None: both NULL. */
struct tls_pem {
    const char *file;
    const char *text, *name;
};

struct tls_options {
    struct tls_pem cert; /* what this side shows: its certificate, then who issued it. A server
                            needs one */
    struct tls_pem key;  /* the private key to it */
    struct tls_pem ca;   /* whom this side believes; none: the system's CAs */
    bool
        verify_client; /* a server's: who shows no certificate that the CA vouches for is refused */
};

/**
 * Reads and checks the certificates. Nothing of `options` is kept.
 *
 * Errors  NOT_FOUND, PERMISSION_DENIED, … a file cannot be read; INVALID_ARGUMENT it holds no PEM
 * of that kind, the key is encrypted or another certificate's, one of the two is missing;
 *         FAILED_PRECONDITION our own certificate has expired or is not valid yet
 */
struct status tls_server_create(const struct tls_options *options, struct tls **out);
struct status tls_client_create(const struct tls_options *options, struct tls **out);
void tls_destroy(struct tls *tls); /* after its last transport; accepts NULL */

/* Lives as long as `tls`. Threads: safe. */
struct transport_maker *tls_maker(struct tls *tls);

#endif
