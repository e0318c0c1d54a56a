/*
 * served_model: the versions of one model: which of them the base path holds, which are wanted,
 * what state each is in, and what to do next. The states are those of TensorFlow Serving's
 * ServableState, the order of loads and unloads that of its AvailabilityPreservingPolicy or, if
 * asked for, of its ResourcePreservingPolicy.
 *
 *     START ─▶ LOADING ─▶ AVAILABLE ─▶ UNLOADING ─▶ END
 *       ▲       │  ▲ │                               ▲│
 *       │       └──┘ └── no attempt left ────────────┘│
 *       │       retry    or not wanted any more       │
 *       └──── came back, or its files have changed ───┘
 *
 * It has no thread and reads neither the clock nor the disk. Its owner (manager.c) does, and tells
 * it what it saw:
 *
 *     served_model_see(model, &found);                     what the base path holds now
 *     struct model_step step = served_model_begin_step(model, STEP_ANY, now_ns);
 *     STEP_LOAD    load the version, then served_model_end_load
 *     STEP_UNLOAD  nothing: the version waits for its last request
 *     STEP_FREE    free step.servable, whose last request has gone, then served_model_end_free
 *     STEP_NONE    nothing: sleep until served_model_retry_time, or for a moment if it
 *                  is draining (nothing tells when a request goes)
 *
 * Threads  The owner locks: requests read what its threads change. Several threads may load and
 *          free versions of one model at the same time, each between its own two calls.
 */
#ifndef SERVER_MODELS_SERVED_MODEL_H
#define SERVER_MODELS_SERVED_MODEL_H

#include "server/models/model_config.h"
#include "server/models/servable.h"
#include "server/models/source.h"

/* START: known, not loaded yet. END: unloaded, or failed (then `error` is set). */
enum version_state { STATE_START, STATE_LOADING, STATE_AVAILABLE, STATE_UNLOADING, STATE_END };

struct model_version {
    int64_t number;
    char *directory;
    enum version_state state;
    bool wanted;
    bool loading; /* an attempt is under way; false while LOADING: the version waits for the next */
    bool present; /* the base path held it when it was last seen */
    bool ended;   /* its load was told to end: nobody wants the version any more */
    int attempts; /* to load it, since it was last at START */
    int64_t load_began_ns, retry_at_ns;
    uint64_t bytes;                   /* of the files that its load reads; set by the owner */
    uint64_t tried_files, seen_files; /* fingerprints: before the last attempt, and the last seen */
    bool mended;                      /* its files have changed since the attempt that failed */
    enum status_code error_code;
    char *error;               /* of the last attempt; NULL: it has not failed */
    struct servable *servable; /* while AVAILABLE or UNLOADING */
    struct model_version *next;
};

struct served_model_options {
    const char *name;
    int load_retries_max; /* attempts after the first */
    int64_t load_retry_interval_ns;
    /* Old versions go before new ones are loaded, for models of which two do not fit. Requests get
     * NOT_FOUND in between. */
    bool resource_preserving;
    void (*changed)(void *context); /* a version is in another state; may be NULL */
    void *context;
};

struct served_model {
    struct served_model_options options;
    const struct model_config *config; /* NULL: no version is wanted */
    struct model_version *versions;    /* by number, descending */
    bool unloaded; /* by a client, although it is configured: no version is wanted */
    bool gave_way; /* the last load was ended for a newer version */
    int freeing;   /* versions that are being freed */
};

void served_model_init(struct served_model *model, const struct served_model_options *options);
/* The owner has freed the servables (served_model_take_servable). */
void served_model_finish(struct served_model *model);

/* Sets the policy and the labels, which live until they are replaced. NULL: the model is not served
 * any more, and all its versions will be unloaded. */
void served_model_configure(struct served_model *model, const struct model_config *config);

/* Unloads all versions, or lets served_model_see find them again. */
void served_model_set_unloaded(struct served_model *model, bool unloaded);

/* Takes note of the versions in the base path, of which the policy wants some. A version that has
 * failed or was unloaded starts again if it was gone in between, or if it is wanted and its files
 * have changed. */
void served_model_see(struct served_model *model, const struct source_versions *found);

