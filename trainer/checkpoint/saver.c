#include "trainer/checkpoint/saver.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/scheduling.h"

#define SNAPSHOT_TIMEOUT_MS 30000
#define WARN_MS             60000 /* between two log lines about checkpoints that fail */
#define TICK_MS             10
#define STALL_MS            10000 /* a ps that has not replied for this long is lost */
#define WRITER_NICE         10

enum first_checkpoint {
    FIRST_DUE,   /* its values are not taken yet */
    FIRST_TAKEN, /* training may change the values; the files are not complete yet */
    FIRST_WRITTEN,
    FIRST_FAILED
};

struct saver {
    struct saver_options options;
    struct ps_client client;
    bool runs; /* the thread was started */
    atomic_bool ended;
    pthread_t thread;
    pthread_mutex_t saving;  /* held while a checkpoint is written, and while paused */
    bool last;               /* with `saving`: training has ended */
    pthread_mutex_t cutting; /* held while the ps tasks are cut for a snapshot */
    struct ps_client *chief;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    bool stopping, paused, due;
    bool told; /* the chief knows of the first checkpoint's failure, or need not know now */
    _Atomic enum first_checkpoint first;
    enum status_code failure_code; /* if FIRST_FAILED: why */
    char failure[1024];
    _Atomic uint64_t next_step; /* the step at which a checkpoint is due */
    _Atomic uint64_t due_step;  /* the last step at which one was due */
    int64_t next_ns, warned_ns;
};

/* The next multiple of every_steps. These steps stay the same if the job resumes from a
 * checkpoint between two of them, or if a checkpoint is late. */
static uint64_t next_due_step(const struct saver *saver, uint64_t step)
{
    uint64_t every = saver->options.every_steps;

    return every > 0 ? (step / every + 1) * every : UINT64_MAX;
}

struct snapshot_writer {
    const struct saver *saver;
    struct client_snapshot *snapshot;
    const char *prefix;
    struct status held; /* the result */
};

static void *write_behind(void *context)
{
    struct snapshot_writer *writer = context;

    scheduling_lower_priority(WRITER_NICE);
    writer->held = status_hold(
        checkpoint_write(&writer->saver->options.layout, writer->snapshot, writer->prefix));
    return NULL;
}

/* Steps have priority over files. A thread cannot raise its priority again, and the next snapshot
 * stops all steps for a moment: so the files have a thread of their own. */
static struct status write_snapshot(void *context, const char *prefix)
{
    struct snapshot_writer *writer = context;
    pthread_t thread;

    writer->prefix = prefix;
    if (writer->saver->last || pthread_create(&thread, NULL, write_behind, writer) != 0)
        return checkpoint_write(&writer->saver->options.layout, writer->snapshot, prefix);
    pthread_join(thread, NULL);
    return status_resume(writer->held);
}

struct status saver_snapshot(struct saver *saver, struct ps_client *client, bool slots,
                             struct status (*use)(void *context, struct client_snapshot *snapshot),
                             void *context)
{
    struct client_snapshot snapshot;
    struct status status;

    pthread_mutex_lock(&saver->cutting);
    status = client_snapshot_begin(client, slots, SNAPSHOT_TIMEOUT_MS, &snapshot);
    pthread_mutex_unlock(&saver->cutting);
    if (status.code == STATUS_DEADLINE_EXCEEDED)
        status =
            status_in(status, "the ps tasks took longer than %d s", SNAPSHOT_TIMEOUT_MS / 1000);
    TRY(status);
    struct status held = status_hold(use(context, &snapshot));
    client_snapshot_end(&snapshot);
    return status_resume(held);
}

