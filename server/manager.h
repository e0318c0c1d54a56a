/*
 * manager: which versions of the model there are, which is wanted, and what becomes of each
 * (serving-api.md §11).
 *
 * A thread of low priority watches the base path, loads the highest version beside the one that
 * serves, swaps them by pointer and frees the old one when its last request has gone. A version
 * that fails leaves the old one serving.
 */
#ifndef SERVER_MANAGER_H
#define SERVER_MANAGER_H

#include "base/loop.h"
#include "server/servable.h"

struct manager;

struct manager_options {
    const char *model_name, *base_path;
    int poll_wait_seconds; /* 0: look once; < 0: never */
    int load_retries_max;
    int64_t load_retry_interval_us;
    int64_t load_timeout_ms; /* of the init op, and of preparing each signature; 0: none */
    struct savedmodel_options savedmodel;
    struct budget *budget; /* of what runs hold; NULL: none */

    struct loop *loop; /* where `started` is called, once */
    /* OK: a version serves. Otherwise: all that were wanted have failed for good. */
    void (*started)(void *context, struct status status);
    void (*changed)(void *context); /* a version is in another state; there too; may be NULL */
    void *context;
};

struct status manager_start(const struct manager_options *options, struct manager **out);
/* Ends a load that is under way. The caller has stopped using servables. Accepts NULL. */
void manager_stop(struct manager *manager);

/* Which version a request asks for: SPECIFIC carries a number, LABELLED a label. */
struct version_choice {
    enum { VERSION_LATEST, VERSION_SPECIFIC, VERSION_LABELLED } kind;
    int64_t number;
    struct bytes label;
};

/**
 * The servable, acquired for the caller (servable_release).
 *
 * Errors  NOT_FOUND "Servable not found for request: Latest(m)"; INVALID_ARGUMENT an unknown label
 * Threads safe
 */
struct status manager_find(struct manager *manager, struct bytes name,
                           const struct version_choice *version, struct servable **out);

/* What GET of a model's status lists. */
struct version_status {
    int64_t number;
    const char *state; /* "AVAILABLE" */
    struct status status;
};

/* In descending order, in `arena`. NOT_FOUND with the texts of §4.4. Threads: safe. */
struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *version, struct arena *arena,
                             struct version_status **out, size_t *out_count);

#endif
