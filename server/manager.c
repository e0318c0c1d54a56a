#include "server/manager.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "server/source.h"

#define DRAIN_CHECK_NS (10 * (int64_t)NS_PER_MS)
#define LOADER_NICE    10

/* START: known, not begun. END: unloaded, or failed (then error is set). */
enum version_state { STATE_START, STATE_LOADING, STATE_AVAILABLE, STATE_UNLOADING, STATE_END };

static const char *const state_names[] = { "START", "LOADING", "AVAILABLE", "UNLOADING", "END" };

struct version {
    int64_t number;
    char *directory;
    enum version_state state;
    bool wanted;
    bool present; /* in the base path at the last look */
    bool ended;   /* its load: it was not wanted any more */
    int attempts;
    int64_t retry_at_ns;
    uint64_t tried_files, seen_files; /* fingerprints: before the last attempt; at the last look */
    bool mended;                      /* its files have changed since the attempt that failed */
    enum status_code error_code;
    char *error;
    struct servable *servable; /* while AVAILABLE or UNLOADING */
    struct version *next;      /* by number, descending */
};

struct manager {
    struct manager_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t changed;
    struct version *versions;
    int64_t poll_at_ns;
    bool stopping, started, change_posted;
    bool gave_way; /* the last load was ended for a newer version */
    struct loop_task started_task, changed_task;
    struct status started_status;
    struct arena *arena; /* of started_status */
};

static int64_t now_ns(void)
{
    return clock_now_ns(clock_monotonic());
}

/* ---- The base path. ---- */

static void tell_changed(struct loop_task *task)
{
    struct manager *manager =
        (struct manager *)((char *)task - offsetof(struct manager, changed_task));
    pthread_mutex_lock(&manager->lock);
    manager->change_posted = false;
    pthread_mutex_unlock(&manager->lock);
    manager->options.changed(manager->options.context);
}

/* Called with the lock held. */
static void set_state(struct manager *manager, struct version *version, enum version_state state)
{
    version->state = state;
    if (manager->options.changed == NULL || manager->change_posted)
        return;
    manager->change_posted = true;
    manager->changed_task.work = tell_changed;
    loop_post(manager->options.loop, &manager->changed_task);
}

static struct version *version_of(struct manager *manager, int64_t number)
{
    struct version **at = &manager->versions;
    while (*at != NULL && (*at)->number > number)
        at = &(*at)->next;
    if (*at != NULL && (*at)->number == number)
        return *at;
    struct version *version = zalloc(sizeof *version);
    version->number = number;
    version->state = STATE_START;
    version->next = *at;
    *at = version;
    return version;
}

/* A version that could not be loaded may have been seen in the middle of a copy. Its files have
 * changed since, and stayed as they are from one look to the next: the copy is complete. Without
 * the lock, since the disk is read: what is changed here only this thread looks at. */
static void look_at_failed(struct manager *manager)
{
    for (struct version *version = manager->versions; version != NULL; version = version->next) {
        if (version->error == NULL)
            continue;
        uint64_t files = source_fingerprint(version->directory);
        version->mended = files == version->seen_files && files != version->tried_files;
        version->seen_files = files;
    }
}

static void begin_again(struct manager *manager, struct version *version)
{
    if (version->state == STATE_END)
        set_state(manager, version, STATE_START);
    version->attempts = 0;
    version->retry_at_ns = 0;
    version->mended = false;
    free(version->error);
    version->error = NULL;
    version->error_code = STATUS_OK;
}

/* A version that failed or was unloaded begins again when it has been gone in between, or its files
 * have changed. */
static void see_version(struct manager *manager, const struct source_version *found, bool wanted)
{
    struct version *version = version_of(manager, found->number);
    bool came = !version->present;
    version->present = true;
    version->wanted = wanted;
    if (version->state == STATE_START || (version->state == STATE_END && came)) {
        free(version->directory);
        version->directory = xstrdup(found->directory);
    }
    bool ended = version->state == STATE_END, failed = version->error != NULL;
    if ((ended && came) || (wanted && (failed ? version->mended : ended)))
        begin_again(manager, version);
}

static bool in_list(const struct source_versions *found, int64_t number)
{
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].number == number)
            return true;
    return false;
}

static void apply(struct manager *manager, const struct source_versions *found)
{
    for (struct version *version = manager->versions; version != NULL; version = version->next)
        if (!in_list(found, version->number))
            version->present = version->wanted = false;
    for (size_t i = 0; i < found->count; i++)
        see_version(manager, &found->items[i], i + 1 == found->count);
}

