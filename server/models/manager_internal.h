/* What the files of the manager share: manager.c (threads, requests), manager_load.c (looks, loads,
 * frees) and manager_config.c (configurations, and who waits for them). */
#ifndef SERVER_MODELS_MANAGER_INTERNAL_H
#define SERVER_MODELS_MANAGER_INTERNAL_H

#include "base/map.h"
#include "server/models/manager.h"

/* One model. It is freed with the manager, or a while after a configuration has removed it. */
struct managed_model {
    char *name;
    struct served_model model;
    int users;             /* looks and waiters, which use it between two times that they lock */
    int64_t paid;          /* from the budget */
    bool seen;             /* its base path has been read since it was configured */
    uint64_t looks;        /* changes when a look that is under way has become useless */
    int64_t look_at_ns;    /* when the base path is read next; CLOCK_NEVER: not again */
    char *complaint;       /* what was logged about the base path last; NULL: nothing is wrong */
    int64_t complained_ns; /* when */
};

/* Somebody who waits until models serve. */
struct models_waiter {
    struct managed_model **models; /* [count] */
    size_t count, settled;         /* the first `settled` models serve or have failed */
    size_t failed_count;
    struct buffer failures; /* "{{name: m version: 1} due to error: …}, " for each that failed */
    bool keep_going;        /* a failed model is none, and one without versions is settled */
    bool needs_versions;    /* a model whose base path has none has failed */
    bool until_unloaded;    /* waits until no version serves */
    bool given_up;          /* because loads were ended */
    const char *noun;       /* "servable" or "model", in the text of a failure */
    void (*done)(void *context, struct status status);
    void *context;
    struct manager *manager;
    struct loop *loop;     /* where `done` is called */
    struct loop_task task; /* posted once all models are settled; its `work` is NULL before */
    struct models_waiter *next;
};

struct manager {
    struct manager_options options;
    _Atomic uint64_t generation; /* changes with what manager_find finds; see servable_cache.h */
    struct served_model_options model_options;
    pthread_t thread;
    pthread_t *workers; /* that load or free only */
    int workers_count;
    bool has_workers; /* constant, unlike their count, which grows while the first ones run */

    pthread_mutex_t lock;   /* everything below */
    pthread_cond_t changed; /* there may be work for the manager's thread */
    pthread_cond_t work;    /* there may be work for the workers */
    uint64_t events;        /* counts what may have made work */
    struct model_configs *configs;
    struct map models; /* of struct managed_model by name, in the order of their first mention */
    struct models_waiter *waiters;
    uint64_t loading_bytes; /* of the versions that are being loaded */
    int64_t look_at_ns;     /* no base path is due before; the models have their own times */
    int64_t config_poll_at_ns;
    char *config_problem; /* why the config file was not applied; NULL: it was */
    bool runs;            /* its thread has begun, so that manager_start cannot fail any more */
    bool starting, stopping, change_posted;
    bool ends_loads; /* the server goes down */
    struct loop_task changed_task;
};

static inline int64_t manager_now_ns(const struct manager *manager)
{
    return clock_now_ns(manager->options.clock);
}

/* The model at place *i of the map or after it, and moves *i behind it; NULL: there is none left.
 * While the lock is given up, models come and go: a walk may then miss some, and the thread that
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

/* Frees a model that is not in the map any more, with its servables. */
void manager_destroy_model(struct manager *manager, struct managed_model *model);

/* Sets the time at which the model's base path is read next. Called with the lock held. */
static inline void manager_schedule_look(struct manager *manager, struct managed_model *model,
                                         int64_t at_ns)
{
    model->look_at_ns = at_ns;
    if (at_ns < manager->look_at_ns)
        manager->look_at_ns = at_ns;
}

/* What a model takes beside its versions. */
size_t manager_model_bytes(const char *name);

/* Wakes the threads, because something may have made work. Called with the lock held. */
void manager_wake(struct manager *manager);

/* manager_load.c. Called without the lock. */

/* Reads the config file and the base paths that are due. */
void manager_look(struct manager *manager);
/* Takes one step of one of these kinds; false: there is nothing to do now. `alone`: this thread
 * also looks at base paths, and goes on with that during a load. */
bool manager_take_step(struct manager *manager, unsigned kinds, bool alone);
/* The time until which there is nothing to do, unless something happens. */
int64_t manager_wake_time(struct manager *manager);

/* manager_config.c. */

/* Checks and applies a configuration, which goes to the manager. Takes the lock. */
struct status manager_apply(struct manager *manager, struct model_configs *configs,
                            struct models_waiter *waiter);
struct models_waiter *manager_waiter_create(struct manager *manager, const char *noun,
                                            void (*done)(void *context, struct status status),
                                            void *context);
/* Reads the config file if that is due. Called without the lock. */
void manager_poll_config(struct manager *manager);
/* Tells those waiters whose models have all been settled. Called with the lock held. */
void manager_tell_waiters(struct manager *manager);
void manager_free_waiters(struct manager *manager);

#endif
