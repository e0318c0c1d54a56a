#include "rpc/remote_internal.h"

#include <stdlib.h>

#include "base/arena.h"
#include "rpc/session_memory.h"

static int or_default(int value, int by_default)
{
    return value == 0 ? by_default : value < 0 ? 0 : value;
}

static void fill_limits(struct remote *remote)
{
    const struct remote_options *options = &remote->options;

    remote->limits = (struct http2_limits){
        .frame_max = HTTP2_FRAME_MAX,
        .message_max = options->message_max_bytes == 0 ? INT32_MAX : options->message_max_bytes,
        .held_max = INT64_MAX, /* the caller asked for the replies */
        .unsent_max = SIZE_MAX,
        .metadata_max = (size_t)64 << 10,
        .handshake_ms = options->connect_timeout_ms,
        .keepalive_ms = or_default(options->keepalive_ms, 20000),
        .keepalive_timeout_ms = or_default(options->keepalive_timeout_ms, 10000),
    };
}

static char *authority_of(const struct address *address)
{
    struct buffer text = { 0 };

    if (address->is_unix)
        buffer_append_text(&text, "localhost");
    else
        buffer_printf(&text, strchr(address->host, ':') != NULL ? "[%s]:%d" : "%s:%d",
                      address->host, address->port);
    buffer_append_char(&text, 0);
    return text.data;
}

void remote_state(struct channel *channel, struct remote_state *out)
{
    struct remote *remote = (struct remote *)channel;

    pthread_mutex_lock(&remote->lock);
    *out = remote->state;
    pthread_mutex_unlock(&remote->lock);
}

static void close_remote(struct channel *channel)
{
    struct remote *remote = (struct remote *)channel;

    shared_loop_claim(channel->loop);
    remote->closing = true;
    remote_fail_all(remote, status_error(STATUS_CANCELLED, "the channel was closed"));
    remote_disconnect(remote);
    mailbox_close(remote->mailbox);
    shared_loop_leave(channel->loop);
    mailbox_release(remote->mailbox);
    shared_loop_destroy(remote->own_loop);
    pthread_mutex_destroy(&remote->lock);
    free(remote->text);
    free(remote->authority);
    free(remote->tls_name);
    free(remote->user_agent);
    free(remote->authorization);
    socket_buffers_destroy(remote->socket_buffers);
    session_memory_destroy(remote->memory);
    free(remote);
}

static const struct channel_type remote_type = {
    .begin = remote_begin,
    .cancel = remote_cancel,
    .release = remote_release,
    .close = close_remote,
    .metadata = remote_metadata,
};

static void fill_options(struct remote *remote, const struct remote_options *options)
{
    remote->options = *options;
    remote->options.connect_timeout_ms = or_default(options->connect_timeout_ms, 5000);
    remote->options.reconnect_min_ms = or_default(options->reconnect_min_ms, 100);
    remote->options.reconnect_max_ms = or_default(options->reconnect_max_ms, 2000);
    remote->pause_ms = remote->options.reconnect_min_ms;
    remote->authority = options->server_name != NULL ? xstrdup(options->server_name)
                                                     : authority_of(&remote->address);
    remote->tls_name =
        xstrdup(options->server_name != NULL ? options->server_name : remote->address.host);
    if (options->token != NULL) {
        struct buffer text = { 0 };
        buffer_printf(&text, RPC_TOKEN_SCHEME "%s", options->token);
        buffer_append_char(&text, '\0');
        remote->authorization = text.data;
    }
    remote->user_agent = xstrdup(options->user_agent != NULL ? options->user_agent : "slipway");
    fill_limits(remote);
}

struct status remote_open(const char *text, const struct remote_options *options,
                          struct channel **out)
{
    struct address address;
    struct shared_loop *own = NULL;

    TRY(address_parse(text, &address));
    if (options->loop == NULL)
        TRY(shared_loop_create(&own));
    struct remote *remote = zalloc(sizeof *remote);
    remote->own_loop = own;
    remote->address = address;
    remote->channel =
        (struct channel){ &remote_type, clock_monotonic(), own != NULL ? own : options->loop };
    remote->loop = shared_loop_of(remote->channel.loop);
    remote->mailbox = mailbox_create(remote->loop);
    remote->text = xstrdup(text);
    remote->socket_buffers = socket_buffers_create();
    remote->memory = session_memory_create();
    remote->fd = -1;
    remote->waiting_end = &remote->waiting;
    pthread_mutex_init(&remote->lock, NULL);
    fill_options(remote, options);
    *out = &remote->channel;
    return status_ok();
}
