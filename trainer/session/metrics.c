/* Writes the session's metrics to --log_dir and --metrics_file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph_proto.h"
#include "proto/message.h"
#include "trainer/client/totals.h"
#include "trainer/model/evaluation_sums.h"
#include "trainer/session/output.h"
#include "trainer/session/session.h"

#define GRAPH_BYTES_MAX ((size_t)256 << 20) /* TensorBoard shows no larger ones */

/* ---- the graph ---- */

static void log_graph(struct session *session)
{
    struct arena *arena = arena_create(0);
    struct buffer bytes = { 0 };

    proto_pack(graph_to_proto(session->graph.step.graph, arena), &bytes);
    if (bytes.size <= GRAPH_BYTES_MAX)
        metrics_log_graph(session->metrics, (struct bytes){ bytes.data, bytes.size });
    else
        log_warning("--log_dir: the graph takes %zu MiB and is not written", bytes.size >> 20);
    buffer_finish(&bytes);
    arena_destroy(arena);
}

struct status session_open_metrics(struct session *session)
{
    const struct options *options = &session->options;
    bool chief = session_is_chief(session);
    struct metrics_log_options metrics = {
        .file = options->flags.metrics_file,
        .directory = options->flags.log_dir,
        .trains = chief,
        .every_steps = (uint64_t)options->flags.save_summary_steps,
        .last_step = options->job.stop_step,
        .rows_per_step = session->report.rows_per_step,
        .clock = clock_monotonic(),
        .warn = output_warn,
        .context = session,
    };

    if (!chief && options->map.kind != JOB_EVALUATOR)
        return status_ok();
    if (chief && options->flags.train_metrics && *metrics.file == '\0' &&
        *metrics.directory == '\0')
        return status_error(STATUS_INVALID_ARGUMENT,
                            "--train_metrics needs --log_dir or --metrics_file");
    TRY(metrics_log_open(&metrics, &session->metrics));
    if (chief && *options->flags.log_dir != '\0')
        log_graph(session);
    return status_ok();
}

/* ---- steps ---- */

/* The number of elements of client->values[v]. Of a table that is read by rows, these are the rows
 * of the chief's next batch. */
static size_t values_count(const struct ps_client *client, int v)
{
    const struct placed_variable *variable = &client->options.placement->variables[v];

    if (placed_variable_is_sparse(variable))
        return client->rows.held[v].count * (placement_row_bytes(variable) / sizeof(float));
    return (size_t)shape_size(&variable->shape);
}

static void log_histograms(struct session *session, const struct ps_client *client)
{
    const struct placement *placement = client->options.placement;
    struct histogram *histogram = histogram_create();

    for (int v = 0; v < placement->variables_count; v++) {
        const struct placed_variable *variable = &placement->variables[v];
        if (variable->dtype != DT_FLOAT || !placed_variable_is_pushed(variable))
            continue;
        histogram_clear(histogram);
        histogram_add(histogram, client->values[v], values_count(client, v));
        metrics_log_histogram(session->metrics, variable->name, client->global_step, histogram);
    }
    free(histogram);
}

static bool histograms_are_due(const struct session *session, uint64_t step)
{
    uint64_t every = (uint64_t)session->options.flags.histogram_steps;

    return every > 0 && step / every > session->histogram_step / every;
}

/* ---- the training rows of all workers ---- */

/* Starts counting with this generation. A chief that continues with the values of an earlier one
 * does not know what that has logged, so it starts with the rows from now on. */
static struct status begin_totals(struct session *session, struct ps_client *client)
{
    struct train_totals *logged = &session->totals;
    uint64_t step;

    if (logged->list == NULL)
        logged->list = ARENA_ARRAY(session->arena, double, client->totals_count);
    memset(logged->list, 0, client->totals_count * sizeof(double));
    if (client->created != client->generation)
        TRY(client_read_totals(client, logged->list, &step));
    logged->generation = client->generation;
    return status_ok();
}

static void log_train(struct session *session, uint64_t step, const double *list)
{
    const struct training_graph *graph = &session->graph;
    struct evaluation_sums sums;

    evaluation_sums_begin(&sums, graph);
    evaluation_sums_read(&sums, graph, list);
    struct evaluation mean = evaluation_sums_result(&sums, graph);
    session_log_evaluation(session, NULL, step, &mean);
    evaluation_sums_finish(&sums, graph);
}

static struct status log_totals(struct session *session, struct ps_client *client)
{
    size_t count = client->totals_count;
    double *list = zalloc(count * sizeof *list);
    uint64_t step;

    struct status status = client_read_totals(client, list, &step);
    for (size_t i = 0; i < count && status_is_ok(status); i++) {
        double all = list[i];
        list[i] -= session->totals.list[i];
        session->totals.list[i] = all;
    }
    if (status_is_ok(status) && list[0] > 0)
        log_train(session, step, list);
    free(list);
    return status;
}

/* Without a reply no line is written: the next push meets the same failure. */
static void step_totals(struct session *session, struct ps_client *client, bool due)
{
    struct status status = status_ok();

    if (session->options.job.totals_count == 0)
        return;
    if (session->totals.generation != client->generation)
        status = begin_totals(session, client);
    if (status_is_ok(status) && due)
        status = log_totals(session, client);
    status_ignore(status);
}

/* ---- a step ---- */

void session_stepped(void *context, struct ps_client *client, const float *loss)
{
    struct session *session = context;
    const struct client_job *job = &session->options.job;
    uint64_t step = client->global_step;

    if (loss != NULL && isfinite(*loss)) /* not finite: a skipped step */
        loss_plot_add(&session->plot, step, (double)*loss);
    float rate = schedule_rate(
        &job->schedule, job->learning_rate,
        schedule_step(step - 1 - client->scaling.skipped, session->options.accumulation));
    bool due = metrics_log_step(session->metrics, step, loss, (double)rate);
    step_totals(session, client, due);
    if (histograms_are_due(session, step)) {
        log_histograms(session, client);
        session->histogram_step = step;
    }
}
