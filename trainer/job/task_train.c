/* Runs a worker, the chief or the evaluator as a process: one thread works, and the main thread
 * monitors it and the ps tasks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/log.h"
#include "trainer/client/presence.h"
#include "trainer/job/task_endpoint.h"

#define TICK_MS         100
#define REPEAT_MS       10000
#define CALL_TIMEOUT_MS 300000 /* minimum, because a synchronous step may take long */
#define LAST_STEP_MS    500    /* for a stopped task's push to reach all ps tasks */
/* A call times out this much later than the wait inside it, which fails with its own message. */
#define CALL_MARGIN_MS  60000

struct training_task {
    const struct task_options *options;
    const struct task_training *training;
    struct progress *progress;
    struct task_endpoint endpoint;
    struct ps_channels channels, saver_channels; /* saver_channels: the chief's, for checkpoints */
    struct ps_client client;
    struct presence presence;
    struct loop_timer timer;
    struct loop_task trained; /* posted when the thread is done */
    pthread_t thread;
    int64_t began_ns, stopped_ns;
    bool started, done, stopping;
    struct status status; /* of the thread; its text is on the heap */
    struct status reason; /* why it is being stopped, in the endpoint's arena */
};

static bool is_evaluator(const struct training_task *trainee)
{
    return trainee->options->map->kind == JOB_EVALUATOR;
}

/* ---- the thread that trains or evaluates ---- */

static struct status work(struct training_task *trainee)
{
    const struct task_training *training = trainee->training;
    struct chief_options chief = training->chief;
    struct worker_options worker = { .stop_step = chief.job.stop_step,
                                     .start_timeout_ms = chief.start_timeout_ms,
                                     .recovery_timeout_ms = chief.recovery_timeout_ms };
    struct gradient_source *source;

    if (is_evaluator(trainee))
        return evaluator_run(&trainee->client, &training->evaluator, trainee->progress);
    chief.checkpoints.channels = trainee->saver_channels.channels;
    TRY(training->make_source(trainee->options->context, &trainee->client, &source));
    struct status status = job_map_is_chief(trainee->options->map)
                               ? chief_run(&trainee->client, source, &chief, trainee->progress)
                               : worker_run(&trainee->client, source, &worker, trainee->progress);
    source->destroy(source);
    return status;
}

static void *train(void *context)
{
    struct training_task *trainee = context;
    struct status status = work(trainee);

    trainee->status = (struct status){ status.code, xstrdup(status.message) };
    loop_post(trainee->endpoint.loop, &trainee->trained);
    return NULL;
}

/* ---- the thread that monitors ---- */

static void trained(struct loop_task *task)
{
    struct training_task *trainee = CONTAINER_OF(task, struct training_task, trained);

    trainee->done = true;
    loop_stop(trainee->endpoint.loop);
}

static void stop(struct training_task *trainee, struct status reason)
{
    if (trainee->stopping)
        return;
    trainee->stopping = true;
    trainee->stopped_ns = clock_now_ns(clock_monotonic());
    trainee->reason = status_keep(trainee->endpoint.arena, reason);
    if (reason.code != STATUS_CANCELLED && reason.code != STATUS_OK)
        trainee->progress->why = trainee->reason;
    atomic_store(&trainee->progress->stop, true);
    atomic_store(&trainee->progress->over, true);
    if (!trainee->started)
        loop_stop(trainee->endpoint.loop);
}

static void check_alone(struct training_task *trainee, int64_t now_ns)
{
    int64_t limit_ms = trainee->training->alone_timeout_ms;

    if (limit_ms >= 0 && !trainee->started && now_ns - trainee->began_ns >= limit_ms * NS_PER_MS &&
        !ps_channels_connected(&trainee->channels))
        stop(trainee, status_error(STATUS_UNAVAILABLE, "no ps is there after %lld s",
                                   (long long)limit_ms / 1000));
}

static void tick(void *context)
{
    struct training_task *trainee = context;
    const struct task_options *options = trainee->options;
    int64_t now_ns = clock_now_ns(clock_monotonic());

    check_alone(trainee, now_ns);
    if (!options->watch(options->context, trainee->progress))
        stop(trainee, status_error(STATUS_CANCELLED, "stopped"));
    if (trainee->stopping && trainee->started &&
        now_ns - trainee->stopped_ns >= LAST_STEP_MS * NS_PER_MS)
        client_interrupt(&trainee->client); /* at each tick, because it may be between two calls */
    loop_set_timer(trainee->endpoint.loop, &trainee->timer, now_ns + (int64_t)TICK_MS * NS_PER_MS);
}

static void print(void *context, const char *line)
{
    const struct task_options *options = ((struct training_task *)context)->options;

    options->print(options->context, line);
}

static void ready(void *context)
{
    struct training_task *trainee = context;

    if (trainee->stopping)
        return;
    char line[64];
    snprintf(line, sizeof line, "all %d ps tasks answer", trainee->training->placement->ps_count);
    print(trainee, line);
    trainee->started = pthread_create(&trainee->thread, NULL, train, trainee) == 0;
    if (!trainee->started)
        stop(trainee, status_error(STATUS_RESOURCE_EXHAUSTED, "cannot start a thread"));
}

