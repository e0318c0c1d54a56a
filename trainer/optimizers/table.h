/*
 * table: the optimizers that pstrain knows, a row each, in the order of their names.
 */
#ifndef TRAINER_OPTIMIZERS_TABLE_H
#define TRAINER_OPTIMIZERS_TABLE_H

#include "trainer/optimizers/optimizer.h"

/* Other tables have as many rows, and `table.c` does not compile if it has not. */
#define OPTIMIZER_ROWS_COUNT 23

extern const struct optimizer optimizer_rows[OPTIMIZER_ROWS_COUNT];

#endif
