/* How a task ends, and what it hears of the job's end. */
#include "trainer/client_internal.h"

#include <stdatomic.h>
#include <stdio.h>

/* To a ps that may be gone; else others tell it, or its own limits end it. */
#define LAST_WORDS_MS 3000

struct status client_report(struct client *client, struct status outcome, bool job)
{
    bool last = job || !status_is_ok(outcome);
    int64_t until =
        client_deadline_ns(client, last ? LAST_WORDS_MS : client->options.call_timeout_ms);
    char text[1024];

    atomic_store(&client->leaving, last);
    snprintf(text, sizeof text, "%s", outcome.message);
    calls_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__FinishRequest header = SLIPWAY__TRAINING__FINISH_REQUEST__INIT;
        Slipway__Training__Ticket ticket = client_ticket(client, ps);
        Slipway__Training__Identity identity = client_identity(&client->options, ps);
        header.ticket = &ticket;
        header.identity = &identity;
        header.code = (int32_t)outcome.code;
        header.text = text;
        header.job = job;
        struct message request = protocol_pack(&header);
        client_call_ps(client, ps, PS_FINISH, &request, until);
    }
    return calls_wait_all(&client->calls);
}

struct status client_await(struct client *client, bool job, int64_t timeout_ms)
{
    Slipway__Training__AwaitRequest header = SLIPWAY__TRAINING__AWAIT_REQUEST__INIT;
    int ps = job ? client->outcome_ps : 0;
    Slipway__Training__Ticket ticket = client_ticket(client, ps);
    Slipway__Training__AwaitReply *reply;

    header.ticket = &ticket;
    header.job = job;
    calls_begin(&client->calls);
    struct message request = protocol_pack(&header);
    client_call_ps(client, ps, PS_AWAIT, &request, client_deadline_ns(client, timeout_ms));
    TRY(calls_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        client_reply(client, 0, &slipway__training__await_reply__descriptor, arena, &reply);
    client->told = status_is_ok(status) && job;
    if (client->told && reply->code != STATUS_OK)
        status = status_error((enum status_code)reply->code, "the job ended: %s", reply->text);
    arena_destroy(arena);
    return status;
}

void client_ask_whom(struct client *client, char *out, size_t size)
{
    Slipway__Training__BeatRequest header = SLIPWAY__TRAINING__BEAT_REQUEST__INIT;
    Slipway__Training__Identity identity = client_identity(&client->options, 0);
    Slipway__Training__BeatReply *reply;
    struct arena *arena = arena_create(REPLY_ARENA_MAX);

    header.identity = &identity;
    calls_begin(&client->calls);
    struct message request = protocol_pack(&header);
    client_call_ps(client, 0, PS_BEAT, &request, client_deadline_ns(client, LAST_WORDS_MS));
    struct status status = calls_wait(&client->calls);
    if (status_is_ok(status))
        status = client_reply(client, 0, &slipway__training__beat_reply__descriptor, arena, &reply);
    snprintf(out, size, "%s", status_is_ok(status) ? reply->note : "");
    arena_destroy(arena);
}
