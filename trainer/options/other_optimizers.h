/*
 * other_optimizers: --optimizer_for, which gives some variables another optimizer than the job's.
 *
 *     wide*=ftrl(learning_rate=0.1, l1_regularization_strength=0.01); *_table*=adagrad
 *
 * The optimizers and their defaults are those of --optimizer, and their settings have Keras' names.
 * The rate is constant. The first pattern (as of a shell) that fits a variable's name counts.
 */
#ifndef TRAINER_OPTIONS_OTHER_OPTIMIZERS_H
#define TRAINER_OPTIONS_OTHER_OPTIMIZERS_H

#include "layers/layers.h"
#include "trainer/client/client.h"

/**
 * names: [count], of the job's variables, by which its optimizer_of is indexed.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  INVALID_ARGUMENT not of this form, an unknown optimizer or setting, a pattern that no
 *         name fits, more than OPTIMIZERS_MAX - 1; UNIMPLEMENTED see optimizer_can_be_another
 */
struct status other_optimizers_read(const char *text, const char *const *names, int count,
                                    struct arena *arena, struct client_job *job);

/**
 * Sets job->optimizer_of for its others, which are those of a MultiOptimizer with these patterns:
 * [others_count]. A pattern fits a variable's name, or the same behind the name of the model. The
 * name itself counts first, as a plain text; then patterns, of which only one may fit.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  INVALID_ARGUMENT several patterns fit a variable, or one is no regular expression;
 *         UNIMPLEMENTED parts of Python's expressions that POSIX lacks
 */
struct status other_optimizers_match(const struct layers_other_optimizer *patterns,
                                     const char *model, const char *const *names, int count,
                                     struct arena *arena, struct client_job *job);

/* A variable of the job, as Muon sees it. */
struct muon_variable {
    const char *name;
    bool is_matrix;
};

/**
 * If the job's optimizer is muon, gives AdamW to the variables that no pattern has given another
 * one and that Keras' Muon trains by it: all but matrices, and embeddings unless exclude_embeddings
 * is 0. Its rate is the job's times adam_lr_ratio.
 *
 * Owner   what it sets in `job` lives in the arena
 * Errors  UNIMPLEMENTED more than OPTIMIZERS_MAX - 1; INVALID_ARGUMENT a setting of muon
 */
struct status other_optimizers_beside_muon(const struct muon_variable *variables, int count,
                                           struct arena *arena, struct client_job *job);

#endif
