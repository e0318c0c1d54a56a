/* The chief's side of ps/generation.c and ps/fill.c: begins a generation of the job on all ps
 * tasks. */
#include "trainer/client/create.h"

#include <math.h>
#include <stdlib.h>

#include "trainer/client/client_internal.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Each call carries one chunk and has the whole timeout. */
static void call_ps(struct ps_client *client, int ps, const char *path, struct message *request)
{
    client_call_ps(client, ps, path, request,
                   client_deadline_ns(client, client->options.call_timeout_ms));
}

_Static_assert(PIECE_FLOAT == DT_FLOAT, "training.proto has TensorFlow's DataType");

static const struct created_keys *describe_keys(const struct placed_variable *variable,
                                                int ps_count, struct arena *arena)
{
    struct created_keys *keys = ARENA_ARRAY(arena, struct created_keys, 1);

    *keys = (struct created_keys){ .ps_count = (uint32_t)ps_count, .spec = variable->keys };
    return keys;
}

/* Each batch of a step moves a moving average (trainer/job/accumulate.h). */
static double momentum_of_step(const struct placed_variable *variable, uint32_t batches)
{
    return batches > 1 ? pow(variable->momentum, batches) : variable->momentum;
}

static void list_pieces(const struct ps_client *client, int ps, const struct client_job *job,
                        struct create_request *header, struct arena *arena)
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
            .row_bytes = placed_variable_is_sparse(variable) ? placement_row_bytes(variable) : 0,
            .keys = variable->by_keys ? describe_keys(variable, placement->ps_count, arena) : NULL,
            .dtype = (uint32_t)variable->dtype,
            .averaged = variable->averaged,
            .momentum = momentum_of_step(variable, header->batches_per_step),
            .constraint = variable->constraint,
            .power_iterations = variable->power_iterations,
            .shape = placement_piece_shape(placement, i),
            .optimizer = (uint32_t)client_job_number(job, piece->variable),
            .continues = before == i - 1 && placement->pieces[before].variable == piece->variable,
        };
        before = i;
    }
}

struct optimizer_choice client_job_optimizer(const struct client_job *job, int number)
{
    if (number > 0)
        return job->others[number - 1];
    return (struct optimizer_choice){ .name = job->optimizer,
                                      .learning_rate = job->learning_rate,
                                      .settings = job->settings,
                                      .settings_count = job->settings_count,
                                      .all_rows = job->all_rows };
}

/* The number of scalars of all optimizers of the job. */
static size_t count_scalars(const struct client_job *job)
{
    size_t count = 0;

    for (int i = 0; i <= job->others_count; i++) {
        const struct optimizer *optimizer = optimizer_find(client_job_optimizer(job, i).name);
        count += optimizer != NULL ? (size_t)optimizer->scalars_count : 0;
    }
    return count;
}

static void print_optimizer(const struct optimizer_choice *choice, struct buffer *out)
{
    buffer_printf(out, "%s%s", out->size > 0 ? ", " : "", choice->name);
    if (choice->rate_ratio > 0)
        buffer_printf(out, " rate_ratio=%g", (double)choice->rate_ratio);
    else
        buffer_printf(out, " learning_rate=%g", (double)choice->learning_rate);
    for (int i = 0; i < choice->settings_count; i++)
        buffer_printf(out, " %s=%g", choice->settings[i].name, (double)choice->settings[i].value);
}

const char *client_job_text(const struct client_job *job, struct arena *arena)
{
    const struct schedule *schedule = &job->schedule;
    struct buffer text = { 0 };

    for (int i = 0; i <= job->others_count; i++) {
        const struct optimizer_choice choice = client_job_optimizer(job, i);
        print_optimizer(&choice, &text);
    }
    if (schedule->kind != NULL)
        buffer_printf(&text, ", %s", schedule->kind->name);
    for (int i = 0; schedule->kind != NULL && i < schedule->values_count; i++)
        buffer_printf(&text, " %g", schedule->values[i]);
    buffer_append_char(&text, '\0');
    const char *kept = arena_strdup(arena, text.data);
    buffer_finish(&text);
    return kept;
}

