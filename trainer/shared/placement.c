#include "trainer/shared/placement.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

static size_t variable_bytes(const struct placed_variable *variable)
{
    return (size_t)shape_size(&variable->shape) * dtype_size(variable->dtype);
}

size_t placement_row_bytes(const struct placed_variable *variable)
{
    size_t bytes = dtype_size(variable->dtype);

    for (int d = 1; d < variable->shape.rank; d++)
        bytes *= (size_t)variable->shape.dims[d];
    return bytes;
}

/* Pieces of a variable: rows of the first dimension, as many in each as fit; the first few have one
 * more. If a row is too large for any piece, its elements take the place of rows. */
static int cut(const struct placed_variable *variable, size_t piece_bytes_max, struct piece *out)
{
    size_t total = variable_bytes(variable);
    int64_t rows = variable->shape.rank > 0 ? variable->shape.dims[0] : 1;

    assert(!variable->by_rows || (variable->shape.rank > 0 && variable->dtype == DT_FLOAT &&
                                  placement_row_bytes(variable) - 1 < PLACEMENT_PIECE_MAX));
    if (rows > 0 && total / (size_t)rows > PLACEMENT_PIECE_MAX) {
        rows = shape_size(&variable->shape);
        piece_bytes_max = PLACEMENT_PIECE_MAX;
    }
    if (rows <= 1 || total <= piece_bytes_max) {
        if (out != NULL)
            out[0] = (struct piece){ .size = total };
        return 1;
    }
    size_t row_bytes = total / (size_t)rows;
    int64_t fit = row_bytes > 0 ? (int64_t)(piece_bytes_max / row_bytes) : rows;
    int64_t rows_max = fit > 1 ? fit : 1, count = (rows + rows_max - 1) / rows_max;
    size_t offset = 0;
    for (int64_t i = 0; i < count && out != NULL; i++) {
        size_t size = row_bytes * (size_t)(rows / count + (i < rows % count));
        out[i] = (struct piece){ .offset = offset, .size = size };
        offset += size;
    }
    return (int)count;
}

struct by_size {
    size_t size;
    int piece;
};

static int largest_first(const void *a, const void *b)
{
    const struct by_size *left = a, *right = b;

    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return left->piece - right->piece; /* a fixed order of equal ones */
}

static void place_by_bytes(struct placement *placement)
{
    size_t *load = zalloc((size_t)placement->ps_count * sizeof *load);
    struct by_size *order = zalloc((size_t)placement->pieces_count * sizeof *order);

    for (int i = 0; i < placement->pieces_count; i++)
        order[i] = (struct by_size){ placement->pieces[i].size, i };
    qsort(order, (size_t)placement->pieces_count, sizeof *order, largest_first);
    for (int i = 0; i < placement->pieces_count; i++) {
        int least = 0;
        for (int ps = 1; ps < placement->ps_count; ps++)
            if (load[ps] < load[least])
                least = ps;
        placement->pieces[order[i].piece].ps = least;
        load[least] += order[i].size;
    }
    free(load);
    free(order);
}

static uint64_t placement_hash(const struct placement *placement)
{
    struct buffer text = { 0 };

    buffer_printf(&text, "%d ps\n", placement->ps_count);
    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        buffer_printf(&text, "%s %d %s%s\n", variable->name, variable->dtype,
                      shape_text(&variable->shape), variable->by_rows ? " by rows" : "");
    }
    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        buffer_printf(&text, "%d %d %zu %zu\n", piece->variable, piece->ps, piece->offset,
                      piece->size);
    }
    uint64_t hash = bytes_hash((struct bytes){ text.data, text.size });
    buffer_finish(&text);
    return hash;
}

void placement_create(const struct placed_variable *variables, int variables_count, int ps_count,
                      size_t piece_bytes_max, enum placement_strategy strategy,
                      struct placement *out)
{
    *out = (struct placement){ .ps_count = ps_count, .variables_count = variables_count };
    out->variables = zalloc((size_t)variables_count * sizeof *variables);
    for (int v = 0; v < variables_count; v++) {
        struct placed_variable *variable = &out->variables[v];
        *variable = variables[v];
        variable->first_piece = out->pieces_count;
        variable->pieces_count = cut(variable, piece_bytes_max, NULL);
        out->pieces_count += variable->pieces_count;
    }
    out->pieces = zalloc((size_t)out->pieces_count * sizeof *out->pieces);
    for (int v = 0; v < variables_count; v++) {
        struct piece *pieces = out->pieces + out->variables[v].first_piece;
        int count = cut(&out->variables[v], piece_bytes_max, pieces);
        for (int i = 0; i < count; i++)
            pieces[i].variable = v;
    }
    for (int i = 0; i < out->pieces_count && strategy == PLACE_IN_TURN; i++)
        out->pieces[i].ps = i % ps_count;
    if (strategy == PLACE_BY_BYTES)
        place_by_bytes(out);
    out->hash = placement_hash(out);
}

void placement_finish(struct placement *placement)
{
    free(placement->variables);
    free(placement->pieces);
    *placement = (struct placement){ 0 };
}

size_t placement_bytes(const struct placement *placement, int ps)
{
    size_t bytes = 0;

    for (int i = 0; i < placement->pieces_count; i++)
        if (placement->pieces[i].ps == ps)
            bytes += placement->pieces[i].size;
    return bytes;
}
