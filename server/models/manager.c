#include "server/models/manager.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/container.h"
#include "base/log.h"

#define DRAIN_CHECK_NS (10 * (int64_t)NS_PER_MS)
#define LOADER_NICE    10
#define RETRY_NS_MAX   (INT64_MAX / 4) /* added to a time, it does not overflow */

struct manager {
    struct manager_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t changed;
    struct served_model model;
    int64_t poll_at_ns;
    bool stopping, start_posted, change_posted;
    struct loop_task started_task, changed_task;
};

static int64_t now_ns(const struct manager *manager)
{
    return clock_now_ns(manager->options.clock);
}

/* ---- What the loop is told. ---- */

static void tell_started(struct loop_task *task)
{
    struct manager *manager = CONTAINER_OF(task, struct manager, started_task);
    manager->options.started(manager->options.context, manager->model.start_status);
}

static void post_started(struct manager *manager)
{
    if (!manager->model.start_is_over || manager->start_posted)
        return;
    manager->start_posted = true;
    manager->started_task.work = tell_started;
    loop_post(manager->options.loop, &manager->started_task);
}

static void tell_changed(struct loop_task *task)
{
    struct manager *manager = CONTAINER_OF(task, struct manager, changed_task);
    pthread_mutex_lock(&manager->lock);
    manager->change_posted = false;
    pthread_mutex_unlock(&manager->lock);
    manager->options.changed(manager->options.context);
}

/* Called with the lock held. */
static void post_changed(void *context)
{
    struct manager *manager = context;
    if (manager->options.changed == NULL || manager->change_posted)
        return;
    manager->change_posted = true;
    manager->changed_task.work = tell_changed;
    loop_post(manager->options.loop, &manager->changed_task);
}

/* ---- The base path. ---- */

static void warn_of_no_versions(const struct manager *manager, const struct source_versions *found)
{
    log_warning("model %s: no versions of servable found under base path %s%s",
                manager->options.model_name, manager->options.base_path,
                found->is_version ? ", which is a version itself: give the directory above it, and "
                                    "name it by a number"
                                  : "");
}

/* Called with the lock held; gives it up while the disk is read. */
static void look(struct manager *manager)
{
    const struct version_source *source = manager->options.source;
    struct source_versions found;
    pthread_mutex_unlock(&manager->lock);
    struct status status = source->scan(manager->options.base_path, &found);
    served_model_look_at_failed(&manager->model, source->fingerprint);
    pthread_mutex_lock(&manager->lock);
    if (!status_is_ok(status)) {
        log_error("model %s: base path: %s; waiting for it", manager->options.model_name,
                  status.message);
        return;
    }
    if (found.count == 0)
        warn_of_no_versions(manager, &found);
    served_model_see(&manager->model, &found);
    source_versions_finish(&found);
}

static void look_if_due(struct manager *manager)
{
    int poll = manager->options.poll_wait_seconds;
    if (now_ns(manager) < manager->poll_at_ns)
        return;
    look(manager);
    manager->poll_at_ns = poll > 0 ? now_ns(manager) + poll * NS_PER_S : CLOCK_NEVER;
}

/* ---- Loads. ---- */

struct loading {
    struct manager *manager;
    struct model_version *version;
};

/* Fails if the load should end. The loader calls this repeatedly in the manager's thread, which
 * could not notice otherwise that the version has gone or that a newer one has come. */
static struct status check_wanted(const void *context)
{
    const struct loading *loading = context;
    struct manager *manager = loading->manager;
    struct status status = status_ok();
    pthread_mutex_lock(&manager->lock);
    look_if_due(manager);
    if (manager->stopping)
        status = status_error(STATUS_CANCELLED, "the server stops");
    else if (served_model_should_end_load(&manager->model, loading->version))
        status = status_error(STATUS_CANCELLED, "version %lld is not wanted any more",
                              (long long)loading->version->number);
    pthread_mutex_unlock(&manager->lock);
    return status;
}

static struct status load_servable(struct manager *manager, struct model_version *version,
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
    served_model_set_tried_files(version, options->source->fingerprint(version->directory));
    TRY(options->loader->load(options->model_name, version->number, version->directory, &savedmodel,
                              out));
    if (options->budget != NULL)
        servable_charge(*out, options->budget);
    return status_ok();
}

static void log_signature(const struct servable *servable, const struct callable *callable)
{
    const struct signature *signature = callable->signature;
    long long version = servable->version;
    if (!signature_is_callable(signature))
        return;
    if (callable->plan == NULL)
        log_warning("model %s version %lld: signature %s cannot answer: %s", servable->name,
                    version, signature->name, callable->status.message);
    else
        log_debug("model %s version %lld: signature %s: %s", servable->name, version,
                  signature->name, callable->batches ? "batches" : "runs alone");
}

