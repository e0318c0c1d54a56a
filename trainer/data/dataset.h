/*
 * dataset: rows of features and answers in memory, and where they come from.
 *
 * Images come from IDX files with MNIST's names, or are drawn by digits.h: bytes 0 … 255, which
 * dataset_gather scales by 1 / 255, with classes as answers. The linear data is made here: x
 * uniform in [0, 1), y = 0.1 x + 0.3.
 *
 * The first twelfth of the training images, at most 5000, is held out for validation, as
 * TensorFlow's MNIST tutorials do.
 */
#ifndef TRAINER_DATA_DATASET_H
#define TRAINER_DATA_DATASET_H

#include "base/bytes.h"

/* Rows of one part. Features are bytes or floats, and answers are classes or targets; the other
 * pointers are NULL. */
struct dataset {
    uint32_t rows;
    uint32_t width; /* features in a row */
    const uint8_t *bytes;
    const float *floats;
    const uint8_t *classes;
    const float *targets;  /* target_width of them in a row */
    uint32_t target_width; /* 1 for classes */
    uint32_t class_count;  /* the largest class + 1; 0 for targets */
};

struct data {
    struct dataset train, validation, test;
    char *origin; /* "60000 + 10000 images from '/data'", for people */
    struct buffer storage[4];
};

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
void data_destroy(struct data *data);         /* accepts NULL */

/* A checksum of all rows and their answers: two tasks with the same one have the same data. Takes
 * about 9 ms for the 55000 rows of MNIST. */
uint32_t dataset_checksum(const struct dataset *dataset);

/* Copies row rows[i] to features + i · width, and its answer to `classes` or `targets`, as the
 * dataset has it. */
void dataset_gather(const struct dataset *dataset, const uint32_t *rows, uint32_t count,
                    float *features, int32_t *classes, float *targets);

#endif
