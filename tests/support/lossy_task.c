#include "lossy_task.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"

void lossy_place(int ps_count, bool by_rows, struct placement *out)
{
    struct placed_variable variables[] = {
        { .name = "w",
          .dtype = DT_FLOAT,
          .shape = shape_of(LOSSY_ROWS, LOSSY_ROW),
          .trainable = true,
          .by_rows = by_rows },
    };

    placement_create(variables, 1, ps_count, 16, PLACE_BY_BYTES, out);
}

/* ---- the gradient source ---- */

/* Half of the rows, on average. */
bool lossy_has_row(uint32_t index, uint64_t step, int row)
{
    return (row * 5 + (int)(step % 64) * 3 + (int)index * 2) % 8 < 4;
}

static bool is_by_rows(const struct lossy_task *task)
{
    return task->options.placement->variables[0].by_rows;
}

static struct status source_need_rows(struct gradient_source *base, const struct row_ids **rows)
{
    struct lossy_task *task = (struct lossy_task *)base;
    struct row_ids *chosen = &task->rows[task->step % 2];
    int64_t *ids = task->ids[task->step % 2];

    *chosen = (struct row_ids){ .ids = ids };
    for (int row = 0; row < LOSSY_ROWS; row++)
        if (lossy_has_row(task->options.index, task->step, row))
            ids[chosen->count++] = row;
    *rows = chosen;
    return status_ok();
}

static void compute_rows(struct lossy_task *task, uint64_t step, const float *values)
{
    const struct row_ids *rows = &task->rows[step % 2];
    float all[LOSSY_ELEMENTS] = { 0 }, gradient[LOSSY_ELEMENTS];

    for (size_t i = 0; i < rows->count; i++)
        memcpy(all + rows->ids[i] * LOSSY_ROW, values + i * LOSSY_ROW, LOSSY_ROW * sizeof(float));
    task->options.compute(task->options.context, task->options.index, step, all, gradient);
    for (size_t i = 0; i < rows->count; i++)
        memcpy(task->gradient + i * LOSSY_ROW, gradient + rows->ids[i] * LOSSY_ROW,
               LOSSY_ROW * sizeof(float));
    task->gradients[0].rows = *rows;
}

static struct status source_step(struct gradient_source *base, const void *const *values,
                                 const struct variable_gradient **gradients, float *loss)
{
    struct lossy_task *task = (struct lossy_task *)base;

    uint64_t made = task->step++;

    if (is_by_rows(task))
        compute_rows(task, made, values[0]);
    else
        task->options.compute(task->options.context, task->options.index, made, values[0],
                              task->gradient);
    task->gradients[0].values = task->gradient;
    *gradients = task->gradients;
    *loss = 1;
    return status_ok();
}

static struct status source_seek(struct gradient_source *base, uint64_t begin, uint64_t step,
                                 const struct row_place *place)
{
    (void)begin;
    (void)place;
    ((struct lossy_task *)base)->step = step;
    return status_ok();
}

/* ---- the chief ---- */

static struct status initial_values(void *context, struct arena *arena, const void *const **out)
{
    static const float zeros[LOSSY_ELEMENTS];
    const void **values = ARENA_ARRAY(arena, const void *, 1);

    (void)context;
    values[0] = zeros;
    *out = values;
    return status_ok();
}

static struct status read_snapshot(struct ps_client *client, float *out)
{
    struct client_snapshot snapshot;
    struct bytes chunk;
    size_t size = 0;

    TRY(client_snapshot_begin(client, false, LOSSY_WAIT_MS, &snapshot));
    struct status status = snapshot.source.begin(&snapshot.source, "w");
    while (status_is_ok(status)) {
        status = snapshot.source.next(&snapshot.source, &chunk);
        if (!status_is_ok(status) || chunk.size == 0)
            break;
        memcpy((char *)out + size, chunk.data, chunk.size);
        size += chunk.size;
    }
    struct status held = status_hold(status); /* the calls that end it have failures of their own */
    client_snapshot_end(&snapshot);
    status = status_resume(held);
    if (status_is_ok(status) && size != LOSSY_ELEMENTS * sizeof(float))
        return status_error(STATUS_INTERNAL, "a snapshot of %zu bytes", size);
    return status;
}