static void set_first(struct saver *saver, enum first_checkpoint first)
{
    pthread_mutex_lock(&saver->lock);
    saver->first = first;
    pthread_cond_broadcast(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
}

static struct status add_snapshot(void *context, struct client_snapshot *snapshot)
{
    struct saver *saver = context;
    struct checkpoint_dir *dir = saver->options.dir;
    struct snapshot_writer writer = { .saver = saver, .snapshot = snapshot };

    if (saver->first == FIRST_DUE)
        set_first(saver, FIRST_TAKEN);
    if (!checkpoint_dir_has_step(dir, snapshot->global_step))
        TRY(checkpoint_dir_add(dir, snapshot->global_step, write_snapshot, &writer));
    set_first(saver, FIRST_WRITTEN);
    atomic_store(&saver->next_step, next_due_step(saver, snapshot->global_step));
    return status_ok();
}

static struct status save(struct saver *saver)
{
    return saver_snapshot(saver, &saver->client, true, add_snapshot, saver);
}

/* With the lock: interrupts the chief until it knows that the first checkpoint has failed: one
 * interruption may come between two of its calls. Returns when to look again. */
static int64_t tell_failure(struct saver *saver)
{
    if (saver->first != FIRST_FAILED || saver->paused || saver->told)
        return CLOCK_NEVER;
    client_interrupt(saver->chief);
    return clock_deadline_ns(saver->client.calls.clock, TICK_MS);
}

/* With the lock: waits until a checkpoint is due. Returns false when the saver ends. */
static bool wait_until_due(struct saver *saver)
{
    struct clock *clock = saver->client.calls.clock;

    while (!saver->stopping) {
        bool late = clock_now_ns(clock) >= saver->next_ns;
        if (!saver->paused && (saver->due || late))
            return true;
        int64_t again_ns = tell_failure(saver);
        int64_t next_ns = saver->paused ? CLOCK_NEVER : saver->next_ns;
        clock_wait(clock, &saver->changed, &saver->lock, again_ns < next_ns ? again_ns : next_ns);
    }
    return false;
}

static void set_next(struct saver *saver)
{
    saver->due = false;
    saver->next_ns = saver->options.every_ms > 0
                         ? clock_deadline_ns(saver->client.calls.clock, saver->options.every_ms)
                         : CLOCK_NEVER;
}

/* With `saving` held: the pause may have begun before this thread acquired it. */
static struct status save_unless_paused(struct saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    bool paused = saver->paused || saver->stopping;
    pthread_mutex_unlock(&saver->lock);
    return paused ? status_ok() : save(saver);
}

/* With the lock. */
static void fail_first(struct saver *saver, struct status status)
{
    snprintf(saver->failure, sizeof saver->failure, "%s", status.message);
    saver->failure_code = status.code;
    saver->first = FIRST_FAILED;
    pthread_cond_broadcast(&saver->changed);
}

/* With the lock: schedules the next one as if this one had been written. Warns, unless a
 * recovery or the job's end caused the failure: the chief reports those. */
static void take_failure(struct saver *saver, struct status status)
{
    int64_t now_ns = clock_now_ns(saver->client.calls.clock);

    uint64_t none = UINT64_MAX;

    if (saver->first == FIRST_DUE) /* saver_start waits for the values */
        fail_first(saver, status);
    if (saver->options.every_steps > 0)
        atomic_compare_exchange_strong(&saver->next_step, &none,
                                       next_due_step(saver, saver->due_step));
    if (saver->stopping || saver->paused || status.code == STATUS_ABORTED)
        return;
    if (saver->first == FIRST_TAKEN)
        fail_first(saver, status_in(status, "the first checkpoint failed"));
    if (saver->first == FIRST_FAILED)
        return;
    if (saver->warned_ns != 0 && now_ns - saver->warned_ns < (int64_t)WARN_MS * NS_PER_MS)
        return;
    saver->warned_ns = now_ns;
    status = status_in(status, "training continues without this checkpoint");
    saver->options.warn(saver->options.context, status.message);
}

static void *saver_run(void *context)
{
    struct saver *saver = context;

    pthread_mutex_lock(&saver->lock);
    while (wait_until_due(saver)) {
        set_next(saver); /* counted from here, so that checkpoints are evenly spaced */
        pthread_mutex_unlock(&saver->lock);
        pthread_mutex_lock(&saver->saving);
        struct status status = save_unless_paused(saver);
        pthread_mutex_unlock(&saver->saving);
        pthread_mutex_lock(&saver->lock);
        if (!status_is_ok(status))
            take_failure(saver, status);
    }
    pthread_mutex_unlock(&saver->lock);
    atomic_store(&saver->ended, true);
    return NULL;
}

/* Waits until the first checkpoint has its values. */
static struct status await_first_values(struct saver *saver)
{
    struct clock *clock = saver->client.calls.clock;

    pthread_mutex_lock(&saver->lock);
    while (saver->first == FIRST_DUE)
        clock_wait(clock, &saver->changed, &saver->lock, CLOCK_NEVER);
    pthread_mutex_unlock(&saver->lock);
    return saver_check(saver);
}

struct status saver_start(const struct saver_options *options, struct ps_client *client,
                          struct saver **out)
{
    struct saver *saver = zalloc(sizeof *saver);
    struct ps_client_options mine = client->options;

    mine.channels = options->channels;
    saver->options = *options;
    saver->chief = client;
    client_init(&saver->client, &mine);
    pthread_mutex_init(&saver->saving, NULL);
    pthread_mutex_init(&saver->cutting, NULL);
    pthread_mutex_init(&saver->lock, NULL);
    clock_cond_init(&saver->changed);
    client_follow(&saver->client, client);
    set_next(saver);
    saver->due = true;
    saver->due_step = client->global_step;
    saver->next_step = UINT64_MAX; /* none until the first one is written */
    saver->runs = pthread_create(&saver->thread, NULL, saver_run, saver) == 0;
    struct status status = saver->runs
                               ? await_first_values(saver)
                               : status_error(STATUS_RESOURCE_EXHAUSTED, "cannot start a thread");
    if (!status_is_ok(status)) {
        struct status held = status_hold(status);
        saver_destroy(saver);
        return status_resume(held);
    }
    *out = saver;
    return status_ok();
}

struct status saver_check(struct saver *saver)
{
    if (saver->first != FIRST_FAILED)
        return status_ok();
    pthread_mutex_lock(&saver->lock);
    saver->told = true;
    struct status status = status_error(saver->failure_code, "%s", saver->failure);
    pthread_mutex_unlock(&saver->lock);
    return status;
}

void saver_let_finish(struct saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    saver->told = true;
    pthread_mutex_unlock(&saver->lock);
}

void saver_step(struct saver *saver, uint64_t global_step)
{
    if (global_step < atomic_load_explicit(&saver->next_step, memory_order_relaxed))
        return;
    atomic_store(&saver->due_step, global_step);
    atomic_store(&saver->next_step, UINT64_MAX); /* none until this one is written */
    pthread_mutex_lock(&saver->lock);
    saver->due = true;
    pthread_cond_signal(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
}

void saver_interrupt(struct saver *saver)
{
    client_interrupt(&saver->client);
}

void saver_pause(struct saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    saver->paused = true;
    pthread_mutex_unlock(&saver->lock);
    while (pthread_mutex_trylock(&saver->saving) != 0) { /* until the current one fails or ends */
        client_interrupt(&saver->client); /* at each tick, because it may be between two calls */
        clock_sleep(saver->client.calls.clock, TICK_MS);
    }
}

void saver_resume(struct saver *saver, const struct ps_client *client)
{
    client_follow(&saver->client, client);
    atomic_store(&saver->next_step, next_due_step(saver, client->global_step));
    pthread_mutex_unlock(&saver->saving);
    pthread_mutex_lock(&saver->lock);
    saver->paused = saver->told = false;
    saver->due = saver->first != FIRST_WRITTEN; /* the pause has interrupted it */
    if (saver->first == FIRST_FAILED)
        saver->first = FIRST_TAKEN;
    pthread_cond_signal(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
}

struct status saver_finish(struct saver *saver)
{
    pthread_mutex_lock(&saver->lock);
    saver->paused = true;
    pthread_mutex_unlock(&saver->lock);
    pthread_mutex_lock(&saver->saving);
    struct status status = saver_check(saver);
    saver->last = true;
    if (status_is_ok(status))
        status = status_in(save(saver), "the last checkpoint failed");
    saver->last = false;
    pthread_mutex_unlock(&saver->saving);
    return status;
}

/* Waits for the checkpoint in progress as long as the ps tasks reply to its calls. */
static void await_end(struct saver *saver)
{
    uint64_t replies = atomic_load(&saver->client.side_replies);
    int64_t quiet_ms = 0;

    while (!atomic_load(&saver->ended)) {
        uint64_t now = atomic_load(&saver->client.side_replies);
        quiet_ms = now == replies ? quiet_ms + TICK_MS : 0;
        replies = now;
        if (quiet_ms >= STALL_MS)
            client_interrupt(&saver->client);
        clock_sleep(saver->client.calls.clock, TICK_MS);
    }
}

static void stop(struct saver *saver)
{
    if (!saver->runs)
        return;
    pthread_mutex_lock(&saver->lock);
    saver->stopping = true;
    pthread_cond_signal(&saver->changed);
    pthread_mutex_unlock(&saver->lock);
    await_end(saver);
    pthread_join(saver->thread, NULL);
}

void saver_destroy(struct saver *saver)
{
    if (saver == NULL)
        return;
    stop(saver);
    client_finish(&saver->client);
    pthread_cond_destroy(&saver->changed);
    pthread_mutex_destroy(&saver->lock);
    pthread_mutex_destroy(&saver->cutting);
    pthread_mutex_destroy(&saver->saving);
    free(saver);
}
