/* Determines which rows of variables by rows a pull or a push has, and on which ps they are. */
#include <assert.h>
#include <stdlib.h>

#include "trainer/client/client_internal.h"

/* The row numbers of a ps run through all of its pieces with rows. */
static void number_rows(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;
    uint64_t *next = zalloc((size_t)placement->ps_count * sizeof *next);

    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        client->rows.first_rows[i] = next[piece->ps];
        if (client_variable_of(client, piece)->by_rows)
            next[piece->ps] += piece->size / placement_row_bytes(client_variable_of(client, piece));
    }
    free(next);
}

void client_rows_init(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;
    size_t pieces_count = (size_t)placement->pieces_count;

    if (!placement_has_sparse(placement))
        return;
    client->rows.wanted = zalloc((size_t)placement->variables_count * sizeof *client->rows.wanted);
    client->rows.held = zalloc((size_t)placement->variables_count * sizeof *client->rows.held);
    client->rows.first_rows = zalloc(pieces_count * sizeof *client->rows.first_rows);
    client->rows.pulled = zalloc(pieces_count * sizeof *client->rows.pulled);
    client->rows.pushed = zalloc(pieces_count * sizeof *client->rows.pushed);
    client->rows.lists = zalloc((size_t)client->chunks_count * sizeof *client->rows.lists);
    client->rows.pulled_lists =
        zalloc((size_t)client->chunks_count * sizeof *client->rows.pulled_lists);
    number_rows(client);
    client_keys_init(client);
}

void client_rows_finish(struct ps_client *client)
{
    if (client->rows.wanted == NULL)
        return;
    for (int c = 0; c < client->chunks_count; c++)
        buffer_finish(&client->rows.lists[c].bytes);
    client_keys_finish(client);
    free(client->rows.lists);
    free(client->rows.pulled_lists);
    free(client->rows.wanted);
    free(client->rows.held);
    free(client->rows.first_rows);
    free(client->rows.pulled);
    free(client->rows.pushed);
}

void client_hold_wanted(struct ps_client *client)
{
    if (client->rows.wanted != NULL)
        memcpy(client->rows.held, client->rows.wanted,
               (size_t)client->options.placement->variables_count * sizeof *client->rows.held);
    client_clear_selected_rows(client);
}

void client_clear_selected_rows(struct ps_client *client)
{
    if (client->rows.wanted != NULL)
        memset(client->rows.wanted, 0,
               (size_t)client->options.placement->variables_count * sizeof *client->rows.wanted);
}

void client_select_rows(struct ps_client *client, int variable, struct row_ids rows)
{
    assert(placed_variable_is_sparse(&client->options.placement->variables[variable]));
    client->rows.wanted[variable] = rows;
}

/* The number of rows from index `at` on that are less than `end`. */
static size_t count_below(const struct row_ids *rows, size_t at, int64_t end)
{
    size_t low = at, high = rows->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->ids[middle] < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low - at;
}

/* Divides the rows of a variable among its pieces. */
static struct status divide_rows(const struct placement *placement,
                                 const struct placed_variable *variable, const struct row_ids *rows,
                                 struct piece_rows *out)
{
    size_t row_bytes = placement_row_bytes(variable), at = 0;

    TRY(status_in(row_ids_check(rows, variable->shape.dims[0]), "variable '%s'", variable->name));
    for (int i = variable->first_piece; i < variable->first_piece + variable->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        int64_t end = (int64_t)((piece->offset + piece->size) / row_bytes);
        out[i] = (struct piece_rows){ at, count_below(rows, at, end) };
        at += out[i].count;
    }
    return status_ok();
}

static struct status divide_all(struct ps_client *client, bool pull,
                                const struct variable_gradient *gradients)
{
    const struct placement *placement = client->options.placement;

    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        if (variable->by_rows && pull)
            TRY(divide_rows(placement, variable, &client->rows.wanted[v], client->rows.pulled));
        if (variable->by_rows && variable->trainable && gradients != NULL)
            TRY(divide_rows(placement, variable, &gradients[v].rows, client->rows.pushed));
    }
    return status_ok();
}

/* Are the rows of all gradients those that were pulled last? */
static bool pushes_pulled(const struct ps_client *client, const struct variable_gradient *gradients)
{
    const struct placement *placement = client->options.placement;
    bool same = gradients != NULL;

    for (int v = 0; v < placement->variables_count && same; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        if (!variable->by_rows)
            continue;
        same = variable->trainable ? gradients[v].of_values : client->rows.held[v].count == 0;
        assert(!same || !variable->trainable ||
               gradients[v].rows.count == client->rows.held[v].count);
    }
    return same;
}

