#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "rpc/tls_session.h"
#include "support/certificates.h"
#include "support/directory.h"
#include "support/test_group.h"

/* Our CA with the certificates that it issued, and an unknown CA with a client's certificate. */
static struct {
    struct certificate ca, server, expired, nameless, by_address, client, stranger_ca, stranger;
} made;

static int make_certificates(void **state)
{
    (void)state;
#define ISSUE(by, who, ...) \
    certificate_make(&(struct certificate_wish){ __VA_ARGS__ }, by, &made.who)
    ISSUE(NULL, ca, .name = "our CA");
    ISSUE(NULL, stranger_ca, .name = "their CA");
    ISSUE(&made.ca, server, .name = "server", .host = "ps0.example",
          .purpose = GNUTLS_KP_TLS_WWW_SERVER);
    ISSUE(&made.ca, by_address, .name = "by address", .host = "10.1.2.3");
    ISSUE(&made.ca, nameless, .name = "nameless");
    ISSUE(&made.ca, client, .name = "worker 0", .purpose = GNUTLS_KP_TLS_WWW_CLIENT);
    ISSUE(&made.stranger_ca, stranger, .name = "stranger", .host = "ps0.example");
    ISSUE(&made.ca, expired, .name = "old", .host = "ps0.example", .from_s = -9 * DAY_S,
          .until_s = -DAY_S);
    return 0;
}

static int free_certificates(void **state)
{
    (void)state;
    struct certificate *all[] = { &made.nameless,    &made.ca,      &made.server,
                                  &made.by_address,  &made.client,  &made.expired,
                                  &made.stranger_ca, &made.stranger };
    for (size_t i = 0; i < COUNT(all); i++)
        certificate_free(all[i]);
    return 0;
}

static struct tls_options options_of(const struct certificate *own, const struct certificate *ca)
{
    struct tls_options options = { 0 };
    if (own != NULL) {
        options.cert = (struct tls_pem){ .text = own->cert_pem, .name = "--tls_cert" };
        options.key = (struct tls_pem){ .text = own->key_pem, .name = "--tls_key" };
    }
    if (ca != NULL)
        options.ca = (struct tls_pem){ .text = ca->cert_pem, .name = "--tls_ca" };
    return options;
}

/* ---- two ends in one thread ---- */

struct end {
    struct tls *tls;
    struct transport *transport;
    struct status status;
    enum transport_wants wants;
    char text[512]; /* a copy of the status's text */
};

struct pair {
    struct end server, client;
};

