/*
 * checkpoint: the state from which a job can continue: every variable under its name, the
 * optimizer's slots and scalars under TensorFlow's names (`dense/kernel/Adam_1`, `beta1_power`),
 * and `global_step`; of Keras' LossScaleOptimizer `dynamic_scale`, float, and int64 `step_counter`
 * and `skipped_steps`; of an asynchronous job also `input_position`, int64: the rows of a turn,
 * then the position in the turns (trainer/protocol/share_table.h). It is written as a bundle that
 * TensorFlow can read, and can be read from a bundle that TensorFlow wrote.
 *
 *     struct checkpoint *checkpoint;
 *     TRY(checkpoint_open(&layout, "ckpt/model.ckpt-100", &checkpoint));     names and shapes fit
 *     job.global_step = checkpoint->global_step;
 *     status = client_begin(client, &job, &checkpoint->state);
 *     checkpoint_close(checkpoint);
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_H
#define TRAINER_CHECKPOINT_CHECKPOINT_H

#include "storage/bundle.h"
#include "trainer/checkpoint/checkpoint_layout.h"

/* Writes the bundle `prefix` chunk by chunk. The snapshot must have slots. */
struct status checkpoint_write(const struct checkpoint_layout *layout,
                               struct client_snapshot *snapshot, const char *prefix);

struct checkpoint {
    struct client_state state;  /* first: values and slots, each read when it is needed */
    struct value_source source; /* the values alone, for the exporter */
    int trained_part;           /* what it gives of a trained variable: 0; or the average */
    const struct checkpoint_layout *layout;
    const char *prefix;
    struct bundle *bundle;
    struct arena *arena;
    uint64_t global_step;
    float scalars[JOB_SCALARS_MAX]; /* of all optimizers in turn */
    int slots_missing;              /* over all variables */
    const char *slot_missing;       /* the first one's name */
    bool has_global_step;
    /* In the rows, in turns of layout->rows_per_turn: [position_count]; NULL: it has none. */
    const uint64_t *position;
    size_t position_count;
    struct loss_scale loss_scale;    /* the layout's first one if there is none */
    struct row_place place;          /* of a synchronous job; no readers: it does not tell */
    struct checkpoint_table *tables; /* [variables_count], of hash tables; NULL until needed */
    struct key_values table;         /* what `source` reads instead of a stream, if it is open */
    struct tensor keys;              /* the part of a hash table that was read last */
    struct bundle_stream stream;     /* of the part that is read */
    const char *name;                /* of its variable */
    bool checks_values;              /* that part has values, which must be finite */
};

/**
 * Opens a bundle and checks that it fits. Missing slots start with their initial values. Reading a
 * value that is NaN or infinite fails with OUT_OF_RANGE: the job that wrote it had diverged.
 *
 * Errors  NOT_FOUND no such bundle; DATA_LOSS damaged, another one may be intact;
 *         FAILED_PRECONDITION it lacks a variable; INVALID_ARGUMENT another shape or type
 */
struct status checkpoint_open(const struct checkpoint_layout *layout, const char *prefix,
                              struct checkpoint **out);
void checkpoint_close(struct checkpoint *checkpoint); /* accepts NULL */

/* The step of a bundle, and how many rows count that were taken before it, in the endless sequence
 * of epochs. False: it does not tell, or cannot be read. */
bool checkpoint_read_place(const char *prefix, uint64_t *step, uint64_t *rows);

#endif
