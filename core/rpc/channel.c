#include "rpc/channel.h"

#include <assert.h>

void call_reply(struct call *call, struct message *reply)
{
    call->type->finish(call, status_ok(), reply);
}

void call_fail(struct call *call, struct status status)
{
    struct message nothing = { 0 };

    assert(!status_is_ok(status));
    call->type->finish(call, status, &nothing);
}

int64_t call_deadline_ns(const struct call *call)
{
    return call->deadline_ns;
}

void call_when_left(struct call *call, void (*left)(void *, struct call *), void *context)
{
    call->type->when_left(call, left, context);
}

struct client_call *channel_start(struct channel *channel, const char *path,
                                  struct message *request, int64_t deadline_ns,
                                  reply_function *done, void *context)
{
    return channel->type->start(channel, path, request, deadline_ns, done, context);
}

void client_call_cancel(struct client_call *call)
{
    call->channel->type->cancel(call);
}

void client_call_release(struct client_call *call)
{
    if (call != NULL)
        call->channel->type->release(call);
}

struct clock *channel_clock(const struct channel *channel)
{
    return channel->clock;
}

void channel_close(struct channel *channel)
{
    if (channel != NULL)
        channel->type->close(channel);
}
