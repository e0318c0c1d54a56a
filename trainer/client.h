/*
 * client: what a worker and the chief know of the ps tasks: joins the job, pulls values, pushes
 * gradients, reads snapshots. One client per thread.
 *
 *     client_init(&client, &options);
 *     TRY(client_join(&client, true, timeout_ms));
 *     TRY(client_pull(&client));
 *     … client.values[v] → gradients[v] …
 *     TRY(client_push(&client, gradients, true));       values are the new ones
 *
 * Values of a variable whose pieces lie in one run (the same ps, no cut between) are used where
 * they are; others are put together in a buffer of the client's.
 */
#ifndef TRAINER_CLIENT_H
#define TRAINER_CLIENT_H

#include "rpc/calls.h"
#include "savedmodel/save.h"
#include "trainer/optimizer.h"
#include "trainer/placement.h"

struct client_options {
    const char *cluster; /* borrowed, as all pointers here */
    const char *task;    /* its name: "worker 3", "chief" */
    const char *ps_list; /* the ps tasks' addresses; "" within one process */
    const char *agreed; /* "seed=1 batch_size=100": what all that train must have alike; NULL: "" */
    uint32_t index;     /* its rank: 0 is the chief */
    bool reader;        /* it only pulls and takes snapshots, and has no rank */
    uint64_t incarnation;
    const struct placement *placement;
    struct channel *const *channels; /* [placement->ps_count] */
    int64_t call_timeout_ms;         /* of one pull or push; negative: none */
    int64_t attempt_timeout_ms;      /* a call unanswered for so long is sent again; 0: never. For
                                        channels that may lose one without a word */
};

/* A push that reached some ps tasks and never came to the others. */
struct client_push_mark {
    uint32_t worker;
    uint64_t incarnation, sequence, generation;
};

#define CLIENT_GIVEN_UP_MAX 16

struct client {
    struct client_options options;
    struct calls calls; /* the last pull's or push's: its replies are what values point into */
    uint64_t generation, sequence, snapshots; /* pushes and snapshots are counted */
    uint64_t generation_seen;                 /* the largest that any ps told */
    uint64_t *incarnations; /* [ps_count]: of the ps tasks it has joined; 0: not yet */
    uint64_t *steps;        /* [ps_count]: where each was when it was pulled from */
    uint64_t global_step;
    uint64_t begin_step; /* where the generation began */
    uint64_t stop_step;  /* where the job ends, by the chief's word; 0: not known */
    bool joined;         /* once, by all ps tasks */
    bool open;           /* all ps tasks have their values, of one generation */
    bool torn;           /* some ps tasks had made a step that others lack (client_pull) */
    bool finished;       /* the ps tasks said that there is nothing left to do */
    bool told;           /* client_await knows the job's outcome */
    int outcome_ps; /* asked for it: ps 0, unless it was started anew since and another knows */
    _Atomic bool leaving;     /* says its last words, which are not to be interrupted */
    const void **values;      /* [variables_count] */
    void **assembled;         /* [variables_count]; NULL until needed */
    struct payload *payloads; /* [ps_count]: where each reply is read */
    struct bytes *pieces;     /* [pieces_count]: of the push in flight */
    struct client_push_mark given_up[CLIENT_GIVEN_UP_MAX]; /* snapshots wait for these no more */
    unsigned given_up_count;
};

void client_init(struct client *client, const struct client_options *options);
void client_finish(struct client *client);

/* Ends a wait of this client from another thread: its calls end with CANCELLED. */
void client_interrupt(struct client *client);

/* Makes itself known to every ps; with wait_until_created also waits for the chief to create the
 * variables. */
struct status client_join(struct client *client, bool wait_until_created, int64_t timeout_ms);

/* ABORTED: a ps that was joined is not what it was, and the job has to go back. */
struct status client_check(struct client *client);

struct client_setting {
    const char *name;
    float value;
};

struct client_job {
    const char *optimizer;
    float learning_rate;
    const struct client_setting *settings;
    int settings_count;
    uint32_t workers;
    bool sync;
    uint64_t global_step, stop_step;
    const float *scalars; /* the optimizer's, as a checkpoint had them; NULL: as they begin */
};

/* What a generation of the job begins with. */
struct client_state {
    /* All bytes of a part of a variable (0: values; 1, 2, …: the optimizer's slots), valid until
     * the next call. NULL data: a slot that begins as the optimizer says. */
    struct status (*get)(struct client_state *state, int variable, int part, struct bytes *out);
};

/* The chief's: begins the generation after all that it has seen, on all ps tasks. */
struct status client_begin(struct client *client, const struct client_job *job,
                           struct client_state *state);

/* The same with these first values, [variables_count], each as large as its variable. */
struct status client_create(struct client *client, const struct client_job *job,
                            const void *const *values);

/**
 * The values of one step. If a worker died when its push had reached some ps tasks only, these have
 * made a step that the others lack. The values are then those before that step: a worker that takes
 * its place makes the same gradients from them, which the others still need.
 *
 * Errors  ABORTED the ps tasks are at no common step: join again
 */
struct status client_pull(struct client *client);

/* OUT_OF_RANGE: a value of the last pull or push is NaN or infinite. */
struct status client_check_values(const struct client *client);

/* gradients: [variables_count]; NULL for what is not trainable. Values of before are invalid when
 * it returns. */
struct status client_push(struct client *client, const float *const *gradients, bool pull);

/* How this task ended; job: it is the chief, and so did the job. */
struct status client_report(struct client *client, struct status outcome, bool job);

/* Waits for all workers that joined to end; or, job, for the outcome of the job, which is the
 * status. A negative timeout: for ever. */
struct status client_await(struct client *client, bool job, int64_t timeout_ms);

/* Whom ps 0 waits for, for people: "worker 2 (last heard of 7 s ago) to finish"; "" for nobody, or
 * when it does not answer. */
void client_ask_whom(struct client *client, char *out, size_t size);

/* A consistent snapshot as a source of values for the exporter. Reading a value that is NaN or
 * infinite fails with OUT_OF_RANGE: it is neither exported nor saved. */
struct client_snapshot {
    struct value_source source; /* first */
    struct client *client;
    uint64_t number;                      /* by which the ps tasks know it */
    uint64_t *ids;                        /* by ps */
    uint64_t global_step;                 /* the cut's */
    float scalars[OPTIMIZER_SCALARS_MAX]; /* the optimizer's; with slots only */
    int variable, part, piece;            /* what `next` reads */
    size_t offset;
    struct message chunk;
};

/* slots: with the optimizer's slots and scalars, all of the same moment. */
struct status client_snapshot_begin(struct client *client, bool slots, int64_t timeout_ms,
                                    struct client_snapshot *out);

/* As source.begin, for any part of a variable: 0 its values, 1, 2, … the optimizer's slots. Then
 * source.next. */
void client_snapshot_select(struct client_snapshot *snapshot, int variable, int part);
void client_snapshot_end(struct client_snapshot *snapshot);

#endif
