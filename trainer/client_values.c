/* Values in, gradients out. */
#include "trainer/client_internal.h"
#include "trainer/finite.h"

#include <stdlib.h>

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

/* Fills client->steps. before: those of before the last step, by the ps tasks that are later than
 * this. */
static struct status pull_once(struct client *client, uint64_t later_than, bool *sync)
{
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    int ps_count = client->options.placement->ps_count;
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status;

    calls_begin(&client->calls);
    for (int ps = 0; ps < ps_count; ps++) {
        Slipway__Training__PullRequest header = SLIPWAY__TRAINING__PULL_REQUEST__INIT;
        Slipway__Training__Ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        header.before = client->steps[ps] > later_than;
        struct message request = protocol_pack(&header);
        client_call_ps(client, ps, PS_PULL, &request, until);
    }
    TRY_OR(done, calls_wait(&client->calls));
    for (int ps = 0; ps < ps_count; ps++) {
        Slipway__Training__PullReply *reply;
        TRY_OR(done,
               client_reply(client, ps, &slipway__training__pull_reply__descriptor, arena, &reply));
        client->steps[ps] = reply->global_step;
        *sync = reply->sync;
    }
done:
    arena_destroy(arena);
    return status;
}

/* Does any ps differ from ps 0? *least: the one that is least far. */
static bool is_torn(const struct client *client, uint64_t *least)
{
    bool torn = false;

    *least = client->steps[0];
    for (int ps = 1; ps < client->options.placement->ps_count; ps++) {
        torn |= client->steps[ps] != client->steps[0];
        *least = client->steps[ps] < *least ? client->steps[ps] : *least;
    }
    return torn;
}

struct status client_pull(struct client *client)
{
    uint64_t least;
    bool sync = false;

    TRY(pull_once(client, UINT64_MAX, &sync));
    client->torn = sync && is_torn(client, &least);
    if (client->torn) {
        TRY(pull_once(client, least, &sync));
        if (is_torn(client, &least))
            return status_error(STATUS_ABORTED, "the ps tasks are at no common step");
    }
    client->global_step = client->steps[0];
    return take_values(client);
}

struct status client_check_values(const struct client *client)
{
    const struct placement *placement = client->options.placement;

    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *row = &placement->variables[v];
        struct bytes values = { client->values[v],
                                (size_t)shape_size(&row->shape) * dtype_size(row->dtype) };
        if (row->dtype == DT_FLOAT)
            TRY(finite_check(row->name, values));
    }
    return status_ok();
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
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
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
        client_call_ps(client, ps, PS_PUSH, &request, until);
        pieces += count;
    }
    /* A worker that died may come back to wait for a ps that was started anew, and this push at
     * another ps for the worker. */
    struct calls_watch watch = { CLIENT_LOOK_MS, client_look, client };
    TRY(calls_wait_watched(&client->calls, &watch));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        client_reply(client, 0, &slipway__training__push_reply__descriptor, arena, &reply);
    if (status_is_ok(status))
        client->global_step = reply->global_step;
    arena_destroy(arena);
    return status_is_ok(status) && pull ? take_values(client) : status;
}
