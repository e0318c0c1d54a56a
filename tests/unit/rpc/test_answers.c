/* How a client handles answers that our own server never sends. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "rpc/call_group.h"
#include "rpc/remote.h"
#include "support/test_group.h"

#define DEADLINE_MS 60000
#define END_STREAM  1
#define END_HEADERS 4

enum { DATA, HEADERS, RST_STREAM = 3, SETTINGS = 4, GOAWAY = 7 };

/* One frame of an answer. Every type but GOAWAY goes to the request's stream. */
struct answer_frame {
    int type, flags;
    const char *headers[9]; /* name, value, …, NULL: sent as HPACK literals */
    struct bytes payload;   /* of the other types */
};

#define ANSWER(flags_, ...)                                            \
    {                                                                  \
        .type = HEADERS, .flags = (flags_), .headers = { __VA_ARGS__ } \
    }
#define FRAME(type_, flags_, text)                                                              \
    {                                                                                           \
        .type = (type_), .flags = (flags_), .payload = {.data = text, .size = sizeof text - 1 } \
    }
#define LAST        \
    {               \
        .type = -1, \
    }
#define GRPC ":status", "200", "content-type", "application/grpc"

static const struct row {
    const char *label;
    struct answer_frame first[4]; /* sent on the first connection; type -1 ends */
    bool then_fine;               /* later connections get a correct answer */
    enum status_code code;
    const char *words;
} rows[] = {
    { "HTTP 503",
      { ANSWER(END_STREAM, ":status", "503", "content-type", "text/html"), LAST },
      false,
      STATUS_UNAVAILABLE,
      "HTTP status 503" },
    { "HTTP 404 with a body",
      { ANSWER(0, ":status", "404", "content-type", "text/html"),
        FRAME(DATA, END_STREAM, "<html>not here</html>"), LAST },
      false,
      STATUS_UNIMPLEMENTED,
      "HTTP status 404" },
    { "not gRPC",
      { ANSWER(0, ":status", "200", "content-type", "text/plain"), FRAME(DATA, END_STREAM, "hello"),
        LAST },
      false,
      STATUS_UNKNOWN,
      "not application/grpc" },
    { "headers only",
      { ANSWER(END_STREAM, GRPC, "grpc-status", "5", "grpc-message", "no%20such"), LAST },
      false,
      STATUS_NOT_FOUND,
      "no such" },
    { "no grpc-status",
      { ANSWER(0, GRPC), FRAME(DATA, END_STREAM, "\0\0\0\0\1x"), LAST },
      false,
      STATUS_INTERNAL,
      "without grpc-status" },
    { "OK without a message",
      { ANSWER(END_STREAM, GRPC, "grpc-status", "0"), LAST },
      false,
      STATUS_INTERNAL,
      "no message" },
    { "two messages",
      { ANSWER(0, GRPC), FRAME(DATA, 0, "\0\0\0\0\1x\0\0\0\0\1y"),
        ANSWER(END_STREAM, "grpc-status", "0"), LAST },
      false,
      STATUS_INTERNAL,
      "more than one message" },
    { "half a message",
      { ANSWER(0, GRPC), FRAME(DATA, 0, "\0\0\0\0\x09x"), ANSWER(END_STREAM, "grpc-status", "0"),
        LAST },
      false,
      STATUS_INTERNAL,
      "within a message" },
    { "a code that there is not",
      { ANSWER(END_STREAM, GRPC, "grpc-status", "99"), LAST },
      false,
      STATUS_UNKNOWN,
      "" },
    { "reset: CANCEL",
      { FRAME(RST_STREAM, 0, "\0\0\0\x08"), LAST },
      false,
      STATUS_CANCELLED,
      "CANCEL" },
    { "reset: ENHANCE_YOUR_CALM",
      { FRAME(RST_STREAM, 0, "\0\0\0\x0b"), LAST },
      false,
      STATUS_RESOURCE_EXHAUSTED,
      "ENHANCE_YOUR_CALM" },
    { "reset: REFUSED_STREAM, always",
      { FRAME(RST_STREAM, 0, "\0\0\0\x07"), LAST },
      false,
      STATUS_UNAVAILABLE,
      "REFUSED_STREAM" },
    { "GOAWAY before it was looked at: sent again elsewhere",
      { FRAME(GOAWAY, 0, "\0\0\0\0\0\0\0\0"), LAST },
      true,
      STATUS_OK,
      "" },
    { "GOAWAY with PROTOCOL_ERROR, always",
      { FRAME(GOAWAY, 0,
              "\0\0\0\0\0\0\0\1"
              "bad frame"),
        LAST },
      false,
      STATUS_UNAVAILABLE,
      "PROTOCOL_ERROR: bad frame" },
    { "a broken frame",
      { FRAME(RST_STREAM, 0, "abc"), LAST },
      false,
      STATUS_UNAVAILABLE,
      "FRAME_SIZE_ERROR" },
    { "as it should be",
      { ANSWER(0, GRPC), FRAME(DATA, 0, "\0\0\0\0\2ok"), ANSWER(END_STREAM, "grpc-status", "0"),
        LAST },
      false,
      STATUS_OK,
      "" },
};

