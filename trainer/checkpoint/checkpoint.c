#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/container.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/optimizers/finite.h"
#include "trainer/protocol/share_table.h"

#define NAMES_SHOWN 8

/* Some names in the bundle, for an error about a missing one. */
static const char *names_in(const struct bundle *bundle, struct arena *arena)
{
    const char *text = "";
    size_t count = bundle_count(bundle);

    for (size_t i = 0; i < count && i < NAMES_SHOWN; i++)
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : "", bundle_at(bundle, i)->name);
    return count > NAMES_SHOWN ? arena_printf(arena, "%s and %zu more", text, count - NAMES_SHOWN)
                               : text;
}

static struct status check_entry(const struct bundle_entry *entry,
                                 const struct placed_variable *variable)
{
    if (entry->dtype != variable->dtype)
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' is of type %s there, the model has %s",
                            entry->name, dtype_name(entry->dtype), dtype_name(variable->dtype));
    if (!shape_equal(&entry->shape, &variable->shape))
        return status_error(STATUS_INVALID_ARGUMENT, "'%s' has shape %s there, the model has %s",
                            entry->name, shape_text(&entry->shape), shape_text(&variable->shape));
    return status_ok();
}

static struct status check_part(struct checkpoint *checkpoint, int variable, int part)
{
    const struct placed_variable *row = &checkpoint->layout->placement->variables[variable];
    const char *key = checkpoint_layout_key(checkpoint->layout, variable, part, checkpoint->arena);
    const struct bundle_entry *entry = key != NULL ? bundle_find(checkpoint->bundle, key) : NULL;

    if (entry != NULL)
        return check_entry(entry, row);
    if (part == 0)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "it has no variable '%s' (%s %s) of the model; it has %s", key,
                            dtype_name(row->dtype), shape_text(&row->shape),
                            names_in(checkpoint->bundle, checkpoint->arena));
    if (key != NULL && checkpoint->slots_missing++ == 0)
        checkpoint->slot_missing = key;
    return status_ok();
}

static struct status check_all(struct checkpoint *checkpoint)
{
    const struct checkpoint_layout *layout = checkpoint->layout;

    for (int v = 0; v < layout->placement->variables_count; v++) {
        if (layout->placement->variables[v].by_keys) {
            TRY(checkpoint_check_keys(checkpoint, v));
            continue;
        }
        for (int part = 0; part < checkpoint_layout_parts(layout, v); part++)
            TRY(check_part(checkpoint, v, part));
    }
    return status_ok();
}

/* A global_step that a user's program created may be int32. */
static struct status read_step(struct checkpoint *checkpoint)
{
    struct tensor tensor;

    if (bundle_find(checkpoint->bundle, CHECKPOINT_STEP) == NULL)
        return status_ok();
    TRY(bundle_read(checkpoint->bundle, CHECKPOINT_STEP, &tensor));
    int64_t step = -1;
    if (tensor.size == 1 && tensor.dtype == DT_INT64)
        memcpy(&step, tensor.data, sizeof step);
    else if (tensor.size == 1 && tensor.dtype == DT_INT32)
        step = *(const int32_t *)tensor.data;
    tensor_release(&tensor);
    if (step < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" CHECKPOINT_STEP "' is not a single integer >= 0");
    checkpoint->global_step = (uint64_t)step;
    checkpoint->has_global_step = true;
    return status_ok();
}

#define ROWS_PER_TURN_MAX ((uint64_t)1 << 32)
#define ROWS_MAX          ((uint64_t)1 << 62) /* limit for computing with it */

static struct status take_position(struct checkpoint *checkpoint, const uint64_t *given,
                                   size_t count)
{
    uint64_t to = checkpoint->layout->rows_per_turn;
    uint64_t *numbers = ARENA_ARRAY(checkpoint->arena, uint64_t, count);
    struct share_table table = { 0 };

    memcpy(numbers, given + 1, (count - 1) * sizeof *numbers);
    struct status status = share_table_begin(&table, numbers, count - 1);
    share_table_finish(&table);
    TRY(status);
    if (given[0] == 0 || given[0] > ROWS_PER_TURN_MAX || numbers[0] > ROWS_MAX / given[0])
        return status_error(STATUS_INVALID_ARGUMENT, "%" PRIu64 " turns of %" PRIu64 " rows",
                            numbers[0], given[0]);
    checkpoint->position = numbers;
    checkpoint->position_count =
        given[0] == to ? count - 1 : share_position_convert(numbers, count - 1, given[0], to);
    return status_ok();
}

/* Reads the position, which only a job that assigns its rows uses. */
static struct status read_position(struct checkpoint *checkpoint)
{
    const struct bundle_entry *entry = bundle_find(checkpoint->bundle, CHECKPOINT_POSITION);
    struct tensor tensor;

