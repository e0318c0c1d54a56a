#include "trainer/client/client_internal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

void client_init(struct ps_client *client, const struct ps_client_options *options)
{
    const struct placement *placement = options->placement;

    *client = (struct ps_client){ .options = *options };
    client_make_chunks(client);
    call_group_init(&client->calls, channel_clock(options->channels[0]), client->chunks_count);
    client->calls.retry = client_retry(client);
    client->shares = client_shares_create(client->calls.clock, client_retry(client));
    call_group_init(&client->side_calls, client->calls.clock, 1);
    client->side_calls.retry = client_retry(client);
    client_rows_init(client);
    client->values = zalloc((size_t)placement->variables_count * sizeof *client->values);
    client->assembled = zalloc((size_t)placement->variables_count * sizeof *client->assembled);
    client->assembled_bytes =
        zalloc((size_t)placement->variables_count * sizeof *client->assembled_bytes);
    client->payloads = zalloc((size_t)client->chunks_count * sizeof *client->payloads);
    client->incarnations = zalloc((size_t)placement->ps_count * sizeof *client->incarnations);
    client->steps = zalloc((size_t)placement->ps_count * sizeof *client->steps);
    client->pieces =
        zalloc((size_t)(placement->pieces_count + client->chunks_count) * sizeof *client->pieces);
}

/* A ps executes a repeated request only once, so every call may be retried. */
struct call_retry client_retry(const struct ps_client *client)
{
    return (struct call_retry){ true, client->options.attempt_timeout_ms };
}

void client_finish(struct ps_client *client)
{
    call_group_finish(&client->calls);
    client_shares_destroy(client->shares);
    call_group_finish(&client->side_calls);
    free(client->totals);
    free(client->trains);
    for (int v = 0; v < client->options.placement->variables_count; v++)
        free(client->assembled[v]);
    client_rows_finish(client);
    free(client->assembled);
    free(client->assembled_bytes);
    free(client->values);
    free(client->payloads);
    free(client->chunks);
    free(client->chunk_of);
    free(client->pieces);
    free(client->incarnations);
    free(client->steps);
}

void client_interrupt(struct ps_client *client)
{
    if (!atomic_load(&client->leaving))
        call_group_cancel(&client->calls);
    call_group_cancel(&client->side_calls);
    client_shares_interrupt(client->shares);
}

void client_follow(struct ps_client *client, const struct ps_client *other)
{
    client->generation = other->generation;
    client->begin_step = other->begin_step;
    client->begin_place = other->begin_place;
    memcpy(client->incarnations, other->incarnations,
           (size_t)client->options.placement->ps_count * sizeof *client->incarnations);
}

int64_t client_deadline_ns(const struct ps_client *client, int64_t timeout_ms)
{
    return clock_deadline_ns(client->calls.clock, timeout_ms);
}

void client_call_ps(struct ps_client *client, int ps, const char *path, struct message *request,
                    int64_t deadline_ns)
{
    call_group_add(&client->calls, client->options.channels[ps], path, request, deadline_ns);
}

struct status client_call_single(struct ps_client *client, int ps, const char *path,
                                 struct message *request, struct message *reply)
{
    call_group_begin(&client->side_calls);
    call_group_add(&client->side_calls, client->options.channels[ps], path, request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
    TRY(call_group_wait(&client->side_calls));
    *reply = message_move(&client->side_calls.replies[0]);
    atomic_fetch_add(&client->side_replies, 1);
    return status_ok();
}

struct identity client_identity(const struct ps_client_options *options, int ps)
{
    struct identity identity = { 0 };

    identity.cluster = options->cluster;
    identity.task = options->task;
    identity.index = options->index;
    identity.incarnation = options->incarnation;
    identity.ps_list = options->ps_list;
    identity.placement_hash = options->placement->hash;
    identity.ps_index = (uint32_t)ps;
    identity.protocol = PROTOCOL_VERSION;
    identity.reader = options->reader;
    if (options->agreed != NULL && !options->reader)
        identity.agreed = options->agreed;
    return identity;
}

struct ticket client_ticket(const struct ps_client *client, int ps)
{
    struct ticket ticket = { 0 };

