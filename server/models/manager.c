#include "server/models/manager.h"

#include <stdlib.h>

#include "base/container.h"
#include "base/parallel.h"
#include "base/scheduling.h"
#include "base/text_print.h"
#include "server/models/manager_internal.h"
#include "server/models/servable_cache.h"

#define LOADER_NICE  10
#define RETRY_NS_MAX (INT64_MAX / 4) /* can be added to a time without overflow */

/* ---- notifications of the loop ---- */

static void on_started(void *context, struct status status)
{
    struct manager *manager = context;
    pthread_mutex_lock(&manager->lock);
    manager->starting = false;
    manager_wake(manager); /* threads that only help with the start may end */
    pthread_mutex_unlock(&manager->lock);
    manager->options.started(manager->options.context, status);
}

static void notify_changed(struct loop_task *task)
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
    atomic_fetch_add(&manager->generation, 1);
    if (manager->options.changed == NULL || manager->change_posted)
        return;
    manager->change_posted = true;
    manager->changed_task.work = notify_changed;
    loop_post(manager->options.loop, &manager->changed_task);
}

/* ---- the threads ---- */

void manager_wake(struct manager *manager)
{
    manager->events++;
    pthread_cond_signal(&manager->changed);
    if (manager->has_workers)
        pthread_cond_broadcast(&manager->work);
}

/* Serving has priority over loads: on Linux a thread has its own nice value. During the start
 * nothing is served, and on a busy machine a low priority would make it ten times as long. Called
 * with the lock held. */
static void lower_priority_after_start(const struct manager *manager, bool *lowered)
{
    if (*lowered || manager->starting)
        return;
    scheduling_lower_priority(LOADER_NICE);
    *lowered = true;
}

/* Waits until wake_ns, or until an event. Called with the lock held. */
static void sleep_until(struct manager *manager, uint64_t events, int64_t wake_ns)
{
    if (manager->events == events && !manager->stopping)
        clock_wait(manager->options.clock, &manager->changed, &manager->lock, wake_ns);
    if (manager->has_workers) /* a retry is due, or a version may have drained */
        pthread_cond_broadcast(&manager->work);
}

static void *manage(void *context)
{
    struct manager *manager = context;
    const struct manager_options *options = &manager->options;
    unsigned kinds = STEP_UNLOAD | (options->load_threads > 0 ? 0 : STEP_LOAD) |
                     (options->unload_threads > 0 ? 0 : STEP_FREE);
    bool lowered = false;
    parallel_disable_helpers(); /* they would not have the thread's priority */
    pthread_mutex_lock(&manager->lock);
    manager->runs = true;
    manager_notify_waiters(manager);
    while (!manager->stopping) {
        lower_priority_after_start(manager, &lowered);
        uint64_t events = manager->events;
        pthread_mutex_unlock(&manager->lock);
        manager_poll(manager);
        bool busy = manager_take_step(manager, kinds, true);
        int64_t wake_ns = busy ? 0 : manager_wake_time(manager);
        pthread_mutex_lock(&manager->lock);
        if (!busy)
            sleep_until(manager, events, wake_ns);
    }
    pthread_mutex_unlock(&manager->lock);
    return NULL;
}

/* Executes steps of one kind; if `until_started`, only until the start is over. */
static void work(struct manager *manager, unsigned kind, bool until_started)
{
    bool lowered = false;
    parallel_disable_helpers();
    pthread_mutex_lock(&manager->lock);
    while (!manager->stopping && (manager->starting || !until_started)) {
        lower_priority_after_start(manager, &lowered);
        uint64_t events = manager->events;
        pthread_mutex_unlock(&manager->lock);
        bool busy = manager_take_step(manager, kind, false);
        pthread_mutex_lock(&manager->lock);
        if (!busy && manager->events == events && !manager->stopping)
            pthread_cond_wait(&manager->work, &manager->lock);
    }
    pthread_mutex_unlock(&manager->lock);
}

static void *load_in_thread(void *context)
{
    work(context, STEP_LOAD, false);
    return NULL;
}

static void *load_at_start(void *context)
{
    work(context, STEP_LOAD, true);
    return NULL;
}

static void *free_in_thread(void *context)
{
    work(context, STEP_FREE, false);
    return NULL;
}

static struct status start_workers(struct manager *manager, int count, void *(*run)(void *))
{
    for (int i = 0; i < count; i++) {
        int error = pthread_create(&manager->workers[manager->workers_count], NULL, run, manager);
        if (error != 0)
            return status_errno(error, "start a loader's thread");
        manager->workers_count++;
    }
    return status_ok();
}

