/*
 * Calls a gRPC method over nghttp2 from one thread, the next call as soon as one is answered:
 *
 *     grpc_load PORT PATH BODY_FILE CONNECTIONS STREAMS SECONDS [RATE]
 *
 * CONNECTIONS x STREAMS calls are always in flight, each with the file's bytes as its message. With
 * a RATE, STREAMS does not count: so many calls a second begin at random (Poisson), whether or not
 * others are answered, and a latency counts from the time at which its call should have begun.
 * Prints "RESULT calls microseconds p50_us wrong reply_bytes p99_us". `wrong` counts answers whose
 * grpc-status is not 0 or whose size differs from that of the first.
 */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BUFFER_BYTES    (256 << 10)
#define CONNECTIONS_MAX 256
#define LATENCIES_MAX   (1 << 22)

struct call {
    int64_t begun_ns;
    size_t sent, received;
    int good;
};

struct connection {
    int fd;
    nghttp2_session *session;
    uint8_t *out; /* [BUFFER_BYTES], not written to the socket yet */
    size_t out_at, out_end;
};

static const char *path, *port;
static uint8_t *body; /* with gRPC's prefix */
static size_t body_size, reply_size;
static int64_t calls, wrong;
static uint32_t *latencies; /* ns / 64 */
static int stopping;
static double rate;       /* calls that begin in a second; 0: when another one is answered */
static int64_t begins_ns; /* when the next one does */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static ssize_t read_body(nghttp2_session *session, int32_t stream, uint8_t *data, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *context)
{
    struct call *call = source->ptr;
    size_t left = body_size - call->sent, take = left < size ? left : size;
    (void)session;
    (void)stream;
    (void)context;
    memcpy(data, body + call->sent, take);
    call->sent += take;
    if (take == left)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)take;
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){ (uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                         NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE };
}

static void begin(struct connection *connection, struct call *call, int64_t begun_ns)
{
    const nghttp2_nv headers[] = {
        field(":method", "POST"), field(":scheme", "http"),
        field(":path", path),     field(":authority", "localhost"),
        field("te", "trailers"),  field("content-type", "application/grpc"),
    };
    nghttp2_data_provider provider = { .source.ptr = call, .read_callback = read_body };
    *call = (struct call){ .begun_ns = begun_ns };
    if (nghttp2_submit_request(connection->session, NULL, headers, 6, &provider, call) < 0) {
        fprintf(stderr, "no more streams\n");
        exit(1);
    }
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
                     void *context)
{
    struct call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    (void)flags;
    (void)context;
    if (call != NULL && name_size == 11 && memcmp(name, "grpc-status", 11) == 0)
        call->good = value_size == 1 && value[0] == '0';
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t size, void *context)
{
    struct call *call = nghttp2_session_get_stream_user_data(session, stream);
    (void)flags;
    (void)data;
    (void)context;
    call->received += size;
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t error, void *context)
{
    struct call *call = nghttp2_session_get_stream_user_data(session, stream);
    if (reply_size == 0)
        reply_size = call->received;
    if (error != 0 || !call->good || call->received != reply_size)
        wrong++;
    if (calls < LATENCIES_MAX)
        latencies[calls] = (uint32_t)((now_ns() - call->begun_ns) / 64);
    calls++;
    if (rate > 0)
        free(call);
    else if (!stopping)
        begin(context, call, now_ns());
    return 0;
}

static void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static void open_one(struct connection *connection, int streams)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)atoi(port)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const nghttp2_settings_entry settings[] = {
        { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, INT32_MAX },
        { NGHTTP2_SETTINGS_MAX_FRAME_SIZE, (1 << 24) - 1 },
    };
    nghttp2_session_callbacks *callbacks;
    int one = 1;
    connection->fd = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0, "connect");
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    connection->out = malloc(BUFFER_BYTES);
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&connection->session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 2);
    nghttp2_session_set_local_window_size(connection->session, NGHTTP2_FLAG_NONE, 0, INT32_MAX);
    for (int i = 0; i < streams; i++)
        begin(connection, calloc(1, sizeof(struct call)), now_ns());
}

/* Begins the calls that are due, on one connection after the other. */
static void begin_due(struct connection *connections, int count)
{
    static int next;
    for (int64_t now = now_ns(); begins_ns <= now;) {
        begin(&connections[next++ % count], calloc(1, sizeof(struct call)), begins_ns);
        double uniform = (1 + (double)random()) / (2 + (double)RAND_MAX);
        begins_ns += (int64_t)(-log(uniform) / rate * 1e9);
    }
}