/* The rows of the last pull, which are still encoded, become those of a push. */
static void push_pulled(struct ps_client *client)
{
    for (int c = 0; c < client->chunks_count; c++) {
        struct buffer *bytes = &client->rows.lists[c].bytes;
        struct encoded_rows *list = &client->rows.pulled_lists[c];
        if (list->size > 0)
            memmove(bytes->data, bytes->data + list->offset, list->size);
        bytes->size = list->size;
        list->offset = 0;
    }
    memcpy(client->rows.pushed, client->rows.pulled,
           (size_t)client->options.placement->pieces_count * sizeof *client->rows.pushed);
}

static void count_reply_bytes(struct ps_client *client)
{
    const struct placement *placement = client->options.placement;

    for (int c = 0; c < client->chunks_count; c++)
        client->chunks[c].reply_bytes = 0;
    for (int i = 0; i < placement->pieces_count; i++)
        client->chunks[client->chunk_of[i]].reply_bytes +=
            client_reply_bytes(client, &placement->pieces[i]);
}

struct status client_rows_begin(struct ps_client *client, bool pull,
                                const struct variable_gradient *gradients)
{
    if (client->rows.wanted == NULL)
        return status_ok();
    client->rows.pushes_pulled = pushes_pulled(client, gradients);
    if (client->rows.pushes_pulled)
        push_pulled(client);
    for (int c = 0; c < client->chunks_count && !client->rows.pushes_pulled; c++)
        client->rows.lists[c].bytes.size = 0;
    TRY(divide_all(client, pull, client->rows.pushes_pulled ? NULL : gradients));
    TRY(client_keys_begin(client, pull, gradients));
    if (pull)
        count_reply_bytes(client);
    return status_ok();
}

size_t client_reply_bytes(const struct ps_client *client, const struct piece *piece)
{
    const struct placed_variable *variable = client_variable_of(client, piece);

    if (variable->by_keys)
        return client_keys_reply_bytes(client, piece);
    if (!variable->by_rows)
        return piece->size;
    return client->rows.pulled[piece - client->options.placement->pieces].count *
           placement_row_bytes(variable);
}

/* Appends the rows of a piece, in the numbering of its ps. */
static void list_piece(struct row_ids_writer *list, const struct piece *piece, uint64_t first_row,
                       size_t row_bytes, const int64_t *ids, size_t count)
{
    uint64_t shift = first_row - piece->offset / row_bytes;

    row_ids_append_all(list, ids, count, shift);
}

/* gradients: NULL for the wanted rows. */
static uint64_t list_chunk(struct ps_client *client, int c, const struct piece_rows *divided,
                           const struct variable_gradient *gradients)
{
    const struct placement *placement = client->options.placement;
    const struct client_chunk *chunk = &client->chunks[c];
    uint64_t count = 0;

    row_ids_begin_list(&client->rows.lists[c]);
    for (int i = chunk->first_piece; i < chunk->end_piece; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (piece->ps != chunk->ps || divided[i].count == 0)
            continue;
        const struct row_ids *rows = gradients != NULL ? &gradients[piece->variable].rows
                                                       : &client->rows.wanted[piece->variable];
        list_piece(&client->rows.lists[c], piece, client->rows.first_rows[i],
                   placement_row_bytes(client_variable_of(client, piece)),
                   rows->ids + divided[i].first, divided[i].count);
        count += divided[i].count;
    }
    return count;
}

uint64_t client_list_wanted(struct ps_client *client, int chunk)
{
    if (client->rows.wanted == NULL)
        return 0;
    struct encoded_rows *list = &client->rows.pulled_lists[chunk];
    list->offset = client->rows.lists[chunk].bytes.size;
    list->count = list_chunk(client, chunk, client->rows.pulled, NULL);
    list->size = client->rows.lists[chunk].bytes.size - list->offset;
    return list->count;
}

uint64_t client_list_pushed(struct ps_client *client, int chunk,
                            const struct variable_gradient *gradients)
{
    if (client->rows.wanted == NULL)
        return 0;
    return client->rows.pushes_pulled ? client->rows.pulled_lists[chunk].count
                                      : list_chunk(client, chunk, client->rows.pushed, gradients);
}

struct bytes client_list_bytes(const struct ps_client *client, int chunk)
{
    if (client->rows.wanted == NULL)
        return (struct bytes){ 0 };
    const struct buffer *bytes = &client->rows.lists[chunk].bytes;
    return (struct bytes){ bytes->data, bytes->size };
}
