/*
 * client: a task's interface to the ps tasks: joins the job, pulls values, pushes gradients. The
 * chief also begins generations (create.h), and reads snapshots (snapshot.h). One client per
 * thread.
 *
 *     client_init(&client, &options);
 *     TRY(client_join(&client, true, timeout_ms));
 *     TRY(client_pull(&client));
 *     … client.values[v] → gradients[v] …
 *     TRY(client_push(&client, gradients, true));       values are the new ones
 *
 * For a variable by rows, client_select_rows chooses the rows before a pull (or a push that pulls),
 * and the gradient covers only some rows. A variable by keys has 64-bit keys instead of row
 * numbers.
 *
 * If the pieces of a variable are contiguous in memory, its values are used in place; otherwise
 * they are copied into a buffer of the client.
 */
#ifndef TRAINER_CLIENT_CLIENT_H
#define TRAINER_CLIENT_CLIENT_H

#include "rpc/call_group.h"
#include "trainer/protocol/placement.h"
#include "trainer/protocol/row_ids.h"
#include "trainer/protocol/row_place.h"

/* The gradient of a variable; for a variable by rows it is sparse, like TensorFlow's
 * IndexedSlices. */
struct variable_gradient {
    const float *values; /* in the variable's shape; indexed: [rows.count, row]. Not read if the
                          * variable is not trainable */
    struct row_ids rows; /* indexed: the rows, or keys, with a gradient */
    bool of_values;      /* these are all rows of client->values, and no others were pulled since */
};

struct ps_client_options {
    const char *cluster; /* borrowed, like all pointers here */
    const char *task;    /* its name: "worker 3", "chief" */
    const char *ps_list; /* the ps tasks' addresses; "" within one process */
    const char *agreed;  /* "seed=1 batch_size=100": settings that all training tasks must share;
                          * NULL: "" */
    uint32_t index;      /* its rank: 0 is the chief */
    bool reader;         /* it only pulls and takes snapshots, and has no rank */
    bool second;         /* its snapshots are beside those of another client of the chief */
    uint64_t incarnation;
    const struct placement *placement;
    struct channel *const *channels; /* [placement->ps_count] */
    size_t chunk_bytes_max;          /* limit of the values in one message; 0: CLIENT_CHUNK_BYTES */
    int64_t call_timeout_ms;         /* for one pull or push; negative: no timeout */
    int64_t attempt_timeout_ms; /* a call without an answer is retried after this time; 0: never.
                                 * For channels that may silently lose a call */
};

/* Half the limit of a message, and the limit of a piece. Smaller chunks would save no memory:
 * the chunks of one pull or push are in flight together. */
#define CLIENT_CHUNK_BYTES PLACEMENT_PIECE_MAX

/* The share of one ps in a single message: pieces [first_piece, end_piece) of those that it
 * holds. The chunks of a ps cover all ids. */
struct client_chunk {
    int ps;
    int first_piece, end_piece;
    size_t size_bytes;  /* of all values of these pieces; must fit in a message */
    size_t reply_bytes; /* of the values that the pull in flight requests */
};

/* The rows of one piece within the sorted rows of its variable. */
struct piece_rows {
    size_t first, count; /* in the list */
};

/* A list of rows as a message carries it. */
struct encoded_rows {
    size_t offset, size; /* in a buffer */
    uint64_t count;      /* rows */
};

/* Keras' LossScaleOptimizer, as far as a worker needs it. */
struct client_scaling {
    float scale;      /* of the loss, for the values of the last pull; 0: no loss scaling */
    uint64_t skipped; /* earlier steps that changed no variable */
    /* The gradients of the next push are not all finite. Set it before the push, which clears
     * it. */
    bool overflowed;
};

/* A push that reached some ps tasks and will never reach the others. */
struct client_push_mark {
    uint32_t worker;
    uint64_t incarnation, sequence, generation;
};

#define CLIENT_GIVEN_UP_MAX 16

/* The rows and keys of pulls and pushes. All NULL without variables by rows or keys. */
struct client_rows {
    struct row_ids *wanted;             /* [variables_count]: set by client_select_rows */
    struct row_ids *held;               /* [variables_count]: the rows of client->values */
    uint64_t *first_rows;               /* [pieces_count]: number of rows on the same ps before
                                         * this piece */
    struct piece_rows *pulled, *pushed; /* [pieces_count]: of the calls in flight */
    struct row_ids_writer *lists;       /* [chunks_count]: the encoded lists of rows in these
                                         * calls */
    struct encoded_rows *pulled_lists;  /* [chunks_count]: the last pull's part of `lists` */
    bool pushes_pulled;                 /* the push in flight has these rows, encoded already */
    struct client_keys *keys;           /* for variables by keys; NULL if there are none */
};

struct ps_client {
    struct ps_client_options options;

    /* The job, as the ps tasks have reported it. */
    uint64_t generation;      /* the one that this client has joined or begun; 0: none */
    uint64_t generation_seen; /* the largest that any ps has reported */
    uint64_t created;         /* the last one that this client has begun; 0: none */
    uint64_t *incarnations;   /* [ps_count]: of each ps when this client joined it; 0: not yet */
    uint64_t begin_step;      /* the first step of the generation */
    struct row_place begin_place; /* position in the rows, for a synchronous job */
    uint64_t stop_step;           /* the last step: set by the chief, or earlier by client_stop.
                                   * 0: unknown */
    char *trains;                 /* how the ps tasks train: client_job_text; NULL: unknown */
    bool lead_is_limited;         /* by job.lead_max: see client_pass */
    bool spare;                   /* steps may be made without its push: job.backup_workers */
    bool joined;                  /* all ps tasks have admitted it at least once */
    bool open;                    /* all ps tasks have complete values of the same generation */
    bool finished;                /* the ps tasks reported that nothing is left to do */
    bool told;                    /* client_await has received the job's outcome */
    int outcome_ps; /* the ps to ask for the outcome: ps 0, or another one if ps 0 was restarted
                     * and lost it */
    _Atomic bool leaving; /* it is reporting its end, which must not be interrupted */

