#include "server/http1.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"
#include "server/http1_chunks.h"
#include "server/http1_print.h"

#define READ_BYTES        ((size_t)64 * 1024)
#define READ_MORE_BYTES   ((size_t)16 * 1024) /* behind an incomplete head */
#define REQUESTS_PER_TURN 16                  /* of one connection, if they need no run */
#define LINGER_NS         (2 * NS_PER_S)      /* a refused client may still be sending */
#define WATCH_INPUT       (EPOLLIN | EPOLLRDHUP)
#define WATCH_LEAVING     (EPOLLRDHUP | EPOLLET) /* once per change, as it may last */

struct http1_connection {
    struct http1 *server;
    struct http1_connection *next, **link;
    struct http1_connection *next_ready;
    struct loop_watch *watch;
    struct loop_timer timer; /* set to deadline_ns or earlier */
    int64_t deadline_ns;
    int fd;
    uint32_t watched; /* events */
    enum {
        READING_HEAD,
        READING_LENGTH, /* a body of Content-Length */
        READING_CHUNKS,
        WAITING, /* for http1_answer */
        ANSWERING,
        LINGERING, /* input is read and dropped: closing at once could lose the answer */
        CLOSED,
    } state;
    bool is_ready;   /* in the list of http1_resume */
    bool is_running; /* inside run */
    bool is_heading; /* part of a head has come: the deadline stands */

    struct bytes input; /* received and not used yet, inside run */
    struct buffer kept; /* the same between two runs */
    int64_t taken;      /* of the budget, for it */
    size_t seen;        /* of an incomplete head */

    void *request; /* NULL: none, or refused */
    bool keep_alive, lingers, is_head_method, has_left;
    int minor;
    uint64_t body_left;
    struct http1_chunks chunks;

    char head[HTTP1_PRINTED_MAX]; /* of the answer */
    size_t head_size, sent;
    struct buffer body;
};

struct http1 {
    struct http1_options options;
    struct http1_connection *connections;
    struct http1_connection *ready, **ready_end;
    int connections_count, ready_count;
    struct http1_date date;
    char shared[READ_BYTES];
};

/* ---- Deadlines. ---- */

/* A timer is moved only to come earlier; one that comes too early is set again then. */
static void expect_within(struct http1_connection *connection, int64_t ns)
{
    struct loop *loop = connection->server->options.loop;
    connection->deadline_ns = loop_now_ns(loop) + ns;
    if (connection->timer.slot == 0 || connection->timer.deadline_ns > connection->deadline_ns)
        loop_set_timer(loop, &connection->timer, connection->deadline_ns);
}

/* A head has to be whole by its deadline; of bodies and answers, some has to move by theirs. */
static void set_deadline(struct http1_connection *connection)
{
    const struct http1_options *options = &connection->server->options;
    bool heading = connection->state == READING_HEAD && connection->kept.size > 0;
    if (connection->state == READING_HEAD && !heading)
        expect_within(connection, options->idle_ns);
    else if (connection->state != WAITING && connection->state != LINGERING &&
             !(heading && connection->is_heading))
        expect_within(connection, options->silence_ns);
    connection->is_heading = heading;
}

/* ---- Input that is kept. ---- */

static void drop_kept(struct http1_connection *connection)
{
    connection->seen = 0;
    budget_give(connection->server->options.budget, connection->taken);
    connection->taken = 0;
    buffer_finish(&connection->kept);
    connection->kept = (struct buffer){ 0 };
}

/* Room behind what is kept. False: the budget has no more. */
static bool reserve_kept(struct http1_connection *connection, size_t more)
{
    buffer_reserve(&connection->kept, more);
    int64_t wanted = (int64_t)connection->kept.capacity - connection->taken;
    if (!status_is_ok(budget_take(connection->server->options.budget, wanted)))
        return false;
    connection->taken += wanted;
    return true;
}

/* What run did not use stays for the next one. `was_kept`: it was kept before. */
static void keep_input(struct http1_connection *connection, bool was_kept)
{
    struct bytes rest = connection->input;
    struct buffer *kept = &connection->kept;
    connection->input = (struct bytes){ 0 };
    if (was_kept && rest.size > 0) {
        memmove(kept->data, rest.data, rest.size);
        kept->size = rest.size;
    } else if (was_kept) {
        drop_kept(connection);
    } else if (rest.size > 0 && reserve_kept(connection, rest.size)) {
        buffer_append(kept, rest.data, rest.size);
    } else if (rest.size > 0) {
        drop_kept(connection);
        connection->keep_alive = false; /* what was sent ahead is lost */
        if (connection->state == READING_HEAD)
            connection->state = CLOSED;
    }
}