    ticket.worker = client->options.index;
    ticket.incarnation = client->options.incarnation;
    ticket.generation = client->generation;
    ticket.ps_incarnation = client->incarnations[ps];
    ticket.reader = client->options.reader;
    return ticket;
}

/* ---- joining ---- */

static void take_join(struct ps_client *client, int ps, const struct join_reply *reply)
{
    client->incarnations[ps] = reply->incarnation;
    if (reply->generation > client->generation_seen)
        client->generation_seen = reply->generation;
    if (ps == 0) {
        client->global_step = reply->global_step;
        client->begin_step = reply->begin_step;
        client->begin_place = reply->place;
        client->stop_step = reply->stop_step;
        free(client->trains);
        client->trains = xstrdup(reply->trains);
        client->lead_is_limited = reply->lead_is_limited;
        client->spare = reply->spare;
        client->finished = client->open = true;
    }
    /* If one ps lacks a synchronous step, that step must be made before the job is over. */
    client->finished &= reply->finished;
    client->open &= reply->open;
}

/* If the ps tasks are not all at the same generation, a rollback is under way. */
static struct status join_replies(struct ps_client *client, struct arena *arena, bool created)
{
    uint64_t generation = 0, other_generation = 0;
    int other_ps = 0; /* a ps at another generation than ps 0; 0: none */
    bool over = false;

    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        struct join_reply reply;
        TRY(status_in(unpack_join_reply(&client->calls.replies[ps], arena, &reply), "ps %d", ps));
        take_join(client, ps, &reply);
        generation = ps == 0 ? reply.generation : generation;
        if (reply.generation != generation) {
            other_generation = reply.generation;
            other_ps = ps;
        }
        if (reply.over && !over) {
            client->outcome_ps = ps;
            over = true;
        }
    }
    client->open &= other_ps == 0;
    if (created && over && !client->open) /* a ps was restarted since, and nobody will initialize
                                           * it */
        return status_error(STATUS_CANCELLED, "the job is over");
    if (created && other_ps != 0)
        return status_error(STATUS_UNAVAILABLE,
                            "ps %d is at generation %" PRIu64 ", ps 0 at %" PRIu64, other_ps,
                            other_generation, generation);
    client->joined = true;
    if (client->open && generation != client->generation) {
        client->generation = generation;
        client->sequence = client->pass_until = 0;
    }
    return status_ok();
}

static void call_join(const struct ps_client *client, struct call_group *calls,
                      bool wait_until_created, int64_t until)
{
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        struct join_request header = { 0 };
        struct identity identity = client_identity(&client->options, ps);
        header.identity = &identity;
        header.wait_until_created = wait_until_created;
        header.again = client->joined;
        struct message request = pack_join_request(&header);
        call_group_add(calls, client->options.channels[ps], PS_JOIN, &request, until);
    }
}

/* Asks each ps for its state, with separate calls. A ps that does not answer is skipped. */
static struct status ask_all(struct ps_client *client,
                             struct status (*judge)(struct ps_client *client, int ps,
                                                    const struct join_reply *join))
{
    int ps_count = client->options.placement->ps_count;
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status = status_ok();
    struct call_group calls;

    call_group_init(&calls, client->calls.clock, ps_count);
    call_group_begin(&calls);
    call_join(client, &calls, false, client_deadline_ns(client, CLIENT_LOOK_MS));
    status_ignore(call_group_wait_all(&calls));
    for (int ps = 0; ps < ps_count; ps++) {
        struct join_reply join;
        if (calls.replies[ps].header.size == 0)
            continue;
        TRY_OR(done, unpack_join_reply(&calls.replies[ps], arena, &join));
        TRY_OR(done, judge(client, ps, &join));
    }
done:
    call_group_finish(&calls);
    arena_destroy(arena);
    return status;
}

/* A ps that was restarted after the end of the job waits for a chief that is gone. */
static struct status note_outcome(struct ps_client *client, int ps, const struct join_reply *join)
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

struct status client_join(struct ps_client *client, bool wait_until_created, int64_t timeout_ms)
{
    client_clear_totals(client); /* of a batch that is computed again */
    call_group_begin(&client->calls);
    call_join(client, &client->calls, wait_until_created, client_deadline_ns(client, timeout_ms));
    struct call_watch watch = { CLIENT_LOOK_MS, look_for_outcome, client };
    TRY(wait_until_created ? call_group_wait_watched(&client->calls, &watch)
                           : call_group_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status = join_replies(client, arena, wait_until_created);
    arena_destroy(arena);
    return status;
}

struct status client_check(struct ps_client *client)
{
    uint64_t generation = client->generation;

    TRY(client_join(client, false, client->options.call_timeout_ms));
    if (!client->open || client->generation != generation)
        return status_error(STATUS_ABORTED, "a ps was restarted");
    return status_ok();
}

static struct status compare(struct ps_client *client, int ps, const struct join_reply *join)
{
    if (join->incarnation != client->incarnations[ps])
        return status_error(STATUS_ABORTED, "ps %d was restarted", ps);
    if (join->generation != client->generation)
        return status_error(STATUS_ABORTED, "ps %d: the job has gone back", ps);
    return status_ok();
}

struct status client_check_generation(void *client)
{
    return ask_all(client, compare);
}