/* Waits until a socket is ready, or a call is due. */
static void wait_for(struct pollfd *fds, int count)
{
    int64_t left_ns = rate > 0 ? begins_ns - now_ns() : 5000000000LL;
    struct timespec timeout = { left_ns > 0 ? left_ns / 1000000000 : 0,
                                left_ns > 0 ? left_ns % 1000000000 : 0 };
    if (ppoll(fds, (nfds_t)count, &timeout, NULL) == 0 && rate == 0) {
        fprintf(stderr, "no answer in 5 s\n");
        exit(1);
    }
}

/* Did the socket accept everything? */
static int flush(struct connection *connection)
{
    const uint8_t *data;
    ssize_t size = 1;
    while (size > 0 || connection->out_at < connection->out_end) {
        while (BUFFER_BYTES - connection->out_end > (64 << 10) &&
               (size = nghttp2_session_mem_send(connection->session, &data)) > 0) {
            memcpy(connection->out + connection->out_end, data, (size_t)size);
            connection->out_end += (size_t)size;
        }
        ssize_t sent = send(connection->fd, connection->out + connection->out_at,
                            connection->out_end - connection->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN)
            return 0;
        check(sent < 0, "send");
        connection->out_at += (size_t)sent;
        if (connection->out_at == connection->out_end)
            connection->out_at = connection->out_end = 0;
    }
    return 1;
}

static void receive(struct connection *connection)
{
    static uint8_t data[BUFFER_BYTES];
    ssize_t size = recv(connection->fd, data, sizeof data, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN)
        return;
    check(size <= 0, "the server closed the connection");
    ssize_t taken = nghttp2_session_mem_recv(connection->session, data, (size_t)size);
    if (taken < 0) {
        fprintf(stderr, "%s\n", nghttp2_strerror((int)taken));
        exit(1);
    }
}

static void read_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    check(file == NULL, name);
    body = malloc(64 << 20);
    size_t size = fread(body + 5, 1, (64 << 20) - 5, file);
    fclose(file);
    body_size = size + 5;
    body[0] = 0;
    for (int i = 0; i < 4; i++)
        body[1 + i] = (uint8_t)(size >> (24 - 8 * i));
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void load(struct connection *connections, int count, double seconds)
{
    struct pollfd fds[CONNECTIONS_MAX];
    int64_t begun = now_ns(), end = begun + (int64_t)(seconds * 1e9), last = begun;
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){ .fd = connections[i].fd, .events = POLLIN };
    begins_ns = begun;
    while (last < end) {
        if (rate > 0)
            begin_due(connections, count);
        for (int i = 0; i < count; i++)
            fds[i].events = flush(&connections[i]) ? POLLIN : POLLIN | POLLOUT;
        wait_for(fds, count);
        for (int i = 0; i < count; i++)
            if (fds[i].revents & (POLLIN | POLLERR | POLLHUP))
                receive(&connections[i]);
        last = now_ns();
    }
    stopping = 1;
    int64_t shown = calls < LATENCIES_MAX ? calls : LATENCIES_MAX;
    qsort(latencies, (size_t)shown, sizeof *latencies, compare);
    printf("RESULT %lld %lld %.1f %lld %zu %.1f\n", (long long)calls,
           (long long)(last - begun) / 1000, shown > 0 ? latencies[shown / 2] * 64 / 1e3 : 0.0,
           (long long)wrong, reply_size > 5 ? reply_size - 5 : 0,
           shown > 0 ? latencies[shown * 99 / 100] * 64 / 1e3 : 0.0);
}

int main(int argc, char **argv)
{
    static struct connection connections[CONNECTIONS_MAX];
    if (argc != 7 && argc != 8)
        return 2;
    rate = argc > 7 ? atof(argv[7]) : 0;
    port = argv[1];
    path = argv[2];
    read_file(argv[3]);
    int count = atoi(argv[4]), streams = atoi(argv[5]);
    if (count < 1 || count > CONNECTIONS_MAX)
        return 2;
    latencies = malloc(LATENCIES_MAX * sizeof *latencies);
    for (int i = 0; i < count; i++)
        open_one(&connections[i], rate > 0 ? 0 : streams);
    load(connections, count, atof(argv[6]));
    return 0;
}
