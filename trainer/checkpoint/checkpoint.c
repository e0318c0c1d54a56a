#include "trainer/checkpoint/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/container.h"
#include "storage/bundle_writer.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/optimizers/finite.h"
#include "trainer/protocol/share_table.h"

#define GLOBAL_STEP "global_step"
#define POSITION    "input_position"
#define READERS     "input_readers"
#define NAMES_SHOWN 8
/* Keras' names, and the steps that are no iterations. */
#define SCALE       "dynamic_scale"
#define COUNTER     "step_counter"
#define SKIPPED     "skipped_steps"

static struct status choose(const struct client_optimizer *from, struct layout_optimizer *out)
{
    const struct optimizer *optimizer = optimizer_find(from->name);

    if (optimizer == NULL)
        return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' is none of: %s", from->name,
                            optimizer_names());
    out->optimizer = optimizer;
    for (int i = 0; i < optimizer->settings_count; i++)
        out->settings[i] = optimizer->settings[i].initial;
    for (int i = 0; i < from->settings_count; i++) {
        int index = optimizer_setting_index(optimizer, from->settings[i].name);
        if (index < 0)
            return status_error(STATUS_INVALID_ARGUMENT, "optimizer '%s' has no setting '%s'",
                                optimizer->name, from->settings[i].name);
        out->settings[index] = from->settings[i].value;
    }
    return status_ok();
}

struct status checkpoint_layout_init(struct checkpoint_layout *layout,
                                     const struct placement *placement,
                                     const struct client_job *job)
{
    *layout = (struct checkpoint_layout){ .placement = placement,
                                          .optimizer_of = job->optimizer_of,
                                          .rows_per_turn = job->rows_per_turn,
                                          .rows_per_unit = job->rows_per_unit,
                                          .units_per_step = job->units_per_step,
                                          .loss_scale = job->loss_scale };
    if (job->units_per_step > 0)
        layout->rows_per_turn = 1;
    if (job->others_count > OPTIMIZERS_MAX - 1)
        return status_error(STATUS_INVALID_ARGUMENT, "%d other optimizers, and at most %d",
                            job->others_count, OPTIMIZERS_MAX - 1);
    for (int i = 0; i <= job->others_count; i++) {
        const struct client_optimizer optimizer = client_job_optimizer(job, i);
        TRY(choose(&optimizer, &layout->optimizers[i]));
    }
    return status_ok();
}

const struct layout_optimizer *checkpoint_layout_of(const struct checkpoint_layout *layout,
                                                    int variable)
{
    return &layout->optimizers[layout->optimizer_of != NULL ? layout->optimizer_of[variable] : 0];
}

/* The key of a part of a variable; NULL: checkpoints do not have it. */
static const char *key_of(const struct checkpoint_layout *layout, int variable, int part,
                          struct arena *arena)
{
    const struct placed_variable *row = &layout->placement->variables[variable];

    if (part == 0)
        return row->name;
    const struct layout_optimizer *of = checkpoint_layout_of(layout, variable);
    const char *suffix = optimizer_slot_suffix(of->optimizer, of->settings, part - 1);
    return suffix != NULL ? arena_printf(arena, "%s/%s", row->name, suffix) : NULL;
}

static int parts_of(const struct checkpoint_layout *layout, int variable)
{
    const struct optimizer *optimizer = checkpoint_layout_of(layout, variable)->optimizer;

    return 1 + (layout->placement->variables[variable].trainable ? optimizer->slots_count : 0);
}

/* ---- Writing. ---- */

static struct status write_part(struct bundle_writer *writer, const char *key,
                                const struct placed_variable *variable,
                                struct client_snapshot *snapshot)
{
    struct bytes chunk;

    TRY(bundle_writer_begin(writer, key, variable->dtype, &variable->shape));
    for (;;) {
        struct status status = snapshot->source.next(&snapshot->source, &chunk);
        if (!status_is_ok(status) || chunk.size == 0) {
            struct status ended = bundle_writer_end(writer);
            return status_is_ok(status) ? ended : status;
        }
        TRY(bundle_writer_append(writer, chunk.data, chunk.size));
    }
}

static struct status write_variable(const struct checkpoint_layout *layout, int v,
                                    struct client_snapshot *snapshot, struct bundle_writer *writer,
                                    struct arena *arena)
{
    for (int part = 0; part < parts_of(layout, v); part++) {
        const char *key = key_of(layout, v, part, arena);
        if (key == NULL)
            continue;
        client_snapshot_select(snapshot, v, part);
        TRY(write_part(writer, key, &layout->placement->variables[v], snapshot));
    }
    return status_ok();
}

static struct status write_scalar(struct bundle_writer *writer, const char *key, enum dtype dtype,
                                  const void *value, size_t size)
{
    struct shape scalar = { 0 };

    TRY(bundle_writer_begin(writer, key, dtype, &scalar));
    TRY(bundle_writer_append(writer, value, size));
    return bundle_writer_end(writer);
}