/* Called with the lock held; gives it up while the disk is read. */
static void look(struct manager *manager)
{
    struct source_versions found;
    const char *path = manager->options.base_path;
    pthread_mutex_unlock(&manager->lock);
    struct status status = source_scan(path, &found);
    look_at_failed(manager);
    pthread_mutex_lock(&manager->lock);
    if (!status_is_ok(status)) {
        log_error("model %s: base path: %s; waiting for it", manager->options.model_name,
                  status.message);
        return;
    }
    if (found.count == 0)
        log_warning("model %s: no versions of servable found under base path %s%s",
                    manager->options.model_name, path,
                    source_is_version(path) ? ", which is a version itself: give the directory "
                                              "above it, and name it by a number"
                                            : "");
    apply(manager, &found);
    source_versions_finish(&found);
}

static void look_if_due(struct manager *manager)
{
    int poll = manager->options.poll_wait_seconds;
    if (now_ns() < manager->poll_at_ns)
        return;
    look(manager);
    manager->poll_at_ns = poll > 0 ? now_ns() + poll * NS_PER_S : CLOCK_NEVER;
}

/* ---- What becomes of a version. ---- */

static void tell_started(struct loop_task *task)
{
    struct manager *manager =
        (struct manager *)((char *)task - offsetof(struct manager, started_task));
    manager->options.started(manager->options.context, manager->started_status);
}

/* The first version that serves, or the last one that fails, decides how the start went. */
static void start_is_over(struct manager *manager, struct status status)
{
    if (manager->started)
        return;
    manager->started = true;
    manager->started_status = status_keep(manager->arena, status);
    manager->started_task.work = tell_started;
    loop_post(manager->options.loop, &manager->started_task);
}

static void load_failed(struct manager *manager, struct version *version, struct status status)
{
    const char *name = manager->options.model_name;
    log_error("model %s version %lld: cannot load: %s: %s", name, (long long)version->number,
              status_code_name(status.code), status.message);
    free(version->error);
    version->error = xstrdup(status.message);
    version->error_code = status.code;
    if (version->attempts <= manager->options.load_retries_max && version->wanted) {
        int64_t pause = manager->options.load_retry_interval_us;
        version->retry_at_ns = now_ns() + (pause > 0 ? pause * 1000 : 0);
        return;
    }
    set_state(manager, version, STATE_END);
    if (!version->wanted)
        return; /* another one decides how the start went */
    start_is_over(manager, status_error(STATUS_UNKNOWN,
                                        "1 servable(s) did not become available: {{name: %s "
                                        "version: %lld} due to error: %s: %s}, }",
                                        name, (long long)version->number,
                                        status_code_name(status.code), version->error));
}

static void log_signature(const struct version *version, const char *name,
                          const struct callable *callable)
{
    if (!signature_is_callable(callable->signature))
        return;
    if (callable->plan == NULL)
        log_warning("model %s version %lld: signature %s cannot answer: %s", name,
                    (long long)version->number, callable->signature->name,
                    callable->status.message);
    else
        log_debug("model %s version %lld: signature %s: %s", name, (long long)version->number,
                  callable->signature->name, callable->batches ? "batches" : "runs alone");
}

/* ---- One load. ---- */

struct loading {
    struct manager *manager;
    struct version *version;
};

/* A load that takes longer than new versions need to come must not be ended each time: of two loads
 * in a row at least one may finish. */
static bool should_end(struct manager *manager, struct version *version)
{
    bool superseded = version->present && !version->wanted;
    if (!version->ended) {
        version->ended = !version->present || (superseded && !manager->gave_way);
        manager->gave_way = manager->gave_way || (version->ended && superseded);
    }
    return version->ended;
}

/* Why the load should end: asked again and again by the loader, in the manager's thread, which
 * otherwise would not see that the version has gone or that a newer one has come. */
static struct status check_wanted(const void *context)
{
    const struct loading *loading = context;
    struct manager *manager = loading->manager;
    struct status status = status_ok();
    pthread_mutex_lock(&manager->lock);
    look_if_due(manager);
    if (manager->stopping)
        status = status_error(STATUS_CANCELLED, "the server stops");
    else if (should_end(manager, loading->version))
        status = status_error(STATUS_CANCELLED, "version %lld is not wanted any more",
                              (long long)loading->version->number);
    pthread_mutex_unlock(&manager->lock);
    return status;
}

static struct status load_servable(struct manager *manager, struct version *version,
                                   struct servable **out)
{
    const struct manager_options *options = &manager->options;
    struct loading loading = { manager, version };
    struct work_limits limits = {
        .memory_bytes = options->budget != NULL ? (size_t)options->budget->limit_bytes : 0,
        .timeout_ms = options->load_timeout_ms,
        .check = check_wanted,
        .context = &loading,
    };
    struct savedmodel_options savedmodel = options->savedmodel;
    savedmodel.limits = &limits;
    TRY(servable_load(options->model_name, version->number, version->directory, &savedmodel, out));
    if (options->budget != NULL)
        servable_charge(*out, options->budget);
    return status_ok();
}

