/* Reads some rows of a snapshot, with one call to each ps that holds any. */
#include <stdlib.h>

#include "trainer/client/client_internal.h"
#include "trainer/client/snapshot.h"
#include "trainer/optimizers/finite.h"

/* Requests the rows of a chunk. Returns false if it has none. */
static bool call_read(struct client_snapshot *snapshot, struct call_group *calls, int c,
                      struct bytes *list, int64_t until)
{
    struct ps_client *client = snapshot->client;
    const struct client_chunk *chunk = &client->chunks[c];
    struct read_request header = { .snapshot = snapshot->ids[chunk->ps],
                                   .part = (uint32_t)snapshot->trained_part,
                                   .piece = (uint32_t)chunk->first_piece,
                                   .end_piece = (uint32_t)chunk->end_piece,
                                   .rows = client_list_wanted(client, c),
                                   .keys = client_list_wanted_keys(client, c) };
    uint64_t count = header.rows;

    for (size_t i = 0; i < header.keys.pieces_count; i++)
        count += header.keys.counts[i];
    if (count == 0)
        return false;
    *list = client_list_bytes(client, c);
    struct message request = protocol_attach(pack_read_request(&header), list, 1);
    call_group_add(calls, client->options.channels[chunk->ps], PS_READ, &request, until);
    return true;
}

/* Does a reply contain rows of this piece of the chunk? */
static bool is_wanted(const struct ps_client *client, const struct client_chunk *chunk, int i)
{
    const struct piece *piece = &client->options.placement->pieces[i];

    return piece->ps == chunk->ps && placed_variable_is_sparse(client_variable_of(client, piece)) &&
           client_reply_bytes(client, piece) > 0;
}

/* Copies the rows of a chunk from its reply. */
static struct status take_rows(const struct ps_client *client, int c, const struct message *reply,
                               struct buffer *out)
{
    const struct placement *placement = client->options.placement;
    const struct client_chunk *chunk = &client->chunks[c];
    struct payload_cursor cursor = { .message = reply };
    size_t wanted = 0, got = message_payload_size(reply);

    for (int i = chunk->first_piece; i < chunk->end_piece; i++)
        if (is_wanted(client, chunk, i))
            wanted += client_reply_bytes(client, &placement->pieces[i]);
    if (got != wanted)
        return status_error(STATUS_INTERNAL, "ps %d sent %zu bytes of rows, asked for %zu",
                            chunk->ps, got, wanted);
    for (int i = chunk->first_piece; i < chunk->end_piece; i++) {
        const struct piece *piece = &placement->pieces[i];
        char *at = out[piece->variable].data;
        if (!is_wanted(client, chunk, i))
            continue;
        if (client_is_by_keys(client, piece))
            client_keys_scatter(client, piece, &cursor, at);
        else
            payload_copy(&cursor,
                         at + client->rows.pulled[i].first *
                                  placement_row_bytes(client_variable_of(client, piece)),
                         client_reply_bytes(client, piece));
    }
    return status_ok();
}

/* Allocates space for all rows of each variable. */
static void reserve_rows(const struct placement *placement, const struct row_ids *rows,
                         struct buffer *out)
{
    for (int v = 0; v < placement->variables_count; v++) {
        if (!placed_variable_is_sparse(&placement->variables[v]))
            continue;
        size_t size = rows[v].count * placement_row_bytes(&placement->variables[v]);
        out[v].size = 0;
        buffer_reserve(&out[v], size + 1);
        out[v].size = size;
    }
}

static struct status check_rows(const struct placement *placement, const struct buffer *out)
{
    for (int v = 0; v < placement->variables_count; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            TRY(finite_check(placement->variables[v].name,
                             (struct bytes){ out[v].data, out[v].size }));
    return status_ok();
}

struct status client_snapshot_read_rows(struct client_snapshot *snapshot,
                                        const struct row_ids *rows, struct buffer *out)
{
    struct ps_client *client = snapshot->client;
    const struct placement *placement = client->options.placement;
    int64_t until = client_deadline_ns(client, client->options.call_timeout_ms);
    /* A separate group, because client->values are in the replies of `calls` */
    struct call_group calls;
    struct status status;
    int asked = 0;

    for (int v = 0; v < placement->variables_count; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            client_select_rows(client, v, rows[v]);
    call_group_init(&calls, client->calls.clock, client->chunks_count);
    calls.retry = client_retry(client);
    int *chunks = zalloc((size_t)client->chunks_count * sizeof *chunks);
    struct bytes *lists = zalloc((size_t)client->chunks_count * sizeof *lists);
    TRY_OR(done, client_rows_begin(client, true, NULL));
    reserve_rows(placement, rows, out);
    call_group_begin(&calls);
    for (int c = 0; c < client->chunks_count; c++)
        if (call_read(snapshot, &calls, c, &lists[asked], until))
            chunks[asked++] = c;
    TRY_OR(done, call_group_wait(&calls));
    for (int i = 0; i < asked; i++)
        TRY_OR(done, take_rows(client, chunks[i], &calls.replies[i], out));
    status = check_rows(placement, out);
done:
    client_clear_selected_rows(client);
    call_group_finish(&calls);
    free(chunks);
    free(lists);
    return status;
}
