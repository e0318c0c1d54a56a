/* Pulls values and pushes gradients. */
#include "trainer/client/internal.h"
#include "trainer/shared/finite.h"

#include <stdlib.h>

/* `end_piece` as a request has it: 0 when the chunk goes up to the last piece. */
static uint32_t wire_end(const struct ps_client *client, const struct client_chunk *chunk)
{
    bool last = chunk->end_piece == client->options.placement->pieces_count;

    return last ? 0 : (uint32_t)chunk->end_piece;
}

/* Extends the run [run, run + run_size) by the next piece of a variable. NULL: the piece lies
 * elsewhere. */
static const char *extend_run(const char *run, size_t run_size, const char *data)
{
    return run != NULL && run + run_size == data ? run : NULL;
}

static struct status check_values_size(const struct ps_client *client, int chunk)
{
    size_t got = message_payload_size(&client->calls.replies[chunk]);
    size_t wanted = client->chunks[chunk].size_bytes;

    if (got != wanted)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of values, asked for %zu",
                            client->chunks[chunk].ps, got, wanted);
    return status_ok();
}

/* Finds the values of variable v in the replies; each payload is read in order of ids. */
static void take_variable(struct ps_client *client, int v)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[v];
    const struct piece *pieces = &placement->pieces[variable->first_piece];
    const char *run = NULL;
    size_t total = 0;

    for (int i = 0; i < variable->pieces_count; i++) {
        const struct piece *piece = &pieces[i];
        struct payload_cursor *payload =
            &client->payloads[client->chunk_of[piece - placement->pieces]];
        const char *data = payload_borrow(payload, piece->size);
        const char *longer = i == 0 ? data : data != NULL ? extend_run(run, total, data) : NULL;
        /* not in one run: copy what there was, and all that follows, into the buffer */
        if (longer == NULL) {
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

static struct status take_values(struct ps_client *client)
{
    for (int c = 0; c < client->chunks_count; c++) {
        TRY(check_values_size(client, c));
        client->payloads[c] = (struct payload_cursor){ .message = &client->calls.replies[c] };
    }
    for (int v = 0; v < client->options.placement->variables_count; v++)
        take_variable(client, v);
    return status_ok();
}

static void call_pull(struct ps_client *client, const struct client_chunk *chunk,
                      uint64_t later_than, int64_t until)
{
    struct pull_request header = { 0 };
    struct ticket ticket = client_ticket(client, chunk->ps);

    header.ticket = &ticket;
    header.before = client->steps[chunk->ps] > later_than;
    header.first_piece = (uint32_t)chunk->first_piece;
    header.end_piece = wire_end(client, chunk);
    struct message request = pack_pull_request(&header);
    client_call_ps(client, chunk->ps, PS_PULL, &request, until);
}

/* The chunks of a ps in a synchronous job are of one step. A task that trains sees no step between
 * two chunks, because a step needs its push; another task may. */
static struct status take_step(struct ps_client *client, int c, const struct pull_reply *reply)
{
    int ps = client->chunks[c].ps;
    bool first = c == 0 || client->chunks[c - 1].ps != ps;

    if (!first && reply->sync && reply->global_step != client->steps[ps])
        return status_error(STATUS_ABORTED,
                            "ps %d made a step between two chunks of its values: pull again", ps);
    client->steps[ps] = reply->global_step;
    return status_ok();
}

/* Pulls, and fills client->steps. A ps whose step was beyond `later_than` is asked for the values
 * before its last step. */
static struct status pull_once(struct ps_client *client, uint64_t later_than, bool *sync)
{
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status;

    call_group_begin(&client->calls);
    for (int c = 0; c < client->chunks_count; c++)
        call_pull(client, &client->chunks[c], later_than, until);
    TRY_OR(done, call_group_wait(&client->calls));
    for (int c = 0; c < client->chunks_count; c++) {
        struct pull_reply reply;
        TRY_OR(done, status_in(unpack_pull_reply(&client->calls.replies[c], arena, &reply), "ps %d",
                               client->chunks[c].ps));
        TRY_OR(done, take_step(client, c, &reply));
        *sync = reply.sync;
    }
done:
    arena_destroy(arena);
    return status;
}

/* Are the ps tasks at different steps? *least: the smallest of them. */
static bool is_torn(const struct ps_client *client, uint64_t *least)
{
    bool torn = false;

    *least = client->steps[0];
    for (int ps = 1; ps < client->options.placement->ps_count; ps++) {
        torn |= client->steps[ps] != client->steps[0];
        *least = client->steps[ps] < *least ? client->steps[ps] : *least;
    }
    return torn;
}

struct status client_pull(struct ps_client *client)
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

struct status client_check_values(const struct ps_client *client)
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

/* The gradient bytes of a chunk, in order of ids; neighbours in memory become one run. */
static int gather_gradients(struct ps_client *client, const struct client_chunk *chunk,
                            const float *const *gradients, struct bytes *out)
{
    const struct placement *placement = client->options.placement;
    int count = 0;

    for (int i = chunk->first_piece; i < chunk->end_piece; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != chunk->ps || !placement->variables[piece->variable].trainable)
            continue;
        const char *data = (const char *)gradients[piece->variable] + piece->offset;
        if (count > 0 && out[count - 1].data + out[count - 1].size == data)
            out[count - 1].size += piece->size;
        else
            out[count++] = (struct bytes){ data, piece->size };
    }
    return count;
}

struct status client_push(struct ps_client *client, const float *const *gradients, bool pull)
{
    struct push_request header = { 0 };
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    struct push_reply reply;
    struct bytes *pieces = client->pieces;

    header.sequence = ++client->sequence;
    header.local_step = client->global_step;
    header.pull = pull;
    /* releases the values, so that the ps can update them in place */
    call_group_begin(&client->calls);
    for (int c = 0; c < client->chunks_count; c++) {
        const struct client_chunk *chunk = &client->chunks[c];
        struct ticket ticket = client_ticket(client, chunk->ps);
        header.ticket = &ticket;
        header.first_piece = (uint32_t)chunk->first_piece;
        header.end_piece = wire_end(client, chunk);
        int count = gather_gradients(client, chunk, gradients, pieces);
        struct message request = protocol_attach(pack_push_request(&header), pieces, count);
        client_call_ps(client, chunk->ps, PS_PUSH, &request, until);
        pieces += count;
    }
    /* Watched against a deadlock: a restarted worker may wait for a restarted ps, while this push
     * waits at another ps for that worker. */
    struct call_watch watch = { CLIENT_LOOK_MS, client_look, client };
    TRY(call_group_wait_watched(&client->calls, &watch));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        status_in(unpack_push_reply(&client->calls.replies[0], arena, &reply), "ps 0");
    if (status_is_ok(status))
        client->global_step = reply.global_step;
    arena_destroy(arena);
    return status_is_ok(status) && pull ? take_values(client) : status;
}
