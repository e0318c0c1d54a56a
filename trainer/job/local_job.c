#include "trainer/job/local_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/loopback.h"
#include "trainer/ps/ps.h"

#define WATCH_MS        100
#define CALL_TIMEOUT_MS 300000
#define CLUSTER_ID      "in-process"

struct local_task {
    struct local_job *job;
    uint32_t index;
    struct channel **channels;       /* one to each ps */
    struct channel **saver_channels; /* the chief's, for checkpoints; NULL for others */
    struct ps_client client;
    char name[24];
    pthread_t thread;
    bool started;
    enum status_code code; /* how it ended */
    char *text;
};

struct local_job {
    const struct local_job_options *options;
    struct progress *progress;
    int ps_count;
    struct ps **ps;
    struct local_task *tasks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t running;
    const struct local_task *first_failed; /* the other failures may follow from this one */
    bool stopped;                          /* by `watch` */
};

static struct status task_work(struct local_task *task)
{
    const struct local_job_options *options = task->job->options;
    struct chief_options chief = options->chief;
    struct worker_options worker = { .stop_step = chief.job.stop_step,
                                     .start_timeout_ms = chief.start_timeout_ms,
                                     .recovery_timeout_ms = chief.recovery_timeout_ms };
    struct gradient_source *source;

    chief.checkpoints.channels = task->saver_channels;
    TRY(options->make_source(options->context, &task->client, &source));
    struct status status = task->index == 0
                               ? chief_run(&task->client, source, &chief, task->job->progress)
                               : worker_run(&task->client, source, &worker, task->job->progress);
    source->destroy(source);
    return status;
}

static void stop_all_ps(struct local_job *job, struct status why)
{
    for (int i = 0; i < job->ps_count; i++)
        ps_stop(job->ps[i], why);
}

