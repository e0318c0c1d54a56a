/*
 * nghttp2_echo PORT REPLY_BYTES: a bare gRPC server over nghttp2. It answers each request with a
 * message of REPLY_BYTES bytes and does nothing else: it shows the time of a server whose work
 * costs nothing.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES  (256 << 10)
#define WRITE_BYTES (256 << 10)

struct connection {
    int fd;
    nghttp2_session *session;
    uint8_t *out; /* [WRITE_BYTES], not written to the socket yet */
    size_t out_at, out_end;
    int full; /* the socket was full: wait until it is writable */
};

static uint8_t *reply; /* with gRPC's prefix */
static size_t reply_size;

#define FIELD(name, value)                                                          \
    {                                                                               \
        (uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, sizeof(value) - 1, \
            NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE            \
    }

static ssize_t read_reply(nghttp2_session *session, int32_t stream, uint8_t *data, size_t size,
                          uint32_t *flags, nghttp2_data_source *source, void *context)
{
    static const nghttp2_nv trailers[] = { FIELD("grpc-status", "0") };
    (void)context;
    size_t at = (size_t)(intptr_t)source->ptr, left = reply_size - at;
    size_t take = left < size ? left : size;
    memcpy(data, reply + at, take);
    source->ptr = (void *)(intptr_t)(at + take);
    if (take == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        nghttp2_submit_trailer(session, stream, trailers, 1);
    }
    return (ssize_t)take;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *context)
{
    static const nghttp2_nv headers[] = { FIELD(":status", "200"),
                                          FIELD("content-type", "application/grpc") };
    nghttp2_data_provider provider = { .read_callback = read_reply };
    (void)context;
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) &&
        (frame->hd.type == NGHTTP2_DATA || frame->hd.type == NGHTTP2_HEADERS))
        nghttp2_submit_response(session, frame->hd.stream_id, headers, 2, &provider);
    return 0;
}

static nghttp2_session *make_session(struct connection *connection)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000 },
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, INT32_MAX },
        { NGHTTP2_SETTINGS_MAX_FRAME_SIZE, (1 << 24) - 1 },
    };
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_server_new(&session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 3);
    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, INT32_MAX);
    return session;
}

static int send_out(struct connection *connection)
{
    while (connection->out_at < connection->out_end) {
        ssize_t sent = send(connection->fd, connection->out + connection->out_at,
                            connection->out_end - connection->out_at, MSG_NOSIGNAL);
        if (sent < 0)
            return errno == EAGAIN ? 1 : -1;
        connection->out_at += (size_t)sent;
    }
    connection->out_at = connection->out_end = 0;
    return 0;
}

/* Returns -1 if the connection is broken, 1 if the socket is full. */
static int flush(struct connection *connection)
{
    const uint8_t *data;
    ssize_t size = 1;
    while (size > 0) {
        while (WRITE_BYTES - connection->out_end > (64 << 10) &&
               (size = nghttp2_session_mem_send(connection->session, &data)) > 0) {
            memcpy(connection->out + connection->out_end, data, (size_t)size);
            connection->out_end += (size_t)size;
        }
        int full = send_out(connection);
        if (size < 0 || full != 0)
            return size < 0 ? -1 : full;
    }
    return 0;
}

static int serve(struct connection *connection, int epoll)
{
    static uint8_t data[READ_BYTES];
    ssize_t size = recv(connection->fd, data, sizeof data, 0);
    if (size == 0 || (size < 0 && errno != EAGAIN))
        return -1;
    if (size > 0 && nghttp2_session_mem_recv(connection->session, data, (size_t)size) < 0)
        return -1;
    int full = flush(connection);
    struct epoll_event event = { .events = full > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                 .data.ptr = connection };
    if ((full > 0) != connection->full)
        epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
    connection->full = full > 0;
    return full < 0 ? -1 : 0;
}

static void accept_one(int listener, int epoll)
{
    int one = 1;
    struct connection *connection = calloc(1, sizeof *connection);
    connection->fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    connection->out = malloc(WRITE_BYTES);
    connection->session = make_session(connection);
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = connection };
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event);
    flush(connection);
}

static void drop(struct connection *connection)
{
    close(connection->fd);
    nghttp2_session_del(connection->session);
    free(connection->out);
    free(connection);
}

int main(int argc, char **argv)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0);
    if (argc != 3)
        return 2;
    size_t size = strtoul(argv[2], NULL, 10);
    reply_size = size + 5;
    reply = calloc(1, reply_size);
    for (int i = 0; i < 4; i++)
        reply[1 + i] = (uint8_t)(size >> (24 - 8 * i));
    address.sin_port = htons((uint16_t)atoi(argv[1]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 100) != 0)
        return perror("listen"), 1;
    struct epoll_event event = { .events = EPOLLIN }, events[64];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL)
                accept_one(listener, epoll);
            else if (serve(connection, epoll) < 0)
                drop(connection);
        }
    }
}
