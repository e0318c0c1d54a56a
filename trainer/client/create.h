/*
 * create: the chief begins a generation of the job: it creates the variables on all ps tasks, fills
 * them with first values or with those of a checkpoint, and opens them to the workers.
 *
 *     TRY(client_join(&client, false, timeout_ms));
 *     TRY(client_create(&client, &job, values));           or client_create_from, client_begin
 */
#ifndef TRAINER_CLIENT_CREATE_H
#define TRAINER_CLIENT_CREATE_H

#include "trainer/client/client.h"
#include "trainer/optimizers/loss_scale.h"
#include "trainer/optimizers/optimizer.h"
#include "trainer/optimizers/schedule.h"

struct client_job {
    const char *optimizer;
    float learning_rate;      /* the initial rate, if there is a schedule */
    struct schedule schedule; /* of the learning rate */
    const struct setting_value *settings;
    int settings_count;
    uint32_t workers;
    uint32_t backup_workers; /* number of workers whose pushes a synchronous step can do without */
    uint32_t lead_max;       /* of an asynchronous job: the number of steps that a worker may be
                              * ahead of the slowest, plus 1; 0: unlimited */
    uint32_t batches_per_step; /* number of batches whose mean gradient makes a push; 0: 1 */
    bool sync;
    bool all_rows; /* a gradient of some rows also changes the others, as if their gradient were
                    * 0 */
    uint64_t global_step, stop_step;
    const float *scalars; /* of all optimizers, concatenated, from a checkpoint; NULL: the
                           * initial ones */
    /* For an asynchronous job whose rows ps 0 assigns: the rows of a turn; the maximum of turns
     * in a share (0: rows are not assigned); and the position to resume from, as in
     * share_table.h (none: at global_step). */
    uint64_t rows_per_turn, turns_per_share;
    /* For a synchronous job: the rows of a unit; the units that all workers together consume in
     * a step (0: no row position is kept); and the position at global_step, see row_place.h. */
    uint64_t rows_per_unit, units_per_step;
    struct row_place place;
    const uint64_t *position;
    size_t position_count;
    uint32_t totals_count;        /* of the metrics over all workers, see totals.h; 0: none */
    struct loss_scale loss_scale; /* at global_step */
    /* [others_count]: further optimizers of some variables; each satisfies
     * optimizer_can_be_another */
    const struct optimizer_choice *others;
    int others_count;
    const int *optimizer_of; /* [variables_count]: 0, or 1 + the index in `others`; NULL: all 0 */
};

/* The optimizer of a variable, by its number in `optimizer_of`: its name, settings and rate. */
struct optimizer_choice client_job_optimizer(const struct client_job *job, int number);
static inline int client_job_number(const struct client_job *job, int variable)
{
    return job->optimizer_of != NULL ? job->optimizer_of[variable] : 0;
}

/* The optimizers, their rates and settings, for people: "sgd learning_rate=0.1 momentum=0.9". */
const char *client_job_text(const struct client_job *job, struct arena *arena);

/* The initial values and slots of a generation, chunk by chunk. */
struct client_state {
    /* Begins a part of a variable (0: values; 1, 2, …: the optimizer's slots). *has false: the
     * slot has the optimizer's initial value. */
    struct status (*begin)(struct client_state *state, int variable, int part, bool *has);
    /* The next bytes of that part, valid until the next call; size 0: the end. */
    struct status (*next)(struct client_state *state, struct bytes *chunk);
    /* One part (row_keys.h) of a shard of a variable by keys, valid until the next call. NULL
     * data: the shard is empty, or the slot has its initial value. A NULL function: hash tables
     * begin empty. */
    struct status (*get_keys)(struct client_state *state, int variable, uint32_t shard,
                              enum key_part part, struct bytes *out);
};

/* For the chief: begins a new generation on all ps tasks, with a larger number than any it has
 * seen. */
struct status client_begin(struct ps_client *client, const struct client_job *job,
                           struct client_state *state);

/* Like client_begin, with these initial values, [variables_count], each of the size of its
 * variable. */
struct status client_create(struct ps_client *client, const struct client_job *job,
                            const void *const *values);

/* Initial values; those of variables by rows need not be in memory as a whole. */
struct initial_values {
    const void *const *whole; /* [variables_count]; NULL: filled by rows */
    void (*fill_rows)(void *context, int variable, int64_t first_row, int64_t rows_count,
                      void *out); /* may be NULL if all values are whole */
    /* Values from another source: `taken_begin` says whether it has the variable; the next
     * function returns its next bytes, valid until the next call; size 0: the end. NULL: no
     * other source. */
    struct status (*taken_begin)(void *context, int variable, bool *has);
    struct status (*taken_next)(void *context, struct bytes *chunk);
    void *context;
};

struct status client_create_from(struct ps_client *client, const struct client_job *job,
                                 const struct initial_values *values);

#endif
