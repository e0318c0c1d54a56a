#include "clients/http.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"

#define PORT_DEFAULT   8501
#define ADDRESSES_MAX  16
#define HEAD_BYTES_MAX ((size_t)64 << 10)
#define BODY_BYTES_MAX ((size_t)1 << 30)
#define READ_BYTES     ((size_t)64 << 10)

struct status http_init(struct http *http, const char *text)
{
    size_t size = strcspn(text, "/");
    struct buffer address = { 0 };
    buffer_append(&address, text, size);
    buffer_append_char(&address, '\0');
    address.size--;
    if (text[size] != '\0' && text[size + 1] != '\0') {
        buffer_finish(&address);
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s': want http://host:port with nothing after it", text);
    }
    const char *bracket = strchr(address.data, ']');
    if (strchr(bracket != NULL ? bracket : address.data, ':') == NULL)
        buffer_printf(&address, ":%d", PORT_DEFAULT);
    *http = (struct http){ 0 };
    struct status status = address_parse(address.data, &http->address);
    snprintf(http->host, sizeof http->host, "%s", address.data);
    buffer_finish(&address);
    return status;
}

static void disconnect(struct http *http)
{
    if (http->transport != NULL)
        http->transport->type->close(http->transport);
    http->transport = NULL;
    http->in.size = 0;
}

void http_finish(struct http *http)
{
    disconnect(http);
    buffer_finish(&http->in);
}

static struct status wait_for(int fd, short events, int64_t deadline_ns, const char *what)
{
    struct pollfd poller = { .fd = fd, .events = events };
    for (;;) {
        int64_t left_ms = (deadline_ns - clock_now_ns(clock_monotonic())) / NS_PER_MS;
        int ready = left_ms <= 0 ? 0 : poll(&poller, 1, left_ms > 60000 ? 60000 : (int)left_ms);
        if (ready > 0)
            return status_ok();
        if (ready < 0 && errno != EINTR)
            return status_errno(errno, "poll");
        if (left_ms <= 0)
            return status_error(STATUS_DEADLINE_EXCEEDED, "no time left %s", what);
    }
}

static struct status connect_to(const struct socket_address *address, int64_t deadline_ns, int *out)
{
    int on = 1, error = 0;
    socklen_t size = sizeof error;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return status_errno(errno, "socket");
    struct status status = status_ok();
    if (connect(fd, &address->any, address->size) != 0) {
        error = errno;
        if (error == EINPROGRESS)
            status = wait_for(fd, POLLOUT, deadline_ns, "to connect");
        if (error == EINPROGRESS && status_is_ok(status))
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if (status_is_ok(status) && error != 0)
            status = status_errno(error, "connect");
    }
    if (!status_is_ok(status)) {
        close(fd);
        return status;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* fails for a Unix socket */
    *out = fd;
    return status_ok();
}

static struct status shake_hands(struct http *http, int64_t deadline_ns)
{
    struct transport *transport = http->transport;
    enum transport_wants wants;
    for (;;) {
        TRY(transport->type->handshake(transport, &wants));
        if (wants == TRANSPORT_DONE)
            return status_ok();
        TRY(wait_for(transport->fd, wants == TRANSPORT_WANTS_READ ? POLLIN : POLLOUT, deadline_ns,
                     "to connect"));
    }
}

/* Takes the descriptor. */
static struct status encrypt(struct http *http, int fd, int64_t deadline_ns)
{
    if (http->tls == NULL) {
        http->transport = transport_plain(fd);
        return status_ok();
    }
    const char *peer = http->server_name != NULL ? http->server_name : http->address.host;
    struct status status = http->tls->make(http->tls, fd, peer, &http->transport);
    if (status_is_ok(status)) {
        status = shake_hands(http, deadline_ns);
        if (!status_is_ok(status))
            disconnect(http);
    }
    return status_in(status, "%s", http->host);
}

static struct status connect_any(struct http *http, int64_t deadline_ns)
{
    struct socket_address addresses[ADDRESSES_MAX];
    int count;
    struct status status = address_resolve(&http->address, addresses, ADDRESSES_MAX, &count);
    if (!status_is_ok(status))
        return status_error(STATUS_UNAVAILABLE, "%s: %s", http->host, status.message);
    for (int i = 0; i < count; i++) {
        int fd = -1;
        status = connect_to(&addresses[i], deadline_ns, &fd);
        if (status_is_ok(status))
            return encrypt(http, fd, deadline_ns);
    }
    return status_error(status.code == STATUS_DEADLINE_EXCEEDED ? status.code : STATUS_UNAVAILABLE,
                        "%s: %s", http->host, status.message);
}

/* Describes why read or write failed. */
static const char *trouble(const struct http *http)
{
    const struct transport *transport = http->transport;
    const char *words = errno == EPROTO && transport->type->trouble != NULL
                            ? transport->type->trouble(transport)
                            : NULL;
    return words != NULL ? words : strerror(errno);
}

static struct status send_all(struct http *http, const void *data, size_t size, int64_t deadline_ns)
{
    struct transport *transport = http->transport;
    struct iovec left = { (void *)(uintptr_t)data, size };
    while (left.iov_len > 0) {
        ssize_t sent = transport->type->write(transport, &left, 1);
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return status_error(STATUS_UNAVAILABLE, "%s: send: %s", http->host, trouble(http));
        if (sent < 0) {
            TRY(wait_for(transport->fd, POLLOUT, deadline_ns, "to send the request"));
            continue;
        }
        left.iov_base = (char *)left.iov_base + sent;
        left.iov_len -= (size_t)sent;
    }
    return status_ok();
}

/* Reads more bytes into `in`. Sets *end if the server has closed the connection. */
static struct status receive(struct http *http, int64_t deadline_ns, bool *end)
{
    struct transport *transport = http->transport;
    *end = false;
    buffer_reserve(&http->in, READ_BYTES);
    struct iovec to = { http->in.data + http->in.size, READ_BYTES };
    for (;;) {
        ssize_t got = transport->type->read(transport, &to, 1);
        if (got >= 0) {
            http->in.size += (size_t)got;
            *end = got == 0;
            return status_ok();
        }
        if (errno != EAGAIN && errno != EINTR)
            return status_error(STATUS_UNAVAILABLE, "%s: receive: %s", http->host, trouble(http));
        TRY(wait_for(transport->fd, POLLIN, deadline_ns, "for the answer"));
    }
}

static struct status not_http(const struct http *http, const char *what)
{
    return status_error(STATUS_INTERNAL,
                        "%s: the answer is not HTTP/1.1 that this client reads: %s", http->host,
                        what);
}

/* The value of a header; NULL: the head has no such header. */
static const char *header(const char *head, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, size) == 0 && line[2 + size] == ':')
            return line + 2 + size + 1 + strspn(line + 3 + size, " \t");
    return NULL;
}