static struct status start_threads(struct manager *manager)
{
    const struct manager_options *options = &manager->options;
    int count = options->load_threads + options->unload_threads + options->start_threads;
    manager->workers = zalloc((size_t)count * sizeof *manager->workers);
    TRY(start_workers(manager, options->load_threads, load_in_thread));
    TRY(start_workers(manager, options->unload_threads, free_in_thread));
    TRY(start_workers(manager, options->start_threads, load_at_start));
    int error = pthread_create(&manager->thread, NULL, manage, manager);
    return error == 0 ? status_ok() : status_errno(error, "start the loader's thread");
}

static void join_workers(struct manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    manager->stopping = true;
    manager_wake(manager);
    pthread_mutex_unlock(&manager->lock);
    for (int i = 0; i < manager->workers_count; i++)
        pthread_join(manager->workers[i], NULL);
}

/* ---- start and stop ---- */

static struct served_model_options model_options(struct manager *manager)
{
    const struct manager_options *options = &manager->options;
    int64_t interval_us = options->load_retry_interval_us;
    struct served_model_options model = { .load_retries_max = options->load_retries_max,
                                          .resource_preserving = options->resource_preserving,
                                          .changed = post_changed,
                                          .context = manager };
    if (interval_us > 0)
        model.load_retry_interval_ns =
            interval_us < RETRY_NS_MAX / 1000 ? interval_us * 1000 : RETRY_NS_MAX;
    return model;
}

void manager_destroy_model(struct manager *manager, struct managed_model *model)
{
    struct servable *servable;
    while ((servable = served_model_take_servable(&model->model)) != NULL)
        manager->options.loader->free(servable);
    served_model_finish(&model->model);
    if (manager->options.budget != NULL)
        budget_give(manager->options.budget, model->paid);
    free(model->problem);
    free(model->name);
    free(model);
}

static void destroy(struct manager *manager)
{
    struct managed_model *model;
    for (size_t i = 0; (model = manager_next_model(manager, &i)) != NULL;)
        manager_destroy_model(manager, model);
    map_finish(&manager->models);
    manager_free_waiters(manager);
    model_configs_destroy(manager->configs);
    pthread_cond_destroy(&manager->changed);
    pthread_cond_destroy(&manager->work);
    pthread_mutex_destroy(&manager->lock);
    free(manager->config_problem);
    free(manager->workers);
    free(manager);
}

static struct manager *create(const struct manager_options *options)
{
    struct manager *manager = zalloc(sizeof *manager);
    manager->options = *options;
    manager->model_options = model_options(manager);
    manager->starting = true;
    manager->poll_at_ns = CLOCK_NEVER;
    manager->has_workers =
        options->load_threads + options->unload_threads + options->start_threads > 0;
    bool polls = options->config_file != NULL && options->config_poll_wait_seconds > 0;
    manager->config_poll_at_ns =
        polls ? manager_now_ns(manager) + options->config_poll_wait_seconds * NS_PER_S
              : CLOCK_NEVER;
    pthread_mutex_init(&manager->lock, NULL);
    pthread_cond_init(&manager->work, NULL);
    clock_cond_init(&manager->changed);
    return manager;
}

struct status manager_start(const struct manager_options *options, struct model_configs *configs,
                            struct manager **out)
{
    struct manager *manager = create(options);
    struct models_waiter *waiter = manager_waiter_create(manager, "servable", on_started, manager);
    waiter->keep_going = options->keep_going;
    struct status status = manager_apply(manager, configs, waiter);
    if (status_is_ok(status))
        status = start_threads(manager);
    if (!status_is_ok(status)) {
        join_workers(manager);
        destroy(manager);
        return status;
    }
    *out = manager;
    return status_ok();
}

void manager_end_loads(struct manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    manager->ends_loads = true;
    manager_notify_waiters(manager);
    manager_wake(manager);
    pthread_mutex_unlock(&manager->lock);
}

void manager_stop(struct manager *manager)
{
    if (manager == NULL)
        return;
    join_workers(manager);
    pthread_join(manager->thread, NULL);
    destroy(manager);
}

/* ---- requests ---- */

static struct status not_found(struct bytes name, const struct version_choice *choice)
{
    if (choice->kind == VERSION_SPECIFIC)
        return status_error(STATUS_NOT_FOUND, "Servable not found for request: Specific(%s, %lld)",
                            text_print_name(name), (long long)choice->number);
    return status_error(STATUS_NOT_FOUND, "Servable not found for request: Latest(%s)",
                        text_print_name(name));
}

/* Called with the lock held. */
static struct status find(struct manager *manager, struct bytes name, struct version_choice choice,
                          struct servable **out)
{
    const struct managed_model *model = map_get(&manager->models, name);
    struct bytes label = choice.label;
    if (model == NULL ? choice.kind == VERSION_LABELLED
                      : !served_model_resolve(&model->model, &choice))
        return status_error(STATUS_INVALID_ARGUMENT, "Unrecognized servable version label: %s",
                            text_print_name(label));
    *out = model != NULL ? served_model_acquire(&model->model, &choice) : NULL;
    return *out != NULL ? status_ok() : not_found(name, &choice);
}

