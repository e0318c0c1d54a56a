/* The session's evaluations: while the job trains, and of the final values. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plural.h"
#include "trainer/checkpoint/checkpoint_keys.h"
#include "trainer/optimizers/average.h"
#include "trainer/session/output.h"
#include "trainer/session/session.h"

#define STATE_FILE "early_stopping.json"
#define BEST_DIR   "best"

void session_log_evaluation(struct session *session, const char *name, uint64_t step,
                            const struct evaluation *evaluation)
{
    const struct training_graph *graph = &session->graph;
    struct event_scalar values[1 + EVALUATION_METRICS_MAX] = { { "loss", evaluation->loss } };

    for (int m = 0; m < graph->metrics_count; m++)
        values[1 + m] = (struct event_scalar){ graph->metrics[m].name, evaluation->metrics[m] };
    if (name != NULL)
        metrics_log_evaluation(session->metrics, name, step, values, 1 + graph->metrics_count);
    else
        metrics_log_train(session->metrics, step, evaluation->rows, values,
                          1 + graph->metrics_count);
}

/* The source of an evaluation's values. */
struct kept_values {
    const void *const *whole; /* [variables_count]: of dense variables */
    /* For rows. NULL: there are no sparse variables, or `whole` has those by rows, and
     * `checkpoint` those by keys. */
    struct client_snapshot *snapshot;
    struct checkpoint *checkpoint;
};

/* The values of a batch. */
struct held_values {
    struct evaluation_values base; /* first */
    const struct model *model;
    const struct kept_values *kept;
    const void **values; /* [variables_count] */
    struct buffer *rows; /* [variables_count] */
};

/* Copies rows of a table in memory. */
static void choose_rows(const char *table, const struct row_ids *rows, size_t row_bytes, char *out)
{
    for (size_t i = 0; i < rows->count; i++, out += row_bytes)
        memcpy(out, table + (size_t)rows->ids[i] * row_bytes, row_bytes);
}

static struct status choose_all(struct held_values *held, const struct row_ids *rows)
{
    for (int v = 0; v < held->model->variables_count; v++) {
        const struct placed_variable *variable = &held->model->variables[v];
        size_t row_bytes = placement_row_bytes(variable);
        if (!placed_variable_is_sparse(variable))
            continue;
        held->rows[v].size = 0;
        buffer_reserve(&held->rows[v], rows[v].count * row_bytes + 1);
        if (variable->by_keys)
            TRY(checkpoint_copy_keys(held->kept->checkpoint, v, &rows[v],
                                     (float *)(void *)held->rows[v].data));
        else
            choose_rows(held->kept->whole[v], &rows[v], row_bytes, held->rows[v].data);
    }
    return status_ok();
}

static struct status get_held(struct evaluation_values *base, const struct row_ids *rows,
                              const void *const **out)
{
    struct held_values *held = (struct held_values *)base;

    if (held->model->evaluation_ids != NULL && held->kept->snapshot != NULL)
        TRY(client_snapshot_read_rows(held->kept->snapshot, rows, held->rows));
    else if (held->model->evaluation_ids != NULL)
        TRY(choose_all(held, rows));
    for (int v = 0; v < held->model->variables_count; v++)
        if (placed_variable_is_sparse(&held->model->variables[v]))
            held->values[v] = held->rows[v].data;
    *out = held->values;
    return status_ok();
}

static struct status evaluate_held(const struct session *session, const struct kept_values *kept,
                                   const struct data_split *rows, const _Atomic bool *enough,
                                   struct evaluation *out)
{
    const struct model *model = session->model;
    size_t count = (size_t)model->variables_count + 1;
    struct held_values held = { { get_held }, model, kept, NULL, NULL };
    const struct evaluation_candidates candidates = {
        .rows = session->candidates != NULL ? session->candidates->train : NULL,
        .bytes_max = session_memory_budget(session),
    };

    held.values = zalloc(count * sizeof *held.values);
    held.rows = zalloc(count * sizeof *held.rows);
    for (int v = 0; v < model->variables_count; v++)
        held.values[v] = kept->whole[v];
    struct status status = model_evaluate(model, &held.base, rows, &candidates, enough, out);
    for (int v = 0; v < model->variables_count; v++)
        buffer_finish(&held.rows[v]);
    free(held.rows);
    free(held.values);
    return status;
}

