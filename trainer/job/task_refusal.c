/* A task that cannot start tells the ps tasks, which wait for it. */
#include "base/arena.h"
#include "rpc/call_group.h"
#include "trainer/job/task_endpoint.h"
#include "trainer/protocol/protocol.h"

/* The task's user waits for its exit. Tasks that were started together are there by then. */
#define TELL_MS 2000

static void tell(const struct task_endpoint *endpoint, const struct ps_channels *channels,
                 struct status outcome, bool job)
{
    const struct task_options *options = endpoint->options;
    const struct ticket ticket = { .worker = job_map_rank(options->map),
                                   .incarnation = endpoint->identity.incarnation };
    struct identity identity = { .cluster = options->cluster,
                                 .task = endpoint->name,
                                 .ps_list = endpoint->ps_list,
                                 .agreed = "",
                                 .index = ticket.worker,
                                 .incarnation = ticket.incarnation,
                                 .protocol = PROTOCOL_VERSION };
    struct finish_request request = { .ticket = &ticket,
                                      .identity = &identity,
                                      .code = (int)outcome.code,
                                      .text = outcome.message,
                                      .job = job };
    struct clock *clock = channel_clock(channels->channels[0]);
    struct call_group calls;

    call_group_init(&calls, clock, channels->count);
    calls.retry.again = true;
    call_group_begin(&calls);
    for (int ps = 0; ps < channels->count; ps++) {
        identity.ps_index = (uint32_t)ps;
        struct message message = pack_finish_request(&request);
        call_group_add(&calls, channels->channels[ps], PS_FINISH, &message,
                       clock_deadline_ns(clock, TELL_MS));
    }
    status_ignore(call_group_wait_all(&calls));
    call_group_finish(&calls);
}

void task_report_refusal(const struct task_options *options, struct status why)
{
    struct ps_channels channels = { 0 };
    struct task_endpoint endpoint;
    struct status status = endpoint_open(&endpoint, options);
    const char *text =
        arena_printf(endpoint.arena, "%s cannot start: %s", endpoint.name, why.message);

    if (status_is_ok(status))
        status = endpoint_connect(&endpoint, &channels);
    /* The ps tasks refuse the chief's report if the job has begun: they wait for another chief. */
    if (status_is_ok(status) && job_map_is_chief(options->map))
        tell(&endpoint, &channels, status_error(why.code, "%s", text), true);
    if (status_is_ok(status))
        tell(&endpoint, &channels, status_error(STATUS_UNAVAILABLE, "%s", text), false);
    status_ignore(status);
    ps_channels_close(&channels);
    endpoint_close(&endpoint);
}
