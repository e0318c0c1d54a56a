/* Determines which keys of hash tables a pull or a push has, and on which ps they are. The keys
 * of a ps are scattered over the caller's list, so rows are copied one by one unless there is
 * only one ps. */
#include <inttypes.h>
#include <stdlib.h>

#include "trainer/client/client_internal.h"

/* The keys of one variable in the calls in flight. */
struct key_division {
    const int64_t *keys;
    size_t count, capacity;
    size_t *order;  /* [count]: indices into `keys`, grouped by ps, ascending within each ps */
    size_t *starts; /* [ps_count + 1]: start of each ps in `order` */
    char *rows;     /* gradients in that order; unused with a single ps */
    size_t rows_capacity;
};

struct client_keys {
    struct key_division *pulled, *pushed; /* [variables_count] */
    uint64_t *pull_counts, *push_counts;  /* [variables_count]: for one message */
};

static int ps_count_of(const struct ps_client *client)
{
    return client->options.placement->ps_count;
}

static bool has_keys(const struct placement *placement)
{
    for (int v = 0; v < placement->variables_count; v++)
        if (placement->variables[v].by_keys)
            return true;
    return false;
}

static struct key_division *make_divisions(const struct ps_client *client)
{
    size_t count = (size_t)client->options.placement->variables_count;
    struct key_division *divisions = zalloc(count * sizeof *divisions);

    for (size_t v = 0; v < count; v++)
        divisions[v].starts =
            zalloc((size_t)(ps_count_of(client) + 1) * sizeof *divisions[v].starts);
    return divisions;
}

static void free_divisions(const struct ps_client *client, struct key_division *divisions)
{
    for (int v = 0; v < client->options.placement->variables_count; v++) {
        free(divisions[v].order);
        free(divisions[v].starts);
        free(divisions[v].rows);
    }
    free(divisions);
}

void client_keys_init(struct ps_client *client)
{
    size_t count = (size_t)client->options.placement->variables_count;

    if (!has_keys(client->options.placement))
        return;
    client->rows.keys = zalloc(sizeof *client->rows.keys);
    client->rows.keys->pulled = make_divisions(client);
    client->rows.keys->pushed = make_divisions(client);
    client->rows.keys->pull_counts = zalloc(count * sizeof *client->rows.keys->pull_counts);
    client->rows.keys->push_counts = zalloc(count * sizeof *client->rows.keys->push_counts);
}

void client_keys_finish(struct ps_client *client)
{
    if (client->rows.keys == NULL)
        return;
    free_divisions(client, client->rows.keys->pulled);
    free_divisions(client, client->rows.keys->pushed);
    free(client->rows.keys->pull_counts);
    free(client->rows.keys->push_counts);
    free(client->rows.keys);
}

/* ---- dividing ---- */

static struct status check_ascending(const struct row_ids *rows)
{
    for (size_t i = 1; i < rows->count; i++)
        if (rows->ids[i] <= rows->ids[i - 1])
            return status_error(STATUS_INVALID_ARGUMENT,
                                "key %" PRId64 " after key %" PRId64 ": keys must ascend",
                                rows->ids[i], rows->ids[i - 1]);
    return status_ok();
}

/* Sorts by ps, and counts. */
static void divide(struct key_division *division, const struct row_ids *rows, int ps_count)
{
    size_t *starts = division->starts;

    if (rows->count > division->capacity) {
        division->capacity = rows->count;
        division->order = xrealloc(division->order, rows->count * sizeof *division->order);
    }
    division->keys = rows->ids;
    division->count = rows->count;
    memset(starts, 0, (size_t)(ps_count + 1) * sizeof *starts);
    for (size_t i = 0; i < rows->count; i++)
        starts[key_ps(rows->ids[i], ps_count) + 1]++;
    for (int ps = 0; ps < ps_count; ps++)
        starts[ps + 1] += starts[ps];
    for (size_t i = 0; i < rows->count; i++)
        division->order[starts[key_ps(rows->ids[i], ps_count)]++] = i;
    memmove(starts + 1, starts, (size_t)ps_count * sizeof *starts);
    starts[0] = 0;
}

static size_t count_on(const struct key_division *division, int ps)
{
    return division->starts[ps + 1] - division->starts[ps];
}