/* One attempt. Called with the lock held; gives it up meanwhile. */
static void load(struct manager *manager, struct model_version *version)
{
    struct servable *servable = NULL;
    pthread_mutex_unlock(&manager->lock);
    struct status status = load_servable(manager, version, &servable);
    pthread_mutex_lock(&manager->lock);
    served_model_end_load(&manager->model, version, status, servable, now_ns(manager));
    for (int i = 0; servable != NULL && i < servable->callables_count; i++)
        log_signature(servable, &servable->callables[i]);
    post_started(manager);
}

/* Called with the lock held; gives it up meanwhile: freeing a large model takes its time. */
static void free_servable(struct manager *manager, const struct model_step *step)
{
    pthread_mutex_unlock(&manager->lock);
    manager->options.loader->free(step->servable);
    pthread_mutex_lock(&manager->lock);
    log_info("model %s version %lld: unloaded", manager->options.model_name,
             (long long)step->version->number);
}

/* ---- The thread. ---- */

/* False: there is nothing to do now. */
static bool take_step(struct manager *manager)
{
    struct model_step step = served_model_begin_step(&manager->model, now_ns(manager));
    if (step.kind == STEP_LOAD)
        load(manager, step.version);
    else if (step.kind == STEP_FREE)
        free_servable(manager, &step);
    return step.kind != STEP_NONE;
}

static int64_t wake_time(const struct manager *manager)
{
    int64_t next = served_model_retry_time(&manager->model);
    if (manager->poll_at_ns < next)
        next = manager->poll_at_ns;
    if (!served_model_is_draining(&manager->model))
        return next;
    int64_t check = now_ns(manager) + DRAIN_CHECK_NS;
    return check < next ? check : next;
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
        if (!take_step(manager))
            clock_wait(manager->options.clock, &manager->changed, &manager->lock,
                       wake_time(manager));
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

static void init_model(struct manager *manager)
{
    const struct manager_options *options = &manager->options;
    int64_t interval_us = options->load_retry_interval_us;
    struct served_model_options model = { .name = options->model_name,
                                          .load_retries_max = options->load_retries_max,
                                          .changed = post_changed,
                                          .context = manager };
    if (interval_us > 0)
        model.load_retry_interval_ns =
            interval_us < RETRY_NS_MAX / 1000 ? interval_us * 1000 : RETRY_NS_MAX;
    served_model_init(&manager->model, &model);
}

static void destroy(struct manager *manager)
{
    struct servable *servable;
    while ((servable = served_model_take_servable(&manager->model)) != NULL)
        manager->options.loader->free(servable);
    served_model_finish(&manager->model);
    pthread_cond_destroy(&manager->changed);
    pthread_mutex_destroy(&manager->lock);
    free(manager);
}

struct status manager_start(const struct manager_options *options, struct manager **out)
{
    struct manager *manager = zalloc(sizeof *manager);
    manager->options = *options;
    manager->poll_at_ns = options->poll_wait_seconds < 0 ? CLOCK_NEVER : 0;
    init_model(manager);
    pthread_mutex_init(&manager->lock, NULL);
    clock_cond_init(&manager->changed);
    int error = pthread_create(&manager->thread, NULL, manage, manager);
    if (error != 0) {
        destroy(manager);
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
    destroy(manager);
}

/* ---- What requests ask. ---- */

static bool is_mine(const struct manager *manager, struct bytes name)
{
    return bytes_equal(name, bytes_of(manager->options.model_name));
}

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
    if (!is_mine(manager, name))
        return not_found(name, choice);
    pthread_mutex_lock(&manager->lock);
    *out = served_model_acquire(&manager->model, choice);
    pthread_mutex_unlock(&manager->lock);
    return *out != NULL ? status_ok() : not_found(name, choice);
}

struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *choice, struct arena *arena,
                             struct version_status **out, size_t *out_count)
{
    *out_count = 0;
    if (is_mine(manager, name)) {
        pthread_mutex_lock(&manager->lock);
        *out_count = served_model_list(&manager->model, choice, arena, out);
        pthread_mutex_unlock(&manager->lock);
    }
    if (*out_count > 0)
        return status_ok();
    if (choice->kind == VERSION_SPECIFIC)
        return status_error(STATUS_NOT_FOUND, "Could not find version %lld of model %.*s",
                            (long long)choice->number, (int)name.size, name.data);
    return status_error(STATUS_NOT_FOUND, "Could not find any versions of model %.*s",
                        (int)name.size, name.data);
}
