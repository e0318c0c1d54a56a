/*
 * checkpoint_layout: the contents of a job's checkpoint, and their keys.
 */
#ifndef TRAINER_CHECKPOINT_CHECKPOINT_LAYOUT_H
#define TRAINER_CHECKPOINT_CHECKPOINT_LAYOUT_H

#include "trainer/client/create.h"

#define CHECKPOINT_STEP     "global_step"
#define CHECKPOINT_POSITION "input_position"
#define CHECKPOINT_READERS  "input_readers"
/* Keras' names: the scale, and the steps that are not iterations. */
#define CHECKPOINT_SCALE    "dynamic_scale"
#define CHECKPOINT_COUNTER  "step_counter"
#define CHECKPOINT_SKIPPED  "skipped_steps"

struct layout_optimizer {
    const struct optimizer *optimizer;
    float settings[OPTIMIZER_SETTINGS_MAX];
};

struct checkpoint_layout {
    const struct placement *placement; /* names, dtypes and shapes; the pieces are not used */
    struct layout_optimizer optimizers[OPTIMIZERS_MAX]; /* the first one is the job's */
    const int *optimizer_of;                /* [variables_count]; NULL: the first one for all */
    uint64_t rows_per_turn;                 /* 0: the job has no position in its rows */
    uint64_t rows_per_unit, units_per_step; /* for a synchronous job, whose turns have one row */
    struct loss_scale loss_scale;           /* the initial scale; 0: no loss scaling */
};

/* The optimizer of a variable. */
const struct layout_optimizer *checkpoint_layout_of(const struct checkpoint_layout *layout,
                                                    int variable);

/* Takes the optimizer's initial settings, overridden by the job's. INVALID_ARGUMENT: no such
 * optimizer or setting. */
struct status checkpoint_layout_init(struct checkpoint_layout *layout,
                                     const struct placement *placement,
                                     const struct client_job *job);

/* The number of parts of a variable: its value, and its slots if it is trained. */
int checkpoint_layout_parts(const struct checkpoint_layout *layout, int variable);
/* The key of a part; NULL: not in checkpoints. */
const char *checkpoint_layout_key(const struct checkpoint_layout *layout, int variable, int part,
                                  struct arena *arena);

/* Is there an optimizer of this index? */
bool checkpoint_layout_has(const struct checkpoint_layout *layout, int optimizer);
/* The key of a scalar. As in TensorFlow, a second optimizer's key ends in "_1" if the first has
 * the same. NULL: not in checkpoints. */
const char *checkpoint_layout_scalar_key(const struct checkpoint_layout *layout, int optimizer,
                                         int scalar, struct arena *arena);

#endif
