/*
 * Measures a push and a pull between two processes against the same bytes over bare TCP.
 *
 *     ps_bytes MIB ROUNDS [FLOATS [rows|keys [THREADS]]]
 *
 * prints push and pull GB/s, and raw GB/s both ways, by the median round. With FLOATS, MIB MiB are
 * rows of that many floats, of a variable by rows that has ten times as many rows. With "keys", it
 * is a hash table. The ps has so many THREADS (1; 0: one for each core), as by --threads.
 *
 * The child serves a ps with one variable of MIB MiB, and beside it a socket that receives and
 * sends as many bytes. The parent pushes gradients and pulls values in turn, then does the same
 * over the socket.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/parallel.h"
#include "base/random.h"
#include "rpc/remote.h"
#include "rpc/server.h"
#include "trainer/client/create.h"
#include "trainer/ps/ps.h"

#define ROUNDS_MAX  1000
#define TIMEOUT_MS  60000
#define MESSAGE_MAX ((size_t)INT32_MAX)

static void check(struct status status)
{
    if (status_is_ok(status))
        return;
    fprintf(stderr, "ps_bytes: %s\n", status.message);
    exit(1);
}

static void need(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

/* ---- the child: a ps, and a socket that sends back as much as it receives ---- */

static void move_all(int fd, char *data, size_t size, bool out)
{
    while (size > 0) {
        ssize_t moved = out ? send(fd, data, size, MSG_NOSIGNAL) : recv(fd, data, size, 0);
        if (moved <= 0)
            _exit(0); /* the other side is gone: the measurement is over */
        data += moved;
        size -= (size_t)moved;
    }
}

struct raw {
    int listener;
    size_t size;
};

static void *serve_raw(void *context)
{
    struct raw *raw = context;
    char *data = zalloc(raw->size);
    int fd = accept(raw->listener, NULL, NULL), on = 1;

    need(fd >= 0, "accept");
    need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    for (;;) {
        char direction;
        move_all(fd, &direction, 1, false);
        move_all(fd, data, direction == '>' ? raw->size : 1, direction == '<');
        if (direction == '>')
            move_all(fd, &direction, 1, true);
        else
            move_all(fd, data, raw->size - 1, true);
    }
    return NULL;
}

static void serve(int tell, size_t size, int threads)
{
    struct raw raw = { socket(AF_INET, SOCK_STREAM, 0), size };
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t at_size = sizeof at;
    struct ps_options options = { .cluster = "bench", .ps_list = "", .incarnation = 1 };
    struct rpc_server_options limits = { .message_max_bytes = MESSAGE_MAX,
                                         .held_max_bytes = MESSAGE_MAX };
    struct rpc_server *server;
    struct loop *loop;
    pthread_t thread;
    int ports[2];

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    parallel_set_width(threads);
    need(bind(raw.listener, (struct sockaddr *)&at, sizeof at) == 0, "bind");
    need(listen(raw.listener, 1) == 0, "listen");
    need(getsockname(raw.listener, (struct sockaddr *)&at, &at_size) == 0, "getsockname");
    ports[1] = ntohs(at.sin_port);
    check(loop_create(&loop));
    check(rpc_server_create(loop, &limits, &server));
    rpc_server_add(server, &ps_service, ps_create(&options));
    check(rpc_server_listen(server, "127.0.0.1:0", &ports[0]));
    need(pthread_create(&thread, NULL, serve_raw, &raw) == 0, "pthread_create");
    need(write(tell, ports, sizeof ports) == sizeof ports, "write");
    check(loop_run(loop));
}

/* ---- the parent ---- */

/* One row, at some place, of each ten. */
static struct row_ids choose_rows(size_t count)
{
    int64_t *ids = zalloc(count * sizeof *ids);

    for (size_t i = 0; i < count; i++)
        ids[i] = (int64_t)(10 * i + i * 7919 % 10);
    return (struct row_ids){ ids, count };
}

