/* Calls whose deadline passes while their client does not read an earlier reply. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include "rpc/server.h"
#include "support/status.h"

#define LARGE_BYTES ((size_t)4 << 20) /* more than the socket and the write queue hold */
#define TIMEOUT     "1m"              /* gRPC's notation for a millisecond */
#define TIMEOUT_NS  NS_PER_MS

enum { DATA, HEADERS, SETTINGS = 4, WINDOW_UPDATE = 8 };
enum { END_STREAM = 1, END_HEADERS = 4 };

struct place {
    struct loop *loop;
    struct rpc_server *server;
    int fd; /* the client's end */
    int noted;
};

static void send_large(void *instance, struct call *call, struct message *request)
{
    static char zeros[LARGE_BYTES];
    struct message reply = { .header = { zeros, sizeof zeros } };
    (void)instance;
    message_release(request);
    call_reply(call, &reply);
}

static void note(void *instance, struct call *call, struct message *request)
{
    struct place *place = instance;
    struct message reply = { 0 };
    place->noted++;
    message_release(request);
    call_reply(call, &reply);
}

static const struct method methods[] = {
    { .path = "/t/Large", .handle = send_large },
    { .path = "/t/Note", .handle = note },
};
static const struct service service = { methods, COUNT(methods) };

/* ---- the client ---- */

static void put(int fd, const void *bytes, size_t size)
{
    assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
}

static void put_frame(int fd, int type, int flags, int id, const void *payload, size_t size)
{
    const unsigned char head[9] = {
        0, 0, (unsigned char)size, (unsigned char)type, (unsigned char)flags, 0,
        0, 0, (unsigned char)id
    };
    put(fd, head, sizeof head);
    put(fd, payload, size);
}

static void put_header(struct buffer *out, const char *name, const char *value)
{
    buffer_append_char(out, 0); /* a literal without indexing */
    buffer_append_char(out, (char)strlen(name));
    buffer_append_text(out, name);
    buffer_append_char(out, (char)strlen(value));
    buffer_append_text(out, value);
}

static void put_headers(int fd, int id, const char *path)
{
    struct buffer block = { 0 };
    put_header(&block, ":method", "POST");
    put_header(&block, ":scheme", "http");
    put_header(&block, ":authority", "x");
    put_header(&block, ":path", path);
    put_header(&block, "content-type", "application/grpc");
    if (strcmp(path, "/t/Note") == 0)
        put_header(&block, "grpc-timeout", TIMEOUT);
    put_frame(fd, HEADERS, END_HEADERS, id, block.data, block.size);
    buffer_finish(&block);
}

static void put_message(int fd, int id, int flags)
{
    put_frame(fd, DATA, flags, id, "\0\0\0\0\1x", 6);
}

/* Opens the flow-control windows fully, so only the socket holds the server back. */
static void put_preface(int fd)
{
    put(fd, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 24);
    put_frame(fd, SETTINGS, 0, 0, "\0\4\x7f\xff\xff\xff", 6);
    put_frame(fd, WINDOW_UPDATE, 0, 0, "\x7f\xff\0\0", 4);
}

static void turn(struct place *place)
{
    assert_ok(loop_run_once(place->loop, clock_deadline_ns(clock_monotonic(), 1)));
}

/* The first turn reads the request and starts its deadline, which passes in the later turns. */
static void turn_past_the_deadline(struct place *place)
{
    turn(place);
    int64_t until_ns = clock_now_ns(clock_monotonic()) + 2 * TIMEOUT_NS;
    while (clock_now_ns(clock_monotonic()) < until_ns)
        turn(place);
    turn(place);
}

static void read_all(struct place *place)
{
    static char bytes[1 << 16];
    for (size_t total = 0; total < LARGE_BYTES;) {
        ssize_t size = recv(place->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        total += size > 0 ? (size_t)size : 0;
        turn(place);
    }
    turn(place);
}

/* Connects a client that requests a large reply and does not read it. */
static void setup(struct place *place)
{
    struct rpc_server_options options = { .unsent_max_bytes = 64 << 10 };
    int fds[2];

    *place = (struct place){ 0 };
    assert_ok(loop_create(&place->loop));
    loop_own(place->loop);
    assert_ok(rpc_server_create(place->loop, &options, &place->server));
    rpc_server_add(place->server, &service, place);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    place->fd = fds[1];
    rpc_server_accept(place->server, fds[0], (struct bytes){ 0 });
    put_preface(place->fd);
    put_headers(place->fd, 1, "/t/Large");
    put_message(place->fd, 1, END_STREAM);
    turn(place);
}

static void teardown(struct place *place)
{
    close(place->fd);
    while (rpc_server_connections(place->server) > 0)
        turn(place);
    rpc_server_destroy(place->server);
    loop_disown(place->loop);
    loop_destroy(place->loop);
}

/* ---- the tests ---- */

static void a_parked_call_does_not_run_after_its_deadline(void **state)
{
    struct place place;
    (void)state;

    setup(&place);
    put_headers(place.fd, 3, "/t/Note");
    put_message(place.fd, 3, END_STREAM);
    turn_past_the_deadline(&place);
    read_all(&place);
    assert_int_equal(place.noted, 0);
    teardown(&place);
}

static void messages_after_the_deadline_are_dropped(void **state)
{
    struct place place;
    (void)state;

    setup(&place);
    put_headers(place.fd, 3, "/t/Note");
    put_message(place.fd, 3, 0);
    turn_past_the_deadline(&place);
    put_message(place.fd, 3, 0); /* its status still waits behind the large reply */
    put_message(place.fd, 3, END_STREAM);
    turn(&place);
    read_all(&place);
    assert_int_equal(place.noted, 0);
    teardown(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parked_call_does_not_run_after_its_deadline),
        cmocka_unit_test(messages_after_the_deadline_are_dropped),
    };
    return cmocka_run_group_tests_name("server_call", tests, NULL, NULL);
}
