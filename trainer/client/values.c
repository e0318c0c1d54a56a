/* Pulls values and pushes gradients. */
#include "trainer/client/client_internal.h"
#include "trainer/optimizers/finite.h"

#include <stdlib.h>

/* `end_piece` in a request: 0 if the chunk extends to the last piece. */
static uint32_t wire_end(const struct ps_client *client, const struct client_chunk *chunk)
{
    bool last = chunk->end_piece == client->options.placement->pieces_count;

    return last ? 0 : (uint32_t)chunk->end_piece;
}

/* Extends the run [run, run + run_size) by the next piece of a variable. NULL: the piece is not
 * contiguous with it. */
static const char *extend_run(const char *run, size_t run_size, const char *data)
{
    return run != NULL && run + run_size == data ? run : NULL;
}

static struct status check_values_size(const struct ps_client *client, int chunk)
{
    size_t got = message_payload_size(&client->calls.replies[chunk]);
    size_t wanted = client->chunks[chunk].reply_bytes;

    if (got != wanted)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of values, asked for %zu",
                            client->chunks[chunk].ps, got, wanted);
    return status_ok();
}

static size_t values_bytes(const struct ps_client *client, int v)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[v];
    size_t bytes = 0;

    if (!placed_variable_is_sparse(variable))
        return (size_t)shape_size(&variable->shape) * dtype_size(variable->dtype);
    for (int i = variable->first_piece; i < variable->first_piece + variable->pieces_count; i++)
        bytes += client_reply_bytes(client, &placement->pieces[i]);
    return bytes;
}

/* A buffer of the client for all values of variable v. */
static char *assembly_of(struct ps_client *client, int v)
{
    size_t size = values_bytes(client, v);

    if (client->assembled_bytes[v] < size) {
        free(client->assembled[v]);
        client->assembled[v] = zalloc(size);
        client->assembled_bytes[v] = size;
    }
    return client->assembled[v];
}

/* Sorts the rows of a variable by keys, which come from several ps tasks, into the order of the
 * keys. */
static void take_keys(struct ps_client *client, int v)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[v];
    char *out = assembly_of(client, v);

    for (int i = variable->first_piece; i < variable->first_piece + variable->pieces_count; i++)
        client_keys_scatter(client, &placement->pieces[i], &client->payloads[client->chunk_of[i]],
                            out);
    client->values[v] = out != NULL ? out : "";
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
        size_t size = client_reply_bytes(client, piece);
        if (size == 0)
            continue;
        const char *data = payload_borrow(payload, size);
        const char *longer = total == 0 ? data : data != NULL ? extend_run(run, total, data) : NULL;
        /* not contiguous: copy the run and all that follows into the buffer */
        if (longer == NULL) {
            char *to = assembly_of(client, v);
            if (run != NULL && run != to)
                memcpy(to, run, total);
            if (data != NULL)
                memcpy(to + total, data, size);
            else
                payload_copy(payload, to + total, size);
            longer = to;
        }
        run = longer;
        total += size;
    }
    client->values[v] = run != NULL ? run : "";
}

static struct status take_values(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;

    for (int c = 0; c < client->chunks_count; c++) {
        TRY(check_values_size(client, c));
        client->payloads[c] = (struct payload_cursor){ .message = &client->calls.replies[c] };
    }
    for (int v = 0; v < placement->variables_count; v++)
        if (placement->variables[v].by_keys && placement->ps_count > 1)
            take_keys(client, v);
        else
            take_variable(client, v);
    return status_ok();
}

static void call_pull(struct ps_client *client, int c, uint64_t later_than, int64_t until)
{
    const struct client_chunk *chunk = &client->chunks[c];
    struct pull_request header = { 0 };
    struct ticket ticket = client_ticket(client, chunk->ps);

    header.ticket = &ticket;
    header.before = client->steps[chunk->ps] > later_than;
    header.first_piece = (uint32_t)chunk->first_piece;
    header.end_piece = wire_end(client, chunk);
    header.rows = client_list_wanted(client, c);
    header.keys = client_list_wanted_keys(client, c);
    header.evaluated = client->evaluates;
    struct message request = pack_pull_request(&header);
    if (client_list_bytes(client, c).size > 0) {
        client->pieces[c] = client_list_bytes(client, c);
        request = protocol_attach(request, &client->pieces[c], 1);
    }
    client_call_ps(client, chunk->ps, PS_PULL, &request, until);
}

/* state: from the reply of ps 0, which keeps the loss scale. */
static void take_scale(struct ps_client *client, const struct loss_scale *state)
{
    client->scaling.scale = state->scale;
    client->scaling.skipped = state->skipped;
}

/* In a synchronous job, the chunks of a ps are of one step. A training task cannot see a step
 * between two chunks, because a step needs its push; another task can. With backup workers (`sync`
 * is false), no worker is needed: the values may be of several steps, of which the earliest one
 * counts. */
