#include "trainer/protocol/identify.h"

#include "rpc/call_group.h"
#include "trainer/protocol/protocol.h"

static void identify(void *instance, struct call *call, struct message *request)
{
    const struct task_identity *identity = instance;
    struct identify_reply header = { .cluster = identity->cluster,
                                     .task = identity->task,
                                     .ps_list = identity->ps_list,
                                     .version = identity->version,
                                     .incarnation = identity->incarnation,
                                     .protocol = identity->protocol };

    message_release(request);
    struct message reply = pack_identify_reply(&header);
    call_reply(call, &reply);
}

static const struct method methods[] = { { TASK_IDENTIFY, identify, METHOD_UNARY, false } };

const struct service identify_service = { methods, COUNT(methods) };

struct status identify_ask(struct channel *channel, int64_t deadline_ns, struct arena *arena,
                           struct task_identity *out)
{
    struct message request = { .header = { "", 0 } }, answer;
    struct identify_reply reply;
    struct status status = channel_call(channel, TASK_IDENTIFY, &request, deadline_ns, &answer);

    if (status_is_ok(status))
        status = unpack_identify_reply(&answer, arena, &reply);
    message_release(&answer);
    TRY(status);
    *out = (struct task_identity){ .cluster = reply.cluster,
                                   .task = reply.task,
                                   .ps_list = reply.ps_list,
                                   .version = reply.version,
                                   .incarnation = reply.incarnation,
                                   .protocol = reply.protocol };
    return status_ok();
}
