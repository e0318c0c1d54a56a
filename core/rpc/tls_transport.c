#include "rpc/tls_session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"

/* GnuTLS would make two system calls to read a record, and one to write it. It reads from and
 * writes to these buffers instead, and the socket sees large pieces. A buffer exists only while it
 * holds bytes: ten thousand idle connections cost none. */
#define RECEIVE_BYTES       (64 << 10)
#define SEND_BYTES          (256 << 10)          /* encrypted ahead of the socket */
#define RECORD_BYTES        (16 << 10)           /* the content of a TLS record at most */
#define ROOM_BYTES          (RECORD_BYTES + 512) /* a whole TLS record at most */
/* The most that may come before the first content, or between two pieces of it. GnuTLS keeps a
 * message of TLS itself, which may have 16 MiB, until it is complete. A client's chain of
 * certificates has some KiB; a server's list of the CAs that it trusts may have 64 KiB. */
#define CLIENT_OVERHEAD_MAX ((size_t)64 << 10)
#define SERVER_OVERHEAD_MAX ((size_t)256 << 10)

struct tls_transport {
    struct transport transport;
    gnutls_session_t session;
    struct tls *tls;
    struct tls_keys *keys; /* a reference */
    char *host;            /* a client's: whom the server's certificate must name */
    gnutls_typed_vdata_st expected[2];
    char *received; /* NULL: nothing */
    size_t received_at, received_end;
    size_t overhead_bytes; /* received since the last content */
    char *sending;         /* NULL: nothing */
    size_t sending_at, sending_end;
    bool is_charged;  /* `sending` is, because the peer did not take all of it at once */
    size_t held_back; /* 1: the last encrypted byte has not been reported as written */
    bool ready;       /* the handshake is done */
    bool has_ended;   /* the peer has closed, or reading has failed: */
    ssize_t end;      /* 0, or GnuTLS's error */
    char trouble[192];
};

/* ---- GnuTLS's side ---- */

static bool later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static size_t overhead_max(const struct tls_transport *connection)
{
    return connection->tls->server ? CLIENT_OVERHEAD_MAX : SERVER_OVERHEAD_MAX;
}

static bool has_too_much_overhead(const struct tls_transport *connection)
{
    return connection->overhead_bytes > overhead_max(connection);
}

static ssize_t pull(gnutls_transport_ptr_t context, void *data, size_t size)
{
    struct tls_transport *connection = context;
    if (connection->received_at == connection->received_end) {
        if (connection->received == NULL)
            connection->received = xrealloc(NULL, RECEIVE_BYTES);
        ssize_t got = recv(connection->transport.fd, connection->received, RECEIVE_BYTES, 0);
        if (got <= 0) {
            if (got < 0)
                gnutls_transport_set_errno(connection->session, later(errno) ? EAGAIN : errno);
            return got;
        }
        connection->received_at = 0;
        connection->received_end = (size_t)got;
    }
    size_t left = connection->received_end - connection->received_at;
    if (size > left)
        size = left;
    memcpy(data, connection->received + connection->received_at, size);
    connection->received_at += size;
    connection->overhead_bytes += size;
    if (has_too_much_overhead(connection)) {
        gnutls_transport_set_errno(connection->session, EMSGSIZE);
        return -1;
    }
    return (ssize_t)size;
}

static ssize_t push(gnutls_transport_ptr_t context, const giovec_t *pieces, int count)
{
    struct tls_transport *connection = context;
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += pieces[i].iov_len;
    if (connection->sending == NULL)
        connection->sending = xrealloc(NULL, SEND_BYTES);
    if (size > SEND_BYTES - connection->sending_end) {
        gnutls_transport_set_errno(connection->session, EAGAIN);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        memcpy(connection->sending + connection->sending_end, pieces[i].iov_base,
               pieces[i].iov_len);
        connection->sending_end += pieces[i].iov_len;
    }
    return (ssize_t)size;
}