static struct bytes use_input(struct http1_connection *connection, size_t size)
{
    struct bytes used = { connection->input.data, size };
    connection->input.data += size;
    connection->input.size -= size;
    return used;
}

/* ---- Answers. ---- */

static void print_answer(struct http1_connection *connection, struct http1_answer *answer)
{
    connection->lingers = connection->keep_alive && answer->close;
    connection->keep_alive &= !answer->close;
    const char *option = !connection->keep_alive  ? "close"
                         : connection->minor == 0 ? "Keep-Alive"
                                                  : NULL;
    char *end = http1_print_head(connection->head, answer, option, &connection->server->date);
    connection->head_size = (size_t)(end - connection->head);
    connection->sent = 0;
    connection->body = answer->body;
    if (connection->is_head_method)
        connection->body.size = 0;
    connection->state = ANSWERING;
}

static void end_request(struct http1_connection *connection)
{
    void *request = connection->request;
    connection->request = NULL;
    buffer_finish(&connection->body);
    connection->body = (struct buffer){ 0 };
    if (request != NULL)
        connection->server->options.events->end(request);
}

/* Answers by itself what is no request, and closes then. */
static bool refuse(struct http1_connection *connection, int code, const char *why)
{
    struct http1_answer answer = { .code = code, .type = "application/json", .close = true };
    log_debug("http: a request is refused: %d, %s", code, why);
    end_request(connection);
    buffer_printf(&answer.body, "{\n    \"error\": \"%s\"\n}", why);
    connection->is_head_method = false;
    print_answer(connection, &answer);
    connection->lingers = true;
    return true;
}

