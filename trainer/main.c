/* pstrain: trains a model on parameter servers and exports it as a SavedModel. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "exporter/export.h"
#include "trainer/cluster.h"
#include "trainer/doctor.h"
#include "trainer/model.h"
#include "trainer/options.h"
#include "trainer/report.h"
#include "trainer/task.h"

#define EXIT_USAGE          2
#define SNAPSHOT_TIMEOUT_MS 30000
#define MS_PER_S            1000

static volatile sig_atomic_t stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

/* One run of the program. */
struct session {
    struct arena *arena;
    struct options options;
    struct data *data;
    struct model *model;
    struct placement placement;
    struct checkpoint_dir *checkpoints;
    struct progress progress;
    struct report report;
    bool trains; /* said in the log */
};

static bool is_local(const struct session *session)
{
    return job_map_is_local(&session->options.map);
}

static bool is_chief(const struct session *session)
{
    return is_local(session) || job_map_is_chief(&session->options.map);
}

static struct status make_source(void *context, uint32_t index, struct gradient_source **out)
{
    struct session *session = context;
    uint64_t seed = (uint64_t)session->options.flags.seed;

    /* Of how many it is one is not known in a sparse cluster: each goes through all rows, in an
     * order of its own. */
    if (session->options.map.sparse)
        return model_source(session->model, &session->data->train, seed + index, 0, 1, out);
    return model_source(session->model, &session->data->train, seed, index,
                        session->options.job.workers, out);
}

static const void *const *first_values(void *context, struct arena *arena)
{
    struct session *session = context;

    return model_first_values(session->model, (uint64_t)session->options.flags.seed, arena);
}

static bool watch(void *context, const struct progress *progress)
{
    struct session *session = context;

    if (atomic_load(&progress->ended_ns) == 0)
        report_progress(&session->report, progress, false);
    return stop_signal == 0;
}

/* The same for a task of a cluster, of which only the chief speaks to people. */
static bool watch_task(void *context, const struct progress *progress)
{
    struct session *session = context;

    if (progress != NULL && !session->trains && atomic_load(&progress->began_ns) != 0) {
        session->trains = true;
        log_info("trains from step %llu on",
                 (unsigned long long)atomic_load(&progress->first_step));
    }
    if (progress != NULL && is_chief(session))
        return watch(context, progress);
    return stop_signal == 0;
}

static void lost(void *context, uint32_t index, struct status status)
{
    (void)context;
    log_warning("worker %u was lost: %s", index, status.message);
}

static void warn(void *context, const char *text)
{
    (void)context;
    log_warning("%s", text);
}

/* What happens to the job. */
static void say(void *context, const char *line)
{
    struct session *session = context;

    if (is_chief(session))
        report_line(&session->report, line);
    else
        log_info("%s", line);
}

static struct status export_now(struct session *session, struct client *client)
{
    struct export_request request = { .model = session->options.model,
                                      .directory = session->options.export_directory };
    struct client_snapshot snapshot;

    TRY(client_snapshot_begin(client, false, SNAPSHOT_TIMEOUT_MS, &snapshot));
    struct status status = export_model(&request, &snapshot.source);
    client_snapshot_end(&snapshot);
    return status;
}

/* The chief, when all steps are made: how good is it? and the export. */
static struct status conclude(void *context, struct client *client)
{
    struct session *session = context;
    const struct layers_model *model = session->options.model;
    struct evaluation evaluation;

    report_training(&session->report, &session->progress);
    if (session->data->validation.rows > 0) {
        TRY(model_evaluate(session->model, client->values, &session->data->validation,
                           &session->progress.stop, &evaluation));
        report_evaluation("Validation", model, &evaluation);
    }
    TRY(model_evaluate(session->model, client->values, &session->data->test,
                       &session->progress.stop, &evaluation));
    report_evaluation("Test", model, &evaluation);
    return export_now(session, client);
}

static struct status load_data(struct session *session)
{
    const struct options *options = &session->options;
    bool regression = options->model->loss != LAYERS_CROSS_ENTROPY;