static int by_key(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

/* Keys anywhere. */
static struct row_ids choose_keys(size_t count, struct random *random)
{
    int64_t *ids = zalloc(count * sizeof *ids);

    for (size_t i = 0; i < count; i++)
        ids[i] = (int64_t)random_u64(random);
    qsort(ids, count, sizeof *ids, by_key);
    return (struct row_ids){ ids, count };
}

/* Ten times as many keys as a round has get a row. The last of them are those of the rounds. */
static void make_keys(struct ps_client *client, struct variable_gradient *gradient, size_t count)
{
    struct random random;

    random_init(&random, 1, 1);
    for (int i = 0; i < 10; i++) {
        free((void *)(uintptr_t)gradient->rows.ids);
        gradient->rows = choose_keys(count, &random);
        check(client_push(client, gradient, false));
    }
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

static double seconds(void)
{
    return (double)clock_now_ns(clock_monotonic()) / 1e9;
}

static void measure_raw(int fd, char *data, size_t size, double *push, double *pull)
{
    char direction = '>';
    double began = seconds();

    move_all(fd, &direction, 1, true);
    move_all(fd, data, size, true);
    move_all(fd, &direction, 1, false);
    *push = seconds() - began;
    began = seconds();
    direction = '<';
    move_all(fd, &direction, 1, true);
    move_all(fd, data, 1, false);
    move_all(fd, data, size - 1, false);
    *pull = seconds() - began;
}

/* ---- one measurement ---- */

struct bench {
    size_t size;       /* bytes of the values in a round */
    size_t row_floats; /* 0: each round has the whole variable */
    bool keys;
    struct placement placement;
    struct channel *channel;
    struct ps_client client;
    float *values, *first; /* the gradient; the variable's first values, maybe the same memory */
    struct variable_gradient gradient;
};

static size_t rows_per_round(const struct bench *bench)
{
    return bench->size / sizeof(float) / bench->row_floats;
}

static void place_variable(struct bench *bench)
{
    struct placed_variable variable = { .name = "v",
                                        .dtype = DT_FLOAT,
                                        .shape = shape_of((int64_t)(bench->size >> 12), 1024),
                                        .trainable = true };
    if (bench->row_floats > 0) {
        variable.shape =
            shape_of((int64_t)(10 * rows_per_round(bench)), (int64_t)bench->row_floats);
        variable.by_rows = !bench->keys;
    }
    if (bench->keys) {
        variable.shape.dims[0] = -1;
        variable.by_keys = true;
        variable.keys = (struct row_keys_spec){ .probability = 1 };
    }
    placement_create(&variable, 1, 1, PLACEMENT_PIECE_BYTES, PLACE_BY_BYTES, &bench->placement);
}

/* Connects to the ps, creates the variable there, and makes the gradient. */
static void join_ps(struct bench *bench, int port)
{
    struct client_job job = { .optimizer = "sgd", .learning_rate = .1f, .workers = 1 };
    bool by_rows = bench->row_floats > 0 && !bench->keys;
    char address[32];

    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    check(remote_open(address, &(struct remote_options){ .payload = true }, &bench->channel));
    client_init(&bench->client, &(struct ps_client_options){ .cluster = "bench",
                                                             .task = "worker",
                                                             .ps_list = "",
                                                             .incarnation = 1,
                                                             .placement = &bench->placement,
                                                             .channels = &bench->channel,
                                                             .call_timeout_ms = TIMEOUT_MS });
    bench->values = zalloc(bench->size);
    bench->first = by_rows ? zalloc(10 * bench->size) : bench->values;
    bench->gradient = (struct variable_gradient){ .values = bench->values };
    if (by_rows)
        bench->gradient.rows = choose_rows(rows_per_round(bench));
    check(client_join(&bench->client, false, TIMEOUT_MS));
    check(client_create(&bench->client, &job, (const void *[]){ bench->first }));
    if (bench->keys && bench->row_floats > 0)
        make_keys(&bench->client, &bench->gradient, rows_per_round(bench));
}

static void bench_finish(struct bench *bench)
{
    client_finish(&bench->client);
    channel_close(bench->channel);
    placement_finish(&bench->placement);
    if (bench->first != bench->values)
        free(bench->first);
    free((void *)(uintptr_t)bench->gradient.rows.ids);
    free(bench->values);
}

static void measure_ps(struct bench *bench, double *push, double *pull)
{
    double began = seconds();

    check(client_push(&bench->client, &bench->gradient, false));
    *push = seconds() - began;
    began = seconds();
    if (bench->row_floats > 0)
        client_select_rows(&bench->client, 0, bench->gradient.rows);
    check(client_pull(&bench->client));
    *pull = seconds() - began;
}

static int connect_raw(int port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    need(connect(fd, (struct sockaddr *)&at, sizeof at) == 0, "connect");
    need(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0, "TCP_NODELAY");
    return fd;
}

static void measure(struct bench *bench, int raw_port, int rounds)
{
    double push[ROUNDS_MAX], pull[ROUNDS_MAX], raw_push[ROUNDS_MAX], raw_pull[ROUNDS_MAX];
    double bytes = (double)bench->size / 1e9;
    char *raw = zalloc(bench->size);
    int fd = connect_raw(raw_port);

    for (int i = 0; i < rounds; i++) {
        measure_ps(bench, &push[i], &pull[i]);
        measure_raw(fd, raw, bench->size, &raw_push[i], &raw_pull[i]);
    }
    printf("push %.3f pull %.3f raw_push %.3f raw_pull %.3f GB/s\n", bytes / median(push, rounds),
           bytes / median(pull, rounds), bytes / median(raw_push, rounds),
           bytes / median(raw_pull, rounds));
    close(fd);
    free(raw);
}

int main(int argc, char **argv)
{
    struct bench bench = { .size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 4) << 20,
                           .row_floats = argc > 3 ? strtoul(argv[3], NULL, 10) : 0,
                           .keys = argc > 4 && strcmp(argv[4], "keys") == 0 };
    int rounds = argc > 2 ? atoi(argv[2]) : 20, tell[2], ports[2];

    if (bench.size == 0 || rounds < 1 || rounds > ROUNDS_MAX)
        return 2;
    need(pipe(tell) == 0, "pipe");
    pid_t child = fork();
    need(child >= 0, "fork");
    if (child == 0)
        serve(tell[1], bench.size, argc > 5 ? atoi(argv[5]) : 1);
    need(read(tell[0], ports, sizeof ports) == sizeof ports, "read");

    place_variable(&bench);
    join_ps(&bench, ports[0]);
    measure(&bench, ports[1], rounds);
    bench_finish(&bench);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
