/*
 * other_optimizers: --optimizer_for, which gives some variables another optimizer than the job's.
 *
 *     wide*=ftrl(learning_rate=0.1, l1_regularization_strength=0.01); *_table*=adagrad
 *
 * The optimizers and their defaults are those of --optimizer, and their settings have Keras' names.
 * The rate is constant. The first shell pattern that matches a variable's name counts.
 */
#ifndef TRAINER_OPTIONS_OTHER_OPTIMIZERS_H
#define TRAINER_OPTIONS_OTHER_OPTIMIZERS_H

#include "layers/layers.h"
#include "trainer/client/create.h"

/**
 * names: [count], of the job's variables; optimizer_of has the same indices.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  INVALID_ARGUMENT another form, an unknown optimizer or setting, a pattern that matches no
 *         name, more than OPTIMIZERS_MAX - 1; UNIMPLEMENTED see optimizer_can_be_another
 */
struct status other_optimizers_read(const char *text, const char *const *names, int count,
                                    struct arena *arena, struct client_job *job);

/**
 * Sets job->optimizer_of for its others, which come from a MultiOptimizer with these patterns:
 * [others_count]. A pattern may match a variable's name with or without the model's name in front.
 * A pattern that equals the name as plain text wins; otherwise exactly one pattern may match.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  INVALID_ARGUMENT several patterns match a variable, or one is not a regular expression;
 *         UNIMPLEMENTED parts of Python's expressions that POSIX lacks
 */
struct status other_optimizers_match(const struct layers_other_optimizer *patterns,
                                     const char *model, const char *const *names, int count,
                                     struct arena *arena, struct client_job *job);

/* The properties of a variable that matter to Muon. */
struct muon_variable {
    const char *name;
    bool is_matrix;
};

/**
 * If the job's optimizer is muon, assigns AdamW to the variables without another optimizer that
 * Keras' Muon trains by it: all but matrices, and embeddings unless exclude_embeddings is 0. Its
 * rate is the job's times adam_lr_ratio.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  UNIMPLEMENTED more than OPTIMIZERS_MAX - 1; INVALID_ARGUMENT a setting of muon
 */
struct status other_optimizers_beside_muon(const struct muon_variable *variables, int count,
                                           struct arena *arena, struct client_job *job);

#endif
