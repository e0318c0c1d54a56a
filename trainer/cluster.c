#include "trainer/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "rpc/loopback.h"
#include "trainer/ps.h"

#define WATCH_MS        100
#define CALL_TIMEOUT_MS 300000
#define CLUSTER_ID      "in-process"

struct task {
    struct cluster *cluster;
    uint32_t index;
    struct channel **channels;       /* one to each ps */
    struct channel **saver_channels; /* the chief's, for checkpoints; else NULL */
    struct client client;
    char name[24];
    pthread_t thread;
    bool started;
    enum status_code code; /* how it ended */
    char *text;
};

struct cluster {
    const struct cluster_options *options;
    struct progress *progress;
    int ps_count;
    struct ps **ps;
    struct task *tasks;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t running;
    const struct task *first_failed; /* whose failure the others' may be a consequence of */
    bool stopped;                    /* by `watch` */
};

static struct status task_work(struct task *task)
{
    const struct cluster_options *options = task->cluster->options;
    struct chief_options chief = options->chief;
    struct worker_options worker = { .stop_step = chief.job.stop_step,
                                     .start_timeout_ms = chief.start_timeout_ms,
                                     .recovery_timeout_ms = chief.recovery_timeout_ms };
    struct gradient_source *source;

    chief.checkpoints.channels = task->saver_channels;
    TRY(options->make_source(options->context, task->index, &source));
    struct status status =
        task->index == 0 ? chief_run(&task->client, source, &chief, task->cluster->progress)
                         : worker_run(&task->client, source, &worker, task->cluster->progress);
    source->destroy(source);
    return status;
}

static void stop_all_ps(struct cluster *cluster, struct status why)
{
    for (int i = 0; i < cluster->ps_count; i++)
        ps_stop(cluster->ps[i], why);
}

static void *task_run(void *context)
{
    struct task *task = context;
    struct cluster *cluster = task->cluster;
    struct status status = task_work(task);

    task->code = status.code;
    task->text = xstrdup(status.message);
    pthread_mutex_lock(&cluster->lock);
    /* Who was only told that the job has ended may be told before its cause returns. */
    if (!status_is_ok(status) &&
        (cluster->first_failed == NULL || cluster->first_failed->code == STATUS_CANCELLED ||
         cluster->first_failed->client.told))
        cluster->first_failed = task;
    pthread_mutex_unlock(&cluster->lock);
    /* Nobody waits for what the chief will not do; a synchronous step cannot go on without its
     * worker. */
    bool fatal = task->index == 0 || cluster->options->chief.job.sync;
    if (!status_is_ok(status) && fatal) {
        atomic_store(&cluster->progress->stop, true);
        stop_all_ps(cluster,
                    status_error(STATUS_ABORTED, "worker %u ended: %s", task->index, task->text));
    }
    pthread_mutex_lock(&cluster->lock);
    cluster->running--;
    pthread_cond_signal(&cluster->changed);
    pthread_mutex_unlock(&cluster->lock);
    return NULL;
}

static void make_ps(struct cluster *cluster)
{
    cluster->ps = zalloc((size_t)cluster->ps_count * sizeof(void *));
    for (int i = 0; i < cluster->ps_count; i++) {
        struct ps_options options = {
            .cluster = CLUSTER_ID, .index = (uint32_t)i, .ps_list = "", .incarnation = 1
        };
        cluster->ps[i] = ps_create(&options);
    }
}

static struct channel **open_channels(const struct cluster *cluster)
{
    struct channel **channels = zalloc((size_t)cluster->ps_count * sizeof(void *));

    for (int i = 0; i < cluster->ps_count; i++)
        channels[i] = loopback_open(&ps_service, cluster->ps[i], clock_monotonic());
    return channels;
}

static void close_channels(const struct cluster *cluster, struct channel **channels)
{
    for (int i = 0; channels != NULL && i < cluster->ps_count; i++)
        channel_close(channels[i]);
    free(channels);
}

