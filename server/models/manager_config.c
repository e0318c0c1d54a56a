/* Applies configurations, and notifies those who wait for the result. */
#include <stdlib.h>

#include "base/container.h"
#include "base/log.h"
#include "base/text_print.h"
#include "server/models/load_metrics.h"
#include "server/models/manager_internal.h"

/* ---- who waits ---- */

struct models_waiter *manager_waiter_create(struct manager *manager, const char *noun,
                                            void (*done)(void *context, struct status status),
                                            void *context)
{
    struct models_waiter *waiter = zalloc(sizeof *waiter);
    waiter->noun = noun;
    waiter->done = done;
    waiter->context = context;
    waiter->manager = manager;
    waiter->loop = manager->options.loop;
    return waiter;
}

static void waiter_destroy(struct models_waiter *waiter)
{
    if (waiter == NULL)
        return;
    free(waiter->models);
    buffer_finish(&waiter->failures);
    free(waiter);
}

void manager_free_waiters(struct manager *manager)
{
    while (manager->waiters != NULL) {
        struct models_waiter *waiter = manager->waiters;
        manager->waiters = waiter->next;
        waiter_destroy(waiter);
    }
}

static void waiter_add(struct models_waiter *waiter, struct managed_model *model)
{
    waiter->models = xrealloc(waiter->models, (waiter->count + 1) * sizeof(struct managed_model *));
    waiter->models[waiter->count++] = model;
    model->users++;
}

static void note_failure(struct models_waiter *waiter, const struct managed_model *model,
                         const struct model_version *version)
{
    struct buffer *out = &waiter->failures;
    waiter->failed_count++;
    buffer_printf(out, "{{name: %s version: %lld} due to error: %s: %s}, ", model->name,
                  (long long)version->number, status_code_name(version->error_code),
                  version->error);
}

/* Does the model serve, or is it certain that it will not without a change? Records a failure. */
static bool is_settled(struct models_waiter *waiter, const struct managed_model *model)
{
    const struct model_version *failed;
    if (waiter->until_unloaded)
        return !model->model.unloaded ||
               served_model_outcome(&model->model, &failed) != MODEL_SERVES;
    if (model->model.config == NULL || model->model.unloaded)
        return true; /* a later configuration has removed it, or a client has unloaded it */
    switch (served_model_outcome(&model->model, &failed)) {
    case MODEL_SERVES:
        return true;
    case MODEL_FAILED:
        note_failure(waiter, model, failed);
        return true;
    case MODEL_EMPTY:
        if (waiter->keep_going && model->polled)
            return true;
        if (waiter->needs_versions && model->polled) {
            waiter->failed_count++;
            buffer_printf(&waiter->failures, "{name: %s} has no version in its base path, ",
                          model->name);
            return true;
        }
        break;
    default:
        break;
    }
    waiter->given_up = waiter->given_up || waiter->manager->ends_loads;
    return waiter->manager->ends_loads;
}

static struct status waiter_status(const struct models_waiter *waiter)
{
    if (waiter->given_up)
        return status_error(STATUS_UNAVAILABLE, "the server is going down");
    if (waiter->failed_count == 0 || waiter->keep_going)
        return status_ok();
    return status_error(STATUS_UNKNOWN, "%zu %s(s) did not become available: {%.*s}",
                        waiter->failed_count, waiter->noun, (int)waiter->failures.size,
                        waiter->failures.data);
}

static void unlink_waiter(struct models_waiter *waiter)
{
    struct manager *manager = waiter->manager;
    pthread_mutex_lock(&manager->lock);
    struct models_waiter **at = &manager->waiters;
    while (*at != waiter)
        at = &(*at)->next;
    *at = waiter->next;
    while (waiter->settled < waiter->count)
        waiter->models[waiter->settled++]->users--;
    pthread_mutex_unlock(&manager->lock);
}

static void tell(struct loop_task *task)
{
    struct models_waiter *waiter = CONTAINER_OF(task, struct models_waiter, task);
    unlink_waiter(waiter);
    waiter->done(waiter->context, waiter_status(waiter));
    waiter_destroy(waiter);
}