    if (entry == NULL || checkpoint->layout->rows_per_turn == 0)
        return status_ok();
    if (entry->dtype != DT_INT64 || entry->shape.rank != 1 || entry->shape.dims[0] < 2)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" CHECKPOINT_POSITION "' is no list of int64");
    TRY(bundle_read(checkpoint->bundle, CHECKPOINT_POSITION, &tensor));
    struct status status = take_position(checkpoint, tensor.data, (size_t)tensor.size);
    tensor_release(&tensor);
    return status_in(status, "'" CHECKPOINT_POSITION "'");
}

/* If the batch size has changed, the readers continue after the rounds in which all of them have
 * returned the same number. */
static struct status take_readers(struct checkpoint *checkpoint, const uint64_t *given)
{
    uint64_t readers = given[0], rows = given[1], units = given[2], unit_rows = given[3];

    if (readers == 0 || readers > ROW_READERS_MAX || unit_rows == 0 ||
        unit_rows > ROWS_PER_TURN_MAX || units > ROWS_MAX / unit_rows || rows > ROWS_MAX / 2)
        return status_error(STATUS_INVALID_ARGUMENT, "%" PRIu64 " readers of units of %" PRIu64,
                            readers, unit_rows);
    if (unit_rows != checkpoint->layout->rows_per_unit) {
        rows += units / readers * unit_rows;
        units = 0;
    }
    checkpoint->place = (struct row_place){ readers, rows, units };
    return status_ok();
}

static struct status read_readers(struct checkpoint *checkpoint)
{
    const struct bundle_entry *entry = bundle_find(checkpoint->bundle, CHECKPOINT_READERS);
    struct tensor tensor;

    if (entry == NULL || checkpoint->layout->units_per_step == 0)
        return status_ok();
    if (entry->dtype != DT_INT64 || entry->shape.rank != 1 || entry->shape.dims[0] != 4)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" CHECKPOINT_READERS "' is no list of four int64");
    TRY(bundle_read(checkpoint->bundle, CHECKPOINT_READERS, &tensor));
    struct status status = take_readers(checkpoint, tensor.data);
    tensor_release(&tensor);
    return status_in(status, "'" CHECKPOINT_READERS "'");
}

static struct status read_place(struct checkpoint *checkpoint, const char *prefix)
{
    TRY(bundle_open(prefix, &checkpoint->bundle));
    TRY(read_step(checkpoint));
    return read_position(checkpoint);
}

bool checkpoint_read_place(const char *prefix, uint64_t *step, uint64_t *rows)
{
    const struct checkpoint_layout by_rows = { .rows_per_turn = 1 };
    struct checkpoint checkpoint = { .layout = &by_rows, .arena = arena_create(0) };
    bool has = status_is_ok(read_place(&checkpoint, prefix)) && checkpoint.has_global_step &&
               checkpoint.position_count > 0;

    if (has) {
        *step = checkpoint.global_step;
        *rows = checkpoint.position[0];
    }
    for (size_t i = 1; i < checkpoint.position_count && has; i += 2)
        *rows -= checkpoint.position[i + 1];
    bundle_close(checkpoint.bundle);
    arena_destroy(checkpoint.arena);
    return has;
}

/* Reads one number of this size. *found is false if it is missing. */
static struct status read_number(const struct checkpoint *checkpoint, const char *key,
                                 enum dtype dtype, void *out, bool *found)
{
    struct tensor tensor;