    /* Steps. */
    uint64_t global_step;
    uint64_t *steps;     /* [ps_count]: the step of each ps at the last pull */
    bool torn;           /* at the last pull, some ps tasks had made a step that others lacked */
    uint64_t sequence;   /* the number of the last push */
    uint64_t pass_until; /* the last push that needs no further pass after it */
    struct client_scaling scaling;
    struct client_shares *shares; /* the turns that this task was given: shares.h */
    int64_t replied_ns; /* time of ps 0's last reply to a push or to a call that keeps its turn */
    double *totals;     /* [totals_count]: for the next push, see totals.h; NULL: not kept */
    size_t totals_count;

    /* Values. */
    const void **values;     /* [variables_count]: of the last pull or push that pulls */
    void **assembled;        /* [variables_count]: contiguous copies; NULL until needed */
    size_t *assembled_bytes; /* [variables_count]: sizes of `assembled` */
    struct client_rows rows;
    /* A pull returns the default value for a key without a row, as evaluation requires, instead
     * of its initial value. Set before the pull. */
    bool evaluates;

    /* Calls. */
    struct call_group calls; /* one per chunk of a pull or push; values point into the replies */
    struct client_chunk *chunks; /* [chunks_count]: the units of pulls and pushes, by ps and
                                  * piece */
    int chunks_count;
    int *chunk_of;                   /* [pieces_count]: the chunk that each piece is in */
    struct payload_cursor *payloads; /* [chunks_count]: read position in each reply */
    struct bytes *pieces; /* [pieces_count + chunks_count]: payloads of the calls in flight */
    struct call_group side_calls;  /* for single calls beside `calls`, whose replies hold the
                                    * values */
    _Atomic uint64_t side_replies; /* number of replies to client_call_single */

    /* Snapshots. */
    uint64_t snapshots;                                    /* the number of the last one */
    struct client_push_mark given_up[CLIENT_GIVEN_UP_MAX]; /* snapshots no longer wait for these */
    unsigned given_up_count;
};

void client_init(struct ps_client *client, const struct ps_client_options *options);
void client_finish(struct ps_client *client);

/* Ends the waiting calls of this client with CANCELLED. Called from another thread. */
void client_interrupt(struct ps_client *client);

/* Copies the generation and the ps tasks from another client of this process that has joined. */
void client_follow(struct ps_client *client, const struct ps_client *other);

/* Joins every ps. With wait_until_created, also waits until the chief has created the variables. */
struct status client_join(struct ps_client *client, bool wait_until_created, int64_t timeout_ms);

/* ABORTED: a ps was restarted or has begun another generation, so the job returns to an earlier
 * step. */
struct status client_check(struct ps_client *client);

/* Requests rows of a variable by rows or keys at the next pull, or push that pulls; its values
 * are then [count, row]. The rows are borrowed until that call returns and forgets them: a later
 * pull gets no rows unless they are requested again. */
void client_select_rows(struct ps_client *client, int variable, struct row_ids rows);

/**
 * Pulls the values of one step. If a worker died after its push had reached only some ps tasks,
 * these have made a step that the others lack. The pull then returns the values before that step,
 * so that a replacement worker computes the same gradients, which the other ps tasks still need.
 *
 * Errors  ABORTED the ps tasks have no common step: join again; INVALID_ARGUMENT wanted rows that
 *         do not ascend or are not in their variable
 */
struct status client_pull(struct ps_client *client);

/* Pulls again the rows that `values` has; the borrowed row numbers must still be valid. */
struct status client_pull_again(struct ps_client *client);

/* OUT_OF_RANGE: a value of the last pull or push is NaN or infinite. */
struct status client_check_values(const struct ps_client *client);

/* Applies one update on all ps tasks. gradients: [variables_count]. Invalidates the values of
 * the last pull. INVALID_ARGUMENT: rows do not ascend or are out of range; nothing was pushed. */
struct status client_push(struct ps_client *client, const struct variable_gradient *gradients,
                          bool pull);

/* Must this worker of a job with bounded staleness get a pass after its next push, before it
 * pulls? */
bool client_needs_pass(const struct ps_client *client);

/* Waits until no other worker is too far behind. */
struct status client_pass(struct ps_client *client);

/* Reports how this task ended. job: this is the chief, and the job ended the same way. */
struct status client_report(struct ps_client *client, struct status outcome, bool job);

/* Ends the training of all tasks early: at the current step or, in a synchronous job, after the
 * step in progress. Sets client->stop_step, and keeps client->values. */
struct status client_stop(struct ps_client *client);

/* Waits until all joined workers have ended or, with `job`, until the job has an outcome, which
 * is returned. A negative timeout waits indefinitely. */
struct status client_await(struct ps_client *client, bool job, int64_t timeout_ms);

/* For the log: whom or what a ps waits for, such as "worker 2 (last heard from 7 s ago) to
 * finish"; "" for nothing, or if the ps does not answer. */
void client_describe_wait(struct ps_client *client, int ps, char *out, size_t size);

#endif