static struct status write_numbers(struct bundle_writer *writer, const char *key, uint64_t first,
                                   const uint64_t *rest, size_t count)
{
    struct shape shape = shape_of(1 + (int64_t)count);

    TRY(bundle_writer_begin(writer, key, DT_INT64, &shape));
    TRY(bundle_writer_append(writer, &first, sizeof first));
    TRY(bundle_writer_append(writer, rest, count * sizeof *rest));
    return bundle_writer_end(writer);
}

/* The readers of a synchronous job, the rows before its units, the units, and the rows in each. */
static struct status write_place(const struct checkpoint_layout *layout,
                                 const struct client_snapshot *snapshot,
                                 struct bundle_writer *writer)
{
    const struct row_place *begin = &snapshot->client->begin_place;
    uint64_t steps = snapshot->global_step - snapshot->client->begin_step;
    const uint64_t numbers[] = { begin->rows, begin->units + steps * layout->units_per_step,
                                 layout->rows_per_unit };
    uint64_t rows = begin->readers * begin->rows + numbers[1] * layout->rows_per_unit;

    TRY(write_numbers(writer, POSITION, 1, &rows, 1));
    return write_numbers(writer, READERS, begin->readers, numbers, COUNT(numbers));
}

static struct status write_position(const struct checkpoint_layout *layout,
                                    const struct client_snapshot *snapshot,
                                    struct bundle_writer *writer)
{
    if (layout->units_per_step > 0)
        return write_place(layout, snapshot, writer);
    if (layout->rows_per_turn == 0 || snapshot->position_count == 0)
        return status_ok();
    return write_numbers(writer, POSITION, layout->rows_per_turn, snapshot->position,
                         snapshot->position_count);
}

/* The key of a scalar. As in TensorFlow, that of a second optimizer with the same one ends in "_1".
 * NULL: it is in no checkpoint. */
static const char *scalar_key(const struct checkpoint_layout *layout, int optimizer, int scalar,
                              struct arena *arena)
{
    const char *name = layout->optimizers[optimizer].optimizer->scalars[scalar].name;
    int earlier = 0;

    for (int o = 0; o < optimizer && name != NULL; o++) {
        const struct optimizer *other = layout->optimizers[o].optimizer;
        for (int s = 0; s < other->scalars_count; s++)
            earlier += other->scalars[s].name != NULL && strcmp(other->scalars[s].name, name) == 0;
    }
    return earlier == 0 ? name : arena_printf(arena, "%s_%d", name, earlier);
}

static bool has_optimizer(const struct checkpoint_layout *layout, int optimizer)
{
    return optimizer < OPTIMIZERS_MAX && layout->optimizers[optimizer].optimizer != NULL;
}

static struct status write_scalars(const struct checkpoint_layout *layout,
                                   struct client_snapshot *snapshot, struct bundle_writer *writer,
                                   struct arena *arena)
{
    const float *next = snapshot->scalars;

    for (int o = 0; has_optimizer(layout, o); o++)
        for (int s = 0; s < layout->optimizers[o].optimizer->scalars_count; s++, next++) {
            const char *key = scalar_key(layout, o, s, arena);
            if (key != NULL)
                TRY(write_scalar(writer, key, DT_FLOAT, next, sizeof *next));
        }
    return status_ok();
}

static struct status write_loss_scale(const struct checkpoint_layout *layout,
                                      const struct client_snapshot *snapshot,
                                      struct bundle_writer *writer)
{
    const struct loss_scale *state = &snapshot->loss_scale;

    if (layout->loss_scale.scale == 0)
        return status_ok();
    TRY(write_scalar(writer, SCALE, DT_FLOAT, &state->scale, sizeof state->scale));
    TRY(write_scalar(writer, COUNTER, DT_INT64, &state->finite_steps, sizeof state->finite_steps));
    return write_scalar(writer, SKIPPED, DT_INT64, &state->skipped, sizeof state->skipped);
}

static struct status write_all(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, struct bundle_writer *writer,
                               struct arena *arena)
{
    int64_t step = (int64_t)snapshot->global_step;

    for (int v = 0; v < layout->placement->variables_count; v++)
        TRY(layout->placement->variables[v].by_keys
                ? checkpoint_write_keys(layout, v, snapshot, writer)
                : write_variable(layout, v, snapshot, writer, arena));
    TRY(write_scalars(layout, snapshot, writer, arena));
    TRY(write_position(layout, snapshot, writer));
    TRY(write_loss_scale(layout, snapshot, writer));
    return write_scalar(writer, GLOBAL_STEP, DT_INT64, &step, sizeof step);
}

struct status checkpoint_write(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, const char *prefix)
{
    struct arena *arena = arena_create(0);
    struct bundle_writer *writer = NULL;
    struct status status;

    TRY_OR(done, bundle_writer_open(prefix, &writer));
    TRY_OR(done, write_all(layout, snapshot, writer, arena));
    status = bundle_writer_commit(writer);
    writer = NULL;
done:
    bundle_writer_abandon(writer);
    arena_destroy(arena);
    return status;
}

