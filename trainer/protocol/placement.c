#include "trainer/protocol/placement.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"

static size_t variable_bytes(const struct placed_variable *variable)
{
    return variable->by_keys ? 0
                             : (size_t)shape_size(&variable->shape) * dtype_size(variable->dtype);
}

size_t placement_row_bytes(const struct placed_variable *variable)
{
    size_t bytes = dtype_size(variable->dtype);

    for (int d = 1; d < variable->shape.rank; d++)
        bytes *= (size_t)variable->shape.dims[d];
    return bytes;
}

bool placement_has_sparse(const struct placement *placement)
{
    for (int v = 0; v < placement->variables_count; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            return true;
    return false;
}

/* One piece for each ps. */
static int cut_keys(const struct placed_variable *variable, int ps_count, struct piece *out)
{
    (void)variable; /* only asserted */
    assert(!variable->by_rows && variable->trainable && variable->dtype == DT_FLOAT);
    assert(variable->shape.rank > 0 && variable->shape.dims[0] == -1);
    assert(placement_row_bytes(variable) - 1 < PLACEMENT_PIECE_MAX);
    for (int ps = 0; ps < ps_count && out != NULL; ps++)
        out[ps] = (struct piece){ .ps = ps };
    return ps_count;
}

/* Splits a variable into pieces of rows of the first dimension, as many in each as fit; the
 * first few have one more. If a row is too large for any piece, elements are used instead of
 * rows. */
static int cut(const struct placed_variable *variable, int ps_count, size_t piece_bytes_max,
               struct piece *out)
{
    if (variable->by_keys)
        return cut_keys(variable, ps_count, out);
    size_t total = variable_bytes(variable);
    int64_t rows = variable->shape.rank > 0 ? variable->shape.dims[0] : 1;

    assert(!variable->by_rows || (variable->shape.rank > 0 && variable->dtype == DT_FLOAT &&
                                  placement_row_bytes(variable) - 1 < PLACEMENT_PIECE_MAX));
    if (rows > 0 && total / (size_t)rows > PLACEMENT_PIECE_MAX) {
        rows = shape_size(&variable->shape);
        piece_bytes_max = PLACEMENT_PIECE_MAX;
    }
    if (rows <= 1 || total <= piece_bytes_max || constraint_joins_rows(&variable->constraint) ||
        variable->power_iterations > 0) {
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

bool placed_variable_is_pushed(const struct placed_variable *variable)
{
    return variable->trainable || variable->averaged;
}

struct status placed_variable_check(const struct placed_variable *variable)
{
    const struct constraint *constraint = &variable->constraint;
    size_t whole = constraint_joins_rows(constraint) ? variable_bytes(variable)
                                                     : placement_row_bytes(variable);

    if (variable->power_iterations > 0 && variable_bytes(variable) > PLACEMENT_PIECE_MAX)
        return status_error(STATUS_UNIMPLEMENTED,
                            "variable '%s' is divided by its norm and does not fit into one "
                            "message (1 GiB), which is not implemented",
                            variable->name);
    if (constraint->kind == CONSTRAINT_NONE ||
        (!variable->by_rows &&
         (constraint->kind != CONSTRAINT_NORM || whole <= PLACEMENT_PIECE_MAX)))
        return status_ok();
    return status_error(STATUS_UNIMPLEMENTED,
                        variable->by_rows
                            ? "variable '%s' has a constraint, which is not implemented for a "
                              "variable that is pulled by rows"
                            : "variable '%s' has a norm as its constraint that does not fit into "
                              "one message (1 GiB), which is not implemented",
                        variable->name);
}

/* The pieces that are placed on one ps together: a single piece, or all pieces of a variable;
 * for a divided variable, also its vector. */
struct placed_unit {
    size_t size;
    int first_piece, pieces_count;
};

static bool is_vector(const struct placement *placement, int variable)
{
    return variable > 0 && placement->variables[variable - 1].power_iterations > 0;
}

static int make_units(const struct placement *placement, bool whole, struct placed_unit *out)
{
    int count = 0;

    for (int i = 0; i < placement->pieces_count; i++) {
        const struct piece *piece = &placement->pieces[i];
        if (placement->variables[piece->variable].by_keys)
            continue; /* it has its ps */
        bool more = (whole && i > 0 && placement->pieces[i - 1].variable == piece->variable) ||
                    is_vector(placement, piece->variable);
        if (!more)
            out[count++] = (struct placed_unit){ .first_piece = i };
        out[count - 1].size += piece->size;
        out[count - 1].pieces_count++;
    }
    return count;
}

static int largest_first(const void *a, const void *b)
{
    const struct placed_unit *left = a, *right = b;

    if (left->size != right->size)
        return left->size > right->size ? -1 : 1;
    return left->first_piece - right->first_piece; /* a fixed order among equals */
}

static void place_unit(struct placement *placement, const struct placed_unit *unit, int ps)
{
    for (int i = 0; i < unit->pieces_count; i++)
        placement->pieces[unit->first_piece + i].ps = ps;
}

static void place_by_bytes(struct placement *placement, struct placed_unit *units, int count)
{
    size_t *load = zalloc((size_t)placement->ps_count * sizeof *load);

    qsort(units, (size_t)count, sizeof *units, largest_first);
    for (int i = 0; i < count; i++) {
        int least = 0;
        for (int ps = 1; ps < placement->ps_count; ps++)
            if (load[ps] < load[least])
                least = ps;
        place_unit(placement, &units[i], least);
        load[least] += units[i].size;
    }
    free(load);
}

static void place(struct placement *placement, enum placement_strategy strategy)
{
    bool whole = strategy == PLACE_WHOLE_BY_BYTES || strategy == PLACE_WHOLE_IN_TURN;
    bool in_turn = strategy == PLACE_IN_TURN || strategy == PLACE_WHOLE_IN_TURN;
    struct placed_unit *units = zalloc((size_t)(placement->pieces_count + 1) * sizeof *units);
    int count = make_units(placement, whole, units);

    for (int i = 0; i < count && in_turn; i++)
        place_unit(placement, &units[i], i % placement->ps_count);
    if (!in_turn)
        place_by_bytes(placement, units, count);
    free(units);
}

static void describe_keys(const struct row_keys_spec *keys, struct buffer *text)
{
    buffer_printf(text, "by keys %llx %d %a %a %u %a %llu %llu\n", (unsigned long long)keys->seed,
                  (int)keys->initializer, keys->a, keys->b, keys->min_count, keys->probability,
                  (unsigned long long)keys->ttl_steps, (unsigned long long)keys->bytes_max);
}

static uint64_t placement_hash(const struct placement *placement)
{
    struct buffer text = { 0 };

    buffer_printf(&text, "%d ps\n", placement->ps_count);
    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        buffer_printf(&text, "%s %d %s%s\n", variable->name, variable->dtype,
                      shape_text(&variable->shape), variable->by_rows ? " by rows" : "");
        if (variable->averaged)
            buffer_printf(&text, "averaged %a\n", variable->momentum);
        if (variable->constraint.kind != CONSTRAINT_NONE)
            buffer_printf(&text, "constraint %d %a %a %a %u\n", variable->constraint.kind,
                          (double)variable->constraint.low, (double)variable->constraint.high,
                          (double)variable->constraint.rate, variable->constraint.axes);
        if (variable->power_iterations > 0)
            buffer_printf(&text, "divided %u\n", variable->power_iterations);
        if (variable->by_keys)
            describe_keys(&variable->keys, &text);
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
        variable->pieces_count = cut(variable, ps_count, piece_bytes_max, NULL);
        out->pieces_count += variable->pieces_count;
    }
    out->pieces = zalloc((size_t)out->pieces_count * sizeof *out->pieces);
    for (int v = 0; v < variables_count; v++) {
        struct piece *pieces = out->pieces + out->variables[v].first_piece;
        int count = cut(&out->variables[v], ps_count, piece_bytes_max, pieces);
        for (int i = 0; i < count; i++)
            pieces[i].variable = v;
    }
    place(out, strategy);
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

struct shape placement_piece_shape(const struct placement *placement, int piece)
{
    const struct piece *row = &placement->pieces[piece];
    const struct placed_variable *variable = &placement->variables[row->variable];
    struct shape shape = variable->shape;
    size_t row_bytes = placement_row_bytes(variable);

    if (row->size % (row_bytes > 0 ? row_bytes : 1) != 0) /* a row is split: the pieces are
                                                           * ranges of elements */
        return shape_of((int64_t)(row->size / dtype_size(variable->dtype)));
    if (shape.rank > 0 && row_bytes > 0)
        shape.dims[0] = (int64_t)(row->size / row_bytes);
    return shape;
}
