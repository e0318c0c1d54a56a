/* A worker, the chief or the evaluator as a process: one thread works, this one looks on. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "trainer/post.h"
#include "trainer/presence.h"

#define TICK_MS         100
#define REPEAT_MS       10000
#define CALL_TIMEOUT_MS 300000 /* at least: a synchronous step may take its time */
#define CALL_MARGIN_MS  60000  /* who gives a task up says so before a call to it ends */

struct trainee {
    const struct task_options *options;
    const struct task_training *training;
    struct progress *progress;
    struct post post;
    struct post_lines lines, saver_lines; /* the latter: the chief's that saves checkpoints */
    struct client client;
    struct presence presence;
    struct loop_timer timer;
    struct loop_task trained; /* the thread is done */
    pthread_t thread;
    bool started, done, stopping;
    struct status status; /* of the thread; its text is on the heap */
    struct status reason; /* why it is being stopped, in the post's arena */
};

static bool is_evaluator(const struct trainee *trainee)
{
    return trainee->options->map->kind == JOB_EVALUATOR;
}

/* ---- The thread that trains, or evaluates. ---- */

static struct status work(struct trainee *trainee)
{
    const struct task_training *training = trainee->training;
    struct chief_options chief = training->chief;
    struct worker_options worker = { .stop_step = chief.job.stop_step,
                                     .start_timeout_ms = chief.start_timeout_ms,
                                     .recovery_timeout_ms = chief.recovery_timeout_ms };
    struct gradient_source *source;

    if (is_evaluator(trainee))
        return evaluator_run(&trainee->client, &training->evaluator, trainee->progress);
    chief.checkpoints.channels = trainee->saver_lines.channels;
    TRY(training->make_source(trainee->options->context, trainee->client.options.index, &source));
    struct status status = job_map_is_chief(trainee->options->map)
                               ? chief_run(&trainee->client, source, &chief, trainee->progress)
                               : worker_run(&trainee->client, source, &worker, trainee->progress);
    source->destroy(source);
    return status;
}

static void *train(void *context)
{
    struct trainee *trainee = context;
    struct status status = work(trainee);

    trainee->status = (struct status){ status.code, xstrdup(status.message) };
    loop_post(trainee->post.loop, &trainee->trained);
    return NULL;
}

/* ---- The thread that looks on. ---- */

static void trained(struct loop_task *task)
{
    struct trainee *trainee = (struct trainee *)((char *)task - offsetof(struct trainee, trained));

    trainee->done = true;
    loop_stop(trainee->post.loop);
}

static void stop(struct trainee *trainee, struct status reason)
{
    if (trainee->stopping)
        return;
    trainee->stopping = true;
    trainee->reason = status_keep(trainee->post.arena, reason);
    if (reason.code != STATUS_CANCELLED && reason.code != STATUS_OK)
        trainee->progress->why = trainee->reason;
    atomic_store(&trainee->progress->stop, true);
    atomic_store(&trainee->progress->over, true);
    if (!trainee->started)
        loop_stop(trainee->post.loop);
}

static void tick(void *context)
{
    struct trainee *trainee = context;
    const struct task_options *options = trainee->options;

    if (!options->watch(options->context, trainee->progress))
        stop(trainee, status_error(STATUS_CANCELLED, "stopped"));
    if (trainee->stopping && trainee->started)
        client_interrupt(&trainee->client); /* again and again: it may be between two calls */
    loop_set_timer(trainee->post.loop, &trainee->timer,
                   clock_now_ns(clock_monotonic()) + (int64_t)TICK_MS * NS_PER_MS);
}

static void print(void *context, const char *line)
{
    const struct task_options *options = ((struct trainee *)context)->options;

    options->print(options->context, line);
}

static void ready(void *context)
{
    struct trainee *trainee = context;

    if (trainee->stopping)
        return;
    char line[64];
    snprintf(line, sizeof line, "all %d ps tasks answer", trainee->training->placement->ps_count);
    print(trainee, line);
    trainee->started = pthread_create(&trainee->thread, NULL, train, trainee) == 0;
    if (!trainee->started)
        stop(trainee, status_error(STATUS_RESOURCE_EXHAUSTED, "cannot start a thread"));
}

