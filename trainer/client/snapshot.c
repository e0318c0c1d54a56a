/* The client's side of ps/snapshots.h: cuts all ps tasks at the same push, and reads the values
 * chunk by chunk. */
#include "trainer/client/snapshot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "trainer/client/client_internal.h"
#include "trainer/optimizers/finite.h"

#define CHUNK_BYTES     ((uint64_t)1 << 20)
#define PUSH_WAIT_MS    5000 /* training stands still until the pushes in flight have arrived */
#define DROP_TIMEOUT_MS 5000
#define MEMORY_WAIT_MS  600000 /* for the chief's other snapshot, if the ps lack memory for both */
#define MEMORY_PAUSE_MS 500

static int ps_count(const struct ps_client *client)
{
    return client->options.placement->ps_count;
}

/* For each worker, the last push applied by the most advanced ps, and the last one applied by
 * the slowest. */
struct worker_bounds {
    struct applied_push applied;
    uint64_t least;
};

struct applied_bounds {
    struct worker_bounds *rows;
    size_t count, capacity;
    /* A synchronous job has no such rows, only the steps of the most advanced ps and of the
     * slowest. */
    uint64_t step, least_step;
    int slowest_ps;
};

static void furthest_add(struct applied_bounds *furthest, const struct applied_push *applied)
{
    for (size_t i = 0; i < furthest->count; i++) {
        struct worker_bounds *row = &furthest->rows[i];
        if (row->applied.worker != applied->worker ||
            row->applied.incarnation != applied->incarnation)
            continue;
        if (applied->sequence > row->applied.sequence)
            row->applied.sequence = applied->sequence;
        if (applied->sequence < row->least)
            row->least = applied->sequence;
        return;
    }
    if (furthest->count == furthest->capacity) {
        furthest->capacity = furthest->capacity * 2 + 16;
        furthest->rows = xrealloc(furthest->rows, furthest->capacity * sizeof *furthest->rows);
    }
    struct worker_bounds *row = &furthest->rows[furthest->count++];
    *row = (struct worker_bounds){ .applied = *applied, .least = applied->sequence };
}

static void furthest_add_step(struct applied_bounds *furthest, int ps, uint64_t step)
{
    if (step > furthest->step)
        furthest->step = step;
    if (ps == 0 || step < furthest->least_step) {
        furthest->least_step = step;
        furthest->slowest_ps = ps;
    }
}

static void furthest_finish(struct applied_bounds *furthest)
{
    free(furthest->rows);
}

/* If a worker died between its pushes to two ps tasks, one snapshot waits for the rest of the
 * push; later ones do not. */
static bool is_given_up(const struct ps_client *client, const struct applied_push *applied)
{
    for (int i = 0; i < CLIENT_GIVEN_UP_MAX; i++) {
        const struct client_push_mark *mark = &client->given_up[i];
        if (mark->incarnation == applied->incarnation && mark->worker == applied->worker &&
            mark->sequence == applied->sequence && mark->generation == client->generation)
            return true;
    }
    return false;
}

static void give_up(struct ps_client *client, const struct applied_bounds *furthest)
{
    for (size_t i = 0; i < furthest->count; i++) {
        const struct worker_bounds *row = &furthest->rows[i];
        if (row->least == row->applied.sequence || is_given_up(client, &row->applied))
            continue;
        client->given_up[client->given_up_count++ % CLIENT_GIVEN_UP_MAX] =
            (struct client_push_mark){ .worker = row->applied.worker,
                                       .incarnation = row->applied.incarnation,
                                       .sequence = row->applied.sequence,
                                       .generation = client->generation };
    }
}

static struct status hold(struct ps_client *client, int64_t deadline_ns, struct arena *arena,
                          struct applied_bounds *furthest)
{
    call_group_begin(&client->calls);
    for (int ps = 0; ps < ps_count(client); ps++) {
        struct hold_request header = { 0 };
        struct ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        header.number = client->snapshots;
        header.second = client->options.second;
        struct message request = pack_hold_request(&header);
        client_call_ps(client, ps, PS_HOLD, &request, deadline_ns);
    }
    TRY(call_group_wait(&client->calls));
    for (int ps = 0; ps < ps_count(client); ps++) {
        struct hold_reply reply;
        TRY(unpack_hold_reply(&client->calls.replies[ps], arena, &reply));
        for (size_t i = 0; i < reply.applied_count; i++)
            furthest_add(furthest, &reply.applied[i]);
        furthest_add_step(furthest, ps, reply.sync ? reply.global_step : 0);
    }
    return status_ok();
}