static void describe_job(const struct client_job *job, struct create_request *header)
{
    header->optimizer = job->optimizer;
    header->learning_rate = job->learning_rate;
    header->schedule = job->schedule.kind != NULL ? job->schedule.kind->name : "";
    header->schedule_values = job->schedule.values;
    header->schedule_values_count = (size_t)job->schedule.values_count;
    header->workers = job->workers;
    header->backup_workers = job->backup_workers;
    header->lead_max = job->lead_max;
    header->batches_per_step = job->batches_per_step;
    header->sync = job->sync;
    header->all_rows = job->all_rows;
    header->global_step = job->global_step;
    header->stop_step = job->stop_step;
    header->settings = job->settings;
    header->settings_count = (size_t)job->settings_count;
    header->loss_scale = job->loss_scale;
    header->others = job->others;
    header->others_count = (size_t)job->others_count;
    if (job->scalars != NULL) {
        header->scalars = job->scalars;
        header->scalars_count = count_scalars(job);
    }
}

static void describe_rows(const struct client_job *job, struct create_request *header)
{
    header->turns_per_share = job->turns_per_share;
    header->totals_count = job->totals_count;
    header->place = job->place;
    header->position = job->position;
    header->position_count = job->position_count;
}

/* Can a worker's process end after its push has reached only some of the ps tasks? */
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
        describe_job(job, &header);
        header.trains = client_job_text(job, arena);
        list_pieces(client, ps, job, &header, arena);
        if (ps == 0)
            describe_rows(job, &header);
        struct message request = pack_create_request(&header);
        call_ps(client, ps, PS_CREATE, &request);
    }
    return call_group_wait(&client->calls);
}

/* Sends one part of one variable in chunks, as many at a time as there are ps tasks. */
struct variable_upload {
    struct ps_client *client;
    struct client_state *state;
    uint64_t generation;
    int part;
    struct bytes rest;      /* bytes that the state returned and that are not in a chunk yet */
    char *room;             /* [ps_count][CHUNK_BYTES]: the data of the chunks in flight */
    struct bytes chunks[1]; /* [ps_count]: those in flight */
};

static void send_chunk(struct variable_upload *filling, int piece, size_t offset, struct bytes data)
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

/* Takes the next `size` bytes from the state. */
static struct status take_bytes(struct variable_upload *filling,
                                const struct placed_variable *variable, char *out, size_t size)
{
    while (size > 0) {
        if (filling->rest.size == 0)
            TRY(filling->state->next(filling->state, &filling->rest));
        size_t count = filling->rest.size < size ? filling->rest.size : size;
        if (count == 0)
            return status_error(STATUS_DATA_LOSS, "part %d of '%s' ends %zu bytes too early",
                                filling->part, variable->name, size);
        memcpy(out, filling->rest.data, count);
        filling->rest = (struct bytes){ filling->rest.data + count, filling->rest.size - count };
        out += count;
        size -= count;
    }
    return status_ok();
}

static struct status fill(struct variable_upload *filling, int variable)
{
    struct ps_client *client = filling->client;
    const struct placement *placement = client->options.placement;
    const struct placed_variable *row = &placement->variables[variable];

    filling->rest = (struct bytes){ 0 };
    call_group_begin(&client->calls);
    for (int i = row->first_piece; i < row->first_piece + row->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        for (size_t offset = 0; offset < piece->size; offset += CHUNK_BYTES) {
            size_t rest = piece->size - offset;
            /* Chunks of the same piece go one after the other, because a ps accepts no gap. */
            if (client->calls.count == placement->ps_count || offset > 0) {
                TRY(call_group_wait(&client->calls));
                call_group_begin(&client->calls);
            }
            char *room = filling->room + (size_t)client->calls.count * CHUNK_BYTES;
            struct bytes chunk = { room, rest < CHUNK_BYTES ? rest : CHUNK_BYTES };
            TRY(take_bytes(filling, row, room, chunk.size));
            send_chunk(filling, i, offset, chunk);
        }
    }
    return call_group_wait(&client->calls);
}

static struct status fill_part(struct variable_upload *filling, int variable)
{
    struct client_state *state = filling->state;
    struct bytes end;
    bool has = false;

    TRY(state->begin(state, variable, filling->part, &has));
    if (!has)
        return status_ok();
    TRY(fill(filling, variable));
    return state->next(state, &end); /* gives the state a chance to check its data */
}

/* ---- hash tables, shard by shard ---- */

