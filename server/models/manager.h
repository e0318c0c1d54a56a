/*
 * manager: finds, loads, swaps and frees the versions of the served models.
 *
 * A thread polls the base paths, loads the versions that each model's policy wants while the
 * current ones serve, then frees the old ones after their last requests. It has a low priority once
 * the server has started. If a version cannot be loaded, the old one continues to serve.
 * served_model.h has the states and the rules of one model. Loads and frees may have separate
 * threads.
 *
 * A configuration is applied at once, in the calling thread: that of manager_start, of
 * manager_reload, or the manager's own when --model_config_file has changed. A model that it omits
 * is unloaded. Its name stays known, with its versions at END, until such models take too much
 * memory.
 *
 * Locks  One mutex. A request holds it to find its model in a hash map and to take a reference,
 *        unless its loop has cached the servable (servable_cache.h); the manager's threads hold it
 *        for one step of one model at a time, and never while they read the disk, load or free.
 */
#ifndef SERVER_MODELS_MANAGER_H
#define SERVER_MODELS_MANAGER_H

#include "base/clock.h"
#include "base/loop.h"
#include "server/models/served_model.h"

struct manager;

struct manager_options {
    int poll_wait_seconds; /* 0: poll a base path once; < 0: never */
    int load_retries_max;
    int64_t load_retry_interval_us;
    int64_t load_timeout_ms; /* for the init op, and for preparing each signature; 0: none */
    bool resource_preserving;
    int load_threads, unload_threads; /* 0: the manager's own thread does it */
    int start_threads;                /* additional loading threads, until `started` is called */
    uint64_t memory_bytes;   /* limit for all versions and requests together; 0: no limit */
    bool labels_in_advance;  /* a new label may refer to a version that is not available yet */
    bool keep_going;         /* models that fail or have no versions do not delay the start */
    const char *config_file; /* polled every config_poll_wait_seconds; NULL or <= 0: never */
    int config_poll_wait_seconds;
    struct savedmodel_options savedmodel;
    struct budget *budget;             /* charged for the memory of runs; NULL: not charged */
    struct model_limits_table *limits; /* limits of each model's requests; NULL: none */
    /* The rules by which requests form batches. NULL: as they arrive. If each version has its
     * own parameters, these only enable batching. */
    const struct batching *batching;
    bool batching_per_version;

    /* Opens the request log of a model whose configuration has one. `must_be_open`: only finds
     * an open one. NULL: no request logs, and such a configuration is refused. close_log is
     * called for each opened log when its configuration has been replaced. */
    struct status (*open_log)(void *context, const char *prefix, bool must_be_open, uint64_t *out);
    void (*close_log)(void *context, uint64_t id);
    void *log_context;

    /* Called with a version before it serves. NULL: no warm-up. A failure fails the load. */
    struct status (*warm_up)(void *context, struct servable *servable, const char *directory,
                             const struct work_limits *limits);
    void *warm_up_context;

    /* External dependencies, which tests replace. */
    struct clock *clock;
    const struct version_source *source;
    const struct servable_loader *loader;

    int loops;         /* number of threads with a servable_cache, numbered from 1 */
    struct loop *loop; /* in which `started` and `changed` are called */
    /* Called once. OK: each model has a version that serves. Otherwise, all wanted versions of a
     * model have failed permanently. */
    void (*started)(void *context, struct status status);
    /* Called after versions have changed state; may be NULL. One call may cover several changes. */
    void (*changed)(void *context);
    void *context;
};

/**
 * Applies the first configuration and starts the threads.
 *
 * Owner   the manager takes `configs`, even if it fails
 * Errors  those of manager_reload; UNIMPLEMENTED a custom_model_config
 */
struct status manager_start(const struct manager_options *options, struct model_configs *configs,
                            struct manager **out);
/* Ends loads in progress, and begins none. A waiting reload ends with UNAVAILABLE. Serving
 * versions continue, for requests already received. */
void manager_end_loads(struct manager *manager);
/* Ends loads in progress, and frees the servables, which the caller no longer uses. A waiting
 * reload never ends. Accepts NULL. */
