#include "trainer/client_internal.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define REPLY_ARENA_MAX ((size_t)16 << 20)
/* To a ps that may be gone; else others tell it, or its own limits end it. */
#define LAST_WORDS_MS   3000

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
}

void client_interrupt(struct client *client)
{
    if (!atomic_load(&client->leaving))
        calls_cancel(&client->calls);
}

static int64_t deadline(const struct client *client, int64_t timeout_ms)
{
    return clock_deadline_ns(client->calls.clock, timeout_ms);
}

static void call_ps(struct client *client, int ps, const char *path, struct message *request,
                    int64_t deadline_ns)
{
    calls_add(&client->calls, client->options.channels[ps], path, request, deadline_ns);
}

static struct status reply_header(const struct client *client, int ps,
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
    return identity;
}

Slipway__Training__Ticket client_ticket(const struct client *client, int ps)
{
    Slipway__Training__Ticket ticket = SLIPWAY__TRAINING__TICKET__INIT;

    ticket.worker = client->options.index;
    ticket.incarnation = client->options.incarnation;
    ticket.generation = client->generation;
    ticket.ps_incarnation = client->incarnations[ps];
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
        client->finished = reply->finished; /* by the word of the ps that the chief asks, too */
        client->open = true;
    }
    client->open &= reply->open;
}

/* All ps tasks are to be at one generation, or a rollback is on its way. */
static struct status join_replies(struct client *client, struct arena *arena, bool created)
{
    uint64_t generation = 0;

    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__JoinReply *reply;
        TRY(reply_header(client, ps, &slipway__training__join_reply__descriptor, arena, &reply));
        take_join(client, ps, reply);
        if (ps == 0)
            generation = reply->generation;
        client->open &= reply->generation == generation;
        if (created && reply->generation != generation)
            return status_error(STATUS_UNAVAILABLE,
                                "ps %d is at generation %" PRIu64 ", ps 0 at %" PRIu64, ps,
                                reply->generation, generation);
    }
    client->joined = true;
    if (client->open && generation != client->generation) {
        client->generation = generation;
        client->sequence = 0;
    }
    return status_ok();
}

struct status client_join(struct client *client, bool wait_until_created, int64_t timeout_ms)
{
    int64_t until = deadline(client, timeout_ms);

    calls_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__JoinRequest header = SLIPWAY__TRAINING__JOIN_REQUEST__INIT;
        Slipway__Training__Identity identity = client_identity(&client->options, ps);
        header.identity = &identity;
        header.wait_until_created = wait_until_created;
        header.again = client->joined;
        struct message request = protocol_pack(&header);
        call_ps(client, ps, PS_JOIN, &request, until);
    }
    TRY(calls_wait(&client->calls));
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

/* ---- Values in, gradients out. ---- */

/* Next piece of a variable: the run so far is [run, run + run_size); NULL when it is broken. */
static const char *extend_run(const char *run, size_t run_size, const char *data)
{
    return run != NULL && run + run_size == data ? run : NULL;
}

static struct status check_values_size(const struct client *client, int ps)
{
    size_t got = message_payload_size(&client->calls.replies[ps]);
    size_t wanted = placement_bytes(client->options.placement, ps);

    if (got != wanted)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of values, it holds %zu", ps,
                            got, wanted);
    return status_ok();
}

/* Finds the values of variable v in the replies; each ps' payload is read in order of ids. */
static void take_variable(struct client *client, int v, struct payload *payloads)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[v];
    const struct piece *pieces = &placement->pieces[variable->first_piece];
    const char *run = NULL;
    size_t total = 0;

    for (int i = 0; i < variable->pieces_count; i++) {
        const struct piece *piece = &pieces[i];
        struct payload *payload = &payloads[piece->ps];
        const char *data = payload_borrow(payload, piece->size);
        const char *longer = i == 0 ? data : data != NULL ? extend_run(run, total, data) : NULL;
        if (longer ==
            NULL) { /* not in one run: from here on, and what there was, into the buffer */
            if (client->assembled[v] == NULL)
                client->assembled[v] =
                    zalloc((size_t)shape_size(&variable->shape) * dtype_size(variable->dtype));
            char *to = client->assembled[v];
            if (run != NULL && run != to)
                memcpy(to, run, total);
            if (data != NULL)
                memcpy(to + total, data, piece->size);
            else
                payload_copy(payload, to + total, piece->size);
            longer = to;
        }
        run = longer;
        total += piece->size;
    }
    client->values[v] = run;
}

