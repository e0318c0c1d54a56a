#include "server/models/served_model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/states.h"

static const char *const state_names[] = { "START", "LOADING", "AVAILABLE", "UNLOADING", "END" };

static const unsigned allowed[] = {
    [STATE_START] = STATE(STATE_LOADING),
    [STATE_LOADING] = STATE(STATE_LOADING) | STATE(STATE_AVAILABLE) | STATE(STATE_END),
    [STATE_AVAILABLE] = STATE(STATE_UNLOADING),
    [STATE_UNLOADING] = STATE(STATE_END),
    [STATE_END] = STATE(STATE_START),
};

void served_model_init(struct served_model *model, const struct served_model_options *options)
{
    *model = (struct served_model){ .options = *options };
}

/* Removes the version at the link. */
static void remove_version(struct model_version **link)
{
    struct model_version *version = *link;
    assert(version->servable == NULL);
    *link = version->next;
    metric_owner_release(&version->attempts_series);
    free(version->directory);
    free(version->error);
    free(version);
}

void served_model_finish(struct served_model *model)
{
    while (model->versions != NULL)
        remove_version(&model->versions);
}

static void set_state(struct served_model *model, struct model_version *version,
                      enum version_state state)
{
    assert((state == STATE_AVAILABLE || state == STATE_UNLOADING) == (version->servable != NULL));
    version->state = state_next(allowed, version->state, state);
    if (model->options.changed != NULL)
        model->options.changed(model->options.context);
}

static void clear_error(struct model_version *version)
{
    free(version->error);
    version->error = NULL;
    version->error_code = STATUS_OK;
}

/* ---- versions in the base path ---- */

/* Inserts a version before the one at the link. */
static void add_version(struct model_version **link, int64_t number)
{
    struct model_version *version = zalloc(sizeof *version);
    version->number = number;
    version->state = STATE_START;
    version->next = *link;
    *link = version;
}

static void start_again(struct served_model *model, struct model_version *version)
{
    if (version->state == STATE_END)
        set_state(model, version, STATE_START);
    version->attempts = 0;
    version->retry_at_ns = 0;
    version->mended = false;
    clear_error(version);
}

static void see_version(struct served_model *model, struct model_version *version,
                        const char *directory, bool wanted)
{
    bool came = !version->present;
    version->present = true;
    version->wanted = wanted;
    bool ended = version->state == STATE_END, failed = version->error != NULL;
    bool moved = version->directory == NULL || strcmp(version->directory, directory) != 0;
    if (moved && !version->loading) {
        free(version->directory);
        version->directory = xstrdup(directory);
    }
    if ((ended && came) || (wanted && (failed ? version->mended : ended)))
        start_again(model, version);
}

/* A model that is no longer served keeps its log, for its last requests. */
static void set_log(const struct served_model *model, struct servable *servable)
{
    if (model->config == NULL || servable == NULL)
        return;
    const struct model_logging *logging = &model->config->logging;
    uint64_t threshold = logging->rate < 1 ? (uint64_t)(logging->rate * 0x1p64) : UINT64_MAX;
    atomic_store_explicit(&servable->log.threshold, threshold, memory_order_relaxed);
    atomic_store_explicit(&servable->log.id, logging->id, memory_order_relaxed);
}

static void want_nothing(struct served_model *model)
{
    for (struct model_version *v = model->versions; v != NULL; v = v->next)
        v->present = v->wanted = false;
}

static bool is_same_log(const struct model_config *old, const struct model_config *config)
{
    return old != NULL && config != NULL && old->logging.id == config->logging.id &&
           old->logging.rate == config->logging.rate;
}

void served_model_configure(struct served_model *model, const struct model_config *config)
{
    bool same_log = is_same_log(model->config, config);
    model->config = config;
    for (struct model_version *v = model->versions; v != NULL && !same_log; v = v->next)
        set_log(model, v->servable);
    if (config == NULL) {
        model->unloaded = false;
        want_nothing(model);
    }
}

void served_model_set_unloaded(struct served_model *model, bool unloaded)
{
    model->unloaded = unloaded;
    if (unloaded)
        want_nothing(model);
}

/* Like TensorFlow Serving, ignores "specific" with no version. */
static bool wants_no_change(const struct version_policy *policy)
{
    return policy->kind == POLICY_SPECIFIC && policy->versions_count == 0;
}

