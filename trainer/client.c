#include "trainer/client_internal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

void client_init(struct client *client, const struct client_options *options)
{
    const struct placement *placement = options->placement;

    *client = (struct client){ .options = *options };
    calls_init(&client->calls, channel_clock(options->channels[0]), placement->ps_count);
    client->calls.retry = client_retry(client);
    client->values = zalloc((size_t)placement->variables_count * sizeof *client->values);
    client->assembled = zalloc((size_t)placement->variables_count * sizeof *client->assembled);
    client->payloads = zalloc((size_t)placement->ps_count * sizeof *client->payloads);
    client->incarnations = zalloc((size_t)placement->ps_count * sizeof *client->incarnations);
    client->steps = zalloc((size_t)placement->ps_count * sizeof *client->steps);
    client->pieces = zalloc((size_t)placement->pieces_count * sizeof *client->pieces);
}

/* Whatever is asked of a ps may be asked again: it does it once. */
struct calls_retry client_retry(const struct client *client)
{
    return (struct calls_retry){ true, client->options.attempt_timeout_ms };
}

void client_finish(struct client *client)
{
    calls_finish(&client->calls);
    for (int v = 0; v < client->options.placement->variables_count; v++)
        free(client->assembled[v]);
    free(client->assembled);
    free(client->values);
    free(client->payloads);
    free(client->pieces);
    free(client->incarnations);
    free(client->steps);
}

void client_interrupt(struct client *client)
{
    if (!atomic_load(&client->leaving))
        calls_cancel(&client->calls);
}

int64_t client_deadline_ns(const struct client *client, int64_t timeout_ms)
{
    return clock_deadline_ns(client->calls.clock, timeout_ms);
}

void client_call_ps(struct client *client, int ps, const char *path, struct message *request,
                    int64_t deadline_ns)
{
    calls_add(&client->calls, client->options.channels[ps], path, request, deadline_ns);
}

struct status client_reply(const struct client *client, int ps,
                           const ProtobufCMessageDescriptor *descriptor, struct arena *arena,
                           void *out)
{
    return status_in(protocol_unpack(&client->calls.replies[ps], descriptor, arena, out), "ps %d",
                     ps);
}

Slipway__Training__Identity client_identity(const struct client_options *options, int ps)
{
    Slipway__Training__Identity identity = SLIPWAY__TRAINING__IDENTITY__INIT;

    identity.cluster = (char *)(uintptr_t)options->cluster;
    identity.task = (char *)(uintptr_t)options->task;
    identity.index = options->index;
    identity.incarnation = options->incarnation;
    identity.ps_list = (char *)(uintptr_t)options->ps_list;
    identity.placement_hash = options->placement->hash;
    identity.ps_index = (uint32_t)ps;
    identity.protocol = PROTOCOL_VERSION;
    identity.reader = options->reader;
    if (options->agreed != NULL && !options->reader)
        identity.agreed = (char *)(uintptr_t)options->agreed;
    return identity;
}

Slipway__Training__Ticket client_ticket(const struct client *client, int ps)
{
    Slipway__Training__Ticket ticket = SLIPWAY__TRAINING__TICKET__INIT;

    ticket.worker = client->options.index;
    ticket.incarnation = client->options.incarnation;
    ticket.generation = client->generation;
    ticket.ps_incarnation = client->incarnations[ps];
    ticket.reader = client->options.reader;
    return ticket;
}

/* ---- Joining. ---- */

static void take_join(struct client *client, int ps, const Slipway__Training__JoinReply *reply)
{
    client->incarnations[ps] = reply->incarnation;
    if (reply->generation > client->generation_seen)
        client->generation_seen = reply->generation;
    if (ps == 0) {
        client->global_step = reply->global_step;
        client->begin_step = reply->begin_step;
        client->stop_step = reply->stop_step;
        client->finished = client->open = true;
    }
    /* If one ps lacks a synchronous step, it has to be made before the job is over. */
    client->finished &= reply->finished;
    client->open &= reply->open;
}

