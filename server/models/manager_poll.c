/* Polls base paths: which versions do they have? */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/models/manager_internal.h"

/* Messages to log after a poll, once the lock is released, because writing a line may take long. */
struct poll_messages {
    const char *problem; /* about the base path; NULL: none, or already logged */
    enum log_level level;
    bool names_nothing; /* the policy is 'specific' without a version */
    int64_t *missing;   /* versions in the policy that are not found */
    size_t missing_count;
    struct arena *arena;
};

/* TensorFlow Serving logs a missing base path at each poll. Here it is logged when it changes
 * and, to keep it visible at the end of a long log, once a minute. */
#define PROBLEM_NS (60 * NS_PER_S)

static void set_problem(struct poll_messages *messages, enum log_level level, const char *text)
{
    messages->problem = arena_strdup(messages->arena, text);
    messages->level = level;
}

/* Reads the base path, without the lock. again: another poll follows. */
static struct status scan_base_path(const struct version_source *source, const char *base_path,
                                    bool again, struct source_versions *found,
                                    struct poll_messages *messages)
{
    const char *no_more = "; it is not read again (--file_system_poll_wait_seconds=0)";
    static const char is_version[] =
        ", which is a version itself: give the directory above it, and name it by a number";
    struct status status = source->scan(base_path, found);
    if (!status_is_ok(status))
        set_problem(messages, LOG_ERROR,
                    arena_printf(messages->arena, "base path: %s%s", status.message,
                                 again ? "; waiting for it" : no_more));
    else if (found->count == 0)
        set_problem(messages, LOG_WARNING,
                    arena_printf(messages->arena,
                                 "no versions of servable found under base path %s%s%s", base_path,
                                 found->is_version ? is_version : "", again ? "" : no_more));
    else if (found->doubled != NULL)
        set_problem(messages, LOG_WARNING, found->doubled);
    return status;
}

/* Drops a problem that was logged less than a minute ago. Called with the lock held. */
static void limit_problem(struct managed_model *model, struct poll_messages *messages,
                          int64_t now_ns)
{
    const char *text = messages->problem;
    bool same = text != NULL && model->problem != NULL && strcmp(text, model->problem) == 0;
    if (same && now_ns - model->problem_logged_ns < PROBLEM_NS) {
        messages->problem = NULL;
        return;
    }
    free(model->problem);
    model->problem = text != NULL ? xstrdup(text) : NULL;
    model->problem_logged_ns = now_ns;
}

static int compare_numbers(const void *number, const void *version)
{
    int64_t a = *(const int64_t *)number, b = ((const struct source_version *)version)->number;
    return (a > b) - (a < b);
}

/* Called after the first poll of a model with a new configuration, with the lock held. */
static void compare_with_policy(const struct managed_model *model,
                                const struct source_versions *found, struct poll_messages *messages)
{
    const struct version_policy *policy = &model->model.config->policy;
    messages->names_nothing = policy->kind == POLICY_SPECIFIC && policy->versions_count == 0;
    messages->missing = ARENA_ARRAY(messages->arena, int64_t, policy->versions_count);
    for (size_t i = 0; i < policy->versions_count; i++)
        if (found->count == 0 || bsearch(&policy->versions[i], found->items, found->count,
                                         sizeof *found->items, compare_numbers) == NULL)
            messages->missing[messages->missing_count++] = policy->versions[i];
}

static void log_messages(const char *name, const struct poll_messages *messages)
{
    if (messages->problem != NULL)
        log_line(messages->level, "model %s: %s", name, messages->problem);
    if (messages->names_nothing)
        log_warning(
            "model %s: the version policy 'specific' names no version: what is loaded stays", name);
    for (size_t i = 0; i < messages->missing_count; i++)
        log_warning("model %s: version %lld, which the version policy names, was not found", name,
                    (long long)messages->missing[i]);
}