/* Evaluates the rows, if there are any. */
static struct status evaluate_rows(struct session *session, const char *what, const char *name,
                                   const struct kept_values *kept, const struct data_split *rows)
{
    uint64_t step = atomic_load(&session->progress.global_step);
    struct evaluation evaluation;

    if (rows == NULL)
        return status_ok();
    TRY(evaluate_held(session, kept, rows, &session->progress.stop, &evaluation));
    report_evaluation(&session->report, what, &session->graph, &evaluation);
    session_log_evaluation(session, name, step, &evaluation);
    if (!isfinite(evaluation.loss))
        return status_error(STATUS_OUT_OF_RANGE,
                            "%s: the loss is %g: nothing was exported; try a smaller "
                            "--learning_rate",
                            what, evaluation.loss);
    return status_ok();
}

/* ---- the end ---- */

static int average_part(const struct session *session)
{
    return optimizer_average_part(optimizer_find(session->options.job.optimizer));
}

struct status session_open_best(const struct session *session, struct checkpoint_layout *layout,
                                struct checkpoint **out)
{
    const struct checkpoint_dir *best = session->best;

    *out = NULL;
    if (best == NULL || !session->options.flags.restore_best_weights ||
        checkpoint_dir_count(best) == 0)
        return status_ok();
    TRY(checkpoint_layout_init(layout, &session->placement, &session->options.job));
    return checkpoint_open(layout, checkpoint_dir_at(best, 0, session->arena), out);
}

static struct status evaluate_final(struct session *session, const struct kept_values *kept)
{
    const struct data *data = session->data;

    TRY(evaluate_rows(session, "Validation", "validation", kept, data->validation));
    return evaluate_rows(session, "Test", "test", kept, data->test);
}

/* Tests and exports the values of `source`, which belongs to a snapshot or a checkpoint. */
static struct status test_and_export(struct session *session, struct value_source *source,
                                     struct client_snapshot *snapshot,
                                     struct checkpoint *checkpoint)
{
    struct all_values *values = all_values_create(&session->placement, snapshot == NULL);
    struct status status = all_values_read(values, source, &session->progress.stop);
    const struct kept_values kept = { (const void *const *)values->data, snapshot, checkpoint };

    if (status_is_ok(status))
        status = evaluate_final(session, &kept);
    all_values_destroy(values);
    return status_is_ok(status) ? session_export(session, source) : status;
}

/* Like Keras, which overwrites the averages with the values of the best epoch. */
static struct status conclude_with_best(struct session *session, struct checkpoint *best)
{
    report_line(&session->report, "Going back to the best values, of step %" PRIu64,
                best->global_step);
    return test_and_export(session, &best->source, NULL, best);
}

static struct status conclude_with_last(struct session *session, struct ps_client *client)
{
    int part = average_part(session);
    bool sparse = session->model->evaluation_ids != NULL;
    const struct kept_values held = { .whole = client->values };
    struct client_snapshot snapshot;

    if (part == 0 && !sparse)
        TRY(evaluate_final(session, &held));
    if (part == 0 && !sparse && session->options.export_directory == NULL)
        return status_ok();
    TRY(session_snapshot(client, part > 0, &snapshot));
    snapshot.trained_part = part;
    struct status status = part > 0 || sparse
                               ? test_and_export(session, &snapshot.source, &snapshot, NULL)
                               : session_export(session, &snapshot.source);
    struct status ended = status_hold(status);
    client_snapshot_end(&snapshot);
    return status_resume(ended);
}

struct status session_conclude(void *context, struct ps_client *client)
{
    struct session *session = context;
    struct checkpoint_layout layout;
    struct checkpoint *best;

    if (client->global_step < session->options.job.stop_step)
        session->options.job.stop_step = client->global_step;
    report_training(&session->report, &session->progress);
    if (session->options.flags.plot)
        report_plot(&session->report, &session->plot);
    TRY(session_open_best(session, &layout, &best));
    struct status status =
        best != NULL ? conclude_with_best(session, best) : conclude_with_last(session, client);
    checkpoint_close(best);
    return status;
}

/* ---- during training ---- */

/* The rows that the chief evaluates. */
static const struct data_split *watched_rows(const struct session *session, const char **what,
                                             const char **name)
{
    bool validates = session->data->validation != NULL && session_is_chief(session);

    *what = validates ? "Validation" : "Test";
    *name = validates ? "validation" : "test";
    return validates ? session->data->validation : session->data->test;
}

