/*
 * table: the optimizers that pstrain knows, one row each, in the order of their names.
 */
#ifndef TRAINER_OPTIMIZERS_TABLE_H
#define TRAINER_OPTIMIZERS_TABLE_H

#include "trainer/optimizers/optimizer.h"

/* Other tables have the same number of rows; `table.c` checks this at compile time. */
#define OPTIMIZER_ROWS_COUNT 24

extern const struct optimizer optimizer_rows[OPTIMIZER_ROWS_COUNT];

#endif