static struct status conclude(void *context, struct ps_client *client)
{
    const struct lossy_task_options *options = &((struct lossy_task *)context)->options;
    float values[LOSSY_ELEMENTS], snapshot[LOSSY_ELEMENTS];
    int64_t all[LOSSY_ROWS];

    for (int row = 0; row < LOSSY_ROWS; row++)
        all[row] = row;
    if (is_by_rows(context)) {
        client_select_rows(client, 0, (struct row_ids){ all, LOSSY_ROWS });
        TRY(client_pull(client));
    }
    memcpy(values, client->values[0], sizeof values); /* valid until the client's next call */
    TRY(read_snapshot(client, snapshot));
    options->conclude(options->context, client->global_step, values, snapshot);
    return status_ok();
}

static void warn(void *context, const char *text)
{
    const struct lossy_task_options *options = &((struct lossy_task *)context)->options;

    options->warn(options->context, text);
}

static struct status run_chief(struct lossy_task *task)
{
    const struct lossy_task_options *options = &task->options;
    struct checkpoint_dir *checkpoints = NULL;

    if (options->checkpoints != NULL)
        TRY(checkpoint_dir_open(options->checkpoints, 2, &checkpoints));
    struct chief_options chief = { .job = options->job,
                                   .initial_values = initial_values,
                                   .checkpoints = { .dir = checkpoints,
                                                    .every_steps = options->checkpoint_steps,
                                                    .channels = options->saver_channels },
                                   .start_timeout_ms = LOSSY_WAIT_MS,
                                   .finish_timeout_ms = LOSSY_WAIT_MS,
                                   .recovery_timeout_ms = LOSSY_WAIT_MS,
                                   .conclude = conclude,
                                   .context = task,
                                   .warn = warn };
    struct status status = chief_run(&task->client, &task->source, &chief, &task->progress);
    checkpoint_dir_close(checkpoints);
    return status;
}

/* ---- the thread ---- */

static void *run(void *context)
{
    struct lossy_task *task = context;
    struct worker_options worker = { .stop_step = task->options.job.stop_step,
                                     .start_timeout_ms = LOSSY_WAIT_MS,
                                     .recovery_timeout_ms = LOSSY_WAIT_MS };

    struct status status = task->options.index == 0
                               ? run_chief(task)
                               : worker_run(&task->client, &task->source, &worker, &task->progress);
    task->code = status.code;
    snprintf(task->text, sizeof task->text, "%s", status.message);
    atomic_store(&task->done, true);
    return NULL;
}

void lossy_task_start(struct lossy_task *task, const struct lossy_task_options *options)
{
    struct ps_client_options client = { .cluster = LOSSY_CLUSTER,
                                        .task = options->name,
                                        .ps_list = options->ps_list,
                                        .index = options->index,
                                        .incarnation = options->incarnation,
                                        .placement = options->placement,
                                        .channels = options->channels,
                                        .chunk_bytes_max = options->chunk_bytes,
                                        .call_timeout_ms = LOSSY_WAIT_MS,
                                        .attempt_timeout_ms = LOSSY_ATTEMPT_MS };

    *task =
        (struct lossy_task){ .source = { .step = source_step, .seek = source_seek },
                             .options = *options,
                             .progress = { .say = options->say, .say_context = options->context } };
    if (is_by_rows(task))
        task->source.need_rows = source_need_rows;
    client_init(&task->client, &client);
    network_start_thread(options->network, &task->thread, run, task);
}

void lossy_task_finish(struct lossy_task *task)
{
    client_finish(&task->client);
}
