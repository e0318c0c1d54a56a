#include "storage/bundle_writer.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_keys.h"

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
    for (int part = 0; part < checkpoint_layout_parts(layout, v); part++) {
        const char *key = checkpoint_layout_key(layout, v, part, arena);
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

/* Writes the readers of a synchronous job, the rows before its units, the units, and the rows in
 * each. */
static struct status write_place(const struct checkpoint_layout *layout,
                                 const struct client_snapshot *snapshot,
                                 struct bundle_writer *writer)
{
    const struct row_place *begin = &snapshot->client->begin_place;
    uint64_t steps = snapshot->global_step - snapshot->client->begin_step;
    const uint64_t numbers[] = { begin->rows, begin->units + steps * layout->units_per_step,
                                 layout->rows_per_unit };
    uint64_t rows = begin->readers * begin->rows + numbers[1] * layout->rows_per_unit;

    TRY(write_numbers(writer, CHECKPOINT_POSITION, 1, &rows, 1));
    return write_numbers(writer, CHECKPOINT_READERS, begin->readers, numbers, COUNT(numbers));
}

static struct status write_position(const struct checkpoint_layout *layout,
                                    const struct client_snapshot *snapshot,
                                    struct bundle_writer *writer)
{
    if (layout->units_per_step > 0)
        return write_place(layout, snapshot, writer);
    if (layout->rows_per_turn == 0 || snapshot->position_count == 0)
        return status_ok();
    return write_numbers(writer, CHECKPOINT_POSITION, layout->rows_per_turn, snapshot->position,
                         snapshot->position_count);
}

static struct status write_scalars(const struct checkpoint_layout *layout,
                                   struct client_snapshot *snapshot, struct bundle_writer *writer,
                                   struct arena *arena)
{
    const float *next = snapshot->scalars;

    for (int o = 0; checkpoint_layout_has(layout, o); o++)
        for (int s = 0; s < layout->optimizers[o].optimizer->scalars_count; s++, next++) {
            const char *key = checkpoint_layout_scalar_key(layout, o, s, arena);
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
    TRY(write_scalar(writer, CHECKPOINT_SCALE, DT_FLOAT, &state->scale, sizeof state->scale));
    TRY(write_scalar(writer, CHECKPOINT_COUNTER, DT_INT64, &state->finite_steps,
                     sizeof state->finite_steps));
    return write_scalar(writer, CHECKPOINT_SKIPPED, DT_INT64, &state->skipped,
                        sizeof state->skipped);
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
    return write_scalar(writer, CHECKPOINT_STEP, DT_INT64, &step, sizeof step);
}

struct status checkpoint_write(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, const char *prefix)
{
    struct arena *arena = arena_create(0);
    struct bundle_writer *writer = NULL;
    struct status status;

    TRY_OR(done, bundle_writer_open(prefix, &writer));
    bundle_writer_bypass_cache(writer); /* training needs the processor and the memory more */
    TRY_OR(done, write_all(layout, snapshot, writer, arena));
    status = bundle_writer_commit(writer);
    writer = NULL;
done:
    bundle_writer_abandon(writer);
    arena_destroy(arena);
    return status;
}