static void free_sending(struct tls_transport *connection)
{
    if (connection->is_charged)
        budget_give(connection->tls->budget, SEND_BYTES);
    connection->is_charged = false;
    free(connection->sending);
    connection->sending = NULL;
    connection->sending_at = connection->sending_end = 0;
}

/* Whoever made the bytes does not count them any more. -1, with errno: there is no memory. */
static int charge_sending(struct tls_transport *connection)
{
    struct budget *budget = connection->tls->budget;
    if (budget == NULL || connection->is_charged)
        return 0;
    if (!status_is_ok(budget_take_reserved(budget, SEND_BYTES))) {
        errno = ENOMEM;
        return -1;
    }
    connection->is_charged = true;
    return 0;
}

/* Sends what is encrypted. 1: all of it; 0: not now; -1: with errno. */
static int flush(struct tls_transport *connection)
{
    while (connection->sending_at < connection->sending_end) {
        ssize_t sent = send(connection->transport.fd, connection->sending + connection->sending_at,
                            connection->sending_end - connection->sending_at, MSG_NOSIGNAL);
        if (sent < 0)
            return later(errno) ? charge_sending(connection) : -1;
        connection->sending_at += (size_t)sent;
    }
    free_sending(connection);
    return 1;
}

static void forget_received(struct tls_transport *connection)
{
    if (connection->received_at < connection->received_end)
        return;
    free(connection->received);
    connection->received = NULL;
    connection->received_at = connection->received_end = 0;
}

/* ---- the connection's side ---- */

static struct tls_transport *tls_of(const struct transport *transport)
{
    return (struct tls_transport *)transport;
}

static struct status tls_handshake(struct transport *transport, enum transport_wants *wants)
{
    struct tls_transport *connection = tls_of(transport);
    int error;
    if (connection->ready) { /* a former owner of the transport shook hands */
        *wants = TRANSPORT_DONE;
        return status_ok();
    }
    do
        error = gnutls_handshake(connection->session);
    while (error == GNUTLS_E_WARNING_ALERT_RECEIVED || error == GNUTLS_E_GOT_APPLICATION_DATA);
    if (error < 0 && error != GNUTLS_E_AGAIN)
        gnutls_alert_send_appropriate(connection->session, error);
    int flushed = flush(connection);
    if (has_too_much_overhead(connection))
        return status_error(STATUS_UNAVAILABLE,
                            "TLS: the peer sent over %zu bytes without completing the handshake",
                            overhead_max(connection));
    if (error < 0 && error != GNUTLS_E_AGAIN)
        return tls_handshake_error(connection->session, connection->keys, connection->host, error);
    if (flushed < 0)
        return status_errno(errno, "TLS handshake");
    forget_received(connection);
    if (flushed == 0)
        *wants = TRANSPORT_WANTS_WRITE;
    else
        *wants = error < 0 ? TRANSPORT_WANTS_READ : TRANSPORT_DONE;
    connection->ready = *wants == TRANSPORT_DONE;
    return status_ok();
}

/* One read from the session. After a message of TLS itself, GnuTLS returns GNUTLS_E_AGAIN although
 * more bytes are here. */
static ssize_t receive(struct tls_transport *connection, void *data, size_t size)
{
    ssize_t got;
    size_t left, before;
    do {
        before = connection->received_end - connection->received_at;
        got = gnutls_record_recv(connection->session, data, size);
        left = connection->received_end - connection->received_at;
    } while (got == GNUTLS_E_AGAIN && left != 0 && left != before);
    return got;
}

/* -1 with errno, plus words if errno has none. */
static ssize_t broken(struct tls_transport *connection, ssize_t error)
{
    if (error == GNUTLS_E_AGAIN) {
        errno = EAGAIN;
    } else if (has_too_much_overhead(connection)) {
        snprintf(connection->trouble, sizeof connection->trouble,
                 "TLS: the peer sent over %zu bytes without content", overhead_max(connection));
        errno = EPROTO;
    } else if (error == GNUTLS_E_PULL_ERROR || error == GNUTLS_E_PUSH_ERROR) {
        errno = ECONNRESET;
    } else {
        tls_describe_error(connection->session, (int)error, connection->trouble,
                           sizeof connection->trouble);
        errno = EPROTO;
    }
    return -1;
}