/* Sends keys [first, first + count) of a shard's `parts`; NULL parts are not sent. */
struct keys_chunk {
    int variable;
    uint32_t shard;
    bool waiting;
    size_t first, count;
    struct bytes parts[KEY_PARTS]; /* copies, because `get_keys` returns one part at a time */
};

#define KEYS_CHUNK_PIECES 7 /* keys, used, values and slots */

static struct bytes part_of_chunk(const struct keys_chunk *chunk, enum key_part part,
                                  size_t element_bytes)
{
    return (struct bytes){ chunk->parts[part].data + chunk->first * element_bytes,
                           chunk->count * element_bytes };
}

static struct status send_keys(struct ps_client *client, uint64_t generation,
                               const struct keys_chunk *chunk)
{
    const struct placement *placement = client->options.placement;
    const struct placed_variable *variable = &placement->variables[chunk->variable];
    int ps = (int)(chunk->shard % (uint32_t)placement->ps_count), count = 0;
    struct bytes pieces[KEYS_CHUNK_PIECES];
    struct write_request header = { .generation = generation,
                                    .incarnation = client->options.incarnation,
                                    .piece = (uint32_t)(variable->first_piece + ps),
                                    .keys = chunk->count,
                                    .waiting = chunk->waiting };
    int first = chunk->waiting ? KEY_PART_WAITING_KEYS : KEY_PART_KEYS;

    for (int part = first; part < first + (chunk->waiting ? 3 : 2); part++)
        pieces[count++] = part_of_chunk(chunk, part, sizeof(int64_t));
    for (int part = 0; part < KEY_PART_KEYS && !chunk->waiting; part++)
        if (chunk->parts[part].data != NULL) {
            header.slots |= part > 0 ? 1U << (part - 1) : 0;
            pieces[count++] = part_of_chunk(chunk, part, placement_row_bytes(variable));
        }
    call_group_begin(&client->calls);
    struct message request = protocol_attach(pack_write_request(&header), pieces, count);
    call_ps(client, ps, PS_WRITE, &request);
    return call_group_wait(&client->calls);
}

static struct status send_shard(struct ps_client *client, uint64_t generation,
                                struct keys_chunk *chunk)
{
    const struct placed_variable *variable = &client->options.placement->variables[chunk->variable];
    enum key_part keys = chunk->waiting ? KEY_PART_WAITING_KEYS : KEY_PART_KEYS;
    size_t total = chunk->parts[keys].size / sizeof(int64_t);
    size_t most = CHUNK_BYTES / (placement_row_bytes(variable) + 2 * sizeof(int64_t)) + 1;

    for (chunk->first = 0; chunk->first < total; chunk->first += chunk->count) {
        chunk->count = total - chunk->first < most ? total - chunk->first : most;
        TRY(send_keys(client, generation, chunk));
    }
    return status_ok();
}

/* Copies the parts of a shard. Owner: free_parts. */
static struct status get_parts(struct client_state *state, struct keys_chunk *chunk)
{
    for (int part = 0; part < KEY_PARTS; part++) {
        struct bytes bytes = { 0 };
        TRY(state->get_keys(state, chunk->variable, chunk->shard, (enum key_part)part, &bytes));
        if (bytes.data == NULL)
            continue;
        char *copy = malloc(bytes.size > 0 ? bytes.size : 1);
        if (copy == NULL)
            return status_error(STATUS_RESOURCE_EXHAUSTED, "no memory for %zu bytes of rows",
                                bytes.size);
        memcpy(copy, bytes.data, bytes.size);
        chunk->parts[part] = (struct bytes){ copy, bytes.size };
    }
    return status_ok();
}

static void free_parts(struct keys_chunk *chunk)
{
    for (int part = 0; part < KEY_PARTS; part++)
        free((char *)(uintptr_t)chunk->parts[part].data);
}

static struct status fill_keys(struct ps_client *client, uint64_t generation, int variable,
                               struct client_state *state)
{
    for (uint32_t shard = 0; shard < KEY_SHARDS && state->get_keys != NULL; shard++) {
        struct keys_chunk chunk = { .variable = variable, .shard = shard };
        struct status status = get_parts(state, &chunk);
        if (status_is_ok(status))
            status = send_shard(client, generation, &chunk);
        chunk.waiting = true;
        if (status_is_ok(status))
            status = send_shard(client, generation, &chunk);
        free_parts(&chunk);
        TRY(status_in(status, "variable '%s'",
                      client->options.placement->variables[variable].name));
    }
    return status_ok();
}

