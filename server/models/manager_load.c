/* Loads and frees versions. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "server/models/load_metrics.h"
#include "server/models/manager_internal.h"
#include "server/models/model_limits.h"

#define DRAIN_CHECK_NS (10 * (int64_t)NS_PER_MS)
/* After freeing a version with this much in its files, malloc returns free memory to the system.
 * Below that, it costs more than it returns. */
#define TRIM_BYTES     ((uint64_t)16 << 20)

struct loading {
    struct manager *manager;
    struct managed_model *model;
    struct model_version *version;
    bool alone; /* in the manager's thread, which would not poll base paths meanwhile */
};

/* Fails if the load should end. The loader calls this repeatedly, because it could not notice
 * otherwise that the version is gone or that a newer one has appeared. */
static struct status check_wanted(const void *context)
{
    const struct loading *loading = context;
    struct manager *manager = loading->manager;
    struct status status = status_ok();
    if (loading->alone)
        manager_poll(manager);
    pthread_mutex_lock(&manager->lock);
    if (manager->stopping || manager->ends_loads)
        status = status_error(STATUS_CANCELLED, "the server stops");
    else if (served_model_should_end_load(&loading->model->model, loading->version))
        status = status_error(STATUS_CANCELLED, "version %lld is not wanted any more",
                              (long long)loading->version->number);
    pthread_mutex_unlock(&manager->lock);
    return status;
}

/* Checks that there is memory for the version's files, in addition to that of the process and of
 * other loads. A version that does not fit would end the process, including the serving
 * versions. */
static struct status check_memory(struct manager *manager, const struct model_version *version,
                                  uint64_t in_use)
{
    uint64_t limit = manager->options.memory_bytes;
    uint64_t held = in_use + manager->loading_bytes;
    if (limit == 0 || (held <= limit && version->bytes <= limit - held))
        return status_ok();
    return status_error(STATUS_RESOURCE_EXHAUSTED,
                        "its files have %llu bytes, but %llu of %llu bytes of memory are in use",
                        (unsigned long long)version->bytes, (unsigned long long)held,
                        (unsigned long long)limit);
}

/* Determines how the version's requests form batches. */
static struct status read_batching(const struct manager_options *options, const char *directory,
                                   struct servable *servable)
{
    if (options->batching == NULL || !options->batching_per_version) {
        servable_batch(servable, options->batching);
        return status_ok();
    }
    char *path = arena_printf(servable->arena, "%s/%s", directory, BATCHING_FILE_OF_VERSION);
    if (!file_exists(path))
        return status_ok();
    struct batching *batching = ARENA_ARRAY(servable->arena, struct batching, 1);
    TRY(batching_read(path, servable->arena, batching));
    servable_batch(servable, batching);
    return status_ok();
}

static struct status load_servable(struct loading *loading, struct servable **out)
{
    struct manager *manager = loading->manager;
    struct model_version *version = loading->version;
    const struct manager_options *options = &manager->options;
    struct work_limits limits = {
        .memory_bytes = options->budget != NULL ? (size_t)options->budget->limit_bytes : 0,
        .timeout_ms = options->load_timeout_ms,
        .check = check_wanted,
        .context = loading,
    };
    struct savedmodel_options savedmodel = options->savedmodel;
    struct servable *servable;
    savedmodel.limits = &limits;
    TRY(options->loader->load(loading->model->name, version->number, version->directory,
                              &savedmodel, &servable));
    if (options->loops > 0)
        servable_divide(servable, options->loops);
    if (options->budget != NULL)
        servable_charge(servable, options->budget);
    servable->gate = model_gate_acquire(options->limits, servable->name);
    struct status status = read_batching(options, version->directory, servable);
    if (status_is_ok(status) && options->warm_up != NULL)
        status = options->warm_up(options->warm_up_context, servable, version->directory, &limits);
    if (status_is_ok(status))
        *out = servable;
    else
        options->loader->free(servable);
    return status;
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
    struct status status = signature_check_outputs(signature);
    if (!status_is_ok(status))
        log_warning("model %s version %lld: %s", servable->name, version, status.message);
}