/* At the job's end an evaluator still has its last evaluation to do. */
static void ended(void *context, struct status why)
{
    struct training_task *trainee = context;

    if (trainee->started && status_is_ok(why))
        atomic_store(&trainee->progress->over, true);
    else
        stop(trainee, why);
}

static void watch_job(struct training_task *trainee)
{
    struct presence_options presence = {
        .client = &trainee->client.options,
        .names = trainee->endpoint.peers,
        .loop = trainee->endpoint.loop,
        .start_timeout_ms = trainee->options->start_timeout_ms,
        .lost_timeout_ms = trainee->training->chief.recovery_timeout_ms,
        .repeat_ms = REPEAT_MS,
        .describe = describe_channel,
        .print = print,
        .ready = ready,
        .ended = ended,
        .context = trainee,
    };

    trainee->trained.work = trained;
    trainee->timer = (struct loop_timer){ .expired = tick, .context = trainee };
    presence_start(&trainee->presence, &presence);
    trainee->began_ns = clock_now_ns(clock_monotonic());
    loop_set_timer(trainee->endpoint.loop, &trainee->timer, trainee->began_ns);
    struct status status = loop_run(trainee->endpoint.loop);
    if (!status_is_ok(status))
        stop(trainee, status);
}

/* Longer than a lost ps may stay away, and longer than a ps waits for others. */
static int64_t call_timeout_ms(const struct training_task *trainee)
{
    int64_t longest_ms = CALL_TIMEOUT_MS,
            waits_ms[] = { trainee->training->chief.recovery_timeout_ms,
                           trainee->options->linger_timeout_ms };

    for (size_t i = 0; i < COUNT(waits_ms); i++)
        longest_ms = waits_ms[i] > longest_ms ? waits_ms[i] : longest_ms;
    return longest_ms + CALL_MARGIN_MS;
}

static void open_client(struct training_task *trainee)
{
    const struct task_endpoint *endpoint = &trainee->endpoint;
    struct ps_client_options client = { .cluster = trainee->options->cluster,
                                        .task = endpoint->name,
                                        .ps_list = endpoint->ps_list,
                                        .agreed = trainee->training->agreed,
                                        .index = job_map_rank(trainee->options->map),
                                        .reader = is_evaluator(trainee),
                                        .incarnation = endpoint->identity.incarnation,
                                        .placement = trainee->training->placement,
                                        .channels = trainee->channels.channels,
                                        .call_timeout_ms = call_timeout_ms(trainee) };

    client_init(&trainee->client, &client);
}

/* A task that ends before all ps tasks have answered tells those that have. */
static void report_early_end(struct training_task *trainee)
{
    if (!trainee->started && !status_is_ok(trainee->reason) && !is_evaluator(trainee) &&
        !presence_is_alone(&trainee->presence))
        status_ignore(client_report(&trainee->client,
                                    status_error(STATUS_UNAVAILABLE, "%s", trainee->reason.message),
                                    false));
}

static struct status run(struct training_task *trainee)
{
    TRY(endpoint_listen(&trainee->endpoint, NULL));
    TRY(endpoint_connect(&trainee->endpoint, &trainee->channels));
    if (trainee->training->chief.checkpoints.dir != NULL)
        TRY(endpoint_connect(&trainee->endpoint, &trainee->saver_channels));
    endpoint_warn_of_plaintext(&trainee->endpoint);
    open_client(trainee);
    watch_job(trainee);
    if (trainee->started)
        pthread_join(trainee->thread, NULL);
    /* so that it sees the last step */
    trainee->options->watch(trainee->options->context, trainee->progress);
    trainee->progress->alone = presence_is_alone(&trainee->presence);
    report_early_end(trainee);
    presence_finish(&trainee->presence);
    client_finish(&trainee->client);
    /* A stopped task returns the reason, unless it had succeeded before. */
    if (trainee->done && (status_is_ok(trainee->status) || !trainee->stopping))
        return trainee->status;
    return trainee->reason;
}

struct status task_train(const struct task_options *options, const struct task_training *training,
                         struct progress *progress)
{
    struct training_task trainee = {
        .options = options, .training = training, .progress = progress, .status = status_ok()
    };
    struct status status = endpoint_open(&trainee.endpoint, options);

    if (status_is_ok(status)) {
        log_set_name(trainee.endpoint.name);
        status = run(&trainee);
    }
    struct status held = status_hold(status); /* calls end with the endpoint, and fail */
    if (trainee.done)
        free((char *)(uintptr_t)trainee.status.message);
    ps_channels_close(&trainee.saver_channels);
    ps_channels_close(&trainee.channels);
    endpoint_close(&trainee.endpoint);
    return status_resume(held);
}

int task_exit_code(struct status status)
{
    switch (status.code) {
    case STATUS_OK:
        return 0;
    case STATUS_UNAVAILABLE:
    case STATUS_DEADLINE_EXCEEDED:
    case STATUS_ABORTED:
    case STATUS_CANCELLED:
        return TASK_EXIT_AGAIN;
    default:
        return 1;
    }
}
