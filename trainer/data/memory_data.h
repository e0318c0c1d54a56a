/*
 * memory_data: data that fits in memory: images from IDX files with MNIST's names, drawn digits
 * (digits.h), and points of a line: x uniform in [0, 1), y = 0.1 x + 0.3.
 *
 * The first twelfth of the training images, at most 5000, is held out for validation, as
 * TensorFlow's MNIST tutorials do.
 */
#ifndef TRAINER_DATA_MEMORY_DATA_H
#define TRAINER_DATA_MEMORY_DATA_H

#include "trainer/data/batch_source.h"

/**
 * Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte from `directory`, each plain or with .gz appended to its name. Without
 * both t10k files there are no test rows.
 *
 * Owner   *out: data_destroy
 * Errors  NOT_FOUND a file is missing; DATA_LOSS a file is damaged, or images and labels do not
 *         belong together; all name the file
 */
struct status data_read_images(const char *directory, struct data **out);

struct data *data_draw_digits(void);          /* 60 000 + 10 000, always the same */
struct data *data_draw_linear(uint64_t seed); /* 10 000 + 1 000 */

#endif