void manager_stop(struct manager *manager);

/**
 * Replaces the configuration. If it fails, nothing has changed. Otherwise `done` is called in the
 * thread of `loop` once each new model has a version that serves, or has failed permanently
 * (UNKNOWN).
 *
 * Owner   the manager takes `configs`, even if it fails
 * Errors  INVALID_ARGUMENT another platform; FAILED_PRECONDITION a label for a version that is not
 *         available; a custom_model_config; RESOURCE_EXHAUSTED the new models exceed the
 *         budget
 * Threads safe
 */
struct status manager_reload(struct manager *manager, struct model_configs *configs,
                             struct loop *loop, void (*done)(void *context, struct status status),
                             void *context);

/* The same in two steps, for callers that do not yet know whether anybody waits for the models.
 * One of the last two follows the first; the second calls `done` as above. Threads: safe. */
struct models_waiter;
struct status manager_replace(struct manager *manager, struct model_configs *configs,
                              struct models_waiter **out);
void manager_wait(struct models_waiter *waiter, struct loop *loop,
                  void (*done)(void *context, struct status status), void *context);
void manager_forget_waiter(struct models_waiter *waiter);

/**
 * Unloads all versions of a configured model, each after its last request, or loads the model
 * again; if it is loaded, polls its base path now. It stays unloaded until it is loaded, or until a
 * configuration omits it. `done` is called in the thread of `loop` once no version serves or, after
 * a load, once one does or has failed (UNKNOWN).
 *
 * Errors  NOT_FOUND it is not configured
 * Threads safe
 */
struct status manager_set_unloaded(struct manager *manager, struct bytes name, bool unloaded,
                                   struct loop *loop,
                                   void (*done)(void *context, struct status status),
                                   void *context);

/**
 * Finds the servable for a request, acquired for the caller (servable_release).
 *
 * Errors  NOT_FOUND "Servable not found for request: Latest(m)"; INVALID_ARGUMENT an unknown label
 * Threads safe
 */
struct status manager_find(struct manager *manager, struct bytes name,
                           const struct version_choice *version, struct servable **out);

/* Is the config file read again and again? *out_accepted: it was not refused when it was read last.
 * Threads: safe. */
bool manager_polls_config_file(struct manager *manager, bool *out_accepted);

/* Is there, or was there, a model of this name? Threads: safe. */
bool manager_knows(struct manager *manager, struct bytes name);

/* Calls `visit` for each model, with the lock held: it must neither take long nor call the
 * manager. May miss models that are added or removed meanwhile. Threads: safe. */
void manager_visit_models(struct manager *manager,
                          void (*visit)(void *context, const struct served_model *model),
                          void *context);

/* Drops outdated entries of the calling thread's servable_cache. Each thread with a cache calls
 * it after `changed`: a version is not freed while a cache holds it. */
void manager_refresh_cache(struct manager *manager);

/* The latest version of the first model that serves, acquired for the caller; NULL: none. */
struct servable *manager_find_any(struct manager *manager);

/**
 * Lists the versions of the model and their states, by number, descending; in `arena`.
 *
 * Errors  NOT_FOUND no such model; no such version
 * Threads safe
 */
struct status manager_status(struct manager *manager, struct bytes name,
                             const struct version_choice *version, struct arena *arena,
                             struct version_status **out, size_t *out_count);

/* Is the model in the configuration? It need not have a version. */
bool manager_is_configured(struct manager *manager, struct bytes name);

/* A model that is configured. */
struct model_listing {
    const char *name;
    bool serves;                     /* it has a version that serves */
    bool unloaded;                   /* by a client */
    struct version_status *versions; /* as in manager_status */
    size_t versions_count;
};

/* Lists the configured models, in the order of their first mention; in `arena`. `unready`: only
 * those that should serve and do not. Threads: safe. */
size_t manager_list(struct manager *manager, struct arena *arena, bool unready,
                    struct model_listing **out);

#endif