static void make_task(struct cluster *cluster, uint32_t index)
{
    struct task *task = &cluster->tasks[index];

    task->cluster = cluster;
    task->index = index;
    snprintf(task->name, sizeof task->name, index == 0 ? "chief" : "worker %u", index);
    task->channels = open_channels(cluster);
    if (index == 0 && cluster->options->chief.checkpoints.dir != NULL)
        task->saver_channels = open_channels(cluster);
    struct client_options options = { .cluster = CLUSTER_ID,
                                      .task = task->name,
                                      .ps_list = "",
                                      .index = index,
                                      .incarnation = 1 + index,
                                      .placement = cluster->options->placement,
                                      .channels = task->channels,
                                      .call_timeout_ms = CALL_TIMEOUT_MS };
    client_init(&task->client, &options);
}

static void finish_task(struct cluster *cluster, struct task *task)
{
    if (task->started)
        pthread_join(task->thread, NULL);
    client_finish(&task->client);
    close_channels(cluster, task->channels);
    close_channels(cluster, task->saver_channels);
}

/* Looks on until all tasks have ended. */
static void watch(struct cluster *cluster)
{
    const struct cluster_options *options = cluster->options;
    struct clock *clock = clock_monotonic();

    pthread_mutex_lock(&cluster->lock);
    while (cluster->running > 0) {
        int64_t until = clock_deadline_ns(clock, WATCH_MS);
        while (cluster->running > 0 && clock_wait(clock, &cluster->changed, &cluster->lock, until))
            ;
        pthread_mutex_unlock(&cluster->lock);
        if (!options->watch(options->context, cluster->progress) &&
            !atomic_load(&cluster->progress->stop)) {
            cluster->stopped = true;
            atomic_store(&cluster->progress->stop, true);
            stop_all_ps(cluster, status_error(STATUS_CANCELLED, "stopped"));
        }
        pthread_mutex_lock(&cluster->lock);
    }
    pthread_mutex_unlock(&cluster->lock);
}

static void start_tasks(struct cluster *cluster)
{
    uint32_t workers = cluster->options->workers;

    cluster->running = workers;
    for (uint32_t i = 0; i < workers; i++) {
        struct task *task = &cluster->tasks[i];
        task->started = pthread_create(&task->thread, NULL, task_run, task) == 0;
        if (!task->started) { /* no thread to be had: as if the worker had died at once */
            pthread_mutex_lock(&cluster->lock);
            cluster->running--;
            pthread_mutex_unlock(&cluster->lock);
            task->code = STATUS_RESOURCE_EXHAUSTED;
            task->text = xstrdup("cannot start a thread");
        }
    }
}

/* The job's outcome: the chief's, unless it failed because of another. */
static struct status outcome(const struct cluster *cluster)
{
    const struct task *chief = &cluster->tasks[0];
    const struct task *culprit = cluster->first_failed != NULL && cluster->options->chief.job.sync
                                     ? cluster->first_failed
                                     : chief;

    for (uint32_t i = 1; i < cluster->options->workers && chief->code == STATUS_OK; i++)
        if (cluster->tasks[i].code != STATUS_OK)
            cluster->options->lost(
                cluster->options->context, i,
                status_error(cluster->tasks[i].code, "%s", cluster->tasks[i].text));
    if (chief->code == STATUS_OK)
        return status_ok();
    if (cluster->stopped)
        return status_error(STATUS_CANCELLED, "stopped");
    return status_error(culprit->code, "%s", culprit->text);
}

struct status cluster_run(const struct cluster_options *options, struct progress *progress)
{
    struct cluster cluster = { .options = options,
                               .progress = progress,
                               .ps_count = options->placement->ps_count };

    pthread_mutex_init(&cluster.lock, NULL);
    clock_cond_init(&cluster.changed);
    make_ps(&cluster);
    cluster.tasks = zalloc(options->workers * sizeof *cluster.tasks);
    for (uint32_t i = 0; i < options->workers; i++)
        make_task(&cluster, i);
    start_tasks(&cluster);
    watch(&cluster);
    for (uint32_t i = 0; i < options->workers; i++)
        finish_task(&cluster, &cluster.tasks[i]);
    struct status status = outcome(&cluster);
    for (uint32_t i = 0; i < options->workers; i++)
        free(cluster.tasks[i].text);
    for (int i = 0; i < cluster.ps_count; i++)
        ps_destroy(cluster.ps[i]);
    free(cluster.tasks);
    free(cluster.ps);
    pthread_cond_destroy(&cluster.changed);
    pthread_mutex_destroy(&cluster.lock);
    return status;
}
