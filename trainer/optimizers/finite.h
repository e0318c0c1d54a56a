/*
 * finite: checks that values have not diverged (NaN or infinite).
 */
#ifndef TRAINER_OPTIMIZERS_FINITE_H
#define TRAINER_OPTIMIZERS_FINITE_H

#include "base/bytes.h"

/* Are all floats finite? */
bool finite_all(struct bytes floats);

/**
 * Checks all floats of a variable, or a run of them.
 *
 * Errors  OUT_OF_RANGE names the variable and the first value that is not finite
 */
struct status finite_check(const char *variable, struct bytes floats);

#endif
