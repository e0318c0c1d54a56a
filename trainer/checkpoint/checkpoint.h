/*
 * checkpoint: the state from which a job can continue: every variable under its name, the
 * optimizer's slots and scalars under TensorFlow's names (`dense/kernel/Adam_1`, `beta1_power`),
 * and `global_step`; for Keras' LossScaleOptimizer `dynamic_scale`, float, and int64 `step_counter`
 * and `skipped_steps`; for an asynchronous job also `input_position`, int64: the rows of a turn,
 * then the position in the turns (trainer/protocol/share_table.h). It is written as a bundle that
 * TensorFlow can read, and can be read from a bundle that TensorFlow wrote.
 *
 *     struct checkpoint *checkpoint;
 *     TRY(checkpoint_open(&layout, "ckpt/model.ckpt-100", &checkpoint));     checks names and
 *     shapes
 *     job.global_step = checkpoint->global_step;
 *     status = client_begin(client, &job, &checkpoint->state);
 *     checkpoint_close(checkpoint);
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_H
#define TRAINER_CHECKPOINT_CHECKPOINT_H

#include "storage/bundle.h"
#include "trainer/checkpoint/checkpoint_layout.h"
#include "trainer/client/snapshot.h"

/* Writes the bundle `prefix` chunk by chunk. The snapshot must have slots. */
struct status checkpoint_write(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, const char *prefix);

struct checkpoint {
    struct client_state state;  /* first: reads values and slots on demand */
    struct value_source source; /* reads only the values, for the exporter */
    int trained_part;           /* the part of a trained variable that it reads: 0, or the
                                 * average */
    const struct checkpoint_layout *layout;
    const char *prefix;
    struct bundle *bundle;
    struct arena *arena;
    uint64_t global_step;
    float scalars[JOB_SCALARS_MAX]; /* of all optimizers, concatenated */
    int slots_missing;              /* over all variables */
    const char *slot_missing;       /* the first one's name */
    bool has_global_step;
    /* The position in the rows, in turns of layout->rows_per_turn: [position_count]; NULL: none. */
    const uint64_t *position;
    size_t position_count;
    struct loss_scale loss_scale;    /* the layout's initial scale if the bundle has none */
    struct row_place place;          /* of a synchronous job; readers is 0 if the bundle has none */
    struct checkpoint_table *tables; /* [variables_count], of hash tables; NULL until needed */
    struct key_values table;         /* what `source` reads instead of a stream, if it is open */
    struct tensor keys;              /* the part of a hash table that was read last */
    struct bundle_stream stream;     /* of the part being read */
    const char *name;                /* of its variable */
    bool checks_values;              /* the part has values, which must be finite */
};

/**
 * Opens a bundle and checks that it matches the layout. Missing slots get their initial values.
 * Reading a value that is NaN or infinite fails with OUT_OF_RANGE: the job that wrote it had
 * diverged.
 *
 * Errors  NOT_FOUND no such bundle; DATA_LOSS damaged (another one may be intact);
 *         FAILED_PRECONDITION it lacks a variable; INVALID_ARGUMENT another shape or type
 */
struct status checkpoint_open(const struct checkpoint_layout *layout, const char *prefix,
                              struct checkpoint **out);
void checkpoint_close(struct checkpoint *checkpoint); /* accepts NULL */

/* Reads the step of a bundle, and the number of rows that were consumed before it, in the
 * endless sequence of epochs. Returns false if it has no position or cannot be read. */
bool checkpoint_read_place(const char *prefix, uint64_t *step, uint64_t *rows);

#endif
