#include "trainer/session/output.h"

#include "base/plural.h"
#include "trainer/options/finetune.h"

#define SPEAK_MS 60000 /* between two log lines of a worker about its step */

void output_print(void *context, const char *line)
{
    struct session *session = context;

    report_break(&session->report);
    log_info("%s", line);
}

void output_warn(void *context, const char *text)
{
    struct session *session = context;

    report_break(&session->report);
    log_warning("%s", text);
}

void output_lost_worker(void *context, uint32_t index, struct status status)
{
    struct session *session = context;

    report_break(&session->report);
    log_warning("worker %u was lost: %s", index, status.message);
}

void output_say(void *context, const char *line)
{
    struct session *session = context;

    if (session_is_chief(session))
        report_line(&session->report, "%s", line);
    else
        log_info("%s", line);
}

bool output_watch(void *context, const struct progress *progress)
{
    struct session *session = context;

    report_progress(&session->report, progress);
    metrics_log_show(session->metrics);
    return *session->stop_signal == 0;
}

/* A worker that is not the chief logs the step once a minute. */
static void log_step(struct session *session, const struct progress *progress)
{
    int64_t now_ns = clock_now_ns(clock_monotonic());
    char loss[LOSS_TEXT_MAX];

    if (!session->trains || now_ns - session->spoke_ns < (int64_t)SPEAK_MS * NS_PER_MS)
        return;
    session->spoke_ns = now_ns;
    log_info("the job is at step %llu of %llu, loss %s here",
             (unsigned long long)atomic_load(&progress->global_step),
             (unsigned long long)session->options.job.stop_step,
             report_loss(atomic_load(&progress->loss), loss));
}

bool output_watch_task(void *context, const struct progress *progress)
{
    struct session *session = context;

    if (progress == NULL) /* a ps */
        return *session->stop_signal == 0;
    if (!session->trains && atomic_load(&progress->began_ns) != 0) {
        session->trains = true;
        session->spoke_ns = clock_now_ns(clock_monotonic());
        log_info("trains from step %llu on",
                 (unsigned long long)atomic_load(&progress->first_step));
    }
    if (session_is_chief(session))
        return output_watch(context, progress);
    metrics_log_show(session->metrics); /* the evaluator's */
    log_step(session, progress);
    return *session->stop_signal == 0;
}

/* Warns that a step takes as long as the whole table, which users do not expect of an update of
 * some rows. */
static void announce_rows(struct session *session)
{
    const struct client_job *job = &session->options.job;

    for (int v = 0; v < session->model->variables_count; v++) {
        const struct placed_variable *variable = &session->model->variables[v];
        int number = client_job_number(job, v);
        const struct optimizer_choice own = client_job_optimizer(job, number);
        bool moves_all = own.all_rows || !optimizer_find(own.name)->row_local;
        if (moves_all && variable->by_rows && variable->trainable) {
            report_line(&session->report,
                        "Each step updates all rows of '%s', as %s does; see --lazy_rows",
                        variable->name, own.name);
            return;
        }
    }
}

static void announce_losses(struct session *session)
{
    const struct layers_model *model = session->options.model;

    for (int i = 0; i < model->outputs_count; i++)
        if (model->targets[i].note != NULL)
            report_line(&session->report, "Loss %s: %s", model->targets[i].loss_name,
                        model->targets[i].note);
}

void output_announce(struct session *session)
{
    const struct options *options = &session->options;
    const struct schedule_kind *schedule = options->job.schedule.kind;

    const char *model =
        options->finetune != NULL ? options->flags.from_savedmodel : options->flags.model;
    if (*session->hyperparameters != '\0')
        report_line(&session->report, "From %s: %s", options->flags.hyperparameters,
                    session->hyperparameters);
    if (session->init != NULL)
        report_line(&session->report, "First values: %s", init_from_report(session->init));
    report_line(&session->report, "Training %s on %s", model, session->data->origin);
    if (options->finetune != NULL)
        report_line(&session->report, "%s", finetune_describe(options->finetune, session->arena));
    report_line(&session->report, "%llu step%s of %u row%s, %s %g%s%s, %d ps and %u worker%s%s, %s",
                (unsigned long long)options->job.stop_step, plural((int64_t)options->job.stop_step),
                options->batch_size, plural(options->batch_size), options->job.optimizer,
                (double)options->job.learning_rate, schedule != NULL ? " " : "",
                schedule != NULL ? schedule->name : "", session->placement.ps_count,
                options->job.workers, plural(options->job.workers),
                session_is_local(session) ? " in this process" : "",
                options->job.sync ? "synchronous" : "asynchronous");
    announce_losses(session);
    announce_rows(session);
}