/* An evaluator has something left to do then. */
static void ended(void *context, struct status why)
{
    struct trainee *trainee = context;

    if (trainee->started && status_is_ok(why))
        atomic_store(&trainee->progress->over, true);
    else
        stop(trainee, why);
}

static void look_on(struct trainee *trainee)
{
    struct presence_options presence = {
        .client = &trainee->client.options,
        .names = trainee->post.peers,
        .loop = trainee->post.loop,
        .start_timeout_ms = trainee->options->start_timeout_ms,
        .lost_timeout_ms = trainee->training->chief.recovery_timeout_ms,
        .repeat_ms = REPEAT_MS,
        .describe = post_describe,
        .print = print,
        .ready = ready,
        .ended = ended,
        .context = trainee,
    };

    trainee->trained.work = trained;
    trainee->timer = (struct loop_timer){ .expired = tick, .context = trainee };
    presence_start(&trainee->presence, &presence);
    loop_set_timer(trainee->post.loop, &trainee->timer, clock_now_ns(clock_monotonic()));
    struct status status = loop_run(trainee->post.loop);
    if (!status_is_ok(status))
        stop(trainee, status);
}

/* Longer than a call waits for a lost ps to come back, and for what that ps waits for itself. */
static int64_t call_timeout_ms(const struct trainee *trainee)
{
    int64_t longest_ms = CALL_TIMEOUT_MS,
            waits_ms[] = { trainee->training->chief.recovery_timeout_ms,
                           trainee->options->linger_timeout_ms };

    for (size_t i = 0; i < COUNT(waits_ms); i++)
        longest_ms = waits_ms[i] > longest_ms ? waits_ms[i] : longest_ms;
    return longest_ms + CALL_MARGIN_MS;
}

static void open_client(struct trainee *trainee)
{
    const struct post *post = &trainee->post;
    struct client_options client = { .cluster = trainee->options->cluster,
                                     .task = post->name,
                                     .ps_list = post->ps_list,
                                     .agreed = trainee->training->agreed,
                                     .index = job_map_rank(trainee->options->map),
                                     .reader = is_evaluator(trainee),
                                     .incarnation = post->identity.incarnation,
                                     .placement = trainee->training->placement,
                                     .channels = trainee->lines.channels,
                                     .call_timeout_ms = call_timeout_ms(trainee) };

    client_init(&trainee->client, &client);
}

static struct status run(struct trainee *trainee)
{
    TRY(post_listen(&trainee->post, NULL));
    TRY(post_connect(&trainee->post, &trainee->lines));
    if (trainee->training->chief.checkpoints.dir != NULL)
        TRY(post_connect(&trainee->post, &trainee->saver_lines));
    post_warn_of_plaintext(&trainee->post);
    open_client(trainee);
    look_on(trainee);
    if (trainee->started)
        pthread_join(trainee->thread, NULL);
    trainee->options->watch(trainee->options->context, trainee->progress); /* the last it can see */
    trainee->progress->alone = presence_is_alone(&trainee->presence);
    presence_finish(&trainee->presence);
    client_finish(&trainee->client);
    /* A task that was stopped says why, unless it had ended well by then. */
    if (trainee->done && (status_is_ok(trainee->status) || !trainee->stopping))
        return trainee->status;
    return trainee->reason;
}

struct status task_train(const struct task_options *options, const struct task_training *training,
                         struct progress *progress)
{
    struct trainee trainee = {
        .options = options, .training = training, .progress = progress, .status = status_ok()
    };
    struct status status = post_open(&trainee.post, options);

    if (status_is_ok(status)) {
        log_set_name(trainee.post.name);
        status = run(&trainee);
    }
    char *text = xstrdup(status.message); /* outlives the post, and the calls that end with it */
    if (trainee.done)
        free((char *)(uintptr_t)trainee.status.message);
    post_disconnect(&trainee.saver_lines);
    post_disconnect(&trainee.lines);
    post_close(&trainee.post);
    return post_ended(status.code, text);
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