static struct status take_values(struct client *client)
{
    const struct placement *placement = client->options.placement;
    struct payload *payloads = client->payloads;

    for (int ps = 0; ps < placement->ps_count; ps++) {
        TRY(check_values_size(client, ps));
        payloads[ps] = (struct payload){ .message = &client->calls.replies[ps] };
    }
    for (int v = 0; v < placement->variables_count; v++)
        take_variable(client, v, payloads);
    return status_ok();
}

struct status client_pull(struct client *client)
{
    Slipway__Training__PullRequest header = SLIPWAY__TRAINING__PULL_REQUEST__INIT;
    int64_t until = deadline(client, client->options.call_timeout_ms);
    Slipway__Training__PullReply *reply;

    calls_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__Ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        struct message request = protocol_pack(&header);
        call_ps(client, ps, PS_PULL, &request, until);
    }
    TRY(calls_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        reply_header(client, 0, &slipway__training__pull_reply__descriptor, arena, &reply);
    if (status_is_ok(status))
        client->global_step = reply->global_step;
    arena_destroy(arena);
    return status_is_ok(status) ? take_values(client) : status;
}

/* The gradient bytes that go to one ps, in order of ids; as many pieces as neighbours allow. */
static int gather_gradients(struct client *client, int ps, const float *const *gradients,
                            struct bytes *out)
{
    const struct placement *placement = client->options.placement;
    int count = 0;

    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != ps || !placement->variables[piece->variable].trainable)
            continue;
        const char *data = (const char *)gradients[piece->variable] + piece->offset;
        if (count > 0 && out[count - 1].data + out[count - 1].size == data)
            out[count - 1].size += piece->size;
        else
            out[count++] = (struct bytes){ data, piece->size };
    }
    return count;
}

struct status client_push(struct client *client, const float *const *gradients, bool pull)
{
    Slipway__Training__PushRequest header = SLIPWAY__TRAINING__PUSH_REQUEST__INIT;
    int64_t until = deadline(client, client->options.call_timeout_ms);
    Slipway__Training__PushReply *reply;
    struct bytes *pieces = client->pieces;

    header.sequence = ++client->sequence;
    header.local_step = client->global_step;
    header.pull = pull;
    calls_begin(&client->calls); /* gives the values back, so that the ps may update in place */
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__Ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        int count = gather_gradients(client, ps, gradients, pieces);
        struct message request = protocol_pack_pieces(&header, pieces, count);
        call_ps(client, ps, PS_PUSH, &request, until);
        pieces += count;
    }
    TRY(calls_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        reply_header(client, 0, &slipway__training__push_reply__descriptor, arena, &reply);
    if (status_is_ok(status))
        client->global_step = reply->global_step;
    arena_destroy(arena);
    return status_is_ok(status) && pull ? take_values(client) : status;
}

/* ---- The end. ---- */

struct status client_report(struct client *client, struct status outcome, bool job)
{
    bool last = job || !status_is_ok(outcome);
    int64_t until = deadline(client, last ? LAST_WORDS_MS : client->options.call_timeout_ms);
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
        call_ps(client, ps, PS_FINISH, &request, until);
    }
    return calls_wait(&client->calls);
}

struct status client_await(struct client *client, bool job, int64_t timeout_ms)
{
    Slipway__Training__AwaitRequest header = SLIPWAY__TRAINING__AWAIT_REQUEST__INIT;
    Slipway__Training__Ticket ticket = client_ticket(client, 0);
    Slipway__Training__AwaitReply *reply;

    header.ticket = &ticket;
    header.job = job;
    calls_begin(&client->calls);
    struct message request = protocol_pack(&header);
    call_ps(client, 0, PS_AWAIT, &request, deadline(client, timeout_ms));
    TRY(calls_wait(&client->calls));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        reply_header(client, 0, &slipway__training__await_reply__descriptor, arena, &reply);
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
    call_ps(client, 0, PS_BEAT, &request, deadline(client, LAST_WORDS_MS));
    struct status status = calls_wait(&client->calls);
    if (status_is_ok(status))
        status = reply_header(client, 0, &slipway__training__beat_reply__descriptor, arena, &reply);
    snprintf(out, size, "%s", status_is_ok(status) ? reply->note : "");
    arena_destroy(arena);
}