    if (*options->flags.train_dir != '\0' && !regression)
        TRY(data_read_images(options->flags.train_dir, &session->data));
    else
        session->data =
            regression ? data_draw_linear((uint64_t)options->flags.seed) : data_draw_digits();
    TRY(model_check_data(options->model, &session->data->train));
    return model_check_data(options->model, &session->data->test);
}

/* Before training, not after it. */
static struct status check_space(const struct session *session)
{
    const struct options *options = &session->options;
    const struct optimizer *optimizer = optimizer_find(options->job.optimizer);
    uint64_t values_bytes = 0;

    if (!is_chief(session))
        return status_ok();
    for (int ps = 0; ps < session->placement.ps_count; ps++)
        values_bytes += placement_bytes(&session->placement, ps);
    TRY(status_in(file_check_space(options->export_directory, values_bytes), "the export"));
    if (session->checkpoints == NULL)
        return status_ok();
    return status_in(file_check_space(options->flags.checkpoint_dir,
                                      values_bytes * (uint64_t)(1 + optimizer->slots_count)),
                     "a checkpoint");
}

/* Everything that can fail because of what was asked for, before anything is trained. */
static struct status prepare(struct session *session)
{
    struct options *options = &session->options;
    struct model_options model = { .reduction = options->reduction,
                                   .batch_size = options->batch_size,
                                   .sync = options->job.sync };

    int ps_count = is_local(session) ? options->flags.ps : options->map.lists[JOB_PS].count;

    TRY(load_data(session));
    TRY(model_create(options->model, &model, &session->model));
    options->job.stop_step = options_steps(options, session->data->train.rows);
    session->progress.say = say;
    session->progress.say_context = session;
    if (*options->flags.checkpoint_dir != '\0' && is_chief(session))
        TRY(status_in(checkpoint_dir_open(options->flags.checkpoint_dir, options->flags.max_to_keep,
                                          &session->checkpoints),
                      "--checkpoint_dir"));
    placement_create(session->model->variables, session->model->variables_count, ps_count,
                     PLACEMENT_PIECE_BYTES, options->placement, &session->placement);
    TRY(check_space(session));
    report_init(&session->report, clock_monotonic(), options->log_level > LOG_INFO,
                options->job.stop_step,
                options->batch_size * (options->job.sync ? options->job.workers : 1));
    return status_ok();
}

static void announce(const struct session *session)
{
    const struct options *options = &session->options;

    if (session->report.quiet)
        return;
    printf("Training %s on %s\n", options->flags.model, session->data->origin);
    printf("%llu steps of %u rows, %s %g, %d ps and %u worker%s%s, %s\n",
           (unsigned long long)options->job.stop_step, options->batch_size, options->job.optimizer,
           (double)options->job.learning_rate, session->placement.ps_count, options->job.workers,
           options->job.workers == 1 ? "" : "s", is_local(session) ? " in this process" : "",
           options->job.sync ? "synchronous" : "asynchronous");
    fflush(stdout);
}

static struct chief_options chief_options(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return (struct chief_options){
        .job = session->options.job,
        .first_values = first_values,
        .checkpoints = { .dir = session->checkpoints,
                         .every_ms = session->options.save_checkpoint_ms,
                         .every_steps = (uint64_t)flags->save_checkpoint_steps },
        .recovery_timeout_ms = (int64_t)(flags->recovery_timeout * MS_PER_S),
        .start_timeout_ms = (int64_t)flags->start_timeout * MS_PER_S,
        .finish_timeout_ms = (int64_t)flags->finish_timeout * MS_PER_S,
        .conclude = conclude,
        .context = session,
        .warn = warn
    };
}

static struct task_options task_options(struct session *session)
{
    const struct flag_values *flags = &session->options.flags;

    return (struct task_options){ .map = &session->options.map,
                                  .cluster = flags->cluster_id,
                                  .version = SLIPWAY_VERSION,
                                  .start_timeout_ms = (int64_t)flags->start_timeout * MS_PER_S,
                                  .linger_timeout_ms = (int64_t)flags->linger_timeout * MS_PER_S,
                                  .tls_cert = flags->tls_cert,
                                  .tls_key = flags->tls_key,
                                  .tls_ca = flags->tls_ca,
                                  .watch = watch_task,
                                  .context = session };
}

