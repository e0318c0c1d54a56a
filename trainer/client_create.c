/* The chief's side of ps_create.c and ps_fill.c: a generation of the job begins on all ps tasks. */
#include <stdlib.h>

#include "trainer/client_internal.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Each call has a whole time of its own: a chunk at a time. */
static void call_ps(struct client *client, int ps, const char *path, struct message *request)
{
    client_call_ps(client, ps, path, request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
}

static void list_pieces(const struct client *client, int ps,
                        Slipway__Training__CreateRequest *header, struct arena *arena)
{
    const struct placement *placement = client->options.placement;
    int before = -2;

    header->pieces = ARENA_ARRAY(arena, Slipway__Training__Piece *, placement->pieces_count);
    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != ps)
            continue;
        Slipway__Training__Piece *row = ARENA_NEW(arena, Slipway__Training__Piece);
        *row = (Slipway__Training__Piece)SLIPWAY__TRAINING__PIECE__INIT;
        row->id = (uint32_t)i;
        row->size_bytes = piece->size;
        row->trainable = placement->variables[piece->variable].trainable;
        row->continues = before == i - 1 && placement->pieces[before].variable == piece->variable;
        header->pieces[header->n_pieces++] = row;
        before = i;
    }
}

static void describe_job(const struct client_job *job, struct arena *arena,
                         Slipway__Training__CreateRequest *header)
{
    const struct optimizer *optimizer = optimizer_find(job->optimizer);

    header->optimizer = (char *)(uintptr_t)job->optimizer;
    header->learning_rate = job->learning_rate;
    header->workers = job->workers;
    header->sync = job->sync;
    header->global_step = job->global_step;
    header->stop_step = job->stop_step;
    header->n_settings = (size_t)job->settings_count;
    header->settings = ARENA_ARRAY(arena, Slipway__Training__Setting *, job->settings_count);
    for (int i = 0; i < job->settings_count; i++) {
        header->settings[i] = ARENA_NEW(arena, Slipway__Training__Setting);
        *header->settings[i] = (Slipway__Training__Setting)SLIPWAY__TRAINING__SETTING__INIT;
        header->settings[i]->name = (char *)(uintptr_t)job->settings[i].name;
        header->settings[i]->value = job->settings[i].value;
    }
    if (job->scalars != NULL && optimizer != NULL) {
        header->scalars = (float *)(uintptr_t)job->scalars;
        header->n_scalars = (size_t)optimizer->scalars_count;
    }
}

/* Can a worker's process end when its push has reached some ps tasks only? */
static bool may_tear(const struct client *client, const struct client_job *job)
{
    return job->sync && client->options.placement->ps_count > 1 && *client->options.ps_list != '\0';
}

static struct status create(struct client *client, const struct client_job *job,
                            uint64_t generation, struct arena *arena)
{
    calls_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__CreateRequest header = SLIPWAY__TRAINING__CREATE_REQUEST__INIT;
        Slipway__Training__Identity identity = client_identity(&client->options, ps);
        header.identity = &identity;
        header.generation = generation;
        header.keep_before = may_tear(client, job);
        describe_job(job, arena, &header);
        list_pieces(client, ps, &header, arena);
        struct message request = protocol_pack(&header);
        call_ps(client, ps, PS_CREATE, &request);
    }
    return calls_wait(&client->calls);
}

/* One part of one variable, in chunks: as many at once as there are ps tasks. */
struct filling {
    struct client *client;
    uint64_t generation;
    int part;
    struct bytes chunks[1]; /* [ps_count]: those in flight */
};

static void send_chunk(struct filling *filling, int piece, size_t offset, struct bytes data)
{
    Slipway__Training__WriteRequest header = SLIPWAY__TRAINING__WRITE_REQUEST__INIT;
    struct client *client = filling->client;
    struct bytes *chunk = &filling->chunks[client->calls.count];

    header.generation = filling->generation;
    header.incarnation = client->options.incarnation;
    header.piece = (uint32_t)piece;
    header.part = (uint32_t)filling->part;
    header.offset = offset;
    *chunk = data;
    struct message request = protocol_pack_pieces(&header, chunk, 1);
    call_ps(client, client->options.placement->pieces[piece].ps, PS_WRITE, &request);
}

static struct status fill(struct filling *filling, int variable, struct bytes data)
{
    struct client *client = filling->client;
    const struct placement *placement = client->options.placement;
    const struct placed_variable *row = &placement->variables[variable];

    calls_begin(&client->calls);
    for (int i = row->first_piece; i < row->first_piece + row->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        for (size_t offset = 0; offset < piece->size; offset += CHUNK_BYTES) {
            size_t rest = piece->size - offset;
            struct bytes chunk = { data.data + piece->offset + offset,
                                   rest < CHUNK_BYTES ? rest : CHUNK_BYTES };
            /* Chunks of one piece one after the other: a ps takes no gap. */
            if (client->calls.count == placement->ps_count || offset > 0) {
                TRY(calls_wait(&client->calls));
                calls_begin(&client->calls);
            }
            send_chunk(filling, i, offset, chunk);
        }
    }
    return calls_wait(&client->calls);
}

static struct status fill_all(struct client *client, const struct client_job *job,
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

static struct status open_all(struct client *client, uint64_t generation)
{
    calls_begin(&client->calls);
    for (int ps = 0; ps < client->options.placement->ps_count; ps++) {
        Slipway__Training__OpenRequest header = SLIPWAY__TRAINING__OPEN_REQUEST__INIT;
        header.generation = generation;
        header.incarnation = client->options.incarnation;
        struct message request = protocol_pack(&header);
        call_ps(client, ps, PS_OPEN, &request);
    }
    return calls_wait(&client->calls);
}

struct status client_begin(struct client *client, const struct client_job *job,
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

struct status client_create(struct client *client, const struct client_job *job,
                            const void *const *values)
{
    struct memory_state memory = { { memory_get }, client->options.placement, values };

    return client_begin(client, job, &memory.state);
}
