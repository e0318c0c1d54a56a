/* The chief's side of ps/generation.c and ps/fill.c: a generation of the job begins on all ps
 * tasks. */
#include <stdlib.h>

#include "trainer/client/internal.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Each call, which carries one chunk, has the whole timeout. */
static void call_ps(struct ps_client *client, int ps, const char *path, struct message *request)
{
    client_call_ps(client, ps, path, request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
}

_Static_assert(PIECE_FLOAT == DT_FLOAT, "training.proto has TensorFlow's DataType");

static void list_pieces(const struct ps_client *client, int ps, struct create_request *header,
                        struct arena *arena)
{
    const struct placement *placement = client->options.placement;
    struct created_piece *rows = ARENA_ARRAY(arena, struct created_piece, placement->pieces_count);
    int before = -2;

    header->pieces = rows;
    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        const struct placed_variable *variable = &placement->variables[piece->variable];
        if (piece->ps != ps)
            continue;
        rows[header->pieces_count++] = (struct created_piece){
            .id = (uint32_t)i,
            .size_bytes = piece->size,
            .trainable = variable->trainable,
            .row_bytes = variable->by_rows ? placement_row_bytes(variable) : 0,
            .dtype = (uint32_t)variable->dtype,
            .continues = before == i - 1 && placement->pieces[before].variable == piece->variable,
        };
        before = i;
    }
}

static void describe_job(const struct client_job *job, struct create_request *header,
                         struct arena *arena)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer);
    struct created_setting *settings =
        ARENA_ARRAY(arena, struct created_setting, job->settings_count);

    header->optimizer = job->optimizer;
    header->learning_rate = job->learning_rate;
    header->schedule = job->schedule.kind != NULL ? job->schedule.kind->name : "";
    header->schedule_values = job->schedule.values;
    header->schedule_values_count = (size_t)job->schedule.values_count;
    header->workers = job->workers;
    header->sync = job->sync;
    header->global_step = job->global_step;
    header->stop_step = job->stop_step;
    header->settings = settings;
    header->settings_count = (size_t)job->settings_count;
    for (int i = 0; i < job->settings_count; i++)
        settings[i] = (struct created_setting){ job->settings[i].name, job->settings[i].value };
    if (job->scalars != NULL && optimizer != NULL) {
        header->scalars = job->scalars;
        header->scalars_count = (size_t)optimizer->scalars_count;
    }
}

/* Can a worker's process end when its push has reached only some of the ps tasks? */
static bool may_tear(const struct ps_client *client, const struct client_job *job)
{
    return job->sync && client->options.placement->ps_count > 1 && *client->options.ps_list != '\0';
}

static struct status create(struct ps_client *client, const struct client_job *job,
                            uint64_t generation, struct arena *arena)
{
    call_group_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        struct create_request header = { 0 };
        struct identity identity = client_identity(&client->options, ps);
        header.identity = &identity;
        header.generation = generation;
        header.keep_before = may_tear(client, job);
        describe_job(job, &header, arena);
        list_pieces(client, ps, &header, arena);
        struct message request = pack_create_request(&header);
        call_ps(client, ps, PS_CREATE, &request);
    }
    return call_group_wait(&client->calls);
}

/* Sends one part of one variable in chunks, as many at a time as there are ps tasks. */
struct filling {
    struct ps_client *client;
    uint64_t generation;
    int part;
    struct bytes chunks[1]; /* [ps_count]: those in flight */
};

static void send_chunk(struct filling *filling, int piece, size_t offset, struct bytes data)
{
    struct write_request header = { 0 };
    struct ps_client *client = filling->client;
    struct bytes *chunk = &filling->chunks[client->calls.count];

    header.generation = filling->generation;
    header.incarnation = client->options.incarnation;
    header.piece = (uint32_t)piece;
    header.part = (uint32_t)filling->part;
    header.offset = offset;
    *chunk = data;
    struct message request = protocol_attach(pack_write_request(&header), chunk, 1);
    call_ps(client, client->options.placement->pieces[piece].ps, PS_WRITE, &request);
}

static struct status fill(struct filling *filling, int variable, struct bytes data)
{
    struct ps_client *client = filling->client;
    const struct placement *placement = client->options.placement;
    const struct placed_variable *row = &placement->variables[variable];

    call_group_begin(&client->calls);
    for (int i = row->first_piece; i < row->first_piece + row->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        for (size_t offset = 0; offset < piece->size; offset += CHUNK_BYTES) {
            size_t rest = piece->size - offset;
            struct bytes chunk = { data.data + piece->offset + offset,
                                   rest < CHUNK_BYTES ? rest : CHUNK_BYTES };
            /* Chunks of the same piece go one after the other: a ps accepts no gap. */
            if (client->calls.count == placement->ps_count || offset > 0) {
                TRY(call_group_wait(&client->calls));
                call_group_begin(&client->calls);
            }
            send_chunk(filling, i, offset, chunk);
        }
    }
    return call_group_wait(&client->calls);
}

static struct status fill_all(struct ps_client *client, const struct client_job *job,
                              uint64_t generation, struct client_state *state)
{
    const struct placement *placement = client->options.placement;
    const struct optimizer *optimizer = optimizer_find(job->optimizer);
    struct filling *filling =
        zalloc(sizeof *filling + (size_t)placement->ps_count * sizeof filling->chunks[0]);
    struct status status = status_ok();

    filling->client = client;
    filling->generation = generation;
    for (int v = 0; v < placement->variables_count; v++) {
        int parts = 1 + (placement->variables[v].trainable ? optimizer->slots_count : 0);
        for (filling->part = 0; filling->part < parts; filling->part++) {
            struct bytes data = { 0 };
            TRY_OR(done, state->get(state, v, filling->part, &data));
            if (data.data != NULL)
                TRY_OR(done, fill(filling, v, data));
        }
    }
done:
    free(filling);
    return status;
}

static struct status open_all(struct ps_client *client, uint64_t generation)
{
    call_group_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        struct open_request header = { 0 };
        header.generation = generation;
        header.incarnation = client->options.incarnation;
        struct message request = pack_open_request(&header);
        call_ps(client, ps, PS_OPEN, &request);
    }
    return call_group_wait(&client->calls);
}

struct status client_begin(struct ps_client *client, const struct client_job *job,
                           struct client_state *state)
{
    uint64_t generation = ++client->generation_seen;
    struct arena *arena = arena_create(0);

    struct status status = create(client, job, generation, arena);
    arena_destroy(arena);
    TRY(status);
    TRY(fill_all(client, job, generation, state));
    TRY(open_all(client, generation));
    client->generation = generation;
    client->sequence = 0;
    client->open = true;
    client->global_step = client->begin_step = job->global_step;
    return status_ok();
}

/* ---- First values that are in memory. ---- */

struct memory_state {
    struct client_state state; /* first */
    const struct placement *placement;
    const void *const *values;
};

static struct status memory_get(struct client_state *state, int variable, int part,
                                struct bytes *out)
{
    const struct memory_state *memory = (struct memory_state *)state;
    const struct placed_variable *row = &memory->placement->variables[variable];

    if (part == 0)
        *out = (struct bytes){ memory->values[variable],
                               (size_t)shape_size(&row->shape) * dtype_size(row->dtype) };
    return status_ok();
}

struct status client_create(struct ps_client *client, const struct client_job *job,
                            const void *const *values)
{
    struct memory_state memory = { { memory_get }, client->options.placement, values };

    return client_begin(client, job, &memory.state);
}
