/*
 * feed_fault: finds the value of a batch that made its loss infinite or NaN.
 */
#ifndef TRAINER_INPUTS_FEED_FAULT_H
#define TRAINER_INPUTS_FEED_FAULT_H

#include "trainer/inputs/feeder.h"

/**
 * Looks for a NaN or an infinite value in the feeder's data. Appends to `out` the row of the batch
 * that has it and, if the data are files, its place: for this it reads the files from the
 * beginning. Returns false if all values are finite.
 */
bool feed_fault_find(const struct feeder *feeder, const struct data_split *split,
                     struct buffer *out);

#endif
