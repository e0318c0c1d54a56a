/* manager_internal: shared by the files of the manager: manager.c (threads, requests),
 * manager_poll.c (base paths), manager_load.c (loads, frees) and manager_config.c (configurations,
 * and the callers that wait for them). */
#ifndef SERVER_MODELS_MANAGER_INTERNAL_H
#define SERVER_MODELS_MANAGER_INTERNAL_H

#include "base/map.h"
#include "server/models/manager.h"

/* One model. It is freed with the manager, or some time after a configuration has removed it. */
struct managed_model {
    char *name;
    struct served_model model;
    int users;                 /* polls and waiters, which use it while the lock is released */
    int64_t paid;              /* from the budget */
    bool polled;               /* its base path has been read since it was configured */
    uint64_t poll_epoch;       /* changes when a poll in progress has become outdated */
    int64_t poll_at_ns;        /* when to read the base path next; CLOCK_NEVER: not again */
    char *problem;             /* the last logged problem of the base path; NULL: none */
    int64_t problem_logged_ns; /* when */
};

/* A caller that waits until models serve. */
struct models_waiter {
    struct managed_model **models; /* [count] */
    size_t count, settled;         /* the first `settled` models serve or have failed */
    size_t failed_count;
    struct buffer failures; /* "{{name: m version: 1} due to error: …}, " for each that failed */
    bool keep_going;        /* a failed model counts as absent, and one without versions as
                             * settled */
    bool needs_versions;    /* a model without versions in its base path has failed */
    bool until_unloaded;    /* waits until no version serves */
    bool given_up;          /* because loads were ended */
    const char *noun;       /* "servable" or "model", for the text of a failure */
    void (*done)(void *context, struct status status); /* NULL: nobody waits yet */
    void *context;
    struct manager *manager;
    struct loop *loop;     /* where `done` is called */
    struct loop_task task; /* posted once all models are settled; its `work` is NULL before */
    struct models_waiter *next;
};

struct manager {
    struct manager_options options;
    _Atomic uint64_t generation; /* incremented when results of manager_find change; see
                                  * servable_cache.h */
    struct served_model_options model_options;
    pthread_t thread;
    pthread_t *workers; /* that load or free only */
    int workers_count;
    bool has_workers; /* constant, unlike their count, which grows while the first ones run */

    pthread_mutex_t lock;   /* everything below */
    pthread_cond_t changed; /* there may be work for the manager's thread */
    pthread_cond_t work;    /* there may be work for the workers */
    uint64_t events;        /* incremented by everything that may have made work */
    struct model_configs *configs;
    struct map models; /* of struct managed_model by name, in the order of their first mention */
    struct models_waiter *waiters;
    uint64_t loading_bytes; /* of the versions being loaded */
    int64_t poll_at_ns;     /* no base path is due earlier; each model has its own time */
    int64_t config_poll_at_ns;
    uint64_t config_hash; /* of the file that was applied last; 0: the last one was no file */
    char *config_problem; /* why the config file was not applied; NULL: it was */
    bool runs;            /* its thread has begun, so manager_start can no longer fail */
    bool starting, stopping, change_posted;
    bool ends_loads; /* the server goes down */
    struct loop_task changed_task;
};

static inline int64_t manager_now_ns(const struct manager *manager)
{
    return clock_now_ns(manager->options.clock);
}

/* The model at index *i of the map or after it, and advances *i; NULL: none left. While the lock
 * is released, models may be added or removed: an iteration may miss some, and the thread that
 * added them wakes the others. Called with the lock held. */
static inline struct managed_model *manager_next_model(const struct manager *manager, size_t *i)
{
    while (*i < manager->models.count) {
        struct managed_model *model = manager->models.entries[(*i)++].value;
        if (model != NULL) /* otherwise it was removed from the map */
            return model;
    }
    return NULL;
}

/* Frees a model that was removed from the map, with its servables. */
void manager_destroy_model(struct manager *manager, struct managed_model *model);

/* Sets the time of the next poll of the model's base path. Called with the lock held. */
static inline void manager_schedule_poll(struct manager *manager, struct managed_model *model,
                                         int64_t at_ns)
{
    model->poll_at_ns = at_ns;
    if (at_ns < manager->poll_at_ns)
        manager->poll_at_ns = at_ns;
}

/* The memory of a model without its versions. */
size_t manager_model_bytes(const char *name);

/* Wakes the threads, because there may be new work. Called with the lock held. */
void manager_wake(struct manager *manager);

/* manager_poll.c: reads the config file and the base paths that are due. The lock is not held. */
void manager_poll(struct manager *manager);

/* manager_load.c. Called without the lock. */

/* Executes one step of these kinds. Returns false if there is nothing to do now. `alone`: this
 * thread also polls base paths, and continues that during a load. */
bool manager_take_step(struct manager *manager, unsigned kinds, bool alone);
/* The time of the next work, unless something happens earlier. */
int64_t manager_wake_time(struct manager *manager);

/* manager_config.c. */

/* Checks and applies a configuration, which the manager then owns. Takes the lock. */
struct status manager_apply(struct manager *manager, struct model_configs *configs,
                            struct models_waiter *waiter);
struct models_waiter *manager_waiter_create(struct manager *manager, const char *noun,
                                            void (*done)(void *context, struct status status),
                                            void *context);
/* Reads the config file if that is due. Called without the lock. */
void manager_poll_config(struct manager *manager);
/* Notifies waiters whose models have all been settled. Called with the lock held. */
void manager_notify_waiters(struct manager *manager);
void manager_free_waiters(struct manager *manager);

#endif