/* One attempt. The lock is given up while it lasts. */
static void load(struct manager *manager, struct version *version)
{
    struct servable *servable = NULL;
    const char *name = manager->options.model_name;
    int64_t begin = now_ns();
    set_state(manager, version, STATE_LOADING);
    log_debug("model %s version %lld: loading", name, (long long)version->number);
    version->attempts++;
    version->ended = false;
    pthread_mutex_unlock(&manager->lock);
    version->tried_files = version->seen_files = source_fingerprint(version->directory);
    struct status status = load_servable(manager, version, &servable);
    pthread_mutex_lock(&manager->lock);
    if (status.code != STATUS_CANCELLED)
        manager->gave_way = false;
    if (!status_is_ok(status)) {
        load_failed(manager, version, status);
        return;
    }
    version->servable = servable;
    set_state(manager, version, STATE_AVAILABLE);
    free(version->error);
    version->error = NULL;
    version->error_code = STATUS_OK;
    log_info("model %s version %lld: available, loaded in %.1f ms from %s", name,
             (long long)version->number, (double)(now_ns() - begin) / 1e6, version->directory);
    for (int i = 0; i < servable->callables_count; i++)
        log_signature(version, name, &servable->callables[i]);
    start_is_over(manager, status_ok());
}

/* Availability preserving (§11.3): may the lowest unwanted version that serves go? */
static struct version *to_unload(struct manager *manager)
{
    struct version *lowest = NULL;
    int unwanted = 0;
    bool any_wanted = false, wanted_ready = false;
    for (struct version *version = manager->versions; version != NULL; version = version->next) {
        bool ready = version->state == STATE_AVAILABLE;
        any_wanted = any_wanted || version->wanted;
        wanted_ready = wanted_ready || (version->wanted && ready);
        if (ready && !version->wanted) {
            lowest = version;
            unwanted++;
        }
    }
    return !any_wanted || wanted_ready || unwanted > 1 ? lowest : NULL;
}

static struct version *to_load(struct manager *manager, int64_t now)
{
    for (struct version *version = manager->versions; version != NULL; version = version->next) {
        if (version->state == STATE_LOADING && !version->wanted)
            set_state(manager, version, STATE_END); /* no further attempts */
        if (version->wanted && (version->state == STATE_START || version->state == STATE_LOADING) &&
            version->retry_at_ns <= now)
            return version;
    }
    return NULL;
}

static void begin_unload(struct manager *manager, struct version *version)
{
    log_info("model %s version %lld: unloading", manager->options.model_name,
             (long long)version->number);
    set_state(manager, version, STATE_UNLOADING);
}

/* The last request has gone: frees it, without the lock. */
static bool finish_unload(struct manager *manager, struct version *version)
{
    if (version->state != STATE_UNLOADING ||
        atomic_load_explicit(&version->servable->references, memory_order_acquire) > 1)
        return false;
    struct servable *servable = version->servable;
    version->servable = NULL;
    set_state(manager, version, STATE_END);
    pthread_mutex_unlock(&manager->lock);
    servable_destroy(servable);
    pthread_mutex_lock(&manager->lock);
    log_info("model %s version %lld: unloaded", manager->options.model_name,
             (long long)version->number);
    return true;
}

/* One action; false: there is nothing to do now. */
static bool act(struct manager *manager)
{
    for (struct version *version = manager->versions; version != NULL; version = version->next)
        if (finish_unload(manager, version))
            return true;
    struct version *version = to_unload(manager);
    if (version != NULL) {
        begin_unload(manager, version);
        return true;
    }
    version = to_load(manager, now_ns());
    if (version != NULL)
        load(manager, version);
    return version != NULL;
}

/* When something is to be done next without being told. */
static int64_t next_time(const struct manager *manager, int64_t now)
{
    int64_t next = manager->poll_at_ns;
    for (const struct version *v = manager->versions; v != NULL; v = v->next) {
        if (v->state == STATE_UNLOADING && now + DRAIN_CHECK_NS < next)
            next = now + DRAIN_CHECK_NS;
        if (v->state == STATE_LOADING && v->wanted && v->retry_at_ns < next)
            next = v->retry_at_ns;
    }
    return next;
}

/* Serving goes first: on Linux a thread has a nice value of its own. */
static void lower_priority(void)
{
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOADER_NICE);
}

