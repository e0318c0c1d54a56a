/* The manager of models with a fake clock, fake base paths and a fake loader. The base paths are /a
 * to /z. Include <cmocka.h> first. */
#ifndef TESTS_FAKE_MODELS_H
#define TESTS_FAKE_MODELS_H

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/container.h"
#include "base/log.h"
#include "fake_servable.h"
#include "server/models/manager_internal.h"
#include "support/status.h"

#define VERSIONS_MAX 8
#define POLL_NS      NS_PER_S
#define RETRY_NS     (60 * NS_PER_S)

/* ---- the clock, which knows whether the manager sleeps, and until when ---- */

static _Atomic int64_t now_ns;
static _Atomic(struct manager *) sleeper; /* the manager; NULL until it first sleeps */
/* With its lock: */
static int64_t sleeps_until_ns; /* 0: it does not sleep */
static uint64_t sleeps_after;   /* the events that it had seen when it went to sleep */

static inline int64_t read_now_ns(struct clock *clock)
{
    (void)clock;
    return atomic_load(&now_ns);
}

/* Returns only at the deadline or when the manager is signalled, unlike base/clock.h's fake clock.
 * The wait has no timeout, because a timeout can swallow a signal that arrives with it. */
static inline bool sleep_until(struct clock *clock, pthread_cond_t *changed, pthread_mutex_t *lock,
                               int64_t deadline_ns)
{
    struct manager *asleep = CONTAINER_OF(changed, struct manager, changed);
    (void)clock;
    sleeps_until_ns = deadline_ns;
    sleeps_after = asleep->events;
    atomic_store(&sleeper, asleep);
    if (atomic_load(&now_ns) < deadline_ns)
        pthread_cond_wait(changed, lock);
    sleeps_until_ns = 0;
    return atomic_load(&now_ns) < deadline_ns;
}

static inline void set_now(int64_t ns)
{
    atomic_store(&now_ns, ns);
    struct manager *asleep = atomic_load(&sleeper);
    if (asleep == NULL)
        return;
    pthread_mutex_lock(&asleep->lock);
    /* Signal only once the deadline has passed: a signal ends the sleep. */
    if (sleeps_until_ns != 0 && sleeps_until_ns <= ns)
        pthread_cond_signal(&asleep->changed);
    pthread_mutex_unlock(&asleep->lock);
}

static struct clock test_clock = { read_now_ns, sleep_until };

/* Whether the manager has done everything that is due: it sleeps, its time has not come, and
 * nothing has happened since it went to sleep. */
static inline bool sleeps(int64_t *until_ns)
{
    struct manager *asleep = atomic_load(&sleeper);
    if (asleep == NULL)
        return false;
    pthread_mutex_lock(&asleep->lock);
    *until_ns = sleeps_until_ns;
    bool idle = sleeps_until_ns > atomic_load(&now_ns) && sleeps_after == asleep->events;
    pthread_mutex_unlock(&asleep->lock);
    return idle;
}

/* Waits until the manager has done everything that is due. Returns when it will wake. */
static inline int64_t wait_until_it_sleeps(void)
{
    int64_t until_ns;
    while (!sleeps(&until_ns))
        sched_yield();
    return until_ns;
}

/* Advances the time to the end of the manager's sleep and waits until it sleeps again. */
static inline void wake(void)
{
    set_now(wait_until_it_sleeps());
    wait_until_it_sleeps();
}

/* ---- the base path ---- */

struct base_path {
    _Atomic unsigned present; /* a bit for each version */
    _Atomic unsigned damaged; /* versions that fail to load */
    _Atomic uint64_t bytes;   /* of each version */
    _Atomic int scans;
};

static struct base_path base_paths[26];

/* The base path "/m", or a directory in it. */
static inline struct base_path *at(const char *path)
{
    return &base_paths[path[1] - 'a'];
}

static _Atomic bool unreadable;
static _Atomic int scans;
static void (*_Atomic during_scan)(const char *base_path); /* NULL: nothing happens meanwhile */
static _Atomic uint64_t edits;                             /* changes the files' fingerprint */

#define V(number) (1U << (number))

static inline struct status scan(const char *base_path, struct source_versions *out)
{
    char directory[32];
    void (*meanwhile)(const char *) = atomic_load(&during_scan);
    atomic_fetch_add(&scans, 1);
    atomic_fetch_add(&at(base_path)->scans, 1);
    if (meanwhile != NULL)
        meanwhile(base_path);
    if (atomic_load(&unreadable))
        return status_error(STATUS_NOT_FOUND, "open '%s'", base_path);
    unsigned versions = atomic_load(&at(base_path)->present);
    *out = (struct source_versions){ .items = zalloc(VERSIONS_MAX * sizeof *out->items) };
    for (int number = 1; number < VERSIONS_MAX; number++)
        if (versions & V(number)) {
            snprintf(directory, sizeof directory, "%.2s/%d", base_path, number);
            out->items[out->count++] = (struct source_version){ number, xstrdup(directory) };
        }
    return status_ok();
}

