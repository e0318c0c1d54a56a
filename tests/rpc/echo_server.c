/*
 * A gRPC server for tests of core/rpc. It treats messages as bytes; tests/rpc/echo.proto declares
 * them for clients that need message types. Metadata controls a call:
 *
 *     x-count N      Repeat sends N replies (default 3)
 *     x-code N       Fail fails with this code
 *     x-message M    Fail fails with this text (default: its request)
 *     x-echo V       every method returns it as a trailer of the same name
 *
 * Prints "listening on PORT" for each address. Drains on SIGTERM and exits 0.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/flags.h"
#include "base/log.h"
#include "rpc/server.h"
#include "rpc/tls.h"

static struct {
    struct flag_texts addresses;
    const char *cert, *key, *ca;
    int32_t message_max_bytes, held_max_bytes, unsent_max_bytes, connections_max, streams_max,
        frame_max_bytes;
    int32_t handshake_timeout_ms, idle_timeout_ms, stall_timeout_ms, keepalive_ms,
        keepalive_timeout_ms, drain_ms;
} options;

static struct {
    int held, left; /* calls of Hold: in flight, and left by their clients */
} counts;

/* ---- the methods ---- */

static void add_trailers(struct call *call)
{
    const char *value = call_metadata(call, "x-echo");
    if (value != NULL)
        call_add_metadata(call, "x-echo", value);
}