static struct status train(struct session *session)
{
    const struct options *options = &session->options;
    struct cluster_options cluster = {
        .placement = &session->placement,
        .workers = options->job.workers,
        .chief = chief_options(session),
        .make_source = make_source,
        .context = session,
        .watch = watch,
        .lost = lost,
    };

    return cluster_run(&cluster, &session->progress);
}

static void session_finish(struct session *session)
{
    checkpoint_dir_close(session->checkpoints);
    placement_finish(&session->placement);
    model_destroy(session->model);
    data_destroy(session->data);
    arena_destroy(session->arena);
}

/* A second signal ends the program at once. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action = (struct sigaction){ .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &action, NULL); /* a connection that breaks is a failed write */
}

static int fail(struct status status, int code)
{
    fprintf(stderr, "pstrain: %s\n", status.message);
    return code;
}

/* A task of a cluster. */
static int run_task(struct session *session, const char *program)
{
    struct task_options task = task_options(session);
    struct task_training training = { .placement = &session->placement,
                                      .chief = chief_options(session),
                                      .make_source = make_source };

    catch_signals();
    if (is_chief(session))
        announce(session);
    struct status status = session->options.map.kind == JOB_PS
                               ? task_serve(&task)
                               : task_train(&task, &training, &session->progress);
    if (session->report.line_open && !status_is_ok(status))
        printf("\n");
    if (!status_is_ok(status) && stop_signal != 0) {
        log_error("stopped by %s", stop_signal == SIGINT ? "SIGINT" : "SIGTERM");
        return 128 + stop_signal;
    }
    if (session->options.map.kind == JOB_PS) /* it has said it when it was so */
        return task_exit_code(status);
    if (!status_is_ok(status)) {
        log_error("%s", status.message);
        return task_exit_code(status);
    }
    log_info("the job is finished");
    if (is_chief(session)) {
        printf("Exported to %s\n", session->options.export_directory);
        report_commands(program, session->options.model, session->options.export_directory);
    }
    return EXIT_SUCCESS;
}

static int run(struct session *session, const char *program)
{
    announce(session);
    catch_signals();
    struct status status = train(session);
    if (session->report.line_open && !status_is_ok(status))
        printf("\n");
    if (!status_is_ok(status) && stop_signal != 0) {
        fprintf(stderr, "pstrain: stopped by %s at step %llu; nothing was exported\n",
                stop_signal == SIGINT ? "SIGINT" : "SIGTERM",
                (unsigned long long)atomic_load(&session->progress.global_step));
        return 128 + stop_signal;
    }
    if (!status_is_ok(status))
        return fail(status, EXIT_FAILURE);
    printf("Exported to %s\n", session->options.export_directory);
    report_commands(program, session->options.model, session->options.export_directory);
    return EXIT_SUCCESS;
}

static int work(struct session *session, const char *program)
{
    bool serves = !is_local(session) && session->options.map.kind == JOB_PS;
    struct task_options task = task_options(session);
    struct status status = task_check(&task);

    if (status_is_ok(status) && !serves)
        status = prepare(session);

    if (!status_is_ok(status))
        return fail(status, EXIT_USAGE);
    return is_local(session) ? run(session, program) : run_task(session, program);
}

int main(int argc, char **argv)
{
    struct session session = { .arena = arena_create(0) };
    bool doctor = argc > 1 && strcmp(argv[1], "doctor") == 0;
    struct status status =
        doctor ? options_read_doctor(argc - 1, argv + 1, session.arena, &session.options)
               : options_read(argc, argv, session.arena, &session.options);
    int code = EXIT_SUCCESS;

    if (!status_is_ok(status)) {
        code = fail(status, EXIT_USAGE);
    } else if (session.options.flags.help) {
        flags_print_help(&train_flags, stdout);
    } else if (session.options.flags.version) {
        printf("pstrain %s\n", SLIPWAY_VERSION);
    } else if (doctor) {
        struct task_options task = task_options(&session);
        code = doctor_run(&task, stdout);
    } else {
        log_set_level(session.options.log_level);
        code = work(&session, argv[0]);
    }
    session_finish(&session);
    return code;
}
