/*
 * hyperparameters: a JSON file of flags, whose keys are the flags' names:
 *
 *     {"model": "mlp", "batch_size": 128, "learning_rate": 0.1, "sync": true}
 *
 * They come before the command line, so that the command line wins.
 */
#ifndef TRAINER_FLAGS_HYPERPARAMETERS_H
#define TRAINER_FLAGS_HYPERPARAMETERS_H

#include "base/arena.h"
#include "base/flags.h"

/**
 * Inserts the flags of the file that --hyperparameters names, if it is given, before the
 * other arguments. *shown: the file's flags, "batch_size=128 sync=true"; "" without a file.
 *
 * Owner   *argv and *shown live in `arena`
 * Errors  INVALID_ARGUMENT not such a file; a key that is no flag, or a value that is no text,
 *         number or truth; those of the file system
 */
struct status hyperparameters_insert(const struct flag_set *set, int *argc, char ***argv,
                                     struct arena *arena, const char **shown);

#endif