static void take_cut(const struct cut_reply *reply, int ps, struct client_snapshot *out)
{
    out->ids[ps] = reply->snapshot;
    out->global_step =
        reply->global_step > out->global_step ? reply->global_step : out->global_step;
    for (size_t i = 0; i < reply->scalars_count && i < JOB_SCALARS_MAX; i++)
        if (!isnan(reply->scalars[i])) /* the ps has variables of this optimizer */
            out->scalars[i] = reply->scalars[i];
    if (ps == 0)
        out->loss_scale = reply->loss_scale;
    if (ps > 0 || reply->position_count == 0)
        return;
    free(out->position); /* of an earlier cut that was retried */
    out->position = zalloc(reply->position_count * sizeof *out->position);
    out->position_count = reply->position_count;
    memcpy(out->position, reply->position, reply->position_count * sizeof *out->position);
}

static struct status cut(struct ps_client *client, bool slots, int64_t deadline_ns,
                         struct arena *arena, struct applied_bounds *furthest,
                         struct client_snapshot *out)
{
    struct cut_request header = { 0 };

    struct applied_push *until = ARENA_ARRAY(arena, struct applied_push, furthest->count);
    for (size_t i = 0; i < furthest->count; i++)
        if (!is_given_up(client, &furthest->rows[i].applied))
            until[header.until_count++] = furthest->rows[i].applied;
    header.number = client->snapshots;
    header.until = until;
    header.until_step = furthest->step;
    header.slots = slots;
    header.second = client->options.second;
    call_group_begin(&client->calls);
    for (int ps = 0; ps < ps_count(client); ps++) {
        struct ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        struct message request = pack_cut_request(&header);
        client_call_ps(client, ps, PS_CUT, &request, deadline_ns);
    }
    TRY(call_group_wait(&client->calls));
    for (int ps = 0; ps < ps_count(client); ps++) {
        struct cut_reply reply;
        TRY(unpack_cut_reply(&client->calls.replies[ps], arena, &reply));
        take_cut(&reply, ps, out);
    }
    return status_ok();
}

/* Only some ps tasks have made a synchronous step. The slowest one knows whose push is missing. */
static struct status name_missing(struct ps_client *client, const struct applied_bounds *furthest)
{
    char whom[256];

    client_describe_wait(client, furthest->slowest_ps, whom, sizeof whom);
    return status_error(STATUS_DEADLINE_EXCEEDED,
                        "ps %d is at step %" PRIu64 " and another ps at step %" PRIu64 "%s%s",
                        furthest->slowest_ps, furthest->least_step, furthest->step,
                        *whom != '\0' ? ", waiting for " : "", whom);
}

/* NOT_FOUND: a ps has dropped the snapshot. Before the deadline, a new one is begun. */
static bool is_out_of_time(const struct ps_client *client, struct status status,
                           int64_t deadline_ns)
{
    return status.code == STATUS_DEADLINE_EXCEEDED ||
           (status.code == STATUS_NOT_FOUND && clock_now_ns(client->calls.clock) >= deadline_ns);
}

static struct status hold_and_cut(struct ps_client *client, bool slots, int64_t deadline_ns,
                                  bool wait_for_pushes, struct client_snapshot *out)
{
    struct arena *arena = arena_create(REPLY_ARENA_MAX);
    struct applied_bounds furthest = { 0 };

    /* Derived from the clock, so that a later client of the same process continues the count. */
    int64_t now = clock_now_ns(client->calls.clock);
    client->snapshots = (uint64_t)now > client->snapshots ? (uint64_t)now : client->snapshots + 1;
    out->number = client->snapshots;
    struct status status = hold(client, deadline_ns, arena, &furthest);
    if (!wait_for_pushes)
        furthest.count = 0;
    if (status_is_ok(status))
        status = cut(client, slots, deadline_ns, arena, &furthest, out);
    if (is_out_of_time(client, status, deadline_ns)) {
        give_up(client, &furthest);
        if (furthest.least_step < furthest.step)
            status = name_missing(client, &furthest);
    }
    furthest_finish(&furthest);
    arena_destroy(arena);
    return status;
}