static inline uint64_t fingerprint(const char *directory)
{
    return bytes_hash(bytes_of(directory)) + atomic_load(&edits);
}

static inline uint64_t bytes_in(const char *directory)
{
    return atomic_load(&at(directory)->bytes);
}

static const struct version_source source = { scan, fingerprint, bytes_in };

/* ---- the loader ---- */

static _Atomic unsigned endless; /* versions that load until they are cancelled */
static _Atomic int64_t loading;  /* the endless version being loaded, or 0 */
static _Atomic int load_nice;    /* of the thread of the last load */

static inline struct status load(const char *name, int64_t version, const char *directory,
                                 const struct savedmodel_options *options, struct servable **out)
{
    const struct work_limits *limits = options->limits;
    assert_int_equal(atoi(directory + 3), version);
    atomic_store(&load_nice, getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)));
    TRY(limits->check(limits->context));
    while (atomic_load(&endless) & V(version)) {
        atomic_store(&loading, version);
        struct status status = limits->check(limits->context);
        if (!status_is_ok(status)) {
            atomic_store(&loading, 0);
            return status;
        }
        sched_yield();
    }
    atomic_store(&loading, 0);
    if (atomic_load(&at(directory)->damaged) & V(version))
        return status_error(STATUS_DATA_LOSS, "it is damaged");
    *out = make_servable(version);
    (*out)->name = name;
    return status_ok();
}

static const struct servable_loader loader = { load, free_servable };

static inline void wait_until_it_loads(int64_t version)
{
    while (atomic_load(&loading) != version)
        sched_yield();
}

/* ---- the server ---- */

static struct manager *manager;
static struct manager_options options;
static int starts, changes;
static enum status_code start_code;
static char start_text[256];

static inline void on_started(void *context, struct status status)
{
    assert_ptr_equal(context, &options);
    starts++;
    start_code = status.code;
    snprintf(start_text, sizeof start_text, "%s", status.message);
}

static inline void on_changed(void *context)
{
    assert_ptr_equal(context, &options);
    changes++;
}

static inline int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_NONE);
    memset(base_paths, 0, sizeof base_paths);
    atomic_store(&unreadable, false);
    atomic_store(&scans, 0);
    atomic_store(&during_scan, NULL);
    atomic_store(&endless, 0);
    sleeps_until_ns = 0;
    atomic_store(&sleeper, NULL);
    starts = changes = 0;
    atomic_store(&now_ns, NS_PER_S);
    atomic_store(&servables_made, 0);
    atomic_store(&servables_freed, 0);
    options = (struct manager_options){ .poll_wait_seconds = 1,
                                        .load_retries_max = 1,
                                        .load_retry_interval_us = RETRY_NS / 1000,
                                        .clock = &test_clock,
                                        .source = &source,
                                        .loader = &loader,
                                        .started = on_started,
                                        .changed = on_changed,
                                        .context = &options };
    return loop_create(&options.loop).code;
}

static inline int tear_down(void **state)
{
    (void)state;
    manager_stop(manager);
    manager = NULL;
    loop_destroy(options.loop);
    assert_int_equal(servables_alive(), 0);
    return 0;
}

/* Starts with the model "m" in /m, which holds these versions. */
static inline void start(unsigned versions)
{
    atomic_store(&at("/m")->present, versions);
    assert_ok(manager_start(&options, model_configs_single("m", "/m"), &manager));
}

/* Replaces the versions on the base path and waits until the manager has reacted. */
static inline void put(unsigned versions)
{
    atomic_store(&at("/m")->present, versions);
    wake();
}

static inline void take_turn(void)
{
    assert_ok(loop_run_once(options.loop, 0));
}

static inline struct servable *find_in(const char *name, int64_t number)
{
    struct servable *servable = NULL;
    struct version_choice choice = { .kind = number != 0 ? VERSION_SPECIFIC : VERSION_LATEST,
                                     .number = number };
    struct status status = manager_find(manager, bytes_of(name), &choice, &servable);
    assert_int_equal(status_is_ok(status), servable != NULL);
    return servable;
}

static inline struct servable *find(int64_t number)
{
    return find_in("m", number);
}

/* The version that serves requests for the latest one, or 0. */
static inline int64_t latest_of(const char *name)
{
    struct servable *servable = find_in(name, 0);
    int64_t number = servable != NULL ? servable->version : 0;
    servable_release(servable);
    return number;
}

static inline int64_t latest(void)
{
    return latest_of("m");
}

/* Formats the model's status as "3 AVAILABLE, 2 END". */
static inline const char *states_of(const char *name)
{
    static char text[256];
    struct version_choice all = { .kind = VERSION_LATEST };
    struct version_status *rows;
    size_t count, size = 0;
    struct arena *arena = arena_create(0);
    struct status status = manager_status(manager, bytes_of(name), &all, arena, &rows, &count);
    text[0] = '\0';
    for (size_t i = 0; status_is_ok(status) && i < count; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%d %s", i > 0 ? ", " : "",
                                 (int)rows[i].number, rows[i].state);
    arena_destroy(arena);
    return text;
}

static inline const char *states(void)
{
    return states_of("m");
}

#endif