static void *task_run(void *context)
{
    struct local_task *task = context;
    struct local_job *job = task->job;
    struct status status = task_work(task);

    task->code = status.code;
    task->text = xstrdup(status.message);
    pthread_mutex_lock(&job->lock);
    /* A task that was only informed of the end may return before the task that caused it. */
    if (!status_is_ok(status) &&
        (job->first_failed == NULL || job->first_failed->code == STATUS_CANCELLED ||
         job->first_failed->client.told))
        job->first_failed = task;
    pthread_mutex_unlock(&job->lock);
    /* Without the chief nothing can finish, and without a worker no synchronous step can. */
    const struct client_job *of = &job->options->chief.job;
    bool fatal = task->index == 0 || (of->sync && of->backup_workers == 0);
    if (!status_is_ok(status) && fatal) {
        atomic_store(&job->progress->stop, true);
        stop_all_ps(job,
                    status_error(STATUS_ABORTED, "worker %u ended: %s", task->index, task->text));
    }
    pthread_mutex_lock(&job->lock);
    job->running--;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

static void make_ps(struct local_job *job)
{
    job->ps = zalloc((size_t)job->ps_count * sizeof(void *));
    for (int i = 0; i < job->ps_count; i++) {
        struct ps_options options = {
            .cluster = CLUSTER_ID, .index = (uint32_t)i, .ps_list = "", .incarnation = 1
        };
        job->ps[i] = ps_create(&options);
    }
}

static struct channel **open_channels(const struct local_job *job)
{
    struct channel **channels = zalloc((size_t)job->ps_count * sizeof(void *));

    for (int i = 0; i < job->ps_count; i++)
        channels[i] = loopback_open(&ps_service, job->ps[i], clock_monotonic());
    return channels;
}

static void close_channels(const struct local_job *job, struct channel **channels)
{
    for (int i = 0; channels != NULL && i < job->ps_count; i++)
        channel_close(channels[i]);
    free(channels);
}

static void make_task(struct local_job *job, uint32_t index)
{
    struct local_task *task = &job->tasks[index];

    task->job = job;
    task->index = index;
    snprintf(task->name, sizeof task->name, index == 0 ? "chief" : "worker %u", index);
    task->channels = open_channels(job);
    if (index == 0 && job->options->chief.checkpoints.dir != NULL)
        task->saver_channels = open_channels(job);
    struct ps_client_options options = { .cluster = CLUSTER_ID,
                                         .task = task->name,
                                         .ps_list = "",
                                         .index = index,
                                         .incarnation = 1 + index,
                                         .placement = job->options->placement,
                                         .channels = task->channels,
                                         .call_timeout_ms = CALL_TIMEOUT_MS };
    client_init(&task->client, &options);
}

static void finish_task(struct local_job *job, struct local_task *task)
{
    if (task->started)
        pthread_join(task->thread, NULL);
    client_finish(&task->client);
    close_channels(job, task->channels);
    close_channels(job, task->saver_channels);
}

/* Calls `watch` until all tasks have ended. */
static void watch(struct local_job *job)
{
    const struct local_job_options *options = job->options;
    struct clock *clock = clock_monotonic();

    pthread_mutex_lock(&job->lock);
    while (job->running > 0) {
        int64_t until = clock_deadline_ns(clock, WATCH_MS);
        while (job->running > 0 && clock_wait(clock, &job->changed, &job->lock, until))
            ;
        pthread_mutex_unlock(&job->lock);
        if (!options->watch(options->context, job->progress) &&
            !atomic_load(&job->progress->stop)) {
            job->stopped = true;
            atomic_store(&job->progress->stop, true);
            stop_all_ps(job, status_error(STATUS_CANCELLED, "stopped"));
        }
        pthread_mutex_lock(&job->lock);
    }
    pthread_mutex_unlock(&job->lock);
}

static void start_tasks(struct local_job *job)
{
    uint32_t workers = job->options->workers;

    job->running = workers;
    for (uint32_t i = 0; i < workers; i++) {
        struct local_task *task = &job->tasks[i];
        task->started = pthread_create(&task->thread, NULL, task_run, task) == 0;
        if (!task->started) { /* as if the worker had died at once */
            pthread_mutex_lock(&job->lock);
            job->running--;
            pthread_mutex_unlock(&job->lock);
            task->code = STATUS_RESOURCE_EXHAUSTED;
            task->text = xstrdup("cannot start a thread");
        }
    }
}

/* The job's outcome: the chief's, unless another task's failure caused it. */
static struct status outcome(const struct local_job *job)
{
    const struct local_task *chief = &job->tasks[0];
    const struct local_task *culprit =
        job->first_failed != NULL && job->options->chief.job.sync ? job->first_failed : chief;

    for (uint32_t i = 1; i < job->options->workers && chief->code == STATUS_OK; i++)
        if (job->tasks[i].code != STATUS_OK)
            job->options->lost(job->options->context, i,
                               status_error(job->tasks[i].code, "%s", job->tasks[i].text));
    if (chief->code == STATUS_OK)
        return status_ok();
    if (job->stopped)
        return status_error(STATUS_CANCELLED, "stopped");
    return status_error(culprit->code, "%s", culprit->text);
}

struct status local_job_run(const struct local_job_options *options, struct progress *progress)
{
    struct local_job job = { .options = options,
                             .progress = progress,
                             .ps_count = options->placement->ps_count };

    pthread_mutex_init(&job.lock, NULL);
    clock_cond_init(&job.changed);
    make_ps(&job);
    job.tasks = zalloc(options->workers * sizeof *job.tasks);
    for (uint32_t i = 0; i < options->workers; i++)
        make_task(&job, i);
    start_tasks(&job);
    watch(&job);
    for (uint32_t i = 0; i < options->workers; i++)
        finish_task(&job, &job.tasks[i]);
    struct status status = outcome(&job);
    for (uint32_t i = 0; i < options->workers; i++)
        free(job.tasks[i].text);
    for (int i = 0; i < job.ps_count; i++)
        ps_destroy(job.ps[i]);
    free(job.tasks);
    free(job.ps);
    pthread_cond_destroy(&job.changed);
    pthread_mutex_destroy(&job.lock);
    return status;
}
