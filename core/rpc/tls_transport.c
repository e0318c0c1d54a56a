#include "rpc/tls_session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"

/* GnuTLS would read each record by two calls of the system and write it by one. So it gets and puts
 * bytes here, and the socket sees large pieces. Both buffers are there only while they hold
 * something: ten thousand idle connections cost no buffers. */
#define RECEIVE_BYTES (64 << 10)
#define SEND_BYTES    (256 << 10)          /* encrypted ahead of the socket */
#define RECORD_BYTES  (16 << 10)           /* what fits into a record of TLS */
#define ROOM_BYTES    (RECORD_BYTES + 512) /* what it becomes at most */

struct secure {
    struct transport transport;
    gnutls_session_t session;
    struct tls *tls;
    char *host; /* of a server: whom its certificate must be for */
    gnutls_typed_vdata_st expected[2];
    char *received; /* NULL: nothing */
    size_t received_at, received_end;
    char *sending; /* NULL: nothing */
    size_t sending_at, sending_end;
    size_t held_back; /* 1: the last byte that was encrypted is not reported as written yet */
    bool ready;       /* the handshake is done */
    char trouble[192];
};

/* ---- What GnuTLS sees. ---- */

static bool later(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

static ssize_t pull(gnutls_transport_ptr_t context, void *data, size_t size)
{
    struct secure *secure = context;
    if (secure->received_at == secure->received_end) {
        if (secure->received == NULL)
            secure->received = xrealloc(NULL, RECEIVE_BYTES);
        ssize_t got = recv(secure->transport.fd, secure->received, RECEIVE_BYTES, 0);
        if (got <= 0) {
            if (got < 0)
                gnutls_transport_set_errno(secure->session, later(errno) ? EAGAIN : errno);
            return got;
        }
        secure->received_at = 0;
        secure->received_end = (size_t)got;
    }
    size_t left = secure->received_end - secure->received_at;
    if (size > left)
        size = left;
    memcpy(data, secure->received + secure->received_at, size);
    secure->received_at += size;
    return (ssize_t)size;
}

static ssize_t push(gnutls_transport_ptr_t context, const giovec_t *pieces, int count)
{
    struct secure *secure = context;
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += pieces[i].iov_len;
    if (secure->sending == NULL)
        secure->sending = xrealloc(NULL, SEND_BYTES);
    if (size > SEND_BYTES - secure->sending_end) {
        gnutls_transport_set_errno(secure->session, EAGAIN);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        memcpy(secure->sending + secure->sending_end, pieces[i].iov_base, pieces[i].iov_len);
        secure->sending_end += pieces[i].iov_len;
    }
    return (ssize_t)size;
}

/* Into the socket with what is encrypted. 1: all of it, 0: not now, -1: with errno. */
static int flush(struct secure *secure)
{
    while (secure->sending_at < secure->sending_end) {
        ssize_t sent = send(secure->transport.fd, secure->sending + secure->sending_at,
                            secure->sending_end - secure->sending_at, MSG_NOSIGNAL);
        if (sent < 0)
            return later(errno) ? 0 : -1;
        secure->sending_at += (size_t)sent;
    }
    free(secure->sending);
    secure->sending = NULL;
    secure->sending_at = secure->sending_end = 0;
    return 1;
}

static void forget_received(struct secure *secure)
{
    if (secure->received_at < secure->received_end)
        return;
    free(secure->received);
    secure->received = NULL;
    secure->received_at = secure->received_end = 0;
}

/* ---- What the connection sees. ---- */

static struct secure *secure_of(const struct transport *transport)
{
    return (struct secure *)transport;
}

static struct status secure_handshake(struct transport *transport, enum transport_wants *wants)
{
    struct secure *secure = secure_of(transport);
    int error;
    do
        error = gnutls_handshake(secure->session);
    while (error == GNUTLS_E_WARNING_ALERT_RECEIVED || error == GNUTLS_E_GOT_APPLICATION_DATA);
    if (error < 0 && error != GNUTLS_E_AGAIN)
        gnutls_alert_send_appropriate(secure->session, error);
    int flushed = flush(secure);
    if (error < 0 && error != GNUTLS_E_AGAIN)
        return tls_handshake_error(secure->session, secure->tls, secure->host, error);
    if (flushed < 0)
        return status_errno(errno, "TLS handshake");
    forget_received(secure);
    if (flushed == 0)
        *wants = TRANSPORT_WANTS_WRITE;
    else
        *wants = error < 0 ? TRANSPORT_WANTS_READ : TRANSPORT_DONE;
    secure->ready = *wants == TRANSPORT_DONE;
    return status_ok();
}

/* One read from the session; a message of TLS itself gives GNUTLS_E_AGAIN although more is there.
 */
static ssize_t receive(struct secure *secure, void *data, size_t size)
{
    ssize_t got;
    size_t left, before;
    do {
        before = secure->received_end - secure->received_at;
        got = gnutls_record_recv(secure->session, data, size);
        left = secure->received_end - secure->received_at;
    } while (got == GNUTLS_E_AGAIN && left != 0 && left != before);
    return got;
}

/* -1 with errno, in words where errno has none. */
static ssize_t broken(struct secure *secure, ssize_t error)
{
    if (error == GNUTLS_E_AGAIN) {
        errno = EAGAIN;
    } else if (error == GNUTLS_E_PULL_ERROR || error == GNUTLS_E_PUSH_ERROR) {
        errno = ECONNRESET;
    } else {
        tls_words(secure->session, (int)error, secure->trouble, sizeof secure->trouble);
        errno = EPROTO;
    }
    return -1;
}

static ssize_t secure_read(struct transport *transport, const struct iovec *to, int count)
{
    struct secure *secure = secure_of(transport);
    size_t total = 0;
    ssize_t got = 1;
    for (int i = 0; i < count && got > 0; i++) {
        for (size_t at = 0; at < to[i].iov_len && got > 0; at += (size_t)got) {
            got = receive(secure, (char *)to[i].iov_base + at, to[i].iov_len - at);
            total += got > 0 ? (size_t)got : 0;
        }
    }
    forget_received(secure);
    if (total > 0)
        return (ssize_t)total; /* what went wrong behind it shows at the next read */
    if (got == GNUTLS_E_PREMATURE_TERMINATION)
        return 0; /* without a farewell: HTTP/2 knows by itself whether something is missing */
    return got < 0 ? broken(secure, got) : got;
}

/* A place in what is to be written. */
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

/* The bytes of the next record: where they are, if one piece fills it, else gathered. */
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
 * What is encrypted must go out as it is, but may not fit into the socket now. Then the last byte
 * is held back: reported as not written, so that the caller comes back when the socket has room. It
 * comes back with the same byte, as it stands in the middle of a frame for it.
 */
static ssize_t secure_write(struct transport *transport, const struct iovec *from, int count)
{
    struct secure *secure = secure_of(transport);
    struct source source = { .pieces = from, .count = count };
    char gathered[RECORD_BYTES];
    int flushed = flush(secure);
    size_t total = flushed > 0 ? skip(&source, secure->held_back) : 0;
    if (flushed > 0)
        secure->held_back -= total;
    while (flushed > 0) {
        size_t size;
        const char *record = next_record(&source, gathered, &size);
        if (size == 0)
            break;
        ssize_t sent = gnutls_record_send(secure->session, record, size);
        if (sent < 0)
            return broken(secure, sent);
        total += size;
        if (SEND_BYTES - secure->sending_end < ROOM_BYTES)
            flushed = flush(secure);
    }
    if (flushed > 0)
        flushed = flush(secure);
    if (flushed < 0)
        return -1;
    if (flushed == 0 && total > 0) {
        secure->held_back = 1;
        total--;
    }
    if (flushed == 0 && total == 0) {
        errno = EAGAIN;
        return -1;
    }
    return (ssize_t)total;
}

static bool secure_pending(const struct transport *transport)
{
    const struct secure *secure = secure_of(transport);
    return secure->received_at < secure->received_end ||
           gnutls_record_check_pending(secure->session) > 0;
}

static const char *secure_trouble(const struct transport *transport)
{
    return secure_of(transport)->trouble;
}

static void secure_close(struct transport *transport)
{
    struct secure *secure = secure_of(transport);
    if (secure->ready && secure->held_back == 0)
        gnutls_bye(secure->session, GNUTLS_SHUT_WR);
    flush(secure); /* as far as it goes: nobody waits for a farewell */
    gnutls_deinit(secure->session);
    free(secure->received);
    free(secure->sending);
    free(secure->host);
    close(transport->fd);
    free(secure);
}

/* ---- Making one. ---- */

static bool is_address(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void expect_server(struct secure *secure, const char *host)
{
    secure->host = xstrdup(host);
    if (!is_address(host))
        gnutls_server_name_set(secure->session, GNUTLS_NAME_DNS, host, strlen(host));
    secure->expected[0] = (gnutls_typed_vdata_st){ .type = GNUTLS_DT_DNS_HOSTNAME,
                                                   .data = (unsigned char *)secure->host };
    secure->expected[1] =
        (gnutls_typed_vdata_st){ .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                 .data = (unsigned char *)GNUTLS_KP_TLS_WWW_SERVER };
    gnutls_session_set_verify_cert2(secure->session, secure->expected, 2, 0);
}

static void expect_client(struct secure *secure)
{
    gnutls_certificate_server_set_request(secure->session, GNUTLS_CERT_REQUIRE);
    secure->expected[0] =
        (gnutls_typed_vdata_st){ .type = GNUTLS_DT_KEY_PURPOSE_OID,
                                 .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
    gnutls_session_set_verify_cert2(secure->session, secure->expected, 1, 0);
}

struct status tls_transport_make(struct transport_maker *maker, int fd, const char *peer,
                                 struct transport **out)
{
    static const struct transport_type type = {
        .handshake = secure_handshake,
        .read = secure_read,
        .write = secure_write,
        .pending = secure_pending,
        .trouble = secure_trouble,
        .close = secure_close,
    };
    struct tls *tls = (struct tls *)maker;
    struct secure *secure = zalloc(sizeof *secure);
    secure->transport = (struct transport){ .type = &type, .fd = fd };
    secure->tls = tls;
    int error =
        gnutls_init(&secure->session,
                    GNUTLS_NONBLOCK | GNUTLS_NO_TICKETS |
                        (tls->server ? GNUTLS_SERVER : GNUTLS_CLIENT | GNUTLS_FORCE_CLIENT_CERT));
    if (error < 0) {
        close(fd);
        free(secure);
        return status_error(STATUS_RESOURCE_EXHAUSTED, "TLS session: %s", gnutls_strerror(error));
    }
    gnutls_priority_set(secure->session, tls->priority);
    gnutls_credentials_set(secure->session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    gnutls_transport_set_ptr(secure->session, secure);
    gnutls_transport_set_pull_function(secure->session, pull);
    gnutls_transport_set_vec_push_function(secure->session, push);
    gnutls_datum_t h2 = { (unsigned char *)"h2", 2 };
    gnutls_alpn_set_protocols(secure->session, &h2, 1, GNUTLS_ALPN_MANDATORY);
    if (!tls->server)
        expect_server(secure, peer);
    else if (tls->verify_client)
        expect_client(secure);
    *out = &secure->transport;
    return status_ok();
}
