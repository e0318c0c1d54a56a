/*
 * feed_fault: which value of a batch made its loss infinite or NaN.
 */
#ifndef TRAINER_INPUTS_FEED_FAULT_H
#define TRAINER_INPUTS_FEED_FAULT_H

#include "trainer/inputs/feeder.h"

/**
 * Looks for a NaN or an infinite value among the data that the feeder was filled with. Appends to
 * `out` which row of the batch has it and, if the data are files, where that row is: it reads them
 * from the first one on. False: all values are finite.
 */
bool feed_fault_find(const struct feeder *feeder, const struct data_split *split,
                     struct buffer *out);

#endif
