/*
 * served_model: a state machine for the versions of one model: those in the base path, those that
 * are wanted, their states, and the next step. The states are those of TensorFlow Serving's
 * ServableState. The order of loads and unloads is that of its AvailabilityPreservingPolicy or, on
 * request, of its ResourcePreservingPolicy.
 *
 *     START ─▶ LOADING ─▶ AVAILABLE ─▶ UNLOADING ─▶ END
 *       ▲       │  ▲ │                               ▲│
 *       │       └──┘ └── no attempt left ────────────┘│
 *       │       retry    or not wanted any more       │
 *       └──── came back, or its files have changed ───┘
 *
 * It has no thread and reads neither the clock nor the disk. Its owner (manager.c) does, and
 * reports what it found:
 *
 *     served_model_set_found(model, &found);       the current contents of the base path
 *     struct model_step step = served_model_begin_step(model, STEP_ANY, now_ns);
 *     STEP_LOAD    load the version, then served_model_end_load
 *     STEP_UNLOAD  nothing: the version waits for its last request
 *     STEP_FREE    free step.servable, whose last request has ended, then served_model_end_free
 *     STEP_NONE    nothing: sleep until served_model_retry_time, or for a moment if it
 *                  is draining (the end of a request is not signalled)
 *
 * Threads  The owner locks: requests read what its threads change. Several threads may load and
 *          free versions of one model at the same time, each between its own two calls.
 */
#ifndef SERVER_MODELS_SERVED_MODEL_H
#define SERVER_MODELS_SERVED_MODEL_H

#include "server/metrics/metrics.h"
#include "server/models/model_config.h"
#include "server/models/servable.h"
#include "server/models/source.h"

/* START: known, not loaded yet. END: unloaded, or failed (then `error` is set). */
enum version_state { STATE_START, STATE_LOADING, STATE_AVAILABLE, STATE_UNLOADING, STATE_END };

/* Like TensorFlow Serving, a model remembers versions that have ended and are no longer in the base
 * path, but only this many: a version each minute would otherwise take 2 MB more each day. */
#define MODEL_ENDED_VERSIONS_MAX 1000

struct model_version {
    int64_t number;
    char *directory;
    enum version_state state;
    bool wanted;
    bool loading; /* an attempt is in progress; false while LOADING: the version waits for a
                   * retry */
    bool present; /* it was in the base path when that was last read */
    bool ended;   /* its load was told to end, because the version is no longer wanted */
    int attempts; /* to load it, since it was last at START */
    int64_t load_began_ns, retry_at_ns;
    uint64_t bytes;                   /* of the files that its load reads; set by the owner */
    uint64_t tried_files, seen_files; /* fingerprints: before the last attempt, and the latest */
    bool mended;                      /* its files have changed since the failed attempt */
    enum status_code error_code;
    char *error;                         /* of the last attempt; NULL: no failure */
    struct metric_owner attempts_series; /* used by the thread that loads the version */
    struct servable *servable;           /* while AVAILABLE, or UNLOADING and not being freed yet */
    struct model_version *next;
};

struct served_model_options {
    const char *name;
    int load_retries_max; /* attempts after the first */
    int64_t load_retry_interval_ns;
    /* Unloads old versions before loading new ones, for models of which two do not fit in
     * memory. Requests get NOT_FOUND in between. */
    bool resource_preserving;
    void (*changed)(void *context); /* a version has changed state; may be NULL */
    void *context;
};

struct served_model {
    struct served_model_options options;
    const struct model_config *config; /* NULL: no version is wanted */
    struct model_version *versions;    /* by number, descending */
    bool unloaded; /* by a client, although it is configured: no version is wanted */
    bool gave_way; /* the last load was ended in favour of a newer version */
};

void served_model_init(struct served_model *model, const struct served_model_options *options);
/* The owner must have freed the servables (served_model_take_servable). */
void served_model_finish(struct served_model *model);

/* Sets the policy and the labels, which live until they are replaced. NULL: the model is no
 * longer served, and all its versions will be unloaded. */
void served_model_configure(struct served_model *model, const struct model_config *config);

/* Unloads all versions, or lets served_model_set_found find them again. */
void served_model_set_unloaded(struct served_model *model, bool unloaded);

/* Records the versions in the base path, of which the policy wants some. A version that has
 * failed or was unloaded starts again if it was absent in between, or if it is wanted and its
 * files have changed. Forgets absent versions beyond MODEL_ENDED_VERSIONS_MAX. */