/* Marks the versions above the next one found as absent; NULL: all. Returns the link after them. */
static struct model_version **pass_missing(struct model_version **link,
                                           const struct source_version *next)
{
    for (; *link != NULL && (next == NULL || (*link)->number > next->number); link = &(*link)->next)
        (*link)->present = (*link)->wanted = false;
    return link;
}

/* Forgets absent versions: those never loaded and, of those that have ended, the lowest. */
static void forget_absent(struct served_model *model)
{
    int ended = 0;
    for (struct model_version **link = &model->versions; *link != NULL;) {
        const struct model_version *version = *link;
        bool gone = !version->present &&
                    (version->state == STATE_START ||
                     (version->state == STATE_END && ++ended > MODEL_ENDED_VERSIONS_MAX));
        if (gone)
            remove_version(link);
        else
            link = &(*link)->next;
    }
}

void served_model_set_found(struct served_model *model, const struct source_versions *found)
{
    if (model->config == NULL || model->unloaded || wants_no_change(&model->config->policy))
        return;
    /* Both lists are sorted, so one walk suffices: a base path may have tens of thousands. */
    struct model_version **link = &model->versions;
    for (size_t i = found->count; i-- > 0;) {
        const struct source_version *item = &found->items[i];
        link = pass_missing(link, item);
        if (*link == NULL || (*link)->number != item->number)
            add_version(link, item->number);
        see_version(model, *link, item->directory,
                    version_policy_wants(&model->config->policy, found, i));
        link = &(*link)->next;
    }
    pass_missing(link, NULL);
    forget_absent(model);
}

size_t served_model_list_failed(const struct served_model *model, struct failed_version **out)
{
    size_t count = 0;
    for (const struct model_version *v = model->versions; v != NULL; v = v->next)
        count += v->error != NULL;
    *out = count > 0 ? zalloc(count * sizeof **out) : NULL;
    count = 0;
    for (const struct model_version *v = model->versions; v != NULL; v = v->next)
        if (v->error != NULL)
            (*out)[count++] = (struct failed_version){ v->number, xstrdup(v->directory), 0 };
    return count;
}

void served_model_note_failed(struct served_model *model, struct failed_version *failed,
                              size_t count)
{
    struct model_version *version = model->versions;
    for (size_t i = 0; i < count; i++) { /* both are sorted, and no version was removed since */
        while (version->number != failed[i].number)
            version = version->next;
        uint64_t files = failed[i].files;
        if (version->error != NULL && !version->loading) {
            version->mended = files == version->seen_files && files != version->tried_files;
            version->seen_files = files;
        }
        free(failed[i].directory);
    }
    free(failed);
}

enum model_outcome served_model_outcome(const struct served_model *model,
                                        const struct model_version **failed)
{
    bool wanted = false, pending = false;
    *failed = NULL;
    for (const struct model_version *v = model->versions; v != NULL; v = v->next) {
        if (v->state == STATE_AVAILABLE)
            return MODEL_SERVES;
        if (!v->wanted)
            continue;
        wanted = true;
        if (v->state != STATE_END || v->error == NULL)
            pending = true;
        else if (*failed == NULL)
            *failed = v;
    }
    return !wanted ? MODEL_EMPTY : pending ? MODEL_PENDING : MODEL_FAILED;
}

/* ---- steps ---- */

static bool is_draining(const struct model_version *version)
{
    return version->state == STATE_UNLOADING && version->servable != NULL;
}

static struct model_version *find_drained(const struct served_model *model)
{
    for (struct model_version *version = model->versions; version != NULL; version = version->next)
        if (is_draining(version) && servable_references(version->servable) == 1)
            return version;
    return NULL;
}

/* The wanted versions, and the others that still serve. */
struct version_summary {
    struct model_version *lowest; /* unwanted version that serves */
    int unwanted;                 /* versions that serve */
    bool any_wanted, wanted_serves;
    bool leaving; /* an unwanted version still holds memory */
};

static struct version_summary survey_versions(const struct served_model *model)
{
    struct version_summary survey = { 0 };
    for (struct model_version *version = model->versions; version != NULL;
         version = version->next) {
        bool serves = version->state == STATE_AVAILABLE;
        survey.any_wanted = survey.any_wanted || version->wanted;
        survey.wanted_serves = survey.wanted_serves || (version->wanted && serves);
        survey.leaving = survey.leaving || version->state == STATE_UNLOADING;
        if (serves && !version->wanted) {
            survey.lowest = version;
            survey.unwanted++;
        }
    }
    return survey;
}