void client_snapshot_select(struct client_snapshot *snapshot, int variable, int part)
{
    message_release(&snapshot->chunk);
    key_values_finish(&snapshot->table);
    snapshot->variable = variable;
    snapshot->part = part;
    snapshot->piece = snapshot->client->options.placement->variables[variable].first_piece;
    snapshot->offset = 0;
}

static struct status source_begin(struct value_source *source, const char *name)
{
    struct client_snapshot *snapshot = (struct client_snapshot *)source;
    const struct placement *placement = snapshot->client->options.placement;

    if (key_values_begin(&snapshot->table, placement, name))
        return status_ok();
    for (int v = 0; v < placement->variables_count; v++)
        if (strcmp(placement->variables[v].name, name) == 0) {
            bool trained = placement->variables[v].trainable;
            client_snapshot_select(snapshot, v, trained ? snapshot->trained_part : 0);
            return status_ok();
        }
    return status_error(STATUS_NOT_FOUND, "the ps tasks hold no variable '%s'", name);
}

/* Reads one chunk and keeps the reply that holds it. */
static struct status read_chunk(struct client_snapshot *snapshot, const struct piece *piece)
{
    struct read_request header = { 0 };
    struct ps_client *client = snapshot->client;

    header.snapshot = snapshot->ids[piece->ps];
    header.piece = (uint32_t)snapshot->piece;
    header.offset = snapshot->offset;
    header.size = CHUNK_BYTES;
    header.part = (uint32_t)snapshot->part;
    struct message request = pack_read_request(&header);
    TRY(client_call_single(client, piece->ps, PS_READ, &request, &snapshot->chunk));
    size_t sent = message_payload_size(&snapshot->chunk), rest = piece->size - snapshot->offset;
    if (snapshot->chunk.pieces_count != 1 || sent == 0 || sent > rest)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of piece %d, which has %zu more",
                            piece->ps, sent, snapshot->piece, rest);
    return status_ok();
}

struct status client_snapshot_read_keys(struct client_snapshot *snapshot, int variable,
                                        uint32_t shard, enum key_part part, struct bytes *out)
{
    struct ps_client *client = snapshot->client;
    const struct placement *placement = client->options.placement;
    const struct placed_variable *row = &placement->variables[variable];
    int ps = (int)(shard % (uint32_t)placement->ps_count);
    struct read_request header = { .snapshot = snapshot->ids[ps],
                                   .piece = (uint32_t)(row->first_piece + ps),
                                   .part = (uint32_t)part,
                                   .shard = shard };

    message_release(&snapshot->chunk);
    struct message request = pack_read_request(&header);
    TRY(status_in(client_call_single(client, ps, PS_READ, &request, &snapshot->chunk),
                  "variable '%s'", row->name));
    *out = snapshot->chunk.pieces_count > 0 ? snapshot->chunk.pieces[0] : (struct bytes){ "", 0 };
    size_t each = part < KEY_PART_KEYS ? placement_row_bytes(row) : sizeof(int64_t);
    if (snapshot->chunk.pieces_count > 1 || out->size % each != 0)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of '%s', in elements of %zu", ps,
                            out->size, row->name, each);
    return part == KEY_PART_VALUES ? finite_check(row->name, *out) : status_ok();
}

static struct status read_table(void *context, int variable, uint32_t shard, enum key_part part,
                                struct bytes *out)
{
    return client_snapshot_read_keys(context, variable, shard, part, out);
}

static struct key_reader reader_of(struct client_snapshot *snapshot)
{
    return (struct key_reader){ read_table, snapshot, snapshot->client->options.placement };
}

static struct status source_count_rows(struct value_source *source, const char *name, int64_t *rows)
{
    struct client_snapshot *snapshot = (struct client_snapshot *)source;
    const struct key_reader reader = reader_of(snapshot);

    return key_values_count(&snapshot->table, &reader, name, rows);
}

static struct status source_next(struct value_source *source, struct bytes *chunk)
{
    struct client_snapshot *snapshot = (struct client_snapshot *)source;
    const struct placement *placement = snapshot->client->options.placement;
    const struct key_reader reader = reader_of(snapshot);

    if (snapshot->table.is_open)
        return key_values_next(&snapshot->table, &reader, chunk);
    const struct placed_variable *variable = &placement->variables[snapshot->variable];
    int end = variable->first_piece + variable->pieces_count;