static ssize_t send_rest(struct http1_connection *connection)
{
    size_t head_sent =
        connection->sent < connection->head_size ? connection->sent : connection->head_size;
    size_t body_sent = connection->sent - head_sent;
    size_t body_left = connection->body.size - body_sent;
    struct iovec pieces[] = {
        { connection->head + head_sent, connection->head_size - head_sent },
        { body_left > 0 ? connection->body.data + body_sent : NULL, body_left },
    };
    struct msghdr message = { .msg_iov = pieces, .msg_iovlen = body_left > 0 ? 2 : 1 };
    return sendmsg(connection->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* True: it is sent, or never will be. */
static bool send_answer(struct http1_connection *connection)
{
    ssize_t size = send_rest(connection);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (size < 0) {
        connection->state = CLOSED;
        return true;
    }
    connection->sent += (size_t)size;
    if (connection->sent < connection->head_size + connection->body.size)
        return false;
    end_request(connection);
    connection->state = connection->keep_alive ? READING_HEAD : CLOSED;
    if (connection->state == CLOSED && (connection->lingers || connection->input.size > 0)) {
        connection->state = LINGERING;
        shutdown(connection->fd, SHUT_WR);
        expect_within(connection, LINGER_NS);
    }
    return true;
}

/* ---- Requests. ---- */

static void make_ready(struct http1_connection *connection)
{
    struct http1 *server = connection->server;
    if (connection->is_ready)
        return;
    connection->is_ready = true;
    connection->next_ready = NULL;
    *server->ready_end = connection;
    server->ready_end = &connection->next_ready;
    server->ready_count++;
}

static bool finish_request(struct http1_connection *connection)
{
    connection->state = WAITING;
    connection->server->options.events->whole(connection->request);
    return true;
}

/* A client that waits for it sends the body now. */
static void say_continue(struct http1_connection *connection)
{
    static const char words[] = "HTTP/1.1 100 Continue\r\n\r\n";
    ssize_t size = send(connection->fd, words, sizeof words - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size != sizeof words - 1)
        connection->state = CLOSED; /* there is room for it in any socket that still works */
}

static bool begin_request(struct http1_connection *connection, const struct http1_head *head)
{
    const struct http1_options *options = &connection->server->options;
    connection->keep_alive = head->keep_alive;
    connection->minor = head->minor;
    connection->is_head_method = bytes_equal(head->method, bytes_of("HEAD"));
    connection->has_left = false;
    connection->request = options->events->begin(options->context, connection, head);
    if (head->length == 0)
        return finish_request(connection);
    bool chunked = head->length == HTTP1_CHUNKED;
    connection->state = chunked ? READING_CHUNKS : READING_LENGTH;
    connection->chunks = (struct http1_chunks){ 0 };
    connection->body_left = chunked ? 0 : (uint64_t)head->length;
    if (head->expects_continue && connection->input.size == 0)
        say_continue(connection);
    return true;
}

static bool read_head(struct http1_connection *connection, int *requests)
{
    struct http1_head head;
    struct http1_refusal refusal;
    while (connection->input.size > 0 &&
           (*connection->input.data == '\r' || *connection->input.data == '\n'))
        use_input(connection, 1); /* some clients end a body with an empty line */
    size_t size = http1_head_size(connection->input, connection->seen);
    connection->seen = size == 0 ? connection->input.size : 0;
    if (size > HTTP1_HEAD_BYTES_MAX || connection->seen > HTTP1_HEAD_BYTES_MAX)
        return refuse(connection, 431, "the head of the request is larger than 128 KiB");
    if (size == 0)
        return false;
    if (++*requests > REQUESTS_PER_TURN) {
        make_ready(connection);
        return false;
    }
    if (!http1_head_read(use_input(connection, size), &head, &refusal))
        return refuse(connection, refusal.code, refusal.why);
    return begin_request(connection, &head);
}

static bool read_length(struct http1_connection *connection)
{
    size_t size = connection->input.size;
    if (size == 0)
        return false;
    if (size > connection->body_left)
        size = (size_t)connection->body_left;
    connection->server->options.events->body(connection->request, use_input(connection, size));
    connection->body_left -= size;
    return connection->body_left > 0 || finish_request(connection);
}

static bool read_chunks(struct http1_connection *connection)
{
    struct bytes data;
    switch (http1_chunks_next(&connection->chunks, &connection->input, &data)) {
    case HTTP1_CHUNK_DATA:
        connection->server->options.events->body(connection->request, data);
        return true;
    case HTTP1_CHUNK_LAST:
        return finish_request(connection);
    case HTTP1_CHUNK_BROKEN:
        return refuse(connection, 400,
                      "the chunks of the body are broken, or a chunk extension "
                      "or the trailers are larger than 4096 bytes");
    case HTTP1_CHUNK_MORE:
        break;
    }
    return false;
}

/* ---- Turns of a connection. ---- */

/* True: it got on. */
static bool step(struct http1_connection *connection, int *requests)
{
    switch (connection->state) {
    case READING_HEAD:
        return read_head(connection, requests);
    case READING_LENGTH:
        return read_length(connection);
    case READING_CHUNKS:
        return read_chunks(connection);
    case ANSWERING:
        return send_answer(connection);
    case LINGERING:
        connection->input = (struct bytes){ 0 };
        return false;
    case WAITING:
    case CLOSED:
        break;
    }
    return false;
}

static void forget(struct http1_connection *connection)
{
    struct http1 *server = connection->server;
    *connection->link = connection->next;
    if (connection->next != NULL)
        connection->next->link = connection->link;
    server->connections_count--;
    loop_clear_timer(server->options.loop, &connection->timer);
    loop_unwatch(server->options.loop, connection->watch);
    close(connection->fd);
    end_request(connection);
    drop_kept(connection);
    free(connection);
}

/* While a request waits, its client's leaving is all that is of interest; input is seen to
 * afterwards. That takes a call of epoll only if something comes meanwhile. */
static void set_watch(struct http1_connection *connection)
{
    uint32_t wanted = connection->state == ANSWERING ? EPOLLOUT : WATCH_INPUT;
    if (connection->state == WAITING || connection->watched == wanted)
        return;
    connection->watched = wanted;
    if (!status_is_ok(loop_rewatch(connection->server->options.loop, connection->watch, wanted)))
        connection->state = CLOSED;
}

/* Gets on with `input`, or what is kept, as far as possible. The connection may be gone then. */
static void run(struct http1_connection *connection, struct bytes input)
{
    bool was_kept = connection->kept.size > 0;
    int requests = 0;
    connection->input = input;
    connection->is_running = true;
    while (step(connection, &requests))
        ;
    connection->is_running = false;
    keep_input(connection, was_kept);
    if (connection->state != CLOSED)
        set_watch(connection);
    if (connection->state == CLOSED && !connection->is_ready)
        forget(connection);
    else
        set_deadline(connection);
}

static void run_kept(struct http1_connection *connection)
{
    run(connection, (struct bytes){ connection->kept.data, connection->kept.size });
}

static void close_now(struct http1_connection *connection)
{
    connection->state = CLOSED;
    run_kept(connection);
}

static void read_input(struct http1_connection *connection)
{
    struct buffer *kept = &connection->kept;
    bool append = kept->size > 0;
    if (append && !reserve_kept(connection, READ_MORE_BYTES)) {
        close_now(connection);
        return;
    }
    char *to = append ? kept->data + kept->size : connection->server->shared;
    ssize_t size = recv(connection->fd, to, append ? READ_MORE_BYTES : READ_BYTES, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        close_now(connection);
        return;
    }
    if (append)
        kept->size += (size_t)size;
    run(connection,
        append ? (struct bytes){ kept->data, kept->size } : (struct bytes){ to, (size_t)size });
}

static void on_leaving(struct http1_connection *connection, uint32_t events)
{
    struct http1 *server = connection->server;
    if (connection->watched != WATCH_LEAVING) {
        connection->watched = WATCH_LEAVING;
        status_ignore(loop_rewatch(server->options.loop, connection->watch, WATCH_LEAVING));
    }
    if (connection->has_left || (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0)
        return;
    connection->has_left = true;
    server->options.events->left(connection->request);
}

static void on_events(void *context, uint32_t events)
{
    struct http1_connection *connection = context;
    if (connection->is_ready) /* http1_resume comes to it in this round */
        return;
    if (connection->state == WAITING)
        on_leaving(connection, events);
    else if (connection->state == ANSWERING)
        run_kept(connection);
    else
        read_input(connection);
}

static void on_deadline(void *context)
{
    struct http1_connection *connection = context;
    struct loop *loop = connection->server->options.loop;
    if (connection->state == WAITING)
        return;
    if (connection->is_ready || loop_now_ns(loop) < connection->deadline_ns) {
        int64_t soon = loop_now_ns(loop) + NS_PER_MS;
        loop_set_timer(loop, &connection->timer,
                       connection->deadline_ns > soon ? connection->deadline_ns : soon);
        return;
    }
    if (connection->state != READING_LENGTH && connection->state != READING_CHUNKS &&
        !connection->is_heading) {
        close_now(connection);
        return;
    }
    refuse(connection, 408, "the rest of the request did not come in time");
    connection->kept.size = 0;
    run_kept(connection);
}

/* ---- The server. ---- */

struct http1 *http1_create(const struct http1_options *options)
{
    struct http1 *server = zalloc(sizeof *server);
    server->options = *options;
    server->ready_end = &server->ready;
    return server;
}

void http1_destroy(struct http1 *server)
{
    if (server == NULL)
        return;
    while (server->connections != NULL)
        forget(server->connections);
    free(server);
}

int http1_connections(const struct http1 *server)
{
    return server->connections_count;
}

void http1_accept(struct http1 *server, int fd)
{
    if (server->connections_count >= server->options.connections_max) {
        log_error("http: a connection is refused: there are %d", server->connections_count);
        close(fd);
        return;
    }
    struct http1_connection *connection = zalloc(sizeof *connection);
    connection->server = server;
    connection->fd = fd;
    connection->watched = WATCH_INPUT;
    connection->timer = (struct loop_timer){ .expired = on_deadline, .context = connection };
    if (!status_is_ok(loop_watch(server->options.loop, fd, WATCH_INPUT, on_events, connection,
                                 &connection->watch))) {
        close(fd);
        free(connection);
        return;
    }
    connection->next = server->connections;
    connection->link = &server->connections;
    if (connection->next != NULL)
        connection->next->link = &connection->next;
    server->connections = connection;
    server->connections_count++;
    set_deadline(connection);
    read_input(connection);
}

void http1_answer(struct http1_connection *connection, const struct http1_answer *answer)
{
    struct http1_answer copy = *answer;
    assert(connection->state == WAITING);
    print_answer(connection, &copy);
    if (!connection->is_running)
        make_ready(connection);
}

bool http1_resume(struct http1 *server)
{
    for (int count = server->ready_count; count > 0; count--) {
        struct http1_connection *connection = server->ready;
        server->ready = connection->next_ready;
        if (server->ready == NULL)
            server->ready_end = &server->ready;
        server->ready_count--;
        connection->is_ready = false;
        run_kept(connection);
    }
    return server->ready != NULL;
}
