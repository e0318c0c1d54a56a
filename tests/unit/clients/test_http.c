/*
 * The framing of HTTP responses. The peer is the other end of a socket pair that preserves message
 * boundaries (SOCK_SEQPACKET), so the client reads exactly one piece at a time. All pieces are
 * written before the client sends its request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clients/http.h"
#include "support/test_group.h"

#define PIECES_MAX 4
#define GREETING   "HTTP/1.1 200 OK\r\n"

struct peer {
    struct http http;
    int fd; /* the peer's end; -1: it has hung up */
};

static void meet(struct peer *peer)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
    assert_string_equal(http_init(&peer->http, "localhost:1").message, "");
    peer->http.transport = transport_plain(ends[0]);
    peer->fd = ends[1];
}

static void leave(struct peer *peer)
{
    http_finish(&peer->http);
    if (peer->fd >= 0)
        close(peer->fd);
}

static void answer(struct peer *peer, const char *const *pieces, bool hang_up)
{
    for (int i = 0; i < PIECES_MAX && pieces[i] != NULL; i++)
        assert_int_equal(send(peer->fd, pieces[i], strlen(pieces[i]), 0), strlen(pieces[i]));
    if (hang_up)
        shutdown(peer->fd, SHUT_WR);
}

static struct status ask(struct peer *peer, int64_t deadline_ns, int *code, struct bytes *body)
{
    return http_ask(&peer->http, "GET", "/v1", NULL, deadline_ns, code, body);
}

static int64_t in_a_minute(void)
{
    return clock_now_ns(clock_monotonic()) + 60 * (int64_t)NS_PER_S;
}

/* Unless the answer keeps the connection open (`stays`), the peer hangs up after it. */
#define ANSWER(label, stays, http, body, ...)                      \
    {                                                              \
        label, { __VA_ARGS__ }, stays, http, body, NULL, STATUS_OK \
    }
#define REFUSAL(label, code, error, ...)                    \
    {                                                       \
        label, { __VA_ARGS__ }, false, 0, NULL, error, code \
    }