    *found = bundle_find(checkpoint->bundle, key) != NULL;
    if (!*found)
        return status_ok();
    TRY(bundle_read(checkpoint->bundle, key, &tensor));
    bool fits = tensor.dtype == dtype && tensor.size == 1;
    if (fits)
        memcpy(out, tensor.data, dtype_size(dtype));
    tensor_release(&tensor);
    return fits ? status_ok()
                : status_error(STATUS_INVALID_ARGUMENT, "'%s' is not one %s", key,
                               dtype_name(dtype));
}

/* Reads a scalar. It gets its initial value if slots are missing. A power of β that alone is
 * missing follows from the step. */
static struct status read_scalar(struct checkpoint *checkpoint, int optimizer, int s, float *out)
{
    const struct layout_optimizer *of = &checkpoint->layout->optimizers[optimizer];
    const struct optimizer_scalar *row = &of->optimizer->scalars[s];
    const char *key =
        checkpoint_layout_scalar_key(checkpoint->layout, optimizer, s, checkpoint->arena);
    float initial = optimizer_initial(of->settings, row->initial_setting);
    bool found;

    if (key == NULL) {
        *out = (float)checkpoint->global_step;
    } else if (checkpoint->slots_missing > 0) {
        *out = initial;
    } else if (bundle_find(checkpoint->bundle, key) == NULL) {
        *out = powf(initial, (float)checkpoint->global_step + 1);
    } else {
        return read_number(checkpoint, key, DT_FLOAT, out, &found);
    }
    return status_ok();
}

static struct status read_loss_scale(struct checkpoint *checkpoint)
{
    struct loss_scale *state = &checkpoint->loss_scale;
    bool found;

    *state = checkpoint->layout->loss_scale;
    if (state->scale == 0)
        return status_ok();
    TRY(read_number(checkpoint, CHECKPOINT_SCALE, DT_FLOAT, &state->scale, &found));
    if (!found)
        return status_ok();
    TRY(read_number(checkpoint, CHECKPOINT_COUNTER, DT_INT64, &state->finite_steps, &found));
    TRY(read_number(checkpoint, CHECKPOINT_SKIPPED, DT_INT64, &state->skipped, &found));
    if (!(state->scale > 0) || isinf(state->scale) || state->finite_steps > INT64_MAX ||
        state->skipped > checkpoint->global_step)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" CHECKPOINT_SCALE "' is %g, with %" PRIu64
                            " steps skipped before step %" PRIu64,
                            (double)state->scale, state->skipped, checkpoint->global_step);
    return status_ok();
}

static struct status read_scalars(struct checkpoint *checkpoint)
{
    const struct checkpoint_layout *layout = checkpoint->layout;
    float *next = checkpoint->scalars;

    for (int o = 0; checkpoint_layout_has(layout, o); o++)
        for (int s = 0; s < layout->optimizers[o].optimizer->scalars_count; s++)
            TRY(read_scalar(checkpoint, o, s, next++));
    return status_ok();
}

/* ---- parts, chunk by chunk ---- */

static struct status begin_part(struct checkpoint *checkpoint, int variable, int part, bool *has)
{
    const struct checkpoint_layout *layout = checkpoint->layout;
    struct arena *arena = arena_create(0);
    const char *key = checkpoint_layout_key(layout, variable, part, arena);
    struct status status = status_ok();

    checkpoint->name = layout->placement->variables[variable].name;
    *has = key != NULL && bundle_find(checkpoint->bundle, key) != NULL;
    checkpoint->checks_values = (part == 0 || part == checkpoint->trained_part) &&
                                layout->placement->variables[variable].dtype == DT_FLOAT;
    if (*has)
        status = bundle_stream_begin(&checkpoint->stream, checkpoint->bundle, key);
    status = status_in(status, "checkpoint '%s'", checkpoint->prefix);
    arena_destroy(arena);
    return status;
}