static struct status take_step(struct ps_client *client, int c, const struct pull_reply *reply)
{
    int ps = client->chunks[c].ps;
    bool first = c == 0 || client->chunks[c - 1].ps != ps;

    if (c == 0)
        take_scale(client, &reply->loss_scale);
    if (!first && reply->sync && reply->global_step != client->steps[ps])
        return status_error(STATUS_ABORTED,
                            "ps %d made a step between two chunks of its values: pull again", ps);
    if (first || !client->spare || reply->global_step < client->steps[ps])
        client->steps[ps] = reply->global_step;
    return status_ok();
}

/* Pulls, and sets client->steps. A ps whose step is beyond `later_than` is asked for the values
 * before its last step. */
static struct status pull_once(struct ps_client *client, uint64_t later_than, bool *sync)
{
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status;

    TRY_OR(done, client_rows_begin(client, true, NULL));
    call_group_begin(&client->calls);
    for (int c = 0; c < client->chunks_count; c++)
        call_pull(client, c, later_than, until);
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

/* With backup workers, the values may be of several steps, and the earliest one counts: a ps that
 * has not made it waits for pushes to it. */
static struct status pull_step(struct ps_client *client)
{
    uint64_t least;
    bool sync = false;

    TRY(pull_once(client, UINT64_MAX, &sync));
    client->torn = is_torn(client, &least) && sync;
    if (client->torn) {
        TRY(pull_once(client, least, &sync));
        if (is_torn(client, &least))
            return status_error(STATUS_ABORTED, "the ps tasks are at no common step");
    }
    client->global_step = client->spare ? least : client->steps[0];
    return take_values(client);
}

struct status client_pull(struct ps_client *client)
{
    struct status status = pull_step(client);

    client_hold_wanted(client);
    return status;
}

struct status client_pull_again(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;

    for (int v = 0; v < placement->variables_count; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            client_select_rows(client, v, client->rows.held[v]);
    return client_pull(client);
}

struct status client_check_values(const struct ps_client *client)
{
    const struct placement *placement = client->options.placement;

    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *row = &placement->variables[v];
        struct bytes values = { client->values[v], values_bytes(client, v) };
        if (row->dtype == DT_FLOAT)
            TRY(finite_check(row->name, values));
    }
    return status_ok();
}

/* The gradient of a piece: all of it, or the pushed rows. */
static struct bytes gradient_of(const struct ps_client *client, const struct piece *piece,
                                const struct variable_gradient *gradients)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[piece->variable];
    const char *data = (const char *)gradients[piece->variable].values;

    if (variable->by_keys)
        return client_keys_gradient(client, piece, &gradients[piece->variable]);
    if (!variable->by_rows)
        return (struct bytes){ data + piece->offset, piece->size };
    const struct piece_rows *rows = &client->rows.pushed[piece - placement->pieces];
    if (rows->count == 0)
        return (struct bytes){ 0 };
    size_t row_bytes = placement_row_bytes(variable);
    return (struct bytes){ data + rows->first * row_bytes, rows->count * row_bytes };
}

/* The gradient bytes of a chunk, in order of ids; contiguous neighbours become one run. */
static int gather_gradients(struct ps_client *client, const struct client_chunk *chunk,
                            const struct variable_gradient *gradients, struct bytes *out)
{
    const struct placement *placement = client->options.placement;
    int count = 0;

    for (int i = chunk->first_piece; i < chunk->end_piece; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != chunk->ps ||
            !placed_variable_is_pushed(&placement->variables[piece->variable]))
            continue;
        struct bytes gradient = gradient_of(client, piece, gradients);
        if (count > 0 && out[count - 1].data + out[count - 1].size == gradient.data)
            out[count - 1].size += gradient.size;
        else if (gradient.size > 0)
            out[count++] = gradient;
    }
    return count;
}

/* Sends a chunk of a push. Its payload is kept in `pieces`. Returns the number of pieces. */
static int call_push(struct ps_client *client, int c, struct push_request *header,
                     const struct variable_gradient *gradients, struct bytes *pieces, int64_t until)
{
    const struct client_chunk *chunk = &client->chunks[c];
    struct ticket ticket = client_ticket(client, chunk->ps);
    int count = gather_gradients(client, chunk, gradients, pieces);

    header->ticket = &ticket;
    header->turn = chunk->ps == 0 ? client_pushed_turn(client->shares) : 0;
    bool first = chunk->ps == 0 && chunk->first_piece == 0;
    header->totals = first ? client->totals : NULL;
    header->totals_count = first ? client->totals_count : 0;
    header->first_piece = (uint32_t)chunk->first_piece;
    header->end_piece = wire_end(client, chunk);
    header->rows = client_list_pushed(client, c, gradients);
    header->keys = client_list_pushed_keys(client, c);
    header->pull_rows = header->pull ? client_list_wanted(client, c) : 0;
    header->pull_keys =
        header->pull ? client_list_wanted_keys(client, c) : (struct key_counts){ 0 };
    header->ids_bytes = 0;
    if (client_list_bytes(client, c).size > 0) {
        pieces[count] = client_list_bytes(client, c);
        header->ids_bytes = pieces[count++].size;
    }
    struct message request = protocol_attach(pack_push_request(header), pieces, count);
    client_call_ps(client, chunk->ps, PS_PUSH, &request, until);
    return count;
}