static void say_verdict(struct session *session, struct verdict verdict)
{
    const struct early_stopping *stopping = &session->stopping;

    if (verdict.stop)
        report_line(&session->report,
                    "%s has not improved in %" PRId64 " evaluation%s: the best was %g, at step "
                    "%" PRIu64,
                    stopping->name, stopping->wait, plural(stopping->wait), stopping->best,
                    stopping->best_step);
}

struct status session_evaluate(void *context, uint64_t step, const void *const *values,
                               struct client_snapshot *snapshot, const _Atomic bool *enough,
                               struct verdict *out)
{
    struct session *session = context;
    struct evaluation evaluation;
    const char *what, *name;
    char line[64];
    const struct data_split *rows = watched_rows(session, &what, &name);

    const struct kept_values kept = { .whole = values, .snapshot = snapshot };
    TRY(evaluate_held(session, &kept, rows, enough, &evaluation));
    snprintf(line, sizeof line, "%s at step %" PRIu64, what, step);
    report_evaluation(&session->report, line, &session->graph, &evaluation);
    session_log_evaluation(session, name, step, &evaluation);
    *out = early_stopping_add(&session->stopping, step,
                              early_stopping_value(&session->stopping, &evaluation));
    say_verdict(session, *out);
    return status_ok();
}

/* Best values that could not be written do not count as the best. */
static void settled(void *context, bool kept)
{
    struct session *session = context;

    if (!kept)
        session->stopping = session->settled;
    session->settled = session->stopping;
    if (session->stopping_path == NULL)
        return;
    struct status status = early_stopping_write(&session->stopping, session->stopping_path);
    if (!status_is_ok(status))
        log_warning("%s", status.message);
}

struct monitor_options session_monitor_options(struct session *session)
{
    return (struct monitor_options){ .every_steps = session->evaluate_steps,
                                     .evaluated_step = session->stopping.step,
                                     .best = session->best,
                                     .evaluate = session_evaluate,
                                     .settled = settled,
                                     .warn = output_warn,
                                     .context = session };
}

/* ---- preparation ---- */

static struct status choose_evaluate_steps(struct session *session)
{
    const struct options *options = &session->options;
    int64_t rows = session->data->train->rows;
    int64_t per_step = (int64_t)options_rows_per_step(options);
    const char *what, *name;

    session->evaluate_steps = (uint64_t)options->flags.evaluate_steps;
    if (session->evaluate_steps == 0 && !options->chief_stops && !options->keeps_best)
        return status_ok();
    if (watched_rows(session, &what, &name) == NULL)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "an evaluation while training needs --validation_files or "
                            "--test_files");
    if (session->evaluate_steps > 0)
        return status_ok();
    if (rows == ROWS_UNKNOWN)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--evaluate_steps is missing: how long an epoch is, is not known, "
                            "because the number of rows is not");
    session->evaluate_steps = (uint64_t)((rows + per_step - 1) / per_step);
    return status_ok();
}

static struct status open_best(struct session *session)
{
    const char *directory = session->options.flags.checkpoint_dir;

    session->stopping_path = file_join(session->arena, directory, STATE_FILE);
    if (!session->options.keeps_best)
        return status_ok();
    return status_in(
        checkpoint_dir_open(file_join(session->arena, directory, BEST_DIR), 1, &session->best),
        "--checkpoint_dir");
}

struct status session_prepare_evaluation(struct session *session)
{
    struct options *options = &session->options;

    if (session_is_chief(session))
        TRY(choose_evaluate_steps(session));
    TRY(early_stopping_init(&options->stopping, &session->graph, &session->stopping));
    if (session->evaluate_steps == 0)
        return status_ok();
    if (session->checkpoints != NULL)
        TRY(open_best(session));
    if (session->checkpoints == NULL)
        return status_ok();
    TRY(early_stopping_read(&session->stopping, session->stopping_path));
    session->settled = session->stopping;
    if (early_stopping_is_enough(&session->stopping) &&
        session->stopping.step < options->job.stop_step) {
        options->job.stop_step = session->stopping.step;
        log_info("an earlier run has stopped the job early, at step %" PRIu64,
                 session->stopping.step);
    }
    return status_ok();
}