/* One attempt. */
static void load(struct loading *loading)
{
    struct manager *manager = loading->manager;
    struct model_version *version = loading->version;
    const struct version_source *source = manager->options.source;
    struct servable *servable = NULL;
    int64_t began_ns = manager_now_ns(manager);
    uint64_t files = source->fingerprint(version->directory), in_use = memory_in_use();
    uint64_t bytes = source->bytes(version->directory);
    pthread_mutex_lock(&manager->lock);
    version->bytes = bytes;
    served_model_set_tried_files(version, files);
    struct status status = check_memory(manager, version, in_use);
    uint64_t taken = status_is_ok(status) ? bytes : 0;
    manager->loading_bytes += taken;
    pthread_mutex_unlock(&manager->lock);
    if (status_is_ok(status))
        status = load_servable(loading, &servable);
    for (int i = 0; servable != NULL && i < servable->callables_count; i++)
        log_signature(servable, &servable->callables[i]);
    load_metrics_attempt(loading->model->name, version->directory, status,
                         manager_now_ns(manager) - began_ns, &version->attempts_series);
    pthread_mutex_lock(&manager->lock);
    manager->loading_bytes -= taken;
    served_model_end_load(&loading->model->model, version, status, servable,
                          manager_now_ns(manager));
    manager_notify_waiters(manager);
    manager_wake(manager);
    pthread_mutex_unlock(&manager->lock);
}

static void free_servable(struct manager *manager, struct managed_model *model,
                          const struct model_step *step)
{
    struct model_version *version = step->version;
    manager->options.loader->free(step->servable);
    if (version->bytes >= TRIM_BYTES)
        memory_trim();
    log_info("Done unloading servable version {name: %s version: %lld}", model->name,
             (long long)version->number);
    pthread_mutex_lock(&manager->lock);
    served_model_end_free(&model->model, version);
    manager_wake(manager);
    pthread_mutex_unlock(&manager->lock);
}

/* ---- steps ---- */

/* Begins the first step of these kinds that a model has. The lock is released between models, so
 * that requests do not wait for a thousand of them. */
static struct managed_model *begin_step(struct manager *manager, unsigned kinds,
                                        struct model_step *step)
{
    struct managed_model *model;
    int64_t now_ns = manager_now_ns(manager);
    pthread_mutex_lock(&manager->lock);
    for (size_t i = 0; !manager->stopping && (model = manager_next_model(manager, &i)) != NULL;) {
        unsigned allowed = manager->ends_loads ? kinds & ~(unsigned)STEP_LOAD : kinds;
        *step = served_model_begin_step(&model->model, allowed, now_ns);
        if (step->kind == STEP_UNLOAD) {
            manager_notify_waiters(manager);
            manager_wake(manager);
        }
        pthread_mutex_unlock(&manager->lock);
        if (step->kind != STEP_NONE)
            return model;
        pthread_mutex_lock(&manager->lock);
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

bool manager_take_step(struct manager *manager, unsigned kinds, bool alone)
{
    struct model_step step;
    /* Memory is freed before more is allocated, over all models. */
    struct managed_model *model = begin_step(manager, kinds & (STEP_FREE | STEP_UNLOAD), &step);
    if (model == NULL && kinds & STEP_LOAD)
        model = begin_step(manager, STEP_LOAD, &step);
    if (model == NULL)
        return false;
    if (step.kind == STEP_LOAD) {
        struct loading loading = { manager, model, step.version, alone };
        load(&loading);
    } else if (step.kind == STEP_FREE)
        free_servable(manager, model, &step);
    return true;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t manager_wake_time(struct manager *manager)
{
    struct managed_model *model;
    pthread_mutex_lock(&manager->lock);
    int64_t next = manager->starting ? CLOCK_NEVER : manager->config_poll_at_ns;
    next = earlier(next, manager->poll_at_ns);
    for (size_t i = 0; (model = manager_next_model(manager, &i)) != NULL;) {
        if (!manager->ends_loads)
            next = earlier(next, served_model_retry_time(&model->model));
        if (served_model_is_draining(&model->model))
            next = earlier(next, manager_now_ns(manager) + DRAIN_CHECK_NS);
        pthread_mutex_unlock(&manager->lock);
        pthread_mutex_lock(&manager->lock);
    }
    pthread_mutex_unlock(&manager->lock);
    return next;
}
