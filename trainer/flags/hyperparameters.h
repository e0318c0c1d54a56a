/*
 * hyperparameters: a JSON file of flags, whose keys are the flags' names:
 *
 *     {"model": "mlp", "batch_size": 128, "learning_rate": 0.1, "sync": true}
 *
 * They are inserted before the command line's flags, which therefore win.
 */
#ifndef TRAINER_FLAGS_HYPERPARAMETERS_H
#define TRAINER_FLAGS_HYPERPARAMETERS_H

#include "base/arena.h"
#include "base/flags.h"

/**
 * Inserts the flags of the file in --hyperparameters, if given, before the other arguments. *shown:
 * the file's flags, "batch_size=128 sync=true"; "" without a file.
 *
 * If it fails because of some of the file's flags, it inserts the others: they may name the tasks
 * of the job, which are then told of the failure.
 *
 * Owner   *argv and *shown live in `arena`
 * Errors  INVALID_ARGUMENT not JSON flags; a key that is not a flag, or a value that is not a text,
 *         number or boolean; those of the file system
 */
struct status hyperparameters_insert(const struct flag_set *set, int *argc, char ***argv,
                                     struct arena *arena, const char **shown);

#endif