static void *manage(void *context)
{
    struct manager *manager = context;
    lower_priority();
    pthread_mutex_lock(&manager->lock);
    while (!manager->stopping) {
        look_if_due(manager);
        if (!act(manager))
            clock_wait(clock_monotonic(), &manager->changed, &manager->lock,
                       next_time(manager, now_ns()));
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

struct status manager_start(const struct manager_options *options, struct manager **out)
{
    struct manager *manager = zalloc(sizeof *manager);
    manager->options = *options;
    manager->arena = arena_create(0);
    manager->poll_at_ns = options->poll_wait_seconds < 0 ? CLOCK_NEVER : 0;
    pthread_mutex_init(&manager->lock, NULL);
    clock_cond_init(&manager->changed);
    int error = pthread_create(&manager->thread, NULL, manage, manager);
    if (error != 0) {
        pthread_cond_destroy(&manager->changed);
        pthread_mutex_destroy(&manager->lock);
        arena_destroy(manager->arena);
        free(manager);
        return status_errno(error, "start the loader's thread");
    }
    *out = manager;
    return status_ok();
}

void manager_stop(struct manager *manager)
{
    if (manager == NULL)
        return;
    pthread_mutex_lock(&manager->lock);
    manager->stopping = true;
    pthread_cond_signal(&manager->changed);
    pthread_mutex_unlock(&manager->lock);
    pthread_join(manager->thread, NULL);
    while (manager->versions != NULL) {
        struct version *version = manager->versions;
        manager->versions = version->next;
        servable_destroy(version->servable);
        free(version->directory);
        free(version->error);
        free(version);
    }
    pthread_cond_destroy(&manager->changed);
    pthread_mutex_destroy(&manager->lock);
    arena_destroy(manager->arena);
    free(manager);
}

/* ---- What requests ask. ---- */

static struct status not_found(struct bytes name, const struct version_choice *choice)
{
    if (choice->kind == VERSION_SPECIFIC)
        return status_error(STATUS_NOT_FOUND,
                            "Servable not found for request: Specific(%.*s, %lld)", (int)name.size,
                            name.data, (long long)choice->number);
    return status_error(STATUS_NOT_FOUND, "Servable not found for request: Latest(%.*s)",
                        (int)name.size, name.data);
}

struct status manager_find(struct manager *manager, struct bytes name,
                           const struct version_choice *choice, struct servable **out)
{
    if (name.size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "ModelSpec has no name specified.");
    if (choice->kind == VERSION_LABELLED) /* labels come from a config file */
        return status_error(STATUS_INVALID_ARGUMENT, "Unrecognized servable version label: %.*s",
                            (int)choice->label.size, choice->label.data);
    *out = NULL;
    if (!bytes_equal(name, bytes_of(manager->options.model_name)))
        return not_found(name, choice);
    pthread_mutex_lock(&manager->lock);
    for (struct version *version = manager->versions; version != NULL && *out == NULL;
         version = version->next)
        if (version->state == STATE_AVAILABLE &&
            (choice->kind == VERSION_LATEST || version->number == choice->number))
            *out = servable_acquire(version->servable);
    pthread_mutex_unlock(&manager->lock);
    return *out != NULL ? status_ok() : not_found(name, choice);
}

static struct status list_versions(struct manager *manager, const struct version_choice *choice,
                                   struct arena *arena, struct version_status **out, size_t *count)
{
    size_t total = 0;
    for (struct version *version = manager->versions; version != NULL; version = version->next)
        total++;
    *out = ARENA_ARRAY(arena, struct version_status, total);
    *count = 0;
    for (struct version *v = manager->versions; v != NULL; v = v->next) {
        /* What was never wanted is not known to the original: it lists what it was told to load. */
        bool known = v->wanted || v->state != STATE_START;
        if (!known || (choice->kind == VERSION_SPECIFIC && v->number != choice->number))
            continue;
        struct version_status *row = &(*out)[(*count)++];
        *row = (struct version_status){ v->number, state_names[v->state], { STATUS_OK, "" } };
        if (v->error != NULL && v->state == STATE_END)
            row->status = (struct status){ v->error_code, arena_strdup(arena, v->error) };
    }
    return status_ok();
}

struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *choice, struct arena *arena,
                             struct version_status **out, size_t *out_count)
{
    *out_count = 0;
    if (bytes_equal(name, bytes_of(manager->options.model_name))) {
        pthread_mutex_lock(&manager->lock);
        struct status status = list_versions(manager, choice, arena, out, out_count);
        pthread_mutex_unlock(&manager->lock);
        TRY(status);
    }
    if (*out_count > 0)
        return status_ok();
    if (choice->kind == VERSION_SPECIFIC)
        return status_error(STATUS_NOT_FOUND, "Could not find version %lld of model %.*s",
                            (long long)choice->number, (int)name.size, name.data);
    return status_error(STATUS_NOT_FOUND, "Could not find any versions of model %.*s",
                        (int)name.size, name.data);
}