/* All ps tasks are to be at one generation, or a rollback is on its way. */
static struct status join_replies(struct client *client, struct arena *arena, bool created)
{
    const Slipway__Training__JoinReply *first = NULL, *other = NULL;
    int other_ps = 0;
    bool over = false;

    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__JoinReply *reply;
        TRY(client_reply(client, ps, &slipway__training__join_reply__descriptor, arena, &reply));
        take_join(client, ps, reply);
        first = ps == 0 ? reply : first;
        if (reply->generation != first->generation) {
            other = reply;
            other_ps = ps;
        }
        if (reply->over && !over) {
            client->outcome_ps = ps;
            over = true;
        }
    }
    client->open &= other == NULL;
    if (created && over && !client->open) /* one was started anew since, and nobody will fill it */
        return status_error(STATUS_CANCELLED, "the job is over");
    if (created && other != NULL)
        return status_error(STATUS_UNAVAILABLE,
                            "ps %d is at generation %" PRIu64 ", ps 0 at %" PRIu64, other_ps,
                            other->generation, first->generation);
    client->joined = true;
    if (client->open && first->generation != client->generation) {
        client->generation = first->generation;
        client->sequence = 0;
    }
    return status_ok();
}

static void call_join(const struct client *client, struct calls *calls, bool wait_until_created,
                      int64_t until)
{
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__JoinRequest header = SLIPWAY__TRAINING__JOIN_REQUEST__INIT;
        Slipway__Training__Identity identity = client_identity(&client->options, ps);
        header.identity = &identity;
        header.wait_until_created = wait_until_created;
        header.again = client->joined;
        struct message request = protocol_pack(&header);
        calls_add(calls, client->options.channels[ps], PS_JOIN, &request, until);
    }
}

/* Asks each ps where it is, by calls of its own. One that does not answer tells nothing. */
static struct status ask_all(struct client *client,
                             struct status (*judge)(struct client *client, int ps,
                                                    const Slipway__Training__JoinReply *join))
{
    int ps_count = client->options.placement->ps_count;
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status = status_ok();
    struct calls calls;

    calls_init(&calls, client->calls.clock, ps_count);
    calls_begin(&calls);
    call_join(client, &calls, false, client_deadline_ns(client, CLIENT_LOOK_MS));
    status_ignore(calls_wait_all(&calls));
    for (int ps = 0; ps < ps_count; ps++) {
        Slipway__Training__JoinReply *join;
        if (calls.replies[ps].header.size == 0)
            continue;
        TRY_OR(done, protocol_unpack(&calls.replies[ps], &slipway__training__join_reply__descriptor,
                                     arena, &join));
        TRY_OR(done, judge(client, ps, join));
    }
done:
    calls_finish(&calls);
    arena_destroy(arena);
    return status;
}

/* A ps that was started anew when the job was over waits for a chief that has gone. */
static struct status note_outcome(struct client *client, int ps,
                                  const Slipway__Training__JoinReply *join)
{
    if (!join->over)
        return status_ok();
    client->outcome_ps = ps;
    return status_error(STATUS_CANCELLED, "ps %d says that the job is over", ps);
}

static struct status look_for_outcome(void *client)
{
    return ask_all(client, note_outcome);
}

struct status client_join(struct client *client, bool wait_until_created, int64_t timeout_ms)
{
    calls_begin(&client->calls);
    call_join(client, &client->calls, wait_until_created, client_deadline_ns(client, timeout_ms));
    struct calls_watch watch = { CLIENT_LOOK_MS, look_for_outcome, client };
    TRY(wait_until_created ? calls_wait_watched(&client->calls, &watch)
                           : calls_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status = join_replies(client, arena, wait_until_created);
    arena_destroy(arena);
    return status;
}

struct status client_check(struct client *client)
{
    uint64_t generation = client->generation;

    TRY(client_join(client, false, client->options.call_timeout_ms));
    if (!client->open || client->generation != generation)
        return status_error(STATUS_ABORTED, "a ps was started anew");
    return status_ok();
}

static struct status compare(struct client *client, int ps,
                             const Slipway__Training__JoinReply *join)
{
    if (join->incarnation != client->incarnations[ps])
        return status_error(STATUS_ABORTED, "ps %d was started anew", ps);
    if (join->generation != client->generation)
        return status_error(STATUS_ABORTED, "ps %d: the job has gone back", ps);
    return status_ok();
}

struct status client_look(void *client)
{
    return ask_all(client, compare);
}
