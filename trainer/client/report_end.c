/* Reports the end of a task, and waits for the end of the job. */
#include "trainer/client/client_internal.h"

#include <stdatomic.h>
#include <stdio.h>

/* The timeout of the final report to a ps that may be gone. If it does not arrive, another task
 * informs the ps, or the ps times out. */
#define LAST_REPORT_MS 3000

struct status client_report(struct ps_client *client, struct status outcome, bool job)
{
    bool last = job || !status_is_ok(outcome);
    int64_t until =
        client_deadline_ns(client, last ? LAST_REPORT_MS : client->options.call_timeout_ms);
    char text[1024];

    atomic_store(&client->leaving, last);
    snprintf(text, sizeof text, "%s", outcome.message);
    call_group_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        struct finish_request header = { 0 };
        struct ticket ticket = client_ticket(client, ps);
        struct identity identity = client_identity(&client->options, ps);
        header.ticket = &ticket;
        header.identity = &identity;
        header.code = (int)outcome.code;
        header.text = text;
        header.job = job;
        struct message request = pack_finish_request(&header);
        client_call_ps(client, ps, PS_FINISH, &request, until);
    }
    return call_group_wait_all(&client->calls);
}

/* Uses calls of its own, because the client's values are in the replies of `calls`. */
struct status client_stop(struct ps_client *client)
{
    struct ticket ticket = client_ticket(client, 0);
    const struct stop_request header = { &ticket };
    struct message request = pack_stop_request(&header);
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct call_group calls;
    struct stop_reply reply;
    struct status status;

    call_group_init(&calls, client->calls.clock, 1);
    calls.retry = client_retry(client);
    call_group_begin(&calls);
    call_group_add(&calls, client->options.channels[0], PS_STOP, &request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
    TRY_OR(done, call_group_wait(&calls));
    TRY_OR(done, status_in(unpack_stop_reply(&calls.replies[0], arena, &reply), "ps 0"));
    client->stop_step = reply.stop_step;
    status = status_ok();
done:
    call_group_finish(&calls);
    arena_destroy(arena);
    return status;
}

struct status client_await(struct ps_client *client, bool job, int64_t timeout_ms)
{
    struct await_request header = { 0 };
    int ps = job ? client->outcome_ps : 0;
    struct ticket ticket = client_ticket(client, ps);
    struct await_reply reply;

    header.ticket = &ticket;
    header.job = job;
    call_group_begin(&client->calls);
    struct message request = pack_await_request(&header);
    client_call_ps(client, ps, PS_AWAIT, &request, client_deadline_ns(client, timeout_ms));
    TRY(call_group_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        status_in(unpack_await_reply(&client->calls.replies[0], arena, &reply), "ps %d", ps);
    client->told = status_is_ok(status) && job;
    if (client->told && reply.code != STATUS_OK)
        status = status_error((enum status_code)reply.code, "the job ended: %s", reply.text);
    arena_destroy(arena);
    return status;
}

void client_describe_wait(struct ps_client *client, int ps, char *out, size_t size)
{
    struct heartbeat_request header = { 0 };
    struct identity identity = client_identity(&client->options, ps);
    struct heartbeat_reply reply;
    struct arena *arena = arena_create(REPLY_ARENA_MAX);

    header.identity = &identity;
    call_group_begin(&client->calls);
    struct message request = pack_heartbeat_request(&header);
    client_call_ps(client, ps, PS_HEARTBEAT, &request, client_deadline_ns(client, LAST_REPORT_MS));
    struct status status = call_group_wait(&client->calls);
    if (status_is_ok(status))
        status = status_in(unpack_heartbeat_reply(&client->calls.replies[0], arena, &reply),
                           "ps %d", ps);
    snprintf(out, size, "%s", status_is_ok(status) ? reply.note : "");
    arena_destroy(arena);
}