void manager_notify_waiters(struct manager *manager)
{
    if (!manager->runs) /* nothing may be posted if the manager fails to start */
        return;
    for (struct models_waiter *waiter = manager->waiters; waiter != NULL; waiter = waiter->next) {
        if (waiter->done == NULL)
            continue;
        while (waiter->settled < waiter->count &&
               is_settled(waiter, waiter->models[waiter->settled]))
            waiter->models[waiter->settled++]->users--;
        if (waiter->settled < waiter->count || waiter->task.work != NULL)
            continue;
        waiter->task.work = tell;
        loop_post(waiter->loop, &waiter->task);
    }
}

/* ---- the memory of models ---- */

/* A map of pointers may be only a quarter full. */
size_t manager_model_bytes(const char *name)
{
    return sizeof(struct managed_model) + strlen(name) + 1 +
           4 * (sizeof(struct map_entry) + 2 * sizeof(uint32_t)) + sizeof(void *);
}

static struct status pay_for_new_models(const struct manager *manager,
                                        const struct model_configs *configs)
{
    int64_t bytes = 0;
    if (manager->options.budget == NULL)
        return status_ok();
    for (size_t i = 0; i < configs->count; i++)
        if (configs->items[i].model == NULL)
            bytes += (int64_t)manager_model_bytes(configs->items[i].name);
    return status_in(budget_take(manager->options.budget, bytes), "models that are new");
}

/* Limit of the memory of all removed models. TensorFlow Serving lists the versions of a removed
 * model forever, so a client that reloads with new names could exhaust the memory. */
#define REMOVED_BYTES_MAX ((size_t)1 << 20)

static bool can_forget(const struct managed_model *model)
{
    return model->users == 0 && served_model_has_ended(&model->model);
}

static size_t removed_bytes(const struct managed_model *model)
{
    return manager_model_bytes(model->name) + served_model_bytes(&model->model);
}

static void forget(struct manager *manager, struct managed_model *model)
{
    map_remove(&manager->models, bytes_of(model->name));
    manager_destroy_model(manager, model);
}

/* Forgets removed models once they have ended: those without versions and, if the others take
 * too much memory, those that were configured first. */
static void forget_removed(struct manager *manager)
{
    struct managed_model *model;
    size_t held = 0;
    for (size_t i = 0; (model = manager_next_model(manager, &i)) != NULL;) {
        if (!can_forget(model))
            continue;
        if (model->model.versions == NULL)
            forget(manager, model);
        else
            held += removed_bytes(model);
    }
    size_t i = 0;
    while (held > REMOVED_BYTES_MAX && (model = manager_next_model(manager, &i)) != NULL) {
        if (!can_forget(model))
            continue;
        held -= removed_bytes(model);
        forget(manager, model);
    }
}

/* ---- applying a configuration ---- */

/* Finds the model of each name once: a configuration may list thousands, most of them unchanged. */
static void find_models(const struct manager *manager, struct model_configs *configs)
{
    for (size_t i = 0; i < configs->count; i++)
        configs->items[i].model = map_get_text(&manager->models, configs->items[i].name);
}

static struct managed_model *add_model(struct manager *manager, const char *name)
{
    struct managed_model *model = zalloc(sizeof *model);
    struct served_model_options options = manager->model_options;
    model->name = xstrdup(name);
    model->paid = manager->options.budget != NULL ? (int64_t)manager_model_bytes(name) : 0;
    options.name = model->name;
    served_model_init(&model->model, &options);
    map_put_text(&manager->models, model->name, model);
    return model;
}

/* The current configuration of the model of this name; NULL: it is new, or was removed. */
static const struct model_config *config_before(const struct model_config *config)
{
    return config->model != NULL ? config->model->model.config : NULL;
}

static struct status check_same_platform(const struct manager *manager,
                                         const struct model_config *config)
{
    const struct model_config *old = config_before(config);
    (void)manager;
    if (old == NULL || strcmp(config->platform, old->platform) == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "Illegal to change a model's platform. For model %s platform was %s and "
                        "new platform requested is %s",
                        config->name, old->platform, config->platform);
}