static struct status next_chunk(struct checkpoint *checkpoint, struct bytes *chunk)
{
    struct status status = bundle_stream_next(&checkpoint->stream, chunk);

    if (status_is_ok(status) && checkpoint->checks_values && chunk->size > 0)
        status = finite_check(checkpoint->name, *chunk);
    return status_in(status, "checkpoint '%s'", checkpoint->prefix);
}

static struct status state_begin(struct client_state *state, int variable, int part, bool *has)
{
    return begin_part((struct checkpoint *)state, variable, part, has);
}

static struct status state_next(struct client_state *state, struct bytes *chunk)
{
    return next_chunk((struct checkpoint *)state, chunk);
}

static struct checkpoint *of_source(struct value_source *source)
{
    return CONTAINER_OF(source, struct checkpoint, source);
}

static struct status source_begin(struct value_source *source, const char *name)
{
    struct checkpoint *checkpoint = of_source(source);
    const struct placement *placement = checkpoint->layout->placement;
    bool has;

    if (key_values_begin(&checkpoint->table, placement, name))
        return status_ok();
    for (int v = 0; v < placement->variables_count; v++)
        if (strcmp(placement->variables[v].name, name) == 0)
            return begin_part(checkpoint, v,
                              placement->variables[v].trainable ? checkpoint->trained_part : 0,
                              &has);
    return status_error(STATUS_NOT_FOUND, "the checkpoint has no variable '%s'", name);
}

static struct status read_table(void *context, int variable, uint32_t shard, enum key_part part,
                                struct bytes *out)
{
    return checkpoint_get_keys(context, variable, shard, part, out);
}

static struct key_reader reader_of(struct checkpoint *checkpoint)
{
    return (struct key_reader){ read_table, &checkpoint->state, checkpoint->layout->placement };
}

static struct status source_count_rows(struct value_source *source, const char *name, int64_t *rows)
{
    struct checkpoint *checkpoint = of_source(source);
    const struct key_reader reader = reader_of(checkpoint);

    return key_values_count(&checkpoint->table, &reader, name, rows);
}

static struct status source_next(struct value_source *source, struct bytes *chunk)
{
    struct checkpoint *checkpoint = of_source(source);
    const struct key_reader reader = reader_of(checkpoint);

    return checkpoint->table.is_open ? key_values_next(&checkpoint->table, &reader, chunk)
                                     : next_chunk(checkpoint, chunk);
}

struct status checkpoint_open(const struct checkpoint_layout *layout, const char *prefix,
                              struct checkpoint **out)
{
    struct checkpoint *checkpoint = zalloc(sizeof *checkpoint);
    struct status status;

    checkpoint->state = (struct client_state){ .begin = state_begin,
                                               .next = state_next,
                                               .get_keys = checkpoint_get_keys };
    checkpoint->source = (struct value_source){ source_begin, source_next, source_count_rows };
    checkpoint->layout = layout;
    checkpoint->arena = arena_create(0);
    checkpoint->prefix = arena_strdup(checkpoint->arena, prefix);
    TRY_OR(fail, bundle_open(prefix, &checkpoint->bundle));
    TRY_OR(fail, check_all(checkpoint));
    TRY_OR(fail, read_step(checkpoint));
    TRY_OR(fail, read_position(checkpoint));
    TRY_OR(fail, read_readers(checkpoint));
    TRY_OR(fail, read_scalars(checkpoint));
    TRY_OR(fail, read_loss_scale(checkpoint));
    *out = checkpoint;
    return status_ok();

fail:
    status = status_in(status, "checkpoint '%s'", prefix);
    checkpoint_close(checkpoint);
    return status;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    if (checkpoint == NULL)
        return;
    bundle_stream_finish(&checkpoint->stream);
    checkpoint_tables_free(checkpoint);
    key_values_finish(&checkpoint->table);
    tensor_release(&checkpoint->keys);
    bundle_close(checkpoint->bundle);
    arena_destroy(checkpoint->arena);
    free(checkpoint);
}