static int64_t number(struct call *call, const char *name, int64_t otherwise)
{
    const char *text = call_metadata(call, name);
    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

static void echo(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    add_trailers(call);
    call_reply(call, request);
}

static void fail(void *instance, struct call *call, struct message *request)
{
    const char *text = call_metadata(call, "x-message");
    enum status_code code = (enum status_code)number(call, "x-code", STATUS_INTERNAL);
    struct status status =
        text != NULL ? status_error(code, "%s", text)
                     : status_error(code, "%.*s", (int)request->header.size, request->header.data);
    (void)instance;
    add_trailers(call);
    message_release(request);
    call_fail(call, status);
}

/* A call of Repeat, which sends replies as fast as the client reads them. */
struct repeating {
    struct message request;
    int64_t left;
    bool turning, again; /* in repeat_more; run its loop once more */
    bool gone;           /* the client disconnected */
};

static bool send_one(struct repeating *repeating, struct call *call)
{
    size_t size = repeating->request.header.size;
    struct message reply = { .header.size = size, .release = free };
    repeating->left--;
    if (size > 0) {
        reply.owner = memcpy(xrealloc(NULL, size), repeating->request.header.data, size);
        reply.header.data = reply.owner;
    }
    return call_send(call, &reply);
}

static void repeat_more(void *context, struct call *call)
{
    struct repeating *repeating = context;
    repeating->again = true;
    if (repeating->turning)
        return;
    repeating->turning = true;
    while (repeating->again && repeating->left > 0 && !repeating->gone) {
        repeating->again = false;
        if (send_one(repeating, call))
            repeating->again = true;
        else
            call_when_ready(call, repeat_more, repeating);
    }
    repeating->turning = false;
    if (repeating->left > 0 && !repeating->gone)
        return;
    message_release(&repeating->request);
    free(repeating);
    call_end(call);
}

static void repeat_cancelled(void *context, struct call *call)
{
    struct repeating *repeating = context;
    (void)call;
    repeating->gone = true;
}

static void repeat(void *instance, struct call *call, struct message *request)
{
    (void)instance;
    add_trailers(call);
    struct repeating *repeating = zalloc(sizeof *repeating);
    repeating->left = number(call, "x-count", 3);
    repeating->request = message_move(request);
    call_when_cancelled(call, repeat_cancelled, repeating);
    repeat_more(repeating, call);
}

static void chat_back(void *context, struct call *call, struct message *message)
{
    (void)context;
    if (message == NULL)
        call_end(call);
    else
        call_send(call, message);
}

static void chat_cancelled(void *context, struct call *call)
{
    (void)context;
    call_end(call);
}

static void chat(void *instance, struct call *call, struct message *request)
{
    add_trailers(call);
    message_release(request);
    call_when_cancelled(call, chat_cancelled, instance);
    call_receive(call, chat_back, instance);
}

static void hold_cancelled(void *context, struct call *call)
{
    (void)context;
    counts.held--;
    counts.left++;
    call_fail(call,
              status_error(STATUS_CANCELLED, "the client cancelled the call or disconnected"));
}

static void hold(void *instance, struct call *call, struct message *request)
{
    message_release(request);
    counts.held++;
    call_when_cancelled(call, hold_cancelled, instance);
}

/* Replies with a Text such as "held 0 left 2 connections 1". */
static void count(void *instance, struct call *call, struct message *request)
{
    struct message reply = { .release = free, .owner = zalloc(128) };
    char *text = reply.owner;
    message_release(request);
    int size = snprintf(text + 2, 126, "held %d left %d connections %d", counts.held, counts.left,
                        rpc_server_connections(*(struct rpc_server **)instance));
    text[0] = 0x0a; /* field 1, length-delimited */
    text[1] = (char)size;
    reply.header = (struct bytes){ text, (size_t)size + 2 };
    call_reply(call, &reply);
}

static const struct method methods[] = {
    { "/slipway.test.Echo/Echo", echo, .kind = METHOD_UNARY },
    { "/slipway.test.Echo/Fail", fail, .kind = METHOD_UNARY },
    { "/slipway.test.Echo/Repeat", repeat, .kind = METHOD_REPLIES },
    { "/slipway.test.Echo/Chat", chat, .kind = METHOD_STREAM },
    { "/slipway.test.Echo/Hold", hold, .kind = METHOD_UNARY },
    { "/slipway.test.Echo/Count", count, .kind = METHOD_UNARY },
};
static const struct service service = { methods, COUNT(methods) };

/* ---- the program ---- */

static const struct flag rows[] = {
    { "address", FLAG_TEXTS, &options.addresses, .help = "where to listen" },
    { "tls_cert", FLAG_TEXT, &options.cert, .help = "certificate" },
    { "tls_key", FLAG_TEXT, &options.key, .help = "its key" },
    { "tls_ca", FLAG_TEXT, &options.ca, .help = "whose clients to accept" },
    { "message_max_bytes", FLAG_INT32, &options.message_max_bytes, "0", .help = "server.h" },
    { "held_max_bytes", FLAG_INT32, &options.held_max_bytes, "0", .help = "server.h" },
    { "unsent_max_bytes", FLAG_INT32, &options.unsent_max_bytes, "0", .help = "server.h" },
    { "connections_max", FLAG_INT32, &options.connections_max, "0", .help = "server.h" },
    { "streams_max", FLAG_INT32, &options.streams_max, "0", .help = "server.h" },
    { "frame_max_bytes", FLAG_INT32, &options.frame_max_bytes, "0", .help = "server.h" },
    { "handshake_timeout_ms", FLAG_INT32, &options.handshake_timeout_ms, "0", .help = "server.h" },
    { "idle_timeout_ms", FLAG_INT32, &options.idle_timeout_ms, "0", .help = "server.h" },
    { "stall_timeout_ms", FLAG_INT32, &options.stall_timeout_ms, "0", .help = "server.h" },
    { "keepalive_ms", FLAG_INT32, &options.keepalive_ms, "0", .help = "server.h" },
    { "keepalive_timeout_ms", FLAG_INT32, &options.keepalive_timeout_ms, "0", .help = "server.h" },
    { "drain_ms", FLAG_INT32, &options.drain_ms, "5000", .help = "how long to drain at the end" },
};
static const struct flag_set flags = { "usage: echo_server --address HOST:PORT", rows,
                                       COUNT(rows) };

struct ending {
    struct loop *loop;
    struct rpc_server *server;
    int signals;
};

static void drained(void *context)
{
    loop_stop(context);
}

static void on_signal(void *context, uint32_t events)
{
    struct ending *ending = context;
    struct signalfd_siginfo info;
    (void)events;
    if (read(ending->signals, &info, sizeof info) == sizeof info)
        rpc_server_drain(ending->server,
                         loop_now_ns(ending->loop) + options.drain_ms * (int64_t)NS_PER_MS, drained,
                         ending->loop);
}

static struct status make_tls(struct tls **out)
{
    struct tls_options tls = { .cert.file = options.cert, .key.file = options.key };
    *out = NULL;
    if (options.cert[0] == '\0')
        return status_ok();
    if (options.ca[0] != '\0') {
        tls.ca.file = options.ca;
        tls.verify_client = true;
    }
    return tls_server_create(&tls, out);
}

static struct status serve(void)
{
    struct status status;
    struct ending ending = { .signals = -1 };
    struct loop_watch *watch = NULL;
    struct tls *tls;
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    TRY(make_tls(&tls));
    TRY_OR(done, loop_create(&ending.loop));
    struct rpc_server_options limits = {
        .message_max_bytes = (size_t)options.message_max_bytes,
        .held_max_bytes = (size_t)options.held_max_bytes,
        .unsent_max_bytes = (size_t)options.unsent_max_bytes,
        .connections_max = options.connections_max,
        .streams_max = options.streams_max,
        .frame_max_bytes = options.frame_max_bytes,
        .handshake_timeout_ms = options.handshake_timeout_ms,
        .idle_timeout_ms = options.idle_timeout_ms,
        .stall_timeout_ms = options.stall_timeout_ms,
        .keepalive_ms = options.keepalive_ms,
        .keepalive_timeout_ms = options.keepalive_timeout_ms,
        .tls = tls != NULL ? tls_maker(tls) : NULL,
    };
    TRY_OR(done, rpc_server_create(ending.loop, &limits, &ending.server));
    rpc_server_add(ending.server, &service, &ending.server);
    ending.signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    TRY_OR(done, loop_watch(ending.loop, ending.signals, EPOLLIN, on_signal, &ending, &watch));
    for (size_t i = 0; i < options.addresses.count; i++) {
        int port;
        TRY_OR(done, rpc_server_listen(ending.server, options.addresses.values[i], &port));
        printf("listening on %d\n", port);
        fflush(stdout);
    }
    status = loop_run(ending.loop);

done:
    rpc_server_destroy(ending.server);
    if (ending.loop != NULL)
        loop_unwatch(ending.loop, watch);
    loop_destroy(ending.loop);
    tls_destroy(tls);
    if (ending.signals >= 0)
        close(ending.signals);
    return status;
}

int main(int argc, char **argv)
{
    int positional;
    struct status status = flags_parse(&flags, argc, argv, &positional);
    if (status_is_ok(status))
        status = serve();
    free(options.addresses.values);
    if (status_is_ok(status))
        return 0;
    log_error("%s", status.message);
    return 1;
}
