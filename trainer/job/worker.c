#include "trainer/job/worker.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#define RETRY_MS      200
#define REJOIN_MS     20
#define OUTCOME_TRIES 25
/* Wait between two requests for rows when all are assigned; doubles each time. The last steps of
 * a job usually end at once, but the rows of a lost worker come only after some time. */
#define ROWS_FIRST_MS 1
#define ROWS_MOST_MS  100

void progress_say(const struct progress *progress, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    if (progress->say == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    progress->say(progress->say_context, line);
}

struct status worker_name_wait(struct status status, int64_t timeout_ms, const char *whom)
{
    if (status.code != STATUS_DEADLINE_EXCEEDED)
        return status;
    return status_in(status, "waited %g s for %s", (double)timeout_ms / 1000, whom);
}

static void publish_global_step(struct progress *progress, const struct ps_client *client)
{
    uint64_t seen = atomic_load_explicit(&progress->global_step, memory_order_relaxed);

    while (seen < client->global_step &&
           !atomic_compare_exchange_weak(&progress->global_step, &seen, client->global_step))
        ;
}

static void publish_step(struct progress *progress, const struct ps_client *client, float loss)
{
    publish_global_step(progress, client);
    atomic_store_explicit(&progress->loss, loss, memory_order_relaxed);
    atomic_store_explicit(&progress->loss_step, client->global_step, memory_order_relaxed);
}

static void publish_begin(struct progress *progress, const struct ps_client *client)
{
    int64_t none = 0;

    /* If the others have made all steps already, this task makes none. */
    publish_global_step(progress, client);
    if (atomic_compare_exchange_strong(&progress->began_ns, &none,
                                       clock_now_ns(client->calls.clock)))
        atomic_store(&progress->first_step, client->global_step);
}

/* Requests the rows for the source's next step. *ready is false if the source has no rows of
 * data for one now. */
static struct status want_rows(struct ps_client *client, struct gradient_source *source,
                               bool *ready)
{
    const struct placement *placement = client->options.placement;
    const struct row_ids *rows;

    *ready = true;
    if (source->need_rows == NULL)
        return status_ok();
    TRY(source->need_rows(source, &rows));
    *ready = rows != NULL;
    for (int v = 0; v < placement->variables_count && *ready; v++)
        if (placed_variable_is_sparse(&placement->variables[v]))
            client_select_rows(client, v, rows[v]);
    return status_ok();
}

static struct status pull_values(struct ps_client *client)
{
    return worker_name_wait(client_pull(client), client->options.call_timeout_ms,
                            "the values from the ps tasks");
}

/* Pulls the first values. Only they tell the job's step, which determines the next batch and its
 * rows. */
static struct status pull_first(struct ps_client *client, struct gradient_source *source,
                                bool *ready)
{
    TRY(pull_values(client));
    if (source->seek != NULL)
        TRY(source->seek(source, client->begin_step, client->global_step, &client->begin_place));
    TRY(want_rows(client, source, ready));
    return source->need_rows != NULL ? pull_values(client) : status_ok();
}

/* Waits for rows. The other workers have all that are left: either the job ends with them, or
 * one of the workers may be lost. The ps tasks report the job's step, and an earlier last step.
 * Values are pulled only for a step that can be made. */
static struct status await_rows(struct ps_client *client, struct gradient_source *source,
                                bool *ready, int64_t *wait_ms)
{
    clock_sleep(client->calls.clock, *wait_ms);
    *wait_ms = *wait_ms < ROWS_MOST_MS / 2 ? 2 * *wait_ms : ROWS_MOST_MS;
    TRY(client_check(client));
    TRY(want_rows(client, source, ready));
    return *ready ? pull_values(client) : status_ok();
}

/* Pushes, and gets the values for the next step: with the reply or, if the worker may have to
 * wait for others, afterwards. */
static struct status push_step(struct ps_client *client, struct gradient_source *source,
                               const struct variable_gradient *gradients, bool *ready)
{
    int64_t limit_ms = client->options.call_timeout_ms;
    bool asks = client_needs_pass(client);

    TRY(want_rows(client, source, ready));
    TRY(worker_name_wait(client_push(client, gradients, !asks), limit_ms,
                         "the ps tasks to make the step"));
    if (!asks)
        return status_ok();
    TRY(worker_name_wait(client_pass(client), limit_ms, "slower workers"));
    return pull_values(client);
}

uint64_t worker_last_step(const struct ps_client *client, uint64_t stop_step)
{
    bool earlier = client->stop_step != 0 && client->stop_step < stop_step;

    return earlier ? client->stop_step : stop_step;
}

static struct status check_loss(const struct ps_client *client, float loss)
{
    if (isfinite(loss) || client->scaling.overflowed) /* that step is skipped */
        return status_ok();
    return status_error(STATUS_OUT_OF_RANGE,
                        "the loss is %g at step %llu: try a smaller --learning_rate, and look for "
                        "values in the data that are nan, infinite or very large",
                        (double)loss, (unsigned long long)client->global_step);
}

static void say_skipped(const struct ps_client *client, const struct progress *progress)
{
    if (client->scaling.overflowed)
        progress_say(progress,
                     "Step %llu: the gradients of %g times the loss are not finite: the step "
                     "is skipped, and the scale halved",
                     (unsigned long long)client->global_step, (double)client->scaling.scale);
}

struct status worker_steps(struct ps_client *client, struct gradient_source *source,
                           uint64_t stop_step, struct progress *progress,
                           const struct step_hook *hook)
{
    const struct variable_gradient *gradients;
    float loss;
    bool ready; /* the rows for the next step are available, as far as is known */
    uint64_t told = client->global_step; /* the last step that the hook knows of */
    int64_t wait_ms = ROWS_FIRST_MS;

    TRY(pull_first(client, source, &ready));
    publish_begin(progress, client);
    while (client->global_step < worker_last_step(client, stop_step)) {
        if (atomic_load_explicit(&progress->stop, memory_order_relaxed))
            return status_error(STATUS_CANCELLED, "stopped");
        if (hook != NULL && hook->check != NULL)
            TRY(hook->check(hook->context));
        gradients = NULL;
        if (ready)
            TRY(source->step(source, client->values, &gradients, &loss));
        if (gradients == NULL) {
            TRY(await_rows(client, source, &ready, &wait_ms));
            publish_global_step(progress, client);
            continue;
        }
        wait_ms = ROWS_FIRST_MS;
        TRY(check_loss(client, loss));
        say_skipped(client, progress);
        TRY(push_step(client, source, gradients, &ready));
        publish_step(progress, client, loss);
        told = client->global_step;
        if (hook != NULL)
            TRY(hook->stepped(hook->context, told, &loss));
    }
    /* Other workers have made the last steps, perhaps all. */
    if (hook != NULL && told < client->global_step)
        return hook->stepped(hook->context, client->global_step, NULL);
    return status_ok();
}

struct status worker_report_end(struct ps_client *client, struct status status, bool job)
{
    char text[1024];

    snprintf(text, sizeof text, "%s", status.message);
    status_ignore(client_report(client, status, job));
    return status_is_ok(status) ? status : status_error(status.code, "%s", text);
}

/* Asks ps 0 for the job's outcome and passes it on to the other ps tasks, which the chief may
 * not have reached. */
static struct status await_outcome(struct ps_client *client, const struct progress *progress)
{
    struct status outcome = client_await(client, true, -1);

    while (outcome.code == STATUS_UNAVAILABLE && !client->told && !atomic_load(&progress->stop)) {
        clock_sleep(client->calls.clock, RETRY_MS);
        outcome = client_await(client, true, -1);
    }
    return client->told ? worker_report_end(client, outcome, true) : outcome;
}

struct status worker_stopped(const struct ps_client *client, const struct progress *progress)
{
    bool itself = status_is_ok(progress->why);

    return status_error(itself ? STATUS_CANCELLED : progress->why.code, "stopped at step %llu%s%s",
                        (unsigned long long)client->global_step, itself ? "" : ": ",
                        itself ? "" : progress->why.message);
}

struct status worker_outcome(struct status status, struct ps_client *client,
                             const struct progress *progress)
{
    if (status.code != STATUS_CANCELLED || client->told || atomic_load(&progress->stop))
        return status;
    struct status outcome = await_outcome(client, progress);
    for (int i = 0;
         i < OUTCOME_TRIES && outcome.code == STATUS_ABORTED && !atomic_load(&progress->stop);
         i++) { /* another ps was told of the job's end before ps 0 */
        clock_sleep(client->calls.clock, RETRY_MS);
        outcome = await_outcome(client, progress);
    }
    return outcome;
}

bool worker_can_rejoin(struct status status, const struct ps_client *client,
                       const struct progress *progress)
{
    return status.code == STATUS_ABORTED && !client->told && !atomic_load(&progress->stop);
}

/* Trains from the current step to the outcome of the job. */
static struct status take_part(struct ps_client *client, struct gradient_source *source,
                               uint64_t stop_step, struct progress *progress)
{
    if (client->finished)
        return await_outcome(client, progress); /* this worker came too late: all steps are done */
    struct status status = worker_steps(client, source, stop_step, progress, NULL);
    if (worker_can_rejoin(status, client, progress) ||
        (status.code == STATUS_CANCELLED && !atomic_load(&progress->stop)))
        return status;
    if (status.code == STATUS_CANCELLED)
        status = worker_stopped(client, progress);
    if (!status_is_ok(status))
        return worker_report_end(client, status, false);
    /* If the report is lost, the chief warns about this worker at the end. */
    struct status reported = client_report(client, status, false);
    return worker_can_rejoin(reported, client, progress) ? reported
                                                         : await_outcome(client, progress);
}

/* The ps tasks get their values one after the other, and a ps that is changing generations
 * refuses a worker that had joined before: both are worth a retry. */
struct status worker_join(struct ps_client *client, int64_t timeout_ms,
                          const struct progress *progress)
{
    struct clock *clock = client->calls.clock;
    int64_t until = clock_deadline_ns(clock, timeout_ms), rest_ms = timeout_ms;
    bool joined = client->joined;

    for (;;) {
        struct status status = worker_name_wait(client_join(client, true, rest_ms), timeout_ms,
                                                "the chief to create the variables");
        bool again = status.code == STATUS_UNAVAILABLE || (joined && status.code == STATUS_ABORTED);
        if (!again || atomic_load(&progress->stop))
            return status;
        clock_sleep(clock, REJOIN_MS);
        rest_ms = timeout_ms < 0 ? -1 : (until - clock_now_ns(clock)) / NS_PER_MS;
        if (timeout_ms >= 0 && rest_ms <= 0)
            return status_error(STATUS_UNAVAILABLE,
                                "waited %g s for the ps tasks to be at one generation: %s",
                                (double)timeout_ms / 1000, status.message);
    }
}

/* A task that gives up tells the ps tasks why, which otherwise wait for a sign of life. */
static struct status join_or_report(struct ps_client *client, int64_t timeout_ms,
                                    const struct progress *progress, const char *what)
{
    struct status status = worker_join(client, timeout_ms, progress);
    bool stopped = atomic_load(&progress->stop);

    if (status_is_ok(status))
        return status;
    status = status_in(status, "%s waits for %s", client->options.task, what);
    if (client->told || (status.code == STATUS_CANCELLED && !stopped))
        return status; /* the job has ended */
    struct status held = status_hold(stopped ? worker_stopped(client, progress) : status);
    /* UNAVAILABLE: the job goes on, and another process may take its place. */
    status_ignore(
        client_report(client, status_error(STATUS_UNAVAILABLE, "%s", held.message), false));
    return status_resume(held);
}

/* Joins, and joins again each time the job returns to an earlier step. */
static struct status run(struct ps_client *client, struct gradient_source *source,
                         const struct worker_options *options, struct progress *progress)
{
    TRY(join_or_report(client, options->start_timeout_ms, progress, "the variables"));
    for (;;) {
        uint64_t stop_step = client->stop_step != 0 ? client->stop_step : options->stop_step;
        if (stop_step != options->stop_step)
            progress_say(progress, "stops at step %llu, as the chief says, and not at %llu",
                         (unsigned long long)stop_step, (unsigned long long)options->stop_step);
        struct status status = take_part(client, source, stop_step, progress);
        if (!worker_can_rejoin(status, client, progress))
            return status;
        progress_say(progress, "pauses at step %llu: %s; waits for the chief to continue",
                     (unsigned long long)client->global_step, status.message);
        TRY(join_or_report(client, options->recovery_timeout_ms, progress, "the job to continue"));
        if (!client->finished)
            progress_say(progress, "continues from step %llu",
                         (unsigned long long)client->global_step);
    }
}

struct status worker_run(struct ps_client *client, struct gradient_source *source,
                         const struct worker_options *options, struct progress *progress)
{
    return worker_outcome(run(client, source, options, progress), client, progress);
}