struct status manager_find(struct manager *manager, struct bytes name,
                           const struct version_choice *choice, struct servable **out)
{
    struct servable_cache *cache = servable_cache_of_thread();
    uint64_t generation = atomic_load_explicit(&manager->generation, memory_order_acquire);
    if (name.size == 0)
        return status_error(STATUS_INVALID_ARGUMENT, "ModelSpec has no name specified.");
    if (cache != NULL && (*out = servable_cache_get(cache, generation, name, choice)) != NULL)
        return status_ok();
    pthread_mutex_lock(&manager->lock);
    struct status status = find(manager, name, *choice, out);
    generation = atomic_load_explicit(&manager->generation, memory_order_relaxed);
    pthread_mutex_unlock(&manager->lock);
    if (cache != NULL && status_is_ok(status))
        servable_cache_put(cache, generation, name, choice, *out);
    return status;
}

bool manager_knows(struct manager *manager, struct bytes name)
{
    pthread_mutex_lock(&manager->lock);
    bool knows = map_has(&manager->models, name);
    pthread_mutex_unlock(&manager->lock);
    return knows;
}

void manager_visit_models(struct manager *manager,
                          void (*visit)(void *context, const struct served_model *model),
                          void *context)
{
    const struct managed_model *model;
    pthread_mutex_lock(&manager->lock);
    for (size_t i = 0; (model = manager_next_model(manager, &i)) != NULL;) {
        visit(context, &model->model);
        pthread_mutex_unlock(&manager->lock); /* requests do not wait for a thousand models */
        pthread_mutex_lock(&manager->lock);
    }
    pthread_mutex_unlock(&manager->lock);
}

void manager_refresh_cache(struct manager *manager)
{
    uint64_t generation = atomic_load_explicit(&manager->generation, memory_order_acquire);
    servable_cache_forget(servable_cache_of_thread(), generation);
}

struct servable *manager_find_any(struct manager *manager)
{
    struct version_choice latest = { .kind = VERSION_LATEST };
    struct servable *servable = NULL;
    const struct managed_model *model;
    pthread_mutex_lock(&manager->lock);
    for (size_t i = 0; servable == NULL && (model = manager_next_model(manager, &i)) != NULL;)
        servable = served_model_acquire(&model->model, &latest);
    pthread_mutex_unlock(&manager->lock);
    return servable;
}

struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *choice, struct arena *arena,
                             struct version_status **out, size_t *out_count)
{
    *out_count = 0;
    pthread_mutex_lock(&manager->lock);
    const struct managed_model *model = map_get(&manager->models, name);
    if (model != NULL)
        *out_count = served_model_list(&model->model, choice, arena, out);
    pthread_mutex_unlock(&manager->lock);
    if (*out_count > 0)
        return status_ok();
    if (choice->kind == VERSION_SPECIFIC)
        return status_error(STATUS_NOT_FOUND, "Could not find version %lld of model %s",
                            (long long)choice->number, text_print_name(name));
    return status_error(STATUS_NOT_FOUND, "Could not find any versions of model %s",
                        text_print_name(name));
}

bool manager_is_configured(struct manager *manager, struct bytes name)
{
    pthread_mutex_lock(&manager->lock);
    const struct managed_model *model = map_get(&manager->models, name);
    bool found = model != NULL && model->model.config != NULL;
    pthread_mutex_unlock(&manager->lock);
    return found;
}

static void list_model(const struct managed_model *model, struct arena *arena,
                       struct model_listing *out)
{
    const struct version_choice all = { .kind = VERSION_LATEST };
    out->name = arena_strdup(arena, model->name);
    out->versions_count = served_model_list(&model->model, &all, arena, &out->versions);
}

size_t manager_list(struct manager *manager, struct arena *arena, bool unready,
                    struct model_listing **out)
{
    const struct model_version *failed;
    const struct managed_model *model;
    size_t count = 0;
    pthread_mutex_lock(&manager->lock);
    struct model_listing *list = ARENA_ARRAY(arena, struct model_listing, manager->models.count);
    for (size_t i = 0; (model = manager_next_model(manager, &i)) != NULL;) {
        if (model->model.config == NULL)
            continue;
        struct model_listing *item = &list[count];
        item->unloaded = model->model.unloaded;
        item->serves = served_model_outcome(&model->model, &failed) == MODEL_SERVES;
        if (unready && (item->serves || item->unloaded))
            continue;
        list_model(model, arena, item);
        count++;
    }
    pthread_mutex_unlock(&manager->lock);
    *out = list;
    return count;
}