static ssize_t tls_read(struct transport *transport, const struct iovec *to, int count)
{
    struct tls_transport *connection = tls_of(transport);
    size_t total = 0;
    ssize_t got = connection->has_ended ? connection->end : 1;
    for (int i = 0; i < count && got > 0; i++) {
        for (size_t at = 0; at < to[i].iov_len && got > 0; at += (size_t)got) {
            got = receive(connection, (char *)to[i].iov_base + at, to[i].iov_len - at);
            total += got > 0 ? (size_t)got : 0;
            connection->overhead_bytes = got > 0 ? 0 : connection->overhead_bytes;
        }
    }
    forget_received(connection);
    connection->has_ended = got <= 0 && got != GNUTLS_E_AGAIN;
    connection->end = got;
    if (total > 0)
        return (ssize_t)total; /* what came after these bytes shows at the next read */
    if (got == GNUTLS_E_PREMATURE_TERMINATION)
        return 0; /* no close notification: HTTP/2 knows whether something is missing */
    return got < 0 ? broken(connection, got) : got;
}

/* A position in the pieces to be written. */
struct source {
    const struct iovec *pieces;
    int count, piece;
    size_t offset;
};

static size_t skip(struct source *source, size_t size)
{
    size_t skipped = 0;
    while (source->piece < source->count) {
        size_t left = source->pieces[source->piece].iov_len - source->offset;
        size_t take = left < size - skipped ? left : size - skipped;
        skipped += take;
        source->offset += take;
        if (take < left || skipped == size)
            break;
        source->piece++;
        source->offset = 0;
    }
    return skipped;
}

/* The bytes of the next record: in place if one piece fills it, otherwise gathered. */
static const char *next_record(struct source *source, char *gathered, size_t *out_size)
{
    size_t size = 0;
    while (source->piece < source->count) {
        const struct iovec *piece = &source->pieces[source->piece];
        const char *at = (const char *)piece->iov_base + source->offset;
        size_t left = piece->iov_len - source->offset;
        if (size == 0 && left >= RECORD_BYTES) {
            source->offset += RECORD_BYTES;
            *out_size = RECORD_BYTES;
            return at;
        }
        size_t take = left < RECORD_BYTES - size ? left : RECORD_BYTES - size;
        memcpy(gathered + size, at, take);
        size += take;
        source->offset += take;
        if (size == RECORD_BYTES)
            break;
        source->piece++;
        source->offset = 0;
    }
    *out_size = size;
    return gathered;
}

/*
 * Encrypted bytes must be sent as they are, but may not fit into the socket now. Then the last byte
 * is held back: it is reported as not written, so that the caller calls again when the socket has
 * room. It then passes the same byte, which is in the middle of a frame.
 */
static ssize_t tls_write(struct transport *transport, const struct iovec *from, int count)
{
    struct tls_transport *connection = tls_of(transport);
    struct source source = { .pieces = from, .count = count };
    char gathered[RECORD_BYTES];
    int flushed = flush(connection);
    size_t total = flushed > 0 ? skip(&source, connection->held_back) : 0;
    if (flushed > 0)
        connection->held_back -= total;
    while (flushed > 0) {
        size_t size;
        const char *record = next_record(&source, gathered, &size);
        if (size == 0)
            break;
        ssize_t sent = gnutls_record_send(connection->session, record, size);
        if (sent < 0)
            return broken(connection, sent);
        total += size;
        if (SEND_BYTES - connection->sending_end < ROOM_BYTES)
            flushed = flush(connection);
    }
    if (flushed > 0)
        flushed = flush(connection);
    if (flushed < 0)
        return -1;
    if (flushed == 0 && total > 0) {
        connection->held_back = 1;
        total--;
    }
    if (flushed == 0 && total == 0) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)total;
}