static const struct answer_frame *fine(void)
{
    return rows[COUNT(rows) - 1].first;
}

/* ---- the server ---- */

static bool read_all(int fd, unsigned char *to, size_t size)
{
    for (size_t have = 0; have < size;) {
        ssize_t part = read(fd, to + have, size - have);
        if (part <= 0)
            return false;
        have += (size_t)part;
    }
    return true;
}

static void send_frame(int fd, int type, int flags, const unsigned char id[4],
                       const unsigned char *payload, size_t size)
{
    unsigned char head[9] = { 0, (unsigned char)(size >> 8), (unsigned char)size,
                              (unsigned char)type, (unsigned char)flags };
    memcpy(head + 5, id, 4);
    ssize_t sent = write(fd, head, 9); /* ignored: the caller may have left */
    sent = write(fd, payload, size);
    (void)sent;
}

static void send_answer(int fd, const unsigned char id[4], const struct answer_frame *frame)
{
    static const unsigned char zero[4];
    unsigned char block[512];
    size_t size = 0;

    if (frame->type != HEADERS) {
        send_frame(fd, frame->type, frame->flags, frame->type == GOAWAY ? zero : id,
                   (const unsigned char *)frame->payload.data, frame->payload.size);
        return;
    }
    for (int i = 0; i < 9 && frame->headers[i] != NULL; i++) {
        size_t length = strlen(frame->headers[i]);
        if (i % 2 == 0)
            block[size++] = 0; /* a literal without indexing, with a literal name */
        block[size++] = (unsigned char)length;
        memcpy(block + size, frame->headers[i], length);
        size += length;
    }
    send_frame(fd, HEADERS, frame->flags | END_HEADERS, id, block, size);
}

static void serve(int fd, const struct answer_frame *answer)
{
    static const unsigned char zero[4];
    unsigned char preface[24], head[9], payload[65536];

    if (!read_all(fd, preface, sizeof preface))
        return;
    send_frame(fd, SETTINGS, 0, zero, zero, 0);
    while (read_all(fd, head, sizeof head)) {
        size_t size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        if (size > sizeof payload || !read_all(fd, payload, size))
            return;
        if (head[3] == SETTINGS && !(head[4] & 1))
            send_frame(fd, SETTINGS, 1, zero, zero, 0);
        if (head[3] == DATA && head[4] & END_STREAM)
            for (const struct answer_frame *frame = answer; frame->type >= 0; frame++)
                send_answer(fd, head + 5, frame);
    }
}

struct server {
    int fd;
    const struct row *row;
};

static void *run(void *context)
{
    struct server *server = context;
    const struct answer_frame *answer = server->row->first;

    for (int fd; (fd = accept(server->fd, NULL, NULL)) >= 0; close(fd)) {
        serve(fd, answer);
        if (server->row->then_fine)
            answer = fine();
    }
    return NULL;
}

static void the_call_ends_as_it_should(void **state)
{
    struct server server = { .row = *state };
    struct sockaddr_in where = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof where;
    struct message request = { .header = { "abc", 3 } }, reply;
    struct channel *channel;
    pthread_t thread;
    char address[64];

    server.fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&where, size), 0);
    assert_int_equal(listen(server.fd, 8), 0);
    assert_int_equal(getsockname(server.fd, (struct sockaddr *)&where, &size), 0);
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(where.sin_port));
    pthread_create(&thread, NULL, run, &server);
    assert_true(status_is_ok(remote_open(address, &(struct remote_options){ 0 }, &channel)));
    struct status status = channel_call(channel, "/t/Odd", &request,
                                        clock_deadline_ns(clock_monotonic(), DEADLINE_MS), &reply);
    if (status.code != server.row->code || strstr(status.message, server.row->words) == NULL)
        fail_msg("%s: %s", status_code_name(status.code), status.message);
    if (status_is_ok(status))
        assert_true(bytes_equal(reply.header, bytes_of("ok")));
    message_release(&reply);
    channel_close(channel);
    shutdown(server.fd, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(server.fd);
}

int main(void)
{
    struct test_group group = { 0 };

    ADD_ROWS(&group, rows, label, the_call_ends_as_it_should);
    return test_group_run(&group, "answers", NULL, NULL);
}
