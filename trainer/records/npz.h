/*
 * npz: reads the files of numpy.savez and savez_compressed: ZIP archives of .npy arrays.
 *
 * An array `x.npy` is the column `x`. Dimension 0 is the row; the others are a row's values, in
 * their order. All requested arrays have the same number of rows. Arrays of integers and booleans
 * may be requested as integers or floats, arrays of floats only as floats. Arrays of text are not
 * read.
 *
 * Files are read row by row, so they may be larger than memory. There are no bad records: damage
 * ends the file.
 */
#ifndef TRAINER_RECORDS_NPZ_H
#define TRAINER_RECORDS_NPZ_H

#include "trainer/records/record_reader.h"

extern const struct record_format npz_format;

#endif