/* Reads the disk, without the lock. */
static void fingerprint_failed(const struct version_source *source, struct failed_version *failed,
                               size_t count)
{
    for (size_t i = 0; i < count; i++)
        failed[i].files = source->fingerprint(failed[i].directory);
}

/* Charges the states of its versions, whose memory grows with the contents of the base path. */
static void charge_versions(struct manager *manager, struct managed_model *model)
{
    struct budget *budget = manager->options.budget;
    int64_t bytes = (int64_t)(manager_model_bytes(model->name) + served_model_bytes(&model->model));
    if (budget == NULL)
        return;
    budget_charge(budget, bytes - model->paid);
    model->paid = bytes;
}

/* Called with the lock held. */
static void take_found(struct manager *manager, struct managed_model *model, struct status status,
                       const struct source_versions *found, struct poll_messages *messages)
{
    if (status_is_ok(status)) {
        if (!model->polled)
            compare_with_policy(model, found, messages);
        served_model_set_found(&model->model, found);
        charge_versions(manager, model);
    }
    model->polled = true;
    limit_problem(model, messages, manager_now_ns(manager));
}

/* Called with the lock held; releases it while it reads the disk. */
static void read_base_path(struct manager *manager, struct managed_model *model,
                           struct poll_messages *messages)
{
    const struct version_source *source = manager->options.source;
    const char *base_path = arena_strdup(messages->arena, model->model.config->base_path);
    uint64_t poll_epoch = model->poll_epoch;
    struct failed_version *failed;
    size_t failed_count = served_model_list_failed(&model->model, &failed);
    struct source_versions found = { 0 };
    model->users++;
    pthread_mutex_unlock(&manager->lock);
    struct status status =
        scan_base_path(source, base_path, manager->options.poll_wait_seconds > 0, &found, messages);
    fingerprint_failed(source, failed, failed_count);
    pthread_mutex_lock(&manager->lock);
    model->users--;
    served_model_note_failed(&model->model, failed, failed_count);
    if (model->poll_epoch == poll_epoch) /* otherwise the next poll is due already */
        take_found(manager, model, status, &found, messages);
    source_versions_finish(&found);
}

static void schedule_next_poll(struct manager *manager, struct managed_model *model)
{
    int poll = manager->options.poll_wait_seconds;
    manager_schedule_poll(manager, model,
                          poll > 0 ? manager_now_ns(manager) + poll * NS_PER_S : CLOCK_NEVER);
}

/* Polls one model whose base path is due. Called with the lock held, which it releases. */
static void poll_model(struct manager *manager, struct managed_model *model)
{
    struct poll_messages messages = { .arena = arena_create(0) };
    const char *name = arena_strdup(messages.arena, model->name);
    /* Before the poll, during which a new configuration can make the model due again. */
    schedule_next_poll(manager, model);
    read_base_path(manager, model, &messages);
    manager_notify_waiters(manager);
    manager_wake(manager);
    pthread_mutex_unlock(&manager->lock);
    log_messages(name, &messages);
    arena_destroy(messages.arena);
    manager_poll_config(manager); /* polling many or slow base paths takes long */
    pthread_mutex_lock(&manager->lock);
}

void manager_poll(struct manager *manager)
{
    struct managed_model *model;
    manager_poll_config(manager);
    pthread_mutex_lock(&manager->lock);
    int64_t now_ns = manager_now_ns(manager);
    /* A load checks this often, so it must not walk over a thousand models each time. */
    bool due = manager->poll_at_ns <= now_ns;
    if (due)
        manager->poll_at_ns = CLOCK_NEVER; /* the walk finds the next time */
    for (size_t i = 0;
         due && !manager->stopping && (model = manager_next_model(manager, &i)) != NULL;) {
        if (model->model.config == NULL)
            continue;
        if (model->poll_at_ns > now_ns)
            manager_schedule_poll(manager, model, model->poll_at_ns);
        else
            poll_model(manager, model);
    }
    pthread_mutex_unlock(&manager->lock);
}