/* Compares the files of the versions that have failed with those of the attempt. The next
 * served_model_see starts a version again if they have changed since, and have stayed the same from
 * one look to the next: the version was seen in the middle of a copy, which is complete now.
 *
 * `fingerprint` reads the disk. served_model_list_failed gives the directories, for a look without
 * the lock. */
struct failed_version {
    int64_t number;
    char *directory;
    uint64_t files; /* the fingerprint, which the owner fills in */
};
/* Lists the versions that have failed, in the heap. */
size_t served_model_list_failed(const struct served_model *model, struct failed_version **out);
/* Takes note of the fingerprints, and frees the list. */
void served_model_note_failed(struct served_model *model, struct failed_version *failed,
                              size_t count);

/* Has the model what it needs to serve? */
enum model_outcome {
    MODEL_PENDING, /* a wanted version may still become available */
    MODEL_SERVES,
    MODEL_FAILED, /* the wanted versions have failed for good */
    MODEL_EMPTY,  /* no version is wanted */
};
/* MODEL_FAILED: *failed is the highest version that has. */
enum model_outcome served_model_outcome(const struct served_model *model,
                                        const struct model_version **failed);

enum { STEP_LOAD = 1, STEP_UNLOAD = 2, STEP_FREE = 4, STEP_NONE = 0 };
#define STEP_ANY (STEP_LOAD | STEP_UNLOAD | STEP_FREE)

struct model_step {
    unsigned kind;
    struct model_version *version; /* unless STEP_NONE */
    /* STEP_FREE: the caller's, and the version's bytes: meanwhile it may be loaded again. */
    struct servable *servable;
    uint64_t bytes;
};

/* Chooses the next step among those of these kinds and begins it. Steps that free memory come
 * first. */
struct model_step served_model_begin_step(struct served_model *model, unsigned kinds,
                                          int64_t now_ns);

/* The servable of a STEP_FREE is freed. A version that has come back meanwhile starts again. */
void served_model_end_free(struct served_model *model, struct model_version *version);

/* Call this before the version's files are read, with their fingerprint; without the lock. */
void served_model_set_tried_files(struct model_version *version, uint64_t files);

/* Asked during a load: should it end, because the version has gone, or because a newer one is
 * wanted? Of two loads in a row, at most one ends for a newer version. Otherwise, if new versions
 * came faster than one loads, no load would ever finish. */
bool served_model_should_end_load(struct served_model *model, struct model_version *version);

/* Ends the load, either with `servable`, which the model then owns, or with a failure. */
void served_model_end_load(struct served_model *model, struct model_version *version,
                           struct status status, struct servable *servable, int64_t now_ns);

/* The time at which the next attempt of a load is due; CLOCK_NEVER: none is. */
int64_t served_model_retry_time(const struct served_model *model);
/* Is a version UNLOADING? Nothing tells when its last request goes. */
bool served_model_is_draining(const struct served_model *model);

/* Is the model not configured any more, and are its versions unloaded? */
bool served_model_has_ended(const struct served_model *model);
/* The memory of its versions, without their servables. */
size_t served_model_bytes(const struct served_model *model);

/* Takes a servable out of the model, for the caller to free; NULL: there is none left. */
struct servable *served_model_take_servable(struct served_model *model);

/* The version that a request asks for: SPECIFIC carries a number, LABELLED a label. */
struct version_choice {
    enum { VERSION_LATEST, VERSION_SPECIFIC, VERSION_LABELLED } kind;
    int64_t number;
    struct bytes label;
};

/* Replaces a label by the number of the version that it stands for; false: there is no such label.
 */
bool served_model_resolve(const struct served_model *model, struct version_choice *choice);

/* Is this version AVAILABLE? */
bool served_model_is_available(const struct served_model *model, int64_t number);

/* The AVAILABLE version that the request asks for, acquired for the caller; NULL: there is none.
 * The request has no label (served_model_resolve). */
struct servable *served_model_acquire(const struct served_model *model,
                                      const struct version_choice *choice);

/* A row of GET /v1/models/m and of GetModelStatus. */
struct version_status {
    int64_t number;
    const char *state; /* "AVAILABLE" */
    struct status status;
};

/* The versions that the request asks for, by number, descending; in `arena`. A version that was
 * never wanted is left out, as in TensorFlow Serving, which never hears of it. */
size_t served_model_list(const struct served_model *model, const struct version_choice *choice,
                         struct arena *arena, struct version_status **out);

#endif
