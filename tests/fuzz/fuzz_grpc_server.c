/*
 * A gRPC server that receives the fuzzer's bytes. Bit 0 of the first byte asks for a valid HTTP/2
 * preface and SETTINGS frame in front; the other bits are the bytes per write (0: all at once).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"
#include "rpc/server.h"
#include "stranger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void echo(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    const char *value = call_metadata(call, "x-echo");
    if (value != NULL)
        call_add_metadata(call, "x-echo", value);
    call_reply(call, request);
}

static void repeat(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    for (int i = 0; i < 3; i++) {
        struct message reply = { .header = { "again", 5 } };
        if (!call_send(call, &reply))
            break;
    }
    message_release(request);
    call_end(call);
}

static void chat_back(void *context, struct call *call, struct message *message)
{
    (void)context;
    if (message == NULL)
        call_end(call);
    else
        call_send(call, message);
}

static void on_cancelled(void *context, struct call *call)
{
    (void)context;
    call_fail(call,
              status_error(STATUS_CANCELLED, "the client cancelled the call or disconnected"));
}

static void chat(void *instance, struct call *call, struct message *request)
{
    message_release(request);
    call_receive(call, chat_back, instance);
    call_when_cancelled(call, on_cancelled, NULL);
}

static void hold(void *instance, struct call *call, struct message *request)
{
    message_release(request);
    call_when_cancelled(call, on_cancelled, instance);
}

static const struct method methods[] = {
    { "/t/Echo", echo, METHOD_UNARY, false },       { "/t/Payload", echo, METHOD_UNARY, true },
    { "/t/Repeat", repeat, METHOD_REPLIES, false }, { "/t/Chat", chat, METHOD_STREAM, false },
    { "/t/Hold", hold, METHOD_UNARY, false },
};
static const struct service service = { methods, COUNT(methods) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char beginning[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0";
    static struct loop *loop;
    static struct rpc_server *server;
    int fds[2];
    if (server == NULL) {
        struct rpc_server_options options = { .streams_max = 10,
                                              .message_max_bytes = 1 << 20,
                                              .metadata_max_bytes = 4096,
                                              .unsent_max_bytes = 1 << 20 };
        check(loop_create(&loop));
        check(rpc_server_create(loop, &options, &server));
        rpc_server_add(server, &service, NULL);
    }
    if (size == 0)
        return 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        abort();
    rpc_server_accept(server, fds[0], (struct bytes){ 0 });
    if (data[0] & 1)
        say(loop, fds[1], beginning, sizeof beginning); /* its NUL is the last byte of the frame */
    size_t cut = data[0] >> 1 ? data[0] >> 1 : size;
    for (size_t at = 1; at < size; at += cut)
        say(loop, fds[1], data + at, size - at < cut ? size - at : cut);
    close(fds[1]);
    for (int turn = 0; rpc_server_connections(server) > 0; turn++) {
        expect(turn < TURNS_MAX); /* the server drops a closed connection */
        check(loop_run_once(loop, false));
    }
    return 0;
}
