/*
 * http1: HTTP/1.1 and HTTP/1.0 connections in the loop's thread: reads requests, sends answers.
 *
 *     http1_create(&options, &server);
 *     http1_accept(server, fd);
 *         events->begin(head), body(data)…, whole(), later or at once http1_answer, end()
 *     http1_resume(server);              at the end of each round: sends what was answered in it
 *
 * A connection has one request at a time; what a client sends ahead waits. What was received is
 * parsed where it was read to, in a buffer that all connections share; only an incomplete head, or
 * what was sent ahead, is kept per connection, and paid for from the budget.
 */
#ifndef SERVER_HTTP1_H
#define SERVER_HTTP1_H

#include "base/budget.h"
#include "base/loop.h"
#include "server/http1_head.h"

struct http1;
struct http1_connection;

#define HTTP1_HEAD_BYTES_MAX ((size_t)128 * 1024)

/* What happens to a request. All of it is called in the loop's thread. */
struct http1_events {
    /* The head has come; its views hold during this call. The value returned stands for the request
     * in what follows. */
    void *(*begin)(void *context, struct http1_connection *connection,
                   const struct http1_head *head);
    void (*body)(void *request, struct bytes data);
    void (*whole)(void *request); /* it waits for http1_answer now */
    void (*left)(void *request);  /* it waits, and its client sends no more, or is gone */
    /* The last that is heard of it: the answer is sent, or the connection lost. Never while it
     * waits, except from http1_destroy. */
    void (*end)(void *request);
};

struct http1_options {
    struct loop *loop;
    struct budget *budget;
    int connections_max;
    int64_t idle_ns;    /* a connection without a request is closed after this time */
    int64_t silence_ns; /* so is one whose head is not whole by then, or whose body or answer did
                         * not move */
    const struct http1_events *events;
    void *context;
};

struct http1 *http1_create(const struct http1_options *options);
void http1_destroy(struct http1 *server); /* closes all connections; accepts NULL */

/* Takes over a connected descriptor, which must not block. */
void http1_accept(struct http1 *server, int fd);
int http1_connections(const struct http1 *server);

struct http1_answer {
    int code;
    const char *type;    /* of the body; NULL: not said */
    const char *headers; /* further ones, whole lines; at most HTTP1_HEADERS_MAX bytes */
    struct buffer body;  /* freed when it is sent */
    bool close;          /* the connection, afterwards */
};
#define HTTP1_HEADERS_MAX 256

/* Answers the request of the connection that waits. Sent at once inside `whole`, else by
 * http1_resume. */
void http1_answer(struct http1_connection *connection, const struct http1_answer *answer);

/* True: there is more to do at once. */
bool http1_resume(struct http1 *server);

#endif