/* Availability preserving: the lowest unwanted version that serves may be unloaded if nothing is
 * wanted, if a wanted version serves, or if another unwanted one does. Resource preserving:
 * always. */
static struct model_version *find_to_unload(const struct served_model *model)
{
    struct version_summary survey = survey_versions(model);
    bool may_go = model->options.resource_preserving || !survey.any_wanted ||
                  survey.wanted_serves || survey.unwanted > 1;
    return may_go ? survey.lowest : NULL;
}

static bool waits_for_retry(const struct model_version *version)
{
    return version->state == STATE_LOADING && version->wanted && !version->loading;
}

/* Resource preserving: not before all unwanted versions are gone. */
static bool may_load(const struct served_model *model)
{
    if (!model->options.resource_preserving)
        return true;
    struct version_summary survey = survey_versions(model);
    return survey.unwanted == 0 && !survey.leaving;
}

/* The highest wanted version that is new or due for a retry. */
static struct model_version *find_to_load(const struct served_model *model, int64_t now_ns)
{
    for (struct model_version *version = model->versions; version != NULL; version = version->next)
        if ((waits_for_retry(version) || (version->wanted && version->state == STATE_START)) &&
            version->retry_at_ns <= now_ns)
            return may_load(model) ? version : NULL;
    return NULL;
}

static void give_up_unwanted(struct served_model *model)
{
    for (struct model_version *version = model->versions; version != NULL; version = version->next)
        if (version->state == STATE_LOADING && !version->loading && !version->wanted)
            set_state(model, version, STATE_END);
}

static struct model_step begin_free(struct model_version *version)
{
    struct model_step step = { STEP_FREE, version, version->servable };
    version->servable = NULL;
    return step;
}

void served_model_end_free(struct served_model *model, struct model_version *version)
{
    set_state(model, version, STATE_END);
    if (version->wanted)
        start_again(model, version);
}

static struct model_step begin_unload(struct served_model *model, struct model_version *version)
{
    log_info("Unloading servable version {name: %s version: %lld}", model->options.name,
             (long long)version->number);
    set_state(model, version, STATE_UNLOADING);
    return (struct model_step){ .kind = STEP_UNLOAD, .version = version };
}

static struct model_step begin_load(struct served_model *model, struct model_version *version,
                                    int64_t now_ns)
{
    set_state(model, version, STATE_LOADING);
    log_debug("Loading servable version {name: %s version: %lld}", model->options.name,
              (long long)version->number);
    version->attempts++;
    version->loading = true;
    version->ended = false;
    version->load_began_ns = now_ns;
    return (struct model_step){ .kind = STEP_LOAD, .version = version };
}

struct model_step served_model_begin_step(struct served_model *model, unsigned kinds,
                                          int64_t now_ns)
{
    struct model_version *version = kinds & STEP_FREE ? find_drained(model) : NULL;
    if (version != NULL)
        return begin_free(version);
    version = kinds & STEP_UNLOAD ? find_to_unload(model) : NULL;
    if (version != NULL)
        return begin_unload(model, version);
    give_up_unwanted(model);
    version = kinds & STEP_LOAD ? find_to_load(model, now_ns) : NULL;
    if (version != NULL)
        return begin_load(model, version, now_ns);
    return (struct model_step){ .kind = STEP_NONE };
}

int64_t served_model_retry_time(const struct served_model *model)
{
    int64_t next = CLOCK_NEVER;
    for (const struct model_version *v = model->versions; v != NULL; v = v->next)
        if (waits_for_retry(v) && v->retry_at_ns < next)
            next = v->retry_at_ns;
    return next;
}

bool served_model_is_draining(const struct served_model *model)
{
    for (const struct model_version *v = model->versions; v != NULL; v = v->next)
        if (is_draining(v))
            return true;
    return false;
}

bool served_model_has_ended(const struct served_model *model)
{
    for (const struct model_version *v = model->versions; v != NULL; v = v->next)
        if (v->state != STATE_START && v->state != STATE_END)
            return false;
    return model->config == NULL;
}

size_t served_model_bytes(const struct served_model *model)
{
    size_t bytes = 0;
    for (const struct model_version *v = model->versions; v != NULL; v = v->next) {
        bytes += sizeof *v + strlen(v->directory) + 1;
        bytes += v->error != NULL ? strlen(v->error) + 1 : 0;
    }
    return bytes;
}

