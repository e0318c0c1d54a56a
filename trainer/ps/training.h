/*
 * training: how the slices of a generation are trained: the optimizers and the learning rate.
 */
#ifndef TRAINER_PS_TRAINING_H
#define TRAINER_PS_TRAINING_H

#include "trainer/optimizers/optimizer.h"
#include "trainer/optimizers/schedule.h"
#include "trainer/protocol/protocol.h"

/* The optimizer of some slices. */
struct training_rule {
    const struct optimizer *optimizer;
    float rate;  /* for rule 0: the initial rate, if there is a schedule */
    float ratio; /* above 0: a multiple of rule 0's rate, which replaces its own */
    float settings[OPTIMIZER_SETTINGS_MAX];
    bool all_rows; /* a gradient of some rows also changes the others */
};

struct training {
    struct training_rule rules[OPTIMIZERS_MAX]; /* the first one is the job's */
    int rules_count;
    struct schedule schedule;  /* of rule 0's rate */
    uint64_t batches_per_step; /* counted by the schedule: gradient_accumulation_steps */
};

/**
 * Chooses the optimizers and the schedule that a Create names, and checks that they can train its
 * pieces, which are consistent (created_pieces.h).
 *
 * Errors  INVALID_ARGUMENT an unknown optimizer, setting or schedule, too many optimizers, a wrong
 *         number of scalars; UNIMPLEMENTED an optimizer that cannot train a piece
 */
struct status training_choose(const struct create_request *request, struct training *out);

/* The index of a rule's first scalar in the concatenated scalars of all rules. */
int training_first_scalar(const struct training *training, int rule);

#endif