    message_release(&snapshot->chunk);
    while (snapshot->piece < end && snapshot->offset >= placement->pieces[snapshot->piece].size) {
        snapshot->piece++;
        snapshot->offset = 0;
    }
    *chunk = (struct bytes){ 0 };
    if (snapshot->piece == end)
        return status_ok();
    TRY(status_in(read_chunk(snapshot, &placement->pieces[snapshot->piece]), "variable '%s'",
                  variable->name));
    *chunk = snapshot->chunk.pieces[0];
    snapshot->offset += chunk->size;
    bool is_value = snapshot->part == 0 || snapshot->part == snapshot->trained_part;
    return is_value && variable->dtype == DT_FLOAT ? finite_check(variable->name, *chunk)
                                                   : status_ok();
}

/* Tells every ps that a snapshot, or the hold before it, is no longer needed. A ps that misses
 * this drops the snapshot with the next one or at its end. Leaves client->values unchanged. */
static void drop(struct client_snapshot *snapshot)
{
    struct ps_client *client = snapshot->client;
    int64_t until = clock_deadline_ns(client->calls.clock, client->options.call_timeout_ms);
    int64_t soon = clock_deadline_ns(client->calls.clock, DROP_TIMEOUT_MS);
    struct call_group calls;

    call_group_init(&calls, client->calls.clock, ps_count(client));
    calls.retry = client_retry(client);
    for (int ps = 0; ps < ps_count(client); ps++) {
        struct drop_request header = { 0 };
        struct ticket ticket = client_ticket(client, ps);
        header.ticket = &ticket;
        header.number = snapshot->number;
        header.second = client->options.second;
        struct message request = pack_drop_request(&header);
        call_group_add(&calls, client->options.channels[ps], PS_DROP, &request,
                       until < soon ? until : soon);
    }
    status_ignore(call_group_wait_all(&calls));
    call_group_finish(&calls);
}

/* A ps drops a snapshot whose caller goes silent (NOT_FOUND). Then another one is begun. */
static struct status take(struct ps_client *client, bool slots, int64_t timeout_ms,
                          bool wait_for_pushes, struct client_snapshot *out)
{
    struct clock *clock = client->calls.clock;
    int64_t deadline_ns = clock_deadline_ns(clock, timeout_ms);
    struct status status;

    do
        status = hold_and_cut(client, slots, deadline_ns, wait_for_pushes, out);
    while (status.code == STATUS_NOT_FOUND && clock_now_ns(clock) < deadline_ns);
    return status;
}

static struct status take_soon(struct ps_client *client, bool slots, int64_t timeout_ms,
                               struct client_snapshot *out)
{
    int64_t wait_ms = timeout_ms >= 0 && timeout_ms < PUSH_WAIT_MS ? timeout_ms : PUSH_WAIT_MS;
    struct status status = take(client, slots, wait_ms, true, out);
    /* A worker died after its asynchronous push had reached only some ps tasks: take the
     * snapshot without the rest. The pushes of a synchronous step must all arrive. */
    if (status.code == STATUS_DEADLINE_EXCEEDED || status.code == STATUS_NOT_FOUND)
        status = take(client, slots, timeout_ms, false, out);
    return status;
}

struct status client_snapshot_begin(struct ps_client *client, bool slots, int64_t timeout_ms,
                                    struct client_snapshot *out)
{
    struct clock *clock = client->calls.clock;
    int64_t until_ns = clock_deadline_ns(clock, MEMORY_WAIT_MS);

    *out = (struct client_snapshot){ .source = { source_begin, source_next, source_count_rows },
                                     .client = client };
    out->ids = zalloc((size_t)ps_count(client) * sizeof *out->ids);
    struct status status = take_soon(client, slots, timeout_ms, out);
    while (status.code == STATUS_RESOURCE_EXHAUSTED && clock_now_ns(clock) < until_ns) {
        drop(out); /* of the ps tasks that have taken it */
        clock_sleep(clock, MEMORY_PAUSE_MS);
        status = take_soon(client, slots, timeout_ms, out);
    }
    if (status_is_ok(status))
        return status;
    struct status held = status_hold(status);
    client_snapshot_end(out);
    return status_in(status_resume(held), "snapshot");
}

void client_snapshot_end(struct client_snapshot *snapshot)
{
    message_release(&snapshot->chunk);
    key_values_finish(&snapshot->table);
    drop(snapshot);
    free(snapshot->ids);
    free(snapshot->position);
    snapshot->ids = snapshot->position = NULL;
}
