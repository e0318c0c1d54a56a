/*
 * idx_records: reads IDX files of images row by row, plain or gzip (idx.h).
 *
 * `image` has the numbers of an image, from 0 to 255. `label` comes from the file beside it whose
 * name has `labels` and `idx1` in place of `images` and `idx3`, with or without .gz, as those of
 * MNIST, Fashion-MNIST, KMNIST and EMNIST: `train-images-idx3-ubyte` and
 * `train-labels-idx1-ubyte`. Without such a file there is no column `label`.
 *
 * There are no bad records: damage ends the file.
 */
#ifndef TRAINER_RECORDS_IDX_RECORDS_H
#define TRAINER_RECORDS_IDX_RECORDS_H

#include "trainer/records/record_reader.h"

extern const struct record_format idx_format;

#endif
