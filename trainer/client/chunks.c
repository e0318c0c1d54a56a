/* Divides the values of each ps into messages. A ps nearly always has one chunk. */

#include "trainer/client/client_internal.h"

static void add_chunk(struct ps_client *client, const struct client_chunk *chunk)
{
    size_t size = (size_t)(client->chunks_count + 1) * sizeof *client->chunks;

    client->chunks = xrealloc(client->chunks, size);
    client->chunks[client->chunks_count++] = *chunk;
}

/* Puts as many pieces into each chunk as fit, and at least one. */
static void divide_ps(struct ps_client *client, int ps, size_t chunk_bytes_max)
{
    const struct placement *placement = client->options.placement;
    struct client_chunk chunk = { .ps = ps };

    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != ps)
            continue;
        if (chunk.size_bytes > 0 && chunk.size_bytes + piece->size > chunk_bytes_max) {
            chunk.end_piece = i;
            add_chunk(client, &chunk);
            chunk = (struct client_chunk){ .ps = ps, .first_piece = i };
        }
        chunk.size_bytes += piece->size;
        if (!placement->variables[piece->variable].by_rows && !client_is_by_keys(client, piece))
            chunk.reply_bytes += piece->size;
        client->chunk_of[i] = client->chunks_count;
    }
    chunk.end_piece = placement->pieces_count;
    add_chunk(client, &chunk);
}

void client_make_chunks(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;
    size_t most = client->options.chunk_bytes_max;

    client->chunk_of = zalloc((size_t)placement->pieces_count * sizeof *client->chunk_of);
    for (int ps = 0; ps < placement->ps_count; ps++)
        divide_ps(client, ps, most != 0 ? most : CLIENT_CHUNK_BYTES);
}
