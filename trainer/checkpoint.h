/*
 * checkpoint: what a job keeps to go on from: every variable under its name, the optimizer's slots
 * and scalars under TensorFlow's (`dense/kernel/Adam_1`, `beta1_power`), and `global_step`, as a
 * bundle that TensorFlow reads; and the way back, also from a bundle that TensorFlow wrote.
 *
 *     struct checkpoint *checkpoint;
 *     TRY(checkpoint_open(&layout, "ckpt/model.ckpt-100", &checkpoint));     names and shapes fit
 *     job.global_step = checkpoint->global_step;
 *     status = client_begin(client, &job, &checkpoint->state);
 *     checkpoint_close(checkpoint);
 */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "storage/bundle.h"
#include "trainer/client.h"

struct checkpoint_layout {
    const struct placement
        *placement; /* names, dtypes and shapes; where the pieces are does not matter */
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX];
};

/* The optimizer's initial settings and the job's over them. INVALID_ARGUMENT: no such optimizer or
 * setting. */
struct status checkpoint_layout_init(struct checkpoint_layout *layout,
                                     const struct placement *placement,
                                     const struct client_job *job);

/* Writes the bundle `prefix` chunk by chunk. The snapshot has slots. */
struct status checkpoint_write(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, const char *prefix);

struct checkpoint {
    struct client_state state;  /* first: the values and slots, read when they are asked for */
    struct value_source source; /* the values alone, for the exporter */
    const struct checkpoint_layout *layout;
    const char *prefix;
    struct bundle *bundle;
    struct arena *arena;
    uint64_t global_step;
    float scalars[OPTIMIZER_SCALARS_MAX];
    int slots_missing;        /* of those that the optimizer has, for all variables */
    const char *slot_missing; /* the first one's name */
    bool has_global_step;
    struct tensor tensor; /* asked for last */
    struct bytes rest;    /* of it: what source.next has to give */
};

/**
 * Opens a bundle and checks that it fits. Slots that it has not begin anew. Values that are NaN or
 * infinite are OUT_OF_RANGE when they are read: the job that wrote it had diverged.
 *
 * Errors  NOT_FOUND no such bundle; DATA_LOSS damaged: another one may do;
 *         FAILED_PRECONDITION it lacks a variable; INVALID_ARGUMENT another shape or type
 */
struct status checkpoint_open(const struct checkpoint_layout *layout, const char *prefix,
                              struct checkpoint **out);
void checkpoint_close(struct checkpoint *checkpoint); /* accepts NULL */

#endif
