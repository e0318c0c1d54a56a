#include "trainer/identify.h"

#include "rpc/calls.h"
#include "trainer/protocol.h"

static void identify(void *instance, struct call *call, struct message *request)
{
    const struct task_identity *identity = instance;
    Slipway__Training__IdentifyReply header = SLIPWAY__TRAINING__IDENTIFY_REPLY__INIT;

    message_release(request);
    header.cluster = (char *)(uintptr_t)identity->cluster;
    header.task = (char *)(uintptr_t)identity->task;
    header.ps_list = (char *)(uintptr_t)identity->ps_list;
    header.version = (char *)(uintptr_t)identity->version;
    header.incarnation = identity->incarnation;
    header.protocol = identity->protocol;
    struct message reply = protocol_pack(&header);
    call_reply(call, &reply);
}

static const struct method methods[] = { { TASK_IDENTIFY, identify, METHOD_UNARY, false } };

const struct service identify_service = { methods, COUNT(methods) };

struct status identify_ask(struct channel *channel, int64_t deadline_ns, struct arena *arena,
                           struct task_identity *out)
{
    Slipway__Training__IdentifyRequest header = SLIPWAY__TRAINING__IDENTIFY_REQUEST__INIT;
    Slipway__Training__IdentifyReply *reply;
    struct message request = protocol_pack(&header), answer;
    struct status status = channel_call(channel, TASK_IDENTIFY, &request, deadline_ns, &answer);

    if (status_is_ok(status))
        status =
            protocol_unpack(&answer, &slipway__training__identify_reply__descriptor, arena, &reply);
    message_release(&answer);
    TRY(status);
    *out = (struct task_identity){ .cluster = reply->cluster,
                                   .task = reply->task,
                                   .ps_list = reply->ps_list,
                                   .version = reply->version,
                                   .incarnation = reply->incarnation,
                                   .protocol = reply->protocol };
    return status_ok();
}