/* ---- Reading. ---- */

/* The first names in the bundle, for an error about a missing one. */
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
    const char *key = key_of(checkpoint->layout, variable, part, checkpoint->arena);
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
        for (int part = 0; part < parts_of(layout, v); part++)
            TRY(check_part(checkpoint, v, part));
    }
    return status_ok();
}

/* A global_step that a user's program made may be int32. */
static struct status read_step(struct checkpoint *checkpoint)
{
    struct tensor tensor;

    if (bundle_find(checkpoint->bundle, GLOBAL_STEP) == NULL)
        return status_ok();
    TRY(bundle_read(checkpoint->bundle, GLOBAL_STEP, &tensor));
    int64_t step = -1;
    if (tensor.size == 1 && tensor.dtype == DT_INT64)
        memcpy(&step, tensor.data, sizeof step);
    else if (tensor.size == 1 && tensor.dtype == DT_INT32)
        step = *(const int32_t *)tensor.data;
    tensor_release(&tensor);
    if (step < 0)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" GLOBAL_STEP "' is not a single integer >= 0");
    checkpoint->global_step = (uint64_t)step;
    checkpoint->has_global_step = true;
    return status_ok();
}

#define ROWS_PER_TURN_MAX ((uint64_t)1 << 32)
#define ROWS_MAX          ((uint64_t)1 << 62) /* more cannot be computed with */

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

/* A job that gives out no rows has no use for it. */
static struct status read_position(struct checkpoint *checkpoint)
{
    const struct bundle_entry *entry = bundle_find(checkpoint->bundle, POSITION);
    struct tensor tensor;

    if (entry == NULL || checkpoint->layout->rows_per_turn == 0)
        return status_ok();
    if (entry->dtype != DT_INT64 || entry->shape.rank != 1 || entry->shape.dims[0] < 2)
        return status_error(STATUS_INVALID_ARGUMENT, "'" POSITION "' is no list of int64");
    TRY(bundle_read(checkpoint->bundle, POSITION, &tensor));
    struct status status = take_position(checkpoint, tensor.data, (size_t)tensor.size);
    tensor_release(&tensor);
    return status_in(status, "'" POSITION "'");
}

/* With batches of another size, the readers go on behind the rounds in which each of them has given
 * as many as the others. */
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
    const struct bundle_entry *entry = bundle_find(checkpoint->bundle, READERS);
    struct tensor tensor;

    if (entry == NULL || checkpoint->layout->units_per_step == 0)
        return status_ok();
    if (entry->dtype != DT_INT64 || entry->shape.rank != 1 || entry->shape.dims[0] != 4)
        return status_error(STATUS_INVALID_ARGUMENT, "'" READERS "' is no list of four int64");
    TRY(bundle_read(checkpoint->bundle, READERS, &tensor));
    struct status status = take_readers(checkpoint, tensor.data);
    tensor_release(&tensor);
    return status_in(status, "'" READERS "'");
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

/* One number of this size. *found is false if there is none. */
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

/* A scalar starts with its initial value if slots are missing. A power of β that is missing alone
 * follows from the step. */
static struct status read_scalar(struct checkpoint *checkpoint, int optimizer, int s, float *out)
{
    const struct layout_optimizer *of = &checkpoint->layout->optimizers[optimizer];
    const struct optimizer_scalar *row = &of->optimizer->scalars[s];
    const char *key = scalar_key(checkpoint->layout, optimizer, s, checkpoint->arena);
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
    TRY(read_number(checkpoint, SCALE, DT_FLOAT, &state->scale, &found));
    if (!found)
        return status_ok();
    TRY(read_number(checkpoint, COUNTER, DT_INT64, &state->finite_steps, &found));
    TRY(read_number(checkpoint, SKIPPED, DT_INT64, &state->skipped, &found));
    if (!(state->scale > 0) || isinf(state->scale) || state->finite_steps > INT64_MAX ||
        state->skipped > checkpoint->global_step)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'" SCALE "' is %g, with %" PRIu64
                            " steps skipped before step %" PRIu64,
                            (double)state->scale, state->skipped, checkpoint->global_step);
    return status_ok();
}

static struct status read_scalars(struct checkpoint *checkpoint)
{
    const struct checkpoint_layout *layout = checkpoint->layout;
    float *next = checkpoint->scalars;

    for (int o = 0; has_optimizer(layout, o); o++)
        for (int s = 0; s < layout->optimizers[o].optimizer->scalars_count; s++)
            TRY(read_scalar(checkpoint, o, s, next++));
    return status_ok();
}

/* ---- Parts, chunk by chunk. ---- */

static struct status begin_part(struct checkpoint *checkpoint, int variable, int part, bool *has)
{
    const struct checkpoint_layout *layout = checkpoint->layout;
    struct arena *arena = arena_create(0);
    const char *key = key_of(layout, variable, part, arena);
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