static struct status fill_all(struct ps_client *client, const struct client_job *job,
                              uint64_t generation, struct client_state *state)
{
    const struct placement *placement = client->options.placement;
    struct variable_upload *filling =
        zalloc(sizeof *filling + (size_t)placement->ps_count * sizeof filling->chunks[0]);
    struct status status = status_ok();

    filling->client = client;
    filling->state = state;
    filling->room = zalloc((size_t)placement->ps_count * CHUNK_BYTES);
    filling->generation = generation;
    for (int v = 0; v < placement->variables_count; v++) {
        if (placement->variables[v].by_keys) {
            TRY_OR(done, fill_keys(client, generation, v, state));
            continue;
        }
        const struct optimizer_choice optimizer =
            client_job_optimizer(job, client_job_number(job, v));
        int parts =
            1 +
            (placement->variables[v].trainable ? optimizer_find(optimizer.name)->slots_count : 0);
        for (filling->part = 0; filling->part < parts; filling->part++)
            TRY_OR(done, fill_part(filling, v));
    }
done:
    free(filling->room);
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
    client->generation = client->created = generation;
    client->sequence = client->pass_until = 0;
    client->lead_is_limited = job->lead_max > 0;
    client->spare = job->backup_workers > 0;
    client->open = true;
    client->global_step = client->begin_step = job->global_step;
    client->begin_place = job->place;
    return status_ok();
}

/* ---- first values ---- */

struct initial_state {
    struct client_state state; /* first */
    const struct placement *placement;
    const struct initial_values *values;
    int variable;
    bool taken;         /* from elsewhere */
    int64_t row;        /* the next one to fill */
    struct bytes whole; /* what remains of a value in memory */
    struct buffer filled;
};

static struct status first_begin(struct client_state *base, int variable, int part, bool *has)
{
    struct initial_state *state = (struct initial_state *)base;
    const struct placed_variable *row = &state->placement->variables[variable];

    *has = part == 0;
    state->variable = variable;
    state->row = 0;
    state->whole = (struct bytes){ state->values->whole[variable],
                                   (size_t)shape_size(&row->shape) * dtype_size(row->dtype) };
    state->taken = false;
    return state->values->taken_begin != NULL && part == 0
               ? state->values->taken_begin(state->values->context, variable, &state->taken)
               : status_ok();
}

/* Fills as many rows as fit in a chunk, or a single larger row. */
static struct status fill_initial_rows(struct initial_state *state, struct bytes *chunk)
{
    const struct placed_variable *variable = &state->placement->variables[state->variable];
    size_t row_bytes = placement_row_bytes(variable);
    int64_t count = (int64_t)(CHUNK_BYTES / row_bytes) + (row_bytes > CHUNK_BYTES);

    if (count > variable->shape.dims[0] - state->row)
        count = variable->shape.dims[0] - state->row;
    state->filled.size = 0;
    buffer_reserve(&state->filled, (size_t)count * row_bytes + 1);
    state->values->fill_rows(state->values->context, state->variable, state->row, count,
                             state->filled.data);
    state->row += count;
    *chunk = (struct bytes){ state->filled.data, (size_t)count * row_bytes };
    return status_ok();
}

static struct status first_next(struct client_state *base, struct bytes *chunk)
{
    struct initial_state *state = (struct initial_state *)base;

    if (state->taken)
        return state->values->taken_next(state->values->context, chunk);
    if (state->values->whole[state->variable] == NULL)
        return fill_initial_rows(state, chunk);
    *chunk = state->whole;
    state->whole.size = 0;
    return status_ok();
}

struct status client_create_from(struct ps_client *client, const struct client_job *job,
                                 const struct initial_values *values)
{
    struct initial_state first = { .state = { first_begin, first_next },
                                   .placement = client->options.placement,
                                   .values = values };

    struct status status = client_begin(client, job, &first.state);
    buffer_finish(&first.filled);
    return status;
}

struct status client_create(struct ps_client *client, const struct client_job *job,
                            const void *const *values)
{
    const struct initial_values first = { .whole = values };

    return client_create_from(client, job, &first);
}