static struct status check_platform(const struct manager *manager,
                                    const struct model_config *config)
{
    (void)manager;
    if (strcmp(config->platform, PLATFORM_TENSORFLOW) == 0)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT, "Model %s requests unsupported platform %s",
                        config->name, config->platform);
}

/* A label may refer only to an available version or, if labels are allowed in advance, to any
 * version unless the label already refers to another one. */
static struct status check_labels(const struct manager *manager, const struct model_config *config)
{
    const struct managed_model *model = config->model;
    const struct model_config *old = config_before(config);
    for (size_t i = 0; i < config->labels_count; i++) {
        const struct version_label *label = &config->labels[i];
        int64_t before = label->version;
        bool moves = old != NULL && model_config_find_label(old, bytes_of(label->label), &before) &&
                     before != label->version;
        bool available = model != NULL && served_model_is_available(&model->model, label->version);
        if (!available && (moves || !manager->options.labels_in_advance))
            return status_error(STATUS_FAILED_PRECONDITION,
                                "Request to assign label to version %lld of model %s, which is not "
                                "currently available for inference",
                                (long long)label->version, config->name);
    }
    return status_ok();
}

static struct status check(const struct manager *manager, const struct model_configs *configs)
{
    if (configs->kind == CONFIGS_CUSTOM && manager->configs == NULL)
        return status_error(STATUS_UNIMPLEMENTED, "custom_model_config: ModelServer does not yet "
                                                  "support custom model config.");
    if (configs->kind == CONFIGS_CUSTOM)
        return status_error(STATUS_FAILED_PRECONDITION,
                            "Cannot transition to requested config. It is only legal to transition "
                            "from one ModelConfigList to another.");
    /* TensorFlow Serving makes each check for all models before the next check. */
    static struct status (*const checks[])(const struct manager *, const struct model_config *) = {
        check_same_platform, check_labels, check_platform
    };
    for (size_t i = 0; i < COUNT(checks); i++)
        for (size_t j = 0; j < configs->count; j++)
            TRY(checks[i](manager, &configs->items[j]));
    return status_ok();
}

/* TensorFlow Serving's text, for a server without request logs. */
static struct status open_logs(const struct manager *manager, struct model_configs *configs)
{
    const struct manager_options *options = &manager->options;
    for (size_t i = 0; i < configs->count; i++) {
        struct model_logging *logging = &configs->items[i].logging;
        if (logging->prefix == NULL)
            continue;
        if (options->open_log == NULL)
            return status_error(STATUS_INVALID_ARGUMENT, "No request-logger-creator provided.");
        TRY(status_in(options->open_log(options->log_context, logging->prefix, configs->from_client,
                                        &logging->id),
                      "model %s: logging_config", configs->items[i].name));
    }
    return status_ok();
}

/* Drops a configuration, and closes the logs that were opened for it. */
static void drop_configs(const struct manager *manager, struct model_configs *configs)
{
    for (size_t i = 0; configs != NULL && i < configs->count; i++)
        if (configs->items[i].logging.id != 0)
            manager->options.close_log(manager->options.log_context, configs->items[i].logging.id);
    model_configs_destroy(configs);
}

static bool is_same_policy(const struct version_policy *a, const struct version_policy *b)
{
    size_t bytes = a->versions_count * sizeof *a->versions;
    return a->kind == b->kind && a->latest == b->latest && a->versions_count == b->versions_count &&
           (bytes == 0 || memcmp(a->versions, b->versions, bytes) == 0);
}