/* ---- a load ---- */

void served_model_set_tried_files(struct model_version *version, uint64_t files)
{
    version->tried_files = version->seen_files = files;
}

bool served_model_should_end_load(struct served_model *model, struct model_version *version)
{
    bool superseded = version->present && !version->wanted;
    if (!version->ended) {
        version->ended = !version->present || (superseded && !model->gave_way);
        model->gave_way = model->gave_way || (version->ended && superseded);
    }
    return version->ended;
}

static void end_failed_load(struct served_model *model, struct model_version *version,
                            struct status status, int64_t now_ns)
{
    const char *name = model->options.name, *code = status_code_name(status.code);
    log_error("Loading servable: {name: %s version: %lld} failed: %s: %s", name,
              (long long)version->number, code, status.message);
    clear_error(version);
    version->error = xstrdup(status.message);
    version->error_code = status.code;
    if (version->attempts <= model->options.load_retries_max && version->wanted) {
        version->retry_at_ns = now_ns + model->options.load_retry_interval_ns;
        return;
    }
    set_state(model, version, STATE_END);
}

void served_model_end_load(struct served_model *model, struct model_version *version,
                           struct status status, struct servable *servable, int64_t now_ns)
{
    assert(version->state == STATE_LOADING && version->loading);
    version->loading = false;
    if (status.code != STATUS_CANCELLED)
        model->gave_way = false;
    if (!status_is_ok(status)) {
        end_failed_load(model, version, status, now_ns);
        return;
    }
    log_info("Successfully loaded servable version {name: %s version: %lld} in %.1f ms from %s",
             model->options.name, (long long)version->number,
             (double)(now_ns - version->load_began_ns) / NS_PER_MS, version->directory);
    version->servable = servable;
    set_log(model, servable);
    clear_error(version);
    set_state(model, version, STATE_AVAILABLE); /* last: requests look at it, and wait for us */
}

struct servable *served_model_take_servable(struct served_model *model)
{
    for (struct model_version *version = model->versions; version != NULL;
         version = version->next) {
        struct servable *servable = version->servable;
        version->servable = NULL;
        if (servable != NULL)
            return servable;
    }
    return NULL;
}

/* ---- requests ---- */

static bool is_meant(const struct model_version *version, const struct version_choice *choice)
{
    return choice->kind != VERSION_SPECIFIC || version->number == choice->number;
}

bool served_model_resolve(const struct served_model *model, struct version_choice *choice)
{
    if (choice->kind != VERSION_LABELLED)
        return true;
    int64_t number;
    if (model->config == NULL || !model_config_find_label(model->config, choice->label, &number))
        return false;
    *choice = (struct version_choice){ .kind = VERSION_SPECIFIC, .number = number };
    return true;
}

static struct model_version *find_version(const struct served_model *model, int64_t number)
{
    struct model_version *version = model->versions;
    while (version != NULL && version->number != number)
        version = version->next;
    return version;
}

bool served_model_is_available(const struct served_model *model, int64_t number)
{
    const struct model_version *version = find_version(model, number);
    return version != NULL && version->state == STATE_AVAILABLE;
}

struct servable *served_model_acquire(const struct served_model *model,
                                      const struct version_choice *choice)
{
    for (struct model_version *version = model->versions; version != NULL; version = version->next)
        if (version->state == STATE_AVAILABLE && is_meant(version, choice))
            return servable_acquire(version->servable);
    return NULL;
}

size_t served_model_list(const struct served_model *model, const struct version_choice *choice,
                         struct arena *arena, struct version_status **out)
{
    size_t total = 0, count = 0;
    for (struct model_version *version = model->versions; version != NULL; version = version->next)
        total++;
    *out = ARENA_ARRAY(arena, struct version_status, total);
    for (struct model_version *v = model->versions; v != NULL; v = v->next) {
        if ((!v->wanted && v->state == STATE_START) || !is_meant(v, choice))
            continue;
        struct version_status *row = &(*out)[count++];
        *row = (struct version_status){ v->number, state_names[v->state], { STATUS_OK, "" } };
        if (v->error != NULL && v->state == STATE_END)
            row->status = (struct status){ v->error_code, arena_strdup(arena, v->error) };
    }
    return count;
}