/* Sends the chunks from the group's count on, up to those of ps `end_ps`, and waits for all
 * replies. *pieces: room for their payloads, and for those of the following ones. */
static struct status push_until(struct ps_client *client, int end_ps, struct push_request *header,
                                const struct variable_gradient *gradients, struct bytes **pieces,
                                int64_t until)
{
    /* Polled to avoid a deadlock: a restarted worker may wait for a restarted ps, while this
     * push waits at another ps for that worker. */
    const struct call_watch watch = { CLIENT_LOOK_MS, client_check_generation, client };

    for (int c = client->calls.count; c < client->chunks_count && client->chunks[c].ps < end_ps;
         c++)
        *pieces += call_push(client, c, header, gradients, *pieces, until);
    return call_group_wait_watched(&client->calls, &watch);
}

static struct status read_push_reply(const struct ps_client *client, int c, struct push_reply *out)
{
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status = status_in(unpack_push_reply(&client->calls.replies[c], arena, out),
                                     "ps %d", client->chunks[c].ps);

    arena_destroy(arena);
    return status;
}

/* In a job with backup workers, the ps tasks may be at different steps. The push of a worker that
 * died may have made a step on some of them, so that the others wait for another push to it:
 * continues with the earliest step. */
static struct status take_least_step(struct ps_client *client)
{
    struct push_reply reply;

    for (int c = 1; c < client->chunks_count; c++) {
        if (client->chunks[c].ps == client->chunks[c - 1].ps)
            continue;
        TRY(read_push_reply(client, c, &reply));
        if (reply.global_step < client->global_step)
            client->global_step = reply.global_step;
    }
    return status_ok();
}

static struct status push(struct ps_client *client, const struct variable_gradient *gradients,
                          bool pull)
{
    struct push_request header = { 0 };
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    int ps_count = client->options.placement->ps_count;
    /* what to skip: see trainer/ps/loss_scaling.h */
    bool ps_0_decides = client->spare && client->scaling.scale > 0;
    struct push_reply reply;
    struct bytes *pieces = client->pieces;

    TRY(client_rows_begin(client, pull, gradients));
    TRY(client_keep_turn(client));
    header.sequence = ++client->sequence;
    header.local_step = client->global_step;
    header.pull = pull;
    header.overflowed = client->scaling.overflowed ? client->scaling.scale : 0;
    /* releases the values, so that the ps can update them in place */
    call_group_begin(&client->calls);
    TRY(push_until(client, ps_0_decides ? 1 : ps_count, &header, gradients, &pieces, until));
    TRY(read_push_reply(client, 0, &reply));
    /* Its gradients have overflowed, and ps 0 has made the step without them. The other ps tasks do
     * not skip that step, and must not apply them. */
    bool is_useless = ps_0_decides && header.overflowed > 0 && reply.overflowed == 0;
    if (ps_0_decides && !is_useless) {
        header.overflowed = reply.overflowed;
        TRY(push_until(client, ps_count, &header, gradients, &pieces, until));
    }
    client_clear_totals(client);
    client->scaling.overflowed = false;
    client->replied_ns = clock_now_ns(client->calls.clock);
    client_turn_was_pushed(client->shares);
    client->global_step = reply.global_step;
    client->stop_step = reply.stop_step;
    take_scale(client, &reply.loss_scale);
    if (is_useless)
        return pull_step(client);
    if (client->spare)
        TRY(take_least_step(client));
    return pull ? take_values(client) : status_ok();
}

struct status client_push(struct ps_client *client, const struct variable_gradient *gradients,
                          bool pull)
{
    struct status status = push(client, gradients, pull);

    if (pull)
        client_hold_wanted(client);
    return status;
}

bool client_needs_pass(const struct ps_client *client)
{
    return client->lead_is_limited && client->sequence + 1 > client->pass_until;
}

struct status client_pass(struct ps_client *client)
{
    struct ticket ticket = client_ticket(client, 0);
    const struct pass_request header = { &ticket, client->sequence };
    struct pass_reply reply;

    call_group_begin(&client->calls);
    struct message request = pack_pass_request(&header);
    client_call_ps(client, 0, PS_PASS, &request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
    struct call_watch watch = { CLIENT_LOOK_MS, client_check_generation, client };
    TRY(call_group_wait_watched(&client->calls, &watch));
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct status status =
        status_in(unpack_pass_reply(&client->calls.replies[0], arena, &reply), "ps 0");
    if (status_is_ok(status))
        client->pass_until = reply.until;
    arena_destroy(arena);
    return status;
}