static struct status divide_variable(const struct ps_client *client, int v,
                                     const struct row_ids *rows, struct key_division *division)
{
    const struct placed_variable *variable = &client->options.placement->variables[v];
    size_t most = PLACEMENT_PIECE_MAX / placement_row_bytes(variable);

    TRY(status_in(check_ascending(rows), "variable '%s'", variable->name));
    divide(division, rows, ps_count_of(client));
    for (int ps = 0; ps < ps_count_of(client); ps++)
        if (count_on(division, ps) > most)
            return status_error(STATUS_INVALID_ARGUMENT,
                                "variable '%s': a step has %zu keys of ps %d, and one message "
                                "carries the rows of %zu: take smaller batches or more ps tasks",
                                variable->name, count_on(division, ps), ps, most);
    return status_ok();
}

static void gather_rows(struct key_division *division, const char *rows, size_t row_bytes)
{
    size_t size = division->count * row_bytes;

    if (size > division->rows_capacity) {
        division->rows_capacity = size;
        division->rows = xrealloc(division->rows, size);
    }
    for (size_t i = 0; i < division->count; i++)
        memcpy(division->rows + i * row_bytes, rows + division->order[i] * row_bytes, row_bytes);
}

struct status client_keys_begin(struct ps_client *client, bool pull,
                                const struct variable_gradient *gradients)
{
    const struct placement *placement = client->options.placement;

    for (int v = 0; v < placement->variables_count && client->rows.keys != NULL; v++) {
        if (!placement->variables[v].by_keys)
            continue;
        if (pull)
            TRY(divide_variable(client, v, &client->rows.wanted[v], &client->rows.keys->pulled[v]));
        if (gradients == NULL)
            continue;
        TRY(divide_variable(client, v, &gradients[v].rows, &client->rows.keys->pushed[v]));
        if (placement->ps_count > 1)
            gather_rows(&client->rows.keys->pushed[v], (const char *)gradients[v].values,
                        placement_row_bytes(&placement->variables[v]));
    }
    return status_ok();
}

/* ---- sending ---- */

static struct key_counts list_keys(struct ps_client *client, int c,
                                   const struct key_division *divisions, uint64_t *counts)
{
    const struct client_chunk *chunk = &client->chunks[c];
    struct row_ids_writer *list = &client->rows.lists[c];
    struct key_counts out = { .counts = counts };

    for (int i = chunk->first_piece; i < chunk->end_piece; i++) {
        const struct piece *piece = &client->options.placement->pieces[i];
        if (piece->ps != chunk->ps || !client_is_by_keys(client, piece))
            continue;
        const struct key_division *division = &divisions[piece->variable];
        row_ids_begin_list(list);
        for (size_t k = division->starts[chunk->ps]; k < division->starts[chunk->ps + 1]; k++)
            row_ids_append(list, key_to_wire(division->keys[division->order[k]]));
        counts[out.pieces_count++] = count_on(division, chunk->ps);
    }
    return out;
}

struct key_counts client_list_wanted_keys(struct ps_client *client, int chunk)
{
    return client->rows.keys != NULL
               ? list_keys(client, chunk, client->rows.keys->pulled, client->rows.keys->pull_counts)
               : (struct key_counts){ 0 };
}

struct key_counts client_list_pushed_keys(struct ps_client *client, int chunk)
{
    return client->rows.keys != NULL
               ? list_keys(client, chunk, client->rows.keys->pushed, client->rows.keys->push_counts)
               : (struct key_counts){ 0 };
}

struct bytes client_keys_gradient(const struct ps_client *client, const struct piece *piece,
                                  const struct variable_gradient *gradient)
{
    const struct placed_variable *variable = client_variable_of(client, piece);
    const struct key_division *division = &client->rows.keys->pushed[piece->variable];
    size_t row_bytes = placement_row_bytes(variable);
    const char *rows = ps_count_of(client) > 1 ? division->rows : (const char *)gradient->values;

    return count_on(division, piece->ps) == 0
               ? (struct bytes){ 0 }
               : (struct bytes){ rows + division->starts[piece->ps] * row_bytes,
                                 count_on(division, piece->ps) * row_bytes };
}

/* ---- receiving ---- */

size_t client_keys_reply_bytes(const struct ps_client *client, const struct piece *piece)
{
    return count_on(&client->rows.keys->pulled[piece->variable], piece->ps) *
           placement_row_bytes(client_variable_of(client, piece));
}

void client_keys_scatter(const struct ps_client *client, const struct piece *piece,
                         struct payload_cursor *payload, char *out)
{
    const struct key_division *division = &client->rows.keys->pulled[piece->variable];
    size_t row_bytes = placement_row_bytes(client_variable_of(client, piece));

    for (size_t k = division->starts[piece->ps]; k < division->starts[piece->ps + 1]; k++)
        payload_copy(payload, out + division->order[k] * row_bytes, row_bytes);
}