static bool tls_pending(const struct transport *transport)
{
    const struct tls_transport *connection = tls_of(transport);
    return connection->has_ended || connection->received_at < connection->received_end ||
           gnutls_record_check_pending(connection->session) > 0;
}

static const char *tls_trouble(const struct transport *transport)
{
    return tls_of(transport)->trouble;
}

static void tls_close(struct transport *transport)
{
    struct tls_transport *connection = tls_of(transport);
    if (connection->ready && connection->held_back == 0)
        gnutls_bye(connection->session, GNUTLS_SHUT_WR);
    flush(connection); /* as much as fits: nobody waits for a close notification */
    gnutls_deinit(connection->session);
    tls_keys_release(connection->tls, connection->keys);
    free(connection->received);
    free_sending(connection);
    free(connection->host);
    close(transport->fd);
    free(connection);
}

/* ---- making one ---- */

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void expect_server(struct tls_transport *connection, const char *host)
{
    connection->host = xstrdup(host);
    if (!is_address(host))
        gnutls_server_name_set(connection->session, GNUTLS_NAME_DNS, host, strlen(host));
    connection->expected[0] = (gnutls_typed_vdata_st){ .type = GNUTLS_DT_DNS_HOSTNAME,
                                                       .data = (unsigned char *)connection->host };
    connection->expected[1] =
        (gnutls_typed_vdata_st){ .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                 .data = (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER };
    gnutls_session_set_verify_cert2(connection->session, connection->expected, 2, 0);
}

static void expect_client(struct tls_transport *connection)
{
    gnutls_certificate_server_set_request(connection->session, GNUTLS_CERT_REQUIRE);
    connection->expected[0] =
        (gnutls_typed_vdata_st){ .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                 .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
    gnutls_session_set_verify_cert2(connection->session, connection->expected, 1, 0);
}

static void offer_protocols(gnutls_session_t session, enum tls_protocols protocols)
{
    gnutls_datum_t names[] = { { (unsigned char *)"h2", 2 }, { (unsigned char *)"http/1.1", 8 } };
    unsigned first = protocols == TLS_HTTP1, end = protocols == TLS_HTTP2 ? 1 : 2;
    gnutls_alpn_set_protocols(session, names + first, end - first, GNUTLS_ALPN_MANDATORY);
}

bool tls_chose_http2(const struct transport *transport)
{
    gnutls_datum_t chosen;
    return gnutls_alpn_get_selected_protocol(tls_of(transport)->session, &chosen) == 0 &&
           chosen.size == 2 && memcmp(chosen.data, "h2", 2) == 0;
}

struct status tls_transport_make(struct transport_maker *maker, int fd, const char *peer,
                                 struct transport **out)
{
    static const struct transport_type type = {
        .handshake = tls_handshake,
        .read = tls_read,
        .write = tls_write,
        .pending = tls_pending,
        .trouble = tls_trouble,
        .close = tls_close,
    };
    struct tls *tls = (struct tls *)maker;
    struct tls_transport *connection = zalloc(sizeof *connection);
    connection->transport = (struct transport){ .type = &type, .fd = fd };
    connection->tls = tls;
    int error =
        gnutls_init(&connection->session,
                    GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS |
                        (tls->server ? GNUTLS_SERVER : GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT));
    if (error < 0) {
        close(fd);
        free(connection);
        return status_error(STATUS_RESOURCE_EXHAUSTED, "TLS session: %s", gnutls_strerror(error));
    }
    gnutls_priority_set(connection->session, tls->priority);
    connection->keys = tls_keys_acquire(tls);
    gnutls_credentials_set(connection->session, GNUTLS_CRD_CERTIFICATE,
                           connection->keys->credentials);
    gnutls_transport_set_ptr(connection->session, connection);
    gnutls_transport_set_pull_function(connection->session, pull);
    gnutls_transport_set_vec_push_function(connection->session, push);
    offer_protocols(connection->session, tls->protocols);
    if (!tls->server)
        expect_server(connection, peer);
    else if (connection->keys->verify_client)
        expect_client(connection);
    *out = &connection->transport;
    return status_ok();
}
