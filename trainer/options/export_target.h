/*
 * export_target: the part of options_read that chooses the directory and the format of the export.
 */
#ifndef TRAINER_OPTIONS_EXPORT_TARGET_H
#define TRAINER_OPTIONS_EXPORT_TARGET_H

#include "trainer/options/options.h"

/* positional: DIR on the command line; NULL: none. INVALID_ARGUMENT: flags that exclude each other;
 * ALREADY_EXISTS: the directory is taken, and the export in it cannot be this job's own. */
struct status options_choose_export(const char *positional, struct arena *arena,
                                    struct options *out);

#endif