static void configure(struct manager *manager, struct model_config *config,
                      struct models_waiter *waiter)
{
    if (config->model == NULL)
        config->model = add_model(manager, config->name);
    struct managed_model *model = config->model;
    const struct model_config *old = model->model.config;
    bool moved = old != NULL && strcmp(old->base_path, config->base_path) != 0;
    if (old == NULL) {
        log_info("model %s: added, from %s", config->name, config->base_path);
        if (config->name[0] == '\0') /* accepted, as by TensorFlow Serving */
            log_warning("a model of the configuration has no name: no request can name it");
        waiter_add(waiter, model);
    } else if (moved)
        log_info("model %s: moved to %s", config->name, config->base_path);
    if (old == NULL || moved || !is_same_policy(&old->policy, &config->policy)) {
        model->polled = false;
        model->poll_epoch++;
        manager_schedule_poll(manager, model,
                              manager->options.poll_wait_seconds < 0 ? CLOCK_NEVER : 0);
    }
    served_model_configure(&model->model, config);
}

/* Removes the models that only the old configuration has. */
static void remove_others(const struct model_configs *old)
{
    for (size_t i = 0; old != NULL && i < old->count; i++) {
        struct managed_model *model = old->items[i].model;
        if (model->model.config != &old->items[i])
            continue;
        log_info("model %s: removed", model->name);
        model->poll_epoch++;
        served_model_configure(&model->model, NULL);
    }
}

static struct status apply(struct manager *manager, struct model_configs *configs,
                           struct models_waiter *waiter)
{
    find_models(manager, configs);
    TRY(check(manager, configs));
    TRY(open_logs(manager, configs));
    TRY(pay_for_new_models(manager, configs));
    manager->config_hash = configs->text_hash;
    if (configs->kind == CONFIGS_LIST) {
        struct model_configs *old = manager->configs;
        for (size_t i = 0; i < configs->count; i++)
            configure(manager, &configs->items[i], waiter);
        remove_others(old);
        manager->configs = configs;
        drop_configs(manager, old);
    } else {
        log_info("Taking no action for empty config.");
        drop_configs(manager, configs);
    }
    waiter->next = manager->waiters;
    manager->waiters = waiter;
    manager_notify_waiters(manager);
    forget_removed(manager);
    manager_wake(manager);
    /* Labels may refer to other versions. Last, because a loop that sees it waits for the lock. */
    atomic_fetch_add(&manager->generation, 1);
    return status_ok();
}

struct status manager_apply(struct manager *manager, struct model_configs *configs,
                            struct models_waiter *waiter)
{
    pthread_mutex_lock(&manager->lock);
    struct status status = apply(manager, configs, waiter);
    pthread_mutex_unlock(&manager->lock);
    if (!status_is_ok(status)) {
        drop_configs(manager, configs); /* not before: the text may quote it */
        waiter_destroy(waiter);
    }
    return status;
}

struct status manager_replace(struct manager *manager, struct model_configs *configs,
                              struct models_waiter **out)
{
    struct models_waiter *waiter = manager_waiter_create(manager, "model", NULL, NULL);
    TRY(manager_apply(manager, configs, waiter));
    *out = waiter;
    return status_ok();
}

void manager_wait(struct models_waiter *waiter, struct loop *loop,
                  void (*done)(void *context, struct status status), void *context)
{
    struct manager *manager = waiter->manager;
    pthread_mutex_lock(&manager->lock);
    waiter->loop = loop;
    waiter->done = done;
    waiter->context = context;
    manager_notify_waiters(manager);
    pthread_mutex_unlock(&manager->lock);
}

void manager_forget_waiter(struct models_waiter *waiter)
{
    unlink_waiter(waiter);
    waiter_destroy(waiter);
}

struct status manager_reload(struct manager *manager, struct model_configs *configs,
                             struct loop *loop, void (*done)(void *context, struct status status),
                             void *context)
{
    struct models_waiter *waiter;
    TRY(manager_replace(manager, configs, &waiter));
    manager_wait(waiter, loop, done, context);
    return status_ok();
}

/* ---- clients that load and unload configured models ---- */

static struct status find_configured(const struct manager *manager, struct bytes name,
                                     struct managed_model **out)
{
    *out = map_get(&manager->models, name);
    if (*out != NULL && (*out)->model.config != NULL)
        return status_ok();
    return status_error(STATUS_NOT_FOUND, "model '%s' is not configured", text_print_name(name));
}