void served_model_set_found(struct served_model *model, const struct source_versions *found);

/* Compares the files of the versions that have failed with those of the attempt. The next
 * served_model_set_found starts a version again if they have changed since, but not between the
 * last two polls: the version was read in the middle of a copy, which is complete now.
 *
 * `fingerprint` reads the disk. served_model_list_failed returns the directories, so that this
 * happens without the lock. */
struct failed_version {
    int64_t number;
    char *directory;
    uint64_t files; /* the fingerprint, set by the owner */
};
/* Lists the versions that have failed, on the heap. */
size_t served_model_list_failed(const struct served_model *model, struct failed_version **out);
/* Records the fingerprints, and frees the list. */
void served_model_note_failed(struct served_model *model, struct failed_version *failed,
                              size_t count);

/* Does the model have the versions that it needs? */
enum model_outcome {
    MODEL_PENDING, /* a wanted version may still become available */
    MODEL_SERVES,
    MODEL_FAILED, /* the wanted versions have failed permanently */
    MODEL_EMPTY,  /* no version is wanted */
};
/* MODEL_FAILED: *failed is the highest version that failed. */
enum model_outcome served_model_outcome(const struct served_model *model,
                                        const struct model_version **failed);

enum { STEP_LOAD = 1, STEP_UNLOAD = 2, STEP_FREE = 4, STEP_NONE = 0 };
#define STEP_ANY (STEP_LOAD | STEP_UNLOAD | STEP_FREE)

struct model_step {
    unsigned kind;
    struct model_version *version; /* unless STEP_NONE */
    struct servable *servable;     /* STEP_FREE: owned by the caller */
};

/* Chooses the next step among these kinds and begins it. Steps that free memory come first. */
struct model_step served_model_begin_step(struct served_model *model, unsigned kinds,
                                          int64_t now_ns);

/* The servable of a STEP_FREE is freed: the version is at END, or starts again if it has come back
 * meanwhile. */
void served_model_end_free(struct served_model *model, struct model_version *version);

/* Call this before reading the version's files, with their fingerprint; without the lock. */
void served_model_set_tried_files(struct model_version *version, uint64_t files);

/* Called during a load: should it end, because the version is gone, or because a newer one is
 * wanted? Of two consecutive loads, at most one ends in favour of a newer version. Otherwise, if
 * new versions appeared faster than one loads, no load would ever finish. */
bool served_model_should_end_load(struct served_model *model, struct model_version *version);

/* Ends the load, either with `servable`, which the model then owns, or with a failure. */
void served_model_end_load(struct served_model *model, struct model_version *version,
                           struct status status, struct servable *servable, int64_t now_ns);

/* The time of the next retry of a load; CLOCK_NEVER: none. */
int64_t served_model_retry_time(const struct served_model *model);
/* Does an UNLOADING version wait for its last request? The end of that is not signalled. */
bool served_model_is_draining(const struct served_model *model);

/* Is the model no longer configured, and are its versions unloaded? */
bool served_model_has_ended(const struct served_model *model);
/* The memory of its versions, without their servables. */
size_t served_model_bytes(const struct served_model *model);

/* Takes a servable out of the model, for the caller to free; NULL: none left. */
struct servable *served_model_take_servable(struct served_model *model);

/* The requested version: SPECIFIC has a number, LABELLED a label. */
struct version_choice {
    enum { VERSION_LATEST, VERSION_SPECIFIC, VERSION_LABELLED } kind;
    int64_t number;
    struct bytes label;
};

/* Replaces a label by its version number. Returns false if there is no such label. */
bool served_model_resolve(const struct served_model *model, struct version_choice *choice);

/* Is this version AVAILABLE? */
bool served_model_is_available(const struct served_model *model, int64_t number);

/* The requested AVAILABLE version, acquired for the caller; NULL: none. Labels must be resolved
 * (served_model_resolve). */
struct servable *served_model_acquire(const struct served_model *model,
                                      const struct version_choice *choice);

/* A row of GET /v1/models/m and of GetModelStatus. */
struct version_status {
    int64_t number;
    const char *state; /* "AVAILABLE" */
    struct status status;
};

/* The requested versions, by number, descending; in `arena`. Versions that were never wanted are
 * omitted, as in TensorFlow Serving, which does not know them. */
size_t served_model_list(const struct served_model *model, const struct version_choice *choice,
                         struct arena *arena, struct version_status **out);

#endif