static void socket_pair(int out[2])
{
    int size = 4096; /* small, so that writes meet a full socket */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, out), 0);
    for (int i = 0; i < 2; i++)
        setsockopt(out[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static void step(struct end *end)
{
    if (end->wants == TRANSPORT_DONE || !status_is_ok(end->status))
        return;
    end->status = end->transport->type->handshake(end->transport, &end->wants);
    snprintf(end->text, sizeof end->text, "%s", end->status.message);
}

static void pair_make(struct pair *pair, struct tls_options *server, struct tls_options *client,
                      const char *host)
{
    int fds[2];
    socket_pair(fds);
    *pair =
        (struct pair){ .server.wants = TRANSPORT_WANTS_READ, .client.wants = TRANSPORT_WANTS_READ };
    assert_true(status_is_ok(tls_server_create(server, &pair->server.tls)));
    assert_true(status_is_ok(tls_client_create(client, &pair->client.tls)));
    struct transport_maker *maker = tls_maker(pair->server.tls);
    assert_true(status_is_ok(maker->make(maker, fds[0], NULL, &pair->server.transport)));
    maker = tls_maker(pair->client.tls);
    assert_true(status_is_ok(maker->make(maker, fds[1], host, &pair->client.transport)));
}

static void pair_shake(struct pair *pair)
{
    for (int round = 0; round < 100; round++) {
        step(&pair->client);
        step(&pair->server);
    }
}

static void pair_open(struct pair *pair, struct tls_options *server, struct tls_options *client,
                      const char *host)
{
    pair_make(pair, server, client, host);
    pair_shake(pair);
}

static void pair_close(struct pair *pair)
{
    pair->server.transport->type->close(pair->server.transport);
    pair->client.transport->type->close(pair->client.transport);
    tls_destroy(pair->server.tls);
    tls_destroy(pair->client.tls);
}

static void assert_ready(const struct end *end)
{
    assert_string_equal(end->text, "");
    assert_int_equal(end->wants, TRANSPORT_DONE);
}

static ssize_t read_some(struct end *end, void *data, size_t size)
{
    struct iovec to = { data, size };
    return end->transport->type->read(end->transport, &to, 1);
}

/* ---- certificates that are trusted or refused ---- */

static void believes_a_server_of_its_ca(void **state)
{
    (void)state;
    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_ready(&pair.server);
    assert_ready(&pair.client);
    pair_close(&pair);
}

static void believes_a_server_by_its_address(void **state)
{
    (void)state;
    struct tls_options server = options_of(&made.by_address, NULL),
                       client = options_of(NULL, &made.ca);
    struct pair pair;
    pair_open(&pair, &server, &client, "10.1.2.3");
    assert_ready(&pair.client);
    pair_close(&pair);
}

static void believes_each_other_with_certificates_on_both_sides(void **state)
{
    (void)state;
    struct tls_options server = options_of(&made.server, &made.ca),
                       client = options_of(&made.client, &made.ca);
    struct pair pair;
    server.verify_client = true;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_ready(&pair.server);
    assert_ready(&pair.client);
    pair_close(&pair);
}

static const struct server_row {
    const char *label;
    const struct certificate *server;
    const char *host, *text;
} server_rows[] = {
    { "names the CA that the client does not know", &made.stranger, "ps0.example",
      "TLS: the server's certificate 'CN=stranger' is issued by 'CN=their CA', an unknown CA: not "
      "one of '--tls_ca'" },
    { "names the hosts that a certificate is for", &made.server, "ps1.example",
      "TLS: the server's certificate 'CN=server' is for 'ps0.example' and not for 'ps1.example'" },
    { "names the address that a certificate is for", &made.by_address, "10.1.2.4",
      "TLS: the server's certificate 'CN=by address' is for '10.1.2.3' and not for '10.1.2.4'" },
    { "says that a certificate is for no host", &made.nameless, "ps0.example",
      "TLS: the server's certificate 'CN=nameless' is for no host and not for 'ps0.example'" },
};

static void refuses_the_server(void **state)
{
    const struct server_row *row = *state;
    struct tls_options server = options_of(row->server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    pair_open(&pair, &server, &client, row->host);
    assert_int_equal(pair.client.status.code, STATUS_UNAUTHENTICATED);
    assert_string_equal(pair.client.text, row->text);
    assert_int_equal(pair.server.status.code, STATUS_UNAUTHENTICATED); /* by the client's alert */
    assert_non_null(strstr(pair.server.text, "TLS: the peer refused the connection: "));
    pair_close(&pair);
}

static const struct client_row {
    const char *label;
    const struct certificate *client;
    const char *text;
} client_rows[] = {
    { "tells a client that it shows no certificate", NULL, "TLS: the client shows no certificate" },
    { "names a client's CA that the server does not know", &made.stranger,
      "TLS: the client's certificate 'CN=stranger' is issued by 'CN=their CA', an unknown CA: not "
      "one of '--tls_ca'" },
    { "refuses a server's certificate as a client's", &made.server,
      "TLS: the client's certificate 'CN=server' is not meant for a client" },
};

static void refuses_the_client(void **state)
{
    const struct client_row *row = *state;
    struct tls_options server = options_of(&made.server, &made.ca),
                       client = options_of(row->client, &made.ca);
    struct pair pair;
    char byte;
    server.verify_client = true;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_int_equal(pair.server.status.code, STATUS_UNAUTHENTICATED);
    assert_string_equal(pair.server.text, row->text);
    /* In TLS 1.3 the client finishes its handshake before the server checks its certificate. The
     * client's first read reports the refusal. */
    assert_ready(&pair.client);
    assert_int_equal(read_some(&pair.client, &byte, 1), -1);
    assert_int_equal(errno, EPROTO);
    assert_non_null(strstr(pair.client.transport->type->trouble(pair.client.transport),
                           "TLS: the peer refused the connection: "));
    pair_close(&pair);
}

/* Replaces the certificate that was checked at the start, to simulate one that has expired. */
static void show_instead(struct tls *tls, const struct certificate *other)
{
    gnutls_datum_t cert = { (unsigned char *)other->cert_pem, (unsigned)strlen(other->cert_pem) },
                   key = { (unsigned char *)other->key_pem, (unsigned)strlen(other->key_pem) };
    gnutls_certificate_free_keys(tls->keys->credentials);
    assert_int_equal(gnutls_certificate_set_x509_key_mem(tls->keys->credentials, &cert, &key,
                                                         GNUTLS_X509_FMT_PEM),
                     0);
}

static void names_the_day_on_which_a_certificate_expired(void **state)
{
    (void)state;
    struct tls_options options = options_of(&made.expired, NULL);
    struct tls *tls = NULL;
    struct status status = tls_server_create(&options, &tls);
    assert_fails_naming(status, STATUS_FAILED_PRECONDITION,
                        "TLS: certificate '--tls_cert' has expired on 20");
    assert_null(tls);

    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    pair_make(&pair, &server, &client, "ps0.example");
    show_instead(pair.server.tls, &made.expired);
    pair_shake(&pair);
    assert_int_equal(pair.client.status.code, STATUS_UNAUTHENTICATED);
    assert_non_null(strstr(pair.client.text, "certificate 'CN=old' has expired on 20"));
    pair_close(&pair);
}

static void tells_an_expired_ca_from_an_expired_certificate(void **state)
{
    (void)state;
    struct certificate ca, own;
    certificate_make(
        &(struct certificate_wish){ .name = "old CA", .from_s = -9 * DAY_S, .until_s = -DAY_S },
        NULL, &ca);
    certificate_make(
        &(struct certificate_wish){ .name = "own", .host = "ps0.example", .until_s = 9 * DAY_S },
        &ca, &own);
    struct tls_options server = options_of(&own, NULL), client = options_of(NULL, &ca);
    struct pair pair;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_int_equal(pair.client.status.code, STATUS_UNAUTHENTICATED);
    assert_string_equal(pair.client.text, "TLS: the server's certificate 'CN=own' is issued by "
                                          "'CN=old CA', whose certificate has expired");
    pair_close(&pair);
    certificate_free(&own);
    certificate_free(&ca);
}

/* ---- peers that do not speak TLS or hang up ---- */

static struct status handshake_after(const char *bytes, size_t size, bool hang_up)
{
    struct tls_options options = options_of(&made.server, NULL);
    struct tls *tls;
    struct transport *transport;
    enum transport_wants wants = TRANSPORT_WANTS_READ;
    int fds[2];
    socket_pair(fds);
    assert_true(status_is_ok(tls_server_create(&options, &tls)));
    assert_true(status_is_ok(tls_maker(tls)->make(tls_maker(tls), fds[0], NULL, &transport)));
    assert_int_equal(write(fds[1], bytes, size), size);
    if (hang_up)
        close(fds[1]);
    struct status status = status_ok();
    for (int i = 0; i < 3 && status_is_ok(status); i++)
        status = transport->type->handshake(transport, &wants);
    assert_int_not_equal(wants, TRANSPORT_DONE);
    transport->type->close(transport);
    if (!hang_up)
        close(fds[1]);
    tls_destroy(tls);
    return status;
}

static void says_that_a_peer_speaks_no_tls(void **state)
{
    (void)state;
    static const char http[] = "GET / HTTP/1.1\r\nHost: ps0.example\r\n\r\n";
    static const char http2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    struct status status = handshake_after(http, sizeof http - 1, false);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_string_equal(status.message, "TLS: the peer does not speak TLS");
    status = handshake_after(http2, sizeof http2 - 1, false);
    assert_string_equal(status.message, "TLS: the peer does not speak TLS");
}

static void waits_for_the_rest_of_a_handshake(void **state)
{
    (void)state;
    assert_true(status_is_ok(handshake_after("\x16\x03\x01\x01", 4, false)));
}

static void says_that_a_peer_hung_up(void **state)
{
    (void)state;
    struct status status = handshake_after("\x16\x03\x01\x01", 4, true);
    assert_int_equal(status.code, STATUS_UNAVAILABLE);
    assert_string_equal(status.message, "TLS: the peer hung up during the handshake");
}

static void survives_any_first_bytes(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int i = 0; i < 200; i++) {
        char bytes[256];
        for (size_t at = 0; at < sizeof bytes; at++)
            bytes[at] = (char)(seed = seed * 1103515245u + 12345u, seed >> 16);
        if (i % 2)
            memcpy(bytes, "\x16\x03\x01\x00\x80\x01\x00\x00\x7c\x03\x03", 11);
        status_ignore(handshake_after(bytes, sizeof bytes, i % 4 < 2));
    }
}

/* A ClientHello that claims 16 MiB less a byte: GnuTLS would keep all of it. */
static void refuses_a_handshake_without_end(void **state)
{
    (void)state;
    static char record[5 + (1 << 14)] = "\x16\x03\x01\x40\x00\x01\xff\xff\xff";
    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    int sent = 0;
    pair_make(&pair, &server, &client, "ps0.example");
    for (size_t at = 0; status_is_ok(pair.server.status) && sent < 1 << 20;) {
        ssize_t size = write(pair.client.transport->fd, record + at, sizeof record - at);
        at = (at + (size > 0 ? (size_t)size : 0)) % sizeof record;
        sent += size > 0 ? (int)size : 0;
        if (at == 0)
            memset(record + 5, 0, 4); /* the later records go on with the same message */
        step(&pair.server);
    }
    assert_string_equal(pair.server.text,
                        "TLS: the peer sent over 65536 bytes without completing the handshake");
    assert_true(sent < 100000);
    pair_close(&pair);
}

/* A server tells its client the names of all CAs that it trusts. */
static void reads_a_long_list_of_cas(void **state)
{
    (void)state;
    struct buffer cas = { 0 };
    struct certificate ca;
    char name[65];
    buffer_append_text(&cas, made.ca.cert_pem);
    for (int i = 0; i < 822; i++) { /* TLS has room for 65535 bytes of names */
        snprintf(name, sizeof name, "%064d", i);
        certificate_make(&(struct certificate_wish){ .name = name }, NULL, &ca);
        buffer_append_text(&cas, ca.cert_pem);
        certificate_free(&ca);
    }
    buffer_append_char(&cas, '\0');
    struct tls_options server = options_of(&made.server, &made.ca),
                       client = options_of(&made.client, &made.ca);
    struct pair pair;
    server.verify_client = true;
    server.ca.text = cas.data;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_ready(&pair.server);
    assert_ready(&pair.client);
    pair_close(&pair);
    buffer_finish(&cas);
}

/* ---- data transfer ---- */

#define CONTENT_BYTES (3 << 20)

static unsigned char content_at(size_t i)
{
    return (unsigned char)(i * 31 + (i >> 11));
}

/* Writes as much as the socket takes, in the piece sizes of an HTTP/2 connection. */
static size_t write_some(struct end *end, const unsigned char *content, size_t at)
{
    struct iovec pieces[4];
    int count = 0;
    size_t sizes[4] = { 9, 40000, 9, 700 };
    for (size_t from = at; count < 4 && from < CONTENT_BYTES; from += pieces[count++].iov_len) {
        size_t left = CONTENT_BYTES - from, size = sizes[count];
        pieces[count] = (struct iovec){ (void *)(content + from), size < left ? size : left };
    }
    ssize_t sent = end->transport->type->write(end->transport, pieces, count);
    assert_true(sent > 0 || (sent == -1 && errno == EAGAIN));
    return sent > 0 ? (size_t)sent : 0;
}

static bool writable(struct end *end)
{
    struct pollfd poll_fd = { .fd = end->transport->fd, .events = POLLOUT };
    return poll(&poll_fd, 1, 0) == 1;
}

static void carries_the_same_bytes_through_a_narrow_socket(void **state)
{
    (void)state;
    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    unsigned char *content = xrealloc(NULL, CONTENT_BYTES), got[50000];
    size_t sent = 0, received = 0;
    for (size_t i = 0; i < CONTENT_BYTES; i++)
        content[i] = content_at(i);
    pair_open(&pair, &server, &client, "ps0.example");
    while (received < CONTENT_BYTES) {
        /* A connection stops once all bytes are sent, and writes only when poll reports room. If
         * the transport reported bytes as sent that it still buffers, nothing would flush them. */
        if (sent < CONTENT_BYTES && writable(&pair.client))
            sent += write_some(&pair.client, content, sent);
        ssize_t size = read_some(&pair.server, got, 1 + received % sizeof got);
        assert_true(size > 0 || (size == -1 && errno == EAGAIN));
        for (ssize_t i = 0; i < size; i++)
            if (got[i] != content_at(received + (size_t)i))
                fail_msg("byte %zu", received + (size_t)i);
        received += size > 0 ? (size_t)size : 0;
    }
    assert_int_equal(sent, CONTENT_BYTES);
    free(content);
    pair_close(&pair);
}

static void tells_what_it_holds_and_when_the_peer_has_closed(void **state)
{
    (void)state;
    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    char got[8];
    struct iovec hello = { "hello", 5 };
    pair_open(&pair, &server, &client, "ps0.example");
    assert_int_equal(pair.client.transport->type->write(pair.client.transport, &hello, 1), 5);
    assert_false(pair.server.transport->type->pending(pair.server.transport));
    assert_int_equal(read_some(&pair.server, got, 2), 2);
    assert_true(pair.server.transport->type->pending(pair.server.transport));
    assert_int_equal(read_some(&pair.server, got + 2, 6), 3);
    assert_memory_equal(got, "hello", 5);
    assert_false(pair.server.transport->type->pending(pair.server.transport));
    assert_int_equal(read_some(&pair.server, got, 1), -1);
    assert_int_equal(errno, EAGAIN);

    assert_int_equal(pair.client.transport->type->write(pair.client.transport, &hello, 1), 5);
    pair.client.transport->type->close(pair.client.transport);
    assert_int_equal(read_some(&pair.server, got, sizeof got), 5);
    assert_true(pair.server.transport->type->pending(pair.server.transport)); /* it read the end */
    assert_int_equal(read_some(&pair.server, got, 1), 0);
    assert_int_equal(read_some(&pair.server, got, 1), 0);
    pair.server.transport->type->close(pair.server.transport);
    tls_destroy(pair.server.tls);
    tls_destroy(pair.client.tls);
}

static ssize_t write_all(struct end *end, const void *data, size_t size)
{
    struct iovec from = { (void *)(uintptr_t)data, size };
    return end->transport->type->write(end->transport, &from, 1);
}

/* Writes more than a socket takes. */
static ssize_t write_much(struct end *end)
{
    static const char much[100000];
    return write_all(end, much, sizeof much);
}

static void encrypted_bytes_that_a_peer_does_not_take_are_charged(void **state)
{
    (void)state;
    struct budget budget = { .limit_bytes = 1 << 20, .lock = PTHREAD_MUTEX_INITIALIZER };
    struct tls_options server = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct pair pair;
    char got[50000];
    server.budget = &budget;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_int_equal(budget.used_bytes, 0);
    assert_true(write_much(&pair.server) >= 90000);
    assert_true(budget.used_bytes >= 90000);
    for (int i = 0; i < 200; i++) {
        read_some(&pair.client, got, sizeof got);
        if (write_all(&pair.server, "", 1) == 1)
            break;
    }
    assert_int_equal(budget.used_bytes, 0);

    assert_true(write_much(&pair.server) >= 90000);
    pair_close(&pair);
    assert_int_equal(budget.used_bytes, 0);

    budget.limit_bytes = 90000;
    pair_open(&pair, &server, &client, "ps0.example");
    assert_int_equal(write_much(&pair.server), -1);
    assert_int_equal(errno, ENOMEM);
    pair_close(&pair);
    assert_int_equal(budget.used_bytes, 0);
}

/* ---- files ---- */

static struct status create_from(const char *cert, const char *key, const char *ca)
{
    struct tls_options options = {
        .cert.file = cert, .key.file = key, .ca.file = ca, .verify_client = ca != NULL
    };
    struct tls *tls = NULL;
    struct status status = tls_server_create(&options, &tls);
    tls_destroy(tls);
    return status;
}

static void names_the_file_that_is_wrong(void **state)
{
    (void)state;
    const char *cert = in("cert.pem"), *key = in("key.pem"), *other = in("other.pem"),
               *none = in("none.pem"), *text = in("text.pem");
    assert_true(status_is_ok(file_write(cert, bytes_of(made.server.cert_pem))));
    assert_true(status_is_ok(file_write(key, bytes_of(made.server.key_pem))));
    assert_true(status_is_ok(file_write(other, bytes_of(made.client.key_pem))));
    assert_true(status_is_ok(file_write(text, bytes_of("no PEM at all\n"))));
    assert_true(status_is_ok(create_from(cert, key, cert)));

    struct {
        const char *cert, *key, *ca;
        enum status_code code;
        const char *parts[3];
    } rows[] = {
        { none, key, NULL, STATUS_NOT_FOUND, { none } },
        { cert, none, NULL, STATUS_NOT_FOUND, { none } },
        { cert, key, none, STATUS_NOT_FOUND, { none } },
        { text, key, NULL, STATUS_INVALID_ARGUMENT, { text, "holds no certificate in PEM" } },
        { cert, text, NULL, STATUS_INVALID_ARGUMENT, { text, "holds no private key in PEM" } },
        { cert, cert, NULL, STATUS_INVALID_ARGUMENT, { cert, "holds no private key in PEM" } },
        { cert, key, text, STATUS_INVALID_ARGUMENT, { text, "holds no certificate in PEM" } },
        { cert, other, NULL, STATUS_INVALID_ARGUMENT, { other, "does not belong to", cert } },
        { cert, NULL, NULL, STATUS_INVALID_ARGUMENT, { cert, "without its private key" } },
        { NULL, key, NULL, STATUS_INVALID_ARGUMENT, { key, "without its certificate" } },
        { NULL, NULL, NULL, STATUS_INVALID_ARGUMENT, { "a server needs a certificate" } },
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct status status = create_from(rows[i].cert, rows[i].key, rows[i].ca);
        assert_int_equal(status.code, rows[i].code);
        for (int part = 0; part < 3 && rows[i].parts[part] != NULL; part++)
            if (strstr(status.message, rows[i].parts[part]) == NULL)
                fail_msg("'%s' is not in '%s'", rows[i].parts[part], status.message);
    }
}

/* ---- new certificates, and other protocols ---- */

static void send_byte(struct pair *pair)
{
    char byte = 'x';
    struct iovec one = { &byte, 1 };
    assert_int_equal(pair->server.transport->type->write(pair->server.transport, &one, 1), 1);
    byte = 0;
    assert_int_equal(pair->client.transport->type->read(pair->client.transport, &one, 1), 1);
    assert_int_equal(byte, 'x');
}

static void new_certificates_are_for_new_connections(void **state)
{
    (void)state;
    struct pair first, second;
    struct tls_options good = options_of(&made.server, NULL), client = options_of(NULL, &made.ca);
    struct tls_options bad = good, strange = options_of(&made.stranger, NULL);
    int fds[2];
    pair_open(&first, &good, &client, "ps0.example");
    assert_ready(&first.server);
    bad.key = (struct tls_pem){ .text = "no key", .name = "server_key" };
    assert_int_equal(tls_server_reload(first.server.tls, &bad).code, STATUS_INVALID_ARGUMENT);
    assert_true(status_is_ok(tls_server_reload(first.server.tls, &strange)));

    second = first;
    second.server.wants = second.client.wants = TRANSPORT_WANTS_READ;
    socket_pair(fds);
    struct transport_maker *maker = tls_maker(first.server.tls);
    assert_true(status_is_ok(maker->make(maker, fds[0], NULL, &second.server.transport)));
    maker = tls_maker(first.client.tls);
    assert_true(status_is_ok(maker->make(maker, fds[1], "ps0.example", &second.client.transport)));
    pair_shake(&second);
    assert_non_null(strstr(second.client.text, "an unknown CA"));

    send_byte(&first); /* it outlives the certificates that it began with */
    second.server.transport->type->close(second.server.transport);
    second.client.transport->type->close(second.client.transport);
    pair_close(&first);
}

static const struct agreement {
    enum tls_protocols server, client;
    bool agree, http2;
} agreements[] = {
    { TLS_HTTP2, TLS_HTTP2, true, true },           { TLS_HTTP2, TLS_HTTP1, false, false },
    { TLS_HTTP1, TLS_HTTP2, false, false },         { TLS_HTTP1, TLS_HTTP2_OR_1, true, false },
    { TLS_HTTP2_OR_1, TLS_HTTP2_OR_1, true, true }, { TLS_HTTP2_OR_1, TLS_HTTP1, true, false },
};

static void both_sides_agree_on_a_protocol(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(agreements); i++) {
        struct pair pair;
        struct tls_options server = options_of(&made.server, NULL);
        struct tls_options client = options_of(NULL, &made.ca);
        server.protocols = agreements[i].server;
        client.protocols = agreements[i].client;
        pair_open(&pair, &server, &client, "ps0.example");
        assert_int_equal(status_is_ok(pair.server.status), agreements[i].agree);
        if (agreements[i].agree) {
            assert_ready(&pair.server);
            assert_int_equal(tls_chose_http2(pair.server.transport), agreements[i].http2);
        }
        pair_close(&pair);
    }
}

static void says_that_a_key_is_encrypted(void **state)
{
    (void)state;
    gnutls_datum_t pem;
    assert_int_equal(gnutls_x509_privkey_export2_pkcs8(made.server.key, GNUTLS_X509_FMT_PEM,
                                                       "secret", GNUTLS_PKCS_PBES2_AES_128, &pem),
                     0);
    char *text = certificate_text(pem);
    struct tls_options options = options_of(&made.server, NULL);
    options.key.text = text;
    struct tls *tls;
    struct status status = tls_server_create(&options, &tls);
    assert_int_equal(status.code, STATUS_INVALID_ARGUMENT);
    assert_non_null(strstr(status.message, "the private key in '--tls_key' is encrypted"));
    free(text);
}

int main(void)
{
    static const struct CMUnitTest plain[] = {
        cmocka_unit_test(believes_a_server_of_its_ca),
        cmocka_unit_test(believes_a_server_by_its_address),
        cmocka_unit_test(believes_each_other_with_certificates_on_both_sides),
        cmocka_unit_test(names_the_day_on_which_a_certificate_expired),
        cmocka_unit_test(tells_an_expired_ca_from_an_expired_certificate),
        cmocka_unit_test(says_that_a_peer_speaks_no_tls),
        cmocka_unit_test(waits_for_the_rest_of_a_handshake),
        cmocka_unit_test(refuses_a_handshake_without_end),
        cmocka_unit_test(reads_a_long_list_of_cas),
        cmocka_unit_test(says_that_a_peer_hung_up),
        cmocka_unit_test(survives_any_first_bytes),
        cmocka_unit_test(carries_the_same_bytes_through_a_narrow_socket),
        cmocka_unit_test(tells_what_it_holds_and_when_the_peer_has_closed),
        cmocka_unit_test(encrypted_bytes_that_a_peer_does_not_take_are_charged),
        TEST_IN_DIRECTORY(names_the_file_that_is_wrong),
        cmocka_unit_test(says_that_a_key_is_encrypted),
        cmocka_unit_test(new_certificates_are_for_new_connections),
        cmocka_unit_test(both_sides_agree_on_a_protocol),
    };
    struct test_group group = { 0 };

    ADD_TESTS(&group, plain);
    ADD_ROWS(&group, server_rows, label, refuses_the_server);
    ADD_ROWS(&group, client_rows, label, refuses_the_client);
    return test_group_run(&group, "tls", make_certificates, free_certificates);
}
