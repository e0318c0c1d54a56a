#include "trainer/job/evaluator.h"

#define TICK_MS     50
#define POLL_MS     1000  /* between two polls for a new step */
#define AGAIN_MS    10000 /* after a failure: the ps tasks are busy, or one is away */
#define SNAPSHOT_MS 1000  /* a ps does not hold back pushes for longer */
#define LAST_MS     8000  /* for the final values; the ps tasks leave after 10 s */
#define NEVER       UINT64_MAX

struct evaluator {
    const struct evaluator_options *options;
    struct ps_client *client;
    struct progress *progress;
    struct all_values *values;
    uint64_t evaluated; /* the step evaluated last; NEVER: none yet */
};

static bool is_over(const struct evaluator *evaluator)
{
    return atomic_load(&evaluator->progress->over);
}

static bool is_stopped(const struct evaluator *evaluator)
{
    return atomic_load(&evaluator->progress->stop);
}

/* ---- one evaluation ---- */

/* The ps tasks keep the snapshot until the end, because its rows are read batch by batch. */
static struct status evaluate_snapshot(struct evaluator *evaluator, const _Atomic bool *enough,
                                       struct verdict *verdict)
{
    const struct evaluator_options *options = evaluator->options;
    struct client_snapshot snapshot;

    TRY(client_snapshot_begin(evaluator->client, false, SNAPSHOT_MS, &snapshot));
    struct status status = all_values_read(evaluator->values, &snapshot.source, enough);
    if (status_is_ok(status))
        status = options->evaluate(options->context, snapshot.global_step,
                                   (const void *const *)evaluator->values->data, &snapshot, enough,
                                   verdict);
    if (status_is_ok(status))
        evaluator->evaluated = snapshot.global_step;
    struct status held = status_hold(status);
    client_snapshot_end(&snapshot);
    return status_resume(held);
}

/* Evaluates, unless the step is still the same. *enough ends a long evaluation. */
static struct status evaluate_new_step(struct evaluator *evaluator, int64_t timeout_ms,
                                       const _Atomic bool *enough)
{
    struct verdict verdict = { 0 };

    TRY(worker_join(evaluator->client, timeout_ms, evaluator->progress));
    if (evaluator->client->global_step == evaluator->evaluated)
        return status_ok();
    TRY(evaluate_snapshot(evaluator, enough, &verdict));
    return verdict.stop && !is_over(evaluator) ? client_stop(evaluator->client) : status_ok();
}

/* Is the failure temporary? */
static bool may_pass(struct status status)
{
    return status.code == STATUS_ABORTED || status.code == STATUS_UNAVAILABLE ||
           status.code == STATUS_DEADLINE_EXCEEDED || status.code == STATUS_NOT_FOUND ||
           status.code == STATUS_CANCELLED;
}

/* ---- when to evaluate ---- */

/* Waits until that time, or until the job is over. */
static void wait_until(const struct evaluator *evaluator, int64_t until_ns)
{
    struct clock *clock = evaluator->client->calls.clock;

    while (clock_now_ns(clock) < until_ns && !is_over(evaluator))
        clock_sleep(clock, TICK_MS);
}

/* Evaluates while the job runs. */
static struct status evaluate_repeatedly(struct evaluator *evaluator)
{
    const struct evaluator_options *options = evaluator->options;
    struct clock *clock = evaluator->client->calls.clock;
    int64_t next_ns = clock_deadline_ns(clock, options->start_delay_ms);

    for (;;) {
        wait_until(evaluator, next_ns);
        if (is_over(evaluator))
            return status_ok();
        uint64_t before = evaluator->evaluated;
        int64_t pause_ms = options->throttle_ms, began_ns = clock_now_ns(clock);
        struct status status =
            evaluate_new_step(evaluator, options->start_timeout_ms, &evaluator->progress->over);
        if (!status_is_ok(status) && !may_pass(status))
            return status;
        if (!status_is_ok(status))
            pause_ms = AGAIN_MS;
        else if (evaluator->evaluated == before)
            pause_ms = POLL_MS;
        next_ns = began_ns + pause_ms * NS_PER_MS;
    }
}

/* Evaluates the final values. It is not a failure of the job if they are gone. */
static struct status evaluate_last(struct evaluator *evaluator)
{
    struct clock *clock = evaluator->client->calls.clock;
    int64_t until_ns = clock_deadline_ns(clock, LAST_MS);
    struct status status;

    for (;;) {
        status = evaluate_new_step(evaluator, LAST_MS, &evaluator->progress->stop);
        if (status_is_ok(status) || !may_pass(status) || is_stopped(evaluator))
            return status;
        if (clock_now_ns(clock) >= until_ns)
            break;
        clock_sleep(clock, TICK_MS);
    }
    progress_say(evaluator->progress, "the final values are gone: %s", status.message);
    return status_ok();
}

struct status evaluator_run(struct ps_client *client, const struct evaluator_options *options,
                            struct progress *progress)
{
    struct evaluator evaluator = { options, client, progress, NULL, NEVER };

    TRY(status_in(worker_join(client, options->start_timeout_ms, progress),
                  "%s waits for the variables", client->options.task));
    progress_say(progress, "looks on, the job is at step %llu",
                 (unsigned long long)client->global_step);
    evaluator.values = all_values_create(client->options.placement, false);
    struct status status = evaluate_repeatedly(&evaluator);
    if (status_is_ok(status) && !is_stopped(&evaluator))
        status = evaluate_last(&evaluator);
    all_values_destroy(evaluator.values);
    return is_stopped(&evaluator) ? status_error(STATUS_CANCELLED, "stopped") : status;
}
