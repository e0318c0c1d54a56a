#include "rpc/channel.h"

#include <assert.h>

void call_reply(struct call *call, struct message *reply)
{
    call->type->finish(call, status_ok(), reply);
}

void call_end(struct call *call)
{
    call->type->finish(call, status_ok(), NULL);
}

void call_fail(struct call *call, struct status status)
{
    assert(!status_is_ok(status));
    call->type->finish(call, status, NULL);
}

int64_t call_deadline_ns(const struct call *call)
{
    return call->deadline_ns;
}

void call_when_cancelled(struct call *call, void (*cancelled)(void *, struct call *), void *context)
{
    call->type->when_cancelled(call, cancelled, context);
}

bool call_send(struct call *call, struct message *reply)
{
    return call->type->send(call, reply);
}

void call_when_ready(struct call *call, void (*ready)(void *, struct call *), void *context)
{
    call->type->when_ready(call, ready, context);
}

void call_receive(struct call *call, received_function *received, void *context)
{
    call->type->receive(call, received, context);
}

const char *call_metadata(const struct call *call, const char *name)
{
    return call->type->metadata(call, name);
}

void call_add_metadata(struct call *call, const char *name, const char *value)
{
    call->type->add_metadata(call, name, value);
}

struct client_call *channel_begin(struct channel *channel, const char *path,
                                  struct message *request, const struct call_options *options,
                                  reply_function *done, void *context)
{
    return channel->type->begin(channel, path, request, options, done, context);
}

struct client_call *channel_start(struct channel *channel, const char *path,
                                  struct message *request, int64_t deadline_ns,
                                  reply_function *done, void *context)
{
    struct call_options options = { .deadline_ns = deadline_ns };

    return channel->type->begin(channel, path, request, &options, done, context);
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

const char *client_call_metadata(const struct client_call *call, const char *name)
{
    return call->channel->type->metadata(call, name);
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

const struct method *service_find(const struct service *service, const char *path)
{
    for (int i = 0; i < service->methods_count; i++)
        if (service->methods[i].path == path || strcmp(service->methods[i].path, path) == 0)
            return &service->methods[i];
    return NULL;
}