static const struct row {
    const char *label;
    const char *pieces[PIECES_MAX];
    bool stays;
    int http;
    const char *body;
    const char *error; /* part of the expected error, and its code */
    enum status_code code;
} rows[] = {
    ANSWER("one piece", true, 200, "hi", GREETING "Content-Length: 2\r\n\r\nhi"),
    ANSWER("head and body", true, 200, "hi", GREETING "Content-Length: 2\r\n\r\n", "hi"),
    ANSWER("cut in the empty line", true, 200, "hi", GREETING "Content-Length: 2\r\n\r", "\nh",
           "i"),
    ANSWER("cut in a header", true, 200, "hi", GREETING "Content-Le", "ngth: 2\r\n", "\r\nhi"),
    ANSWER("no body", true, 404, "", "HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n"),
    ANSWER("a body up to the end", false, 200, "abc", GREETING "\r\n", "a", "bc"),
    ANSWER("a body that looks like a head", true, 200, "\r\n\r\na: b",
           GREETING "Content-Length: 8\r\n\r\n\r\n\r\na: b"),
    ANSWER("a header of the body", false, 200, "Content-Length: 1\r\n\r\nx",
           GREETING "\r\nContent-Length: 1\r\n\r\nx"),
    ANSWER("Connection: close", false, 200, "x",
           GREETING "Connection: close\r\nContent-Length: 1\r\n\r\nx"),
    REFUSAL("chunks", STATUS_INTERNAL, "it has a Transfer-Encoding",
            GREETING "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    REFUSAL("another protocol", STATUS_INTERNAL, "no status line", "SSH-2.0-x\r\n\r\n"),
    REFUSAL("a short status line", STATUS_INTERNAL, "no status line", "HTTP/1.1\r\n\r\n"),
    REFUSAL("more than a GiB", STATUS_RESOURCE_EXHAUSTED, "an answer of 1073741825 bytes",
            GREETING "Content-Length: 1073741825\r\n\r\n"),
};

static void reads_the_answer(void **state)
{
    const struct row *row = *state;
    struct peer peer;
    struct bytes body;
    int code = 0;
    char request[256] = "";
    meet(&peer);
    answer(&peer, row->pieces, row->error == NULL && !row->stays);
    struct status status = ask(&peer, in_a_minute(), &code, &body);
    assert_true(recv(peer.fd, request, sizeof request - 1, 0) > 0);
    assert_string_equal(request, "GET /v1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n");
    if (row->error == NULL) {
        assert_string_equal(status.message, "");
        assert_int_equal(code, row->http);
        assert_true(bytes_equal(body, bytes_of(row->body)));
    } else {
        assert_int_equal(status.code, row->code);
        if (strstr(status.message, row->error) == NULL)
            fail_msg("'%s' is not in '%s'", row->error, status.message);
    }
    assert_int_equal(peer.http.transport != NULL, row->stays);
    leave(&peer);
}

/* A peer that accepts one request, answers with a text and hangs up. */
struct listener {
    int fd;
    const char *text;
    pthread_t thread;
};

static void *serve_one(void *context)
{
    const struct listener *listener = context;
    char request[256];
    int fd = accept(listener->fd, NULL, NULL);
    ssize_t got = recv(fd, request, sizeof request, 0);
    ssize_t sent = send(fd, listener->text, strlen(listener->text), 0);
    close(fd);
    return got > 0 && sent == (ssize_t)strlen(listener->text) ? NULL : "the peer failed";
}

static void listen_for(struct listener *listener, struct http *http)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    char text[32];
    listener->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener->fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener->fd, 1), 0);
    assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&address, &size), 0);
    snprintf(text, sizeof text, "127.0.0.1:%d", ntohs(address.sin_port));
    assert_string_equal(http_init(http, text).message, "");
    assert_int_equal(pthread_create(&listener->thread, NULL, serve_one, listener), 0);
}

static void stop_listening(struct listener *listener)
{
    void *failure;
    assert_int_equal(pthread_join(listener->thread, &failure), 0);
    assert_null(failure);
    close(listener->fd);
}

static void a_peer_that_hangs_up_is_named(void **state)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        { "", "hung up before an answer" },
        { GREETING "Conte", "hung up before an answer" },
        { GREETING "Content-Length: 2\r\n\r\nh", "hung up within its answer" },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct listener listener = { .text = cases[i].text };
        struct http http;
        struct bytes body;
        int code;
        listen_for(&listener, &http);
        struct status status = http_ask(&http, "GET", "/", NULL, in_a_minute(), &code, &body);
        stop_listening(&listener);
        assert_int_equal(status.code, STATUS_UNAVAILABLE);
        assert_non_null(strstr(status.message, cases[i].error));
        assert_non_null(strstr(status.message, http.host));
        http_finish(&http);
    }
}

/* A server may close an idle connection. */
static void a_kept_connection_that_was_closed_is_opened_again(void **state)
{
    struct listener listener = { .text = GREETING "Content-Length: 1\r\n\r\na" };
    struct http http;
    struct bytes body;
    int code, ends[2];
    (void)state;
    listen_for(&listener, &http);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    http.transport = transport_plain(ends[0]);
    close(ends[1]);
    struct status status = http_ask(&http, "GET", "/", NULL, in_a_minute(), &code, &body);
    assert_string_equal(status.message, "");
    assert_int_equal(code, 200);
    assert_true(bytes_equal(body, bytes_of("a")));
    stop_listening(&listener);
    http_finish(&http);
}