/* strtoull alone also takes "-1", as the largest number, and "2x". */
static bool read_length(const char *value, unsigned long long *out)
{
    size_t digits = strspn(value, "0123456789");
    const char *end = value + digits + strspn(value + digits, " \t");
    if (digits == 0 || *end != '\r')
        return false;
    *out = strtoull(value, NULL, 10);
    return true;
}

struct head {
    int code;
    size_t size, body_size;
    bool until_end, closes; /* the body ends with the connection; the server closes it */
};

static struct status read_head(struct http *http, struct head *out)
{
    char *end = memmem(http->in.data, http->in.size, "\r\n\r\n", 4);
    *out = (struct head){ .size = (size_t)(end - http->in.data) + 4 };
    end[2] = '\0'; /* ends the head; the body follows */
    const char *head = http->in.data;
    if (strncmp(head, "HTTP/1.", 7) != 0 || strlen(head) < 12)
        return not_http(http, "no status line");
    out->code = atoi(head + 9);
    const char *length = header(head, "Content-Length"), *connection = header(head, "Connection");
    out->closes = connection != NULL && strncasecmp(connection, "close", 5) == 0;
    if (header(head, "Transfer-Encoding") != NULL)
        return not_http(http, "it has a Transfer-Encoding");
    out->until_end = length == NULL;
    unsigned long long size = 0;
    if (length != NULL && !read_length(length, &size))
        return not_http(http, "its Content-Length is not a number");
    if (size > BODY_BYTES_MAX)
        return status_error(STATUS_RESOURCE_EXHAUSTED,
                            "%s: an answer of %llu bytes, the limit is 1 GiB", http->host, size);
    out->body_size = (size_t)size;
    return status_ok();
}

static struct status read_answer(struct http *http, int64_t deadline_ns, struct head *head)
{
    bool end = false;
    while (http->in.size == 0 || memmem(http->in.data, http->in.size, "\r\n\r\n", 4) == NULL) {
        if (http->in.size > HEAD_BYTES_MAX)
            return not_http(http, "its head is longer than 64 KiB");
        TRY(receive(http, deadline_ns, &end));
        if (end)
            return status_error(STATUS_UNAVAILABLE, "%s: hung up before an answer", http->host);
    }
    TRY(read_head(http, head));
    while (head->until_end ? !end : http->in.size < head->size + head->body_size) {
        TRY(receive(http, deadline_ns, &end));
        if (end && !head->until_end)
            return status_error(STATUS_UNAVAILABLE, "%s: hung up within its answer", http->host);
        if (http->in.size > head->size + BODY_BYTES_MAX)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "%s: the answer exceeds 1 GiB",
                                http->host);
    }
    if (head->until_end)
        head->body_size = http->in.size - head->size;
    head->closes = head->closes || head->until_end;
    return status_ok();
}

static struct status ask_once(struct http *http, const struct buffer *head,
                              const struct buffer *body, int64_t deadline_ns, struct head *answer)
{
    if (http->transport == NULL)
        TRY(connect_any(http, deadline_ns));
    http->in.size = 0;
    TRY(send_all(http, head->data, head->size, deadline_ns));
    if (body != NULL)
        TRY(send_all(http, body->data, body->size, deadline_ns));
    return read_answer(http, deadline_ns, answer);
}

struct status http_ask(struct http *http, const char *method, const char *path,
                       const struct buffer *body, int64_t deadline_ns, int *code,
                       struct bytes *body_out)
{
    struct buffer text = { 0 };
    struct head head;
    buffer_printf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, http->host);
    if (body != NULL)
        buffer_printf(&text, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      body->size);
    if (http->token != NULL)
        buffer_printf(&text, "Authorization: Bearer %s\r\n", http->token);
    buffer_append_text(&text, "\r\n");
    bool kept = http->transport != NULL;
    struct status status = ask_once(http, &text, body, deadline_ns, &head);
    if (kept && status.code == STATUS_UNAVAILABLE) { /* the server closed the idle connection */
        disconnect(http);
        status = ask_once(http, &text, body, deadline_ns, &head);
    }
    buffer_finish(&text);
    if (!status_is_ok(status)) {
        disconnect(http);
        return status;
    }
    *code = head.code;
    *body_out = (struct bytes){ http->in.data + head.size, head.body_size };
    if (head.closes) {
        http->transport->type->close(http->transport);
        http->transport = NULL;
    }
    return status_ok();
}