/* Called with the lock held. */
static void set_unloaded(struct manager *manager, struct managed_model *model, bool unloaded,
                         struct models_waiter *waiter)
{
    log_info("model %s: %s by a client", model->name, unloaded ? "unloaded" : "loaded");
    waiter->needs_versions = !unloaded;
    waiter->until_unloaded = unloaded;
    waiter_add(waiter, model);
    waiter->next = manager->waiters;
    manager->waiters = waiter;
    served_model_set_unloaded(&model->model, unloaded);
    model->polled = false; /* polls the base path from scratch */
    model->poll_epoch++;
    manager_schedule_poll(manager, model, 0);
    atomic_fetch_add(&manager->generation, 1);
    manager_notify_waiters(manager);
    manager_wake(manager);
}

struct status manager_set_unloaded(struct manager *manager, struct bytes name, bool unloaded,
                                   struct loop *loop,
                                   void (*done)(void *context, struct status status), void *context)
{
    struct managed_model *model;
    pthread_mutex_lock(&manager->lock);
    struct status status = find_configured(manager, name, &model);
    if (status_is_ok(status)) {
        struct models_waiter *waiter = manager_waiter_create(manager, "model", done, context);
        waiter->loop = loop;
        set_unloaded(manager, model, unloaded, waiter);
    }
    pthread_mutex_unlock(&manager->lock);
    return status;
}

/* ---- the config file ---- */

static void log_reloaded(void *context, struct status status)
{
    (void)context;
    if (!status_is_ok(status))
        log_error("--model_config_file: %s", status.message);
}

static bool was_applied_last(struct manager *manager, const struct model_configs *configs)
{
    pthread_mutex_lock(&manager->lock);
    bool was = configs->text_hash == manager->config_hash;
    pthread_mutex_unlock(&manager->lock);
    return was;
}

/* An unchanged file is no reload, unless a client has applied another configuration meanwhile. */
static struct status read_and_apply(struct manager *manager, bool *applied)
{
    struct model_configs *configs;
    struct status status = model_configs_read_file(manager->options.config_file, &configs);
    if (status_is_ok(status) && was_applied_last(manager, configs)) {
        model_configs_destroy(configs);
        return status;
    }
    if (status_is_ok(status))
        status = manager_reload(manager, configs, manager->options.loop, log_reloaded, NULL);
    *applied = status_is_ok(status);
    return status;
}

/* Returns whether the problem was not there at the last poll, and logs it if so. Called with the
 * lock held. */
static bool note_problem(struct manager *manager, struct status status)
{
    const char *before = manager->config_problem;
    char *problem = status_is_ok(status) ? NULL : xstrdup(status.message);
    bool is_new = problem != NULL && (before == NULL || strcmp(before, problem) != 0);
    if (is_new)
        log_error("--model_config_file=%s: %s: the old configuration stays",
                  manager->options.config_file, problem);
    free(manager->config_problem);
    manager->config_problem = problem;
    return is_new;
}

void manager_poll_config(struct manager *manager)
{
    pthread_mutex_lock(&manager->lock);
    bool due = manager_now_ns(manager) >= manager->config_poll_at_ns && !manager->starting;
    pthread_mutex_unlock(&manager->lock);
    if (!due)
        return;
    bool applied = false;
    struct status status = read_and_apply(manager, &applied);
    pthread_mutex_lock(&manager->lock);
    bool has_new_problem = note_problem(manager, status);
    manager->config_poll_at_ns =
        manager_now_ns(manager) + manager->options.config_poll_wait_seconds * NS_PER_S;
    pthread_mutex_unlock(&manager->lock);
    if (applied || has_new_problem)
        load_metrics_reload("file", status);
}

bool manager_polls_config_file(struct manager *manager, bool *out_accepted)
{
    pthread_mutex_lock(&manager->lock);
    bool polls = manager->config_poll_at_ns != CLOCK_NEVER;
    *out_accepted = manager->config_problem == NULL;
    pthread_mutex_unlock(&manager->lock);
    return polls;
}
