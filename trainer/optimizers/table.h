/*
 * table: the optimizers that pstrain knows, one row each, in the order of their names.
 */
#ifndef TRAINER_OPTIMIZERS_TABLE_H
#define TRAINER_OPTIMIZERS_TABLE_H

#include "trainer/optimizers/optimizer.h"

extern const struct optimizer optimizer_rows[]; /* [optimizer_rows_count] */
extern const size_t optimizer_rows_count;

#endif