static void one_connection_serves_several_requests(void **state)
{
    static const char *const answers[][PIECES_MAX] = {
        { GREETING "Content-Length: 1\r\n\r\na" },
        { "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nbb" },
    };
    static const int codes[] = { 200, 503 };
    struct peer peer;
    struct bytes body;
    int code;
    (void)state;
    meet(&peer);
    for (int i = 0; i < 2; i++) {
        answer(&peer, answers[i], false);
        assert_string_equal(ask(&peer, in_a_minute(), &code, &body).message, "");
        assert_int_equal(code, codes[i]);
        assert_int_equal(body.size, i + 1);
    }
    leave(&peer);
}

static void a_body_is_announced_and_sent(void **state)
{
    static const char *const pieces[PIECES_MAX] = { GREETING "Content-Length: 0\r\n\r\n" };
    struct peer peer;
    struct bytes answered;
    struct buffer body = { 0 };
    int code;
    char head[256] = "", sent[16] = "";
    (void)state;
    meet(&peer);
    answer(&peer, pieces, false);
    buffer_append_text(&body, "{\"x\": 1}");
    struct status status =
        http_ask(&peer.http, "POST", "/p", &body, in_a_minute(), &code, &answered);
    assert_string_equal(status.message, "");
    assert_true(recv(peer.fd, head, sizeof head - 1, 0) > 0);
    assert_string_equal(head, "POST /p HTTP/1.1\r\nHost: localhost:1\r\n"
                              "Content-Type: application/json\r\nContent-Length: 8\r\n\r\n");
    assert_int_equal(recv(peer.fd, sent, sizeof sent - 1, 0), 8);
    assert_string_equal(sent, "{\"x\": 1}");
    buffer_finish(&body);
    leave(&peer);
}

static void a_head_without_end_is_refused(void **state)
{
    struct peer peer;
    struct bytes body;
    int code, size = 1 << 20;
    char *line = malloc(70000);
    (void)state;
    meet(&peer);
    setsockopt(peer.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    memset(line, 'a', 70000);
    memcpy(line, GREETING, strlen(GREETING));
    assert_int_equal(send(peer.fd, line, 40000, 0), 40000);
    assert_int_equal(send(peer.fd, line, 40000, 0), 40000);
    struct status status = ask(&peer, in_a_minute(), &code, &body);
    assert_int_equal(status.code, STATUS_INTERNAL);
    assert_non_null(strstr(status.message, "its head is longer than 64 KiB"));
    free(line);
    leave(&peer);
}

static void a_deadline_that_has_passed_ends_the_wait(void **state)
{
    struct peer peer;
    struct bytes body;
    int code;
    (void)state;
    meet(&peer);
    assert_int_equal(ask(&peer, 0, &code, &body).code, STATUS_DEADLINE_EXCEEDED);
    assert_null(peer.http.transport);
    leave(&peer);
}

static void addresses(void **state)
{
    static const struct {
        const char *text, *host;
    } good[] = { { "a:1", "a:1" },
                 { "a", "a:8501" },
                 { "a:1/", "a:1" },
                 { "[::1]", "[::1]:8501" },
                 { "[::1]:9", "[::1]:9" } };
    static const char *const bad[] = { "a:1/v1", "a:x", "" };
    struct http http;
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_string_equal(http_init(&http, good[i].text).message, "");
        assert_string_equal(http.host, good[i].host);
        http_finish(&http);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(http_init(&http, bad[i]).code, STATUS_INVALID_ARGUMENT);
}

int main(void)
{
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(a_peer_that_hangs_up_is_named),
        cmocka_unit_test(a_kept_connection_that_was_closed_is_opened_again),
        cmocka_unit_test(one_connection_serves_several_requests),
        cmocka_unit_test(a_body_is_announced_and_sent),
        cmocka_unit_test(a_head_without_end_is_refused),
        cmocka_unit_test(a_deadline_that_has_passed_ends_the_wait),
        cmocka_unit_test(addresses),
    };
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, reads_the_answer);
    ADD_TESTS(&group, others);
    return test_group_run(&group, "http", NULL, NULL);
}
