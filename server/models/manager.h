/*
 * manager: finds, loads, swaps and frees the versions of the model that the server serves.
 *
 * A thread of low priority looks at the base path, loads the highest version while the current one
 * serves, then swaps the pointer and frees the old one when its last request has gone. If a version
 * cannot be loaded, the old one goes on serving. served_model.h has the states and the rules.
 */
#ifndef SERVER_MODELS_MANAGER_H
#define SERVER_MODELS_MANAGER_H

#include "base/clock.h"
#include "base/loop.h"
#include "server/models/served_model.h"

struct manager;

struct manager_options {
    const char *model_name, *base_path;
    int poll_wait_seconds; /* 0: look at the base path once; < 0: never */
    int load_retries_max;
    int64_t load_retry_interval_us;
    int64_t load_timeout_ms; /* of the init op, and of preparing each signature; 0: none */
    struct savedmodel_options savedmodel;
    struct budget *budget; /* pays for what runs hold; NULL: nothing does */

    /* The outside world, which tests replace. */
    struct clock *clock;
    const struct version_source *source;
    const struct servable_loader *loader;

    struct loop *loop; /* where `started` and `changed` are called */
    /* Called once. OK: a version serves. Otherwise, the wanted version has failed for good. */
    void (*started)(void *context, struct status status);
    /* Called after versions have changed state; may be NULL. One call may stand for several
     * changes. */
    void (*changed)(void *context);
    void *context;
};

struct status manager_start(const struct manager_options *options, struct manager **out);
/* Ends a load that is under way, and frees the servables: the caller has stopped using them.
 * Accepts NULL. */
void manager_stop(struct manager *manager);

/**
 * Finds the servable for a request, acquired for the caller (servable_release).
 *
 * Errors  NOT_FOUND "Servable not found for request: Latest(m)"; INVALID_ARGUMENT an unknown label
 * Threads safe
 */
struct status manager_find(struct manager *manager, struct bytes name,
                           const struct version_choice *version, struct servable **out);

/**
 * Lists the versions of the model and their states, by number, descending; in `arena`.
 *
 * Errors  NOT_FOUND no such model; no such version
 * Threads safe
 */
struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *version, struct arena *arena,
                             struct version_status **out, size_t *out_count);

#endif
