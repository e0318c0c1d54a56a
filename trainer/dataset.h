/*
 * dataset: rows of features and answers in memory, and where they come from.
 *
 *     images   from IDX files of MNIST's names, or drawn by digits.h: bytes 0 … 255, given as x /
 * 255; answers are classes linear   the founding reports' own data: x uniform in [0, 1), y = 0.1 x
 * + 0.3
 *
 * Of training images the first twelfth, at most 5000, is held out for validation, as the tutorials
 * do.
 */
#ifndef TRAINER_DATASET_H
#define TRAINER_DATASET_H

#include "base/bytes.h"

/* Rows of one part. Features are bytes or floats, answers classes or targets: the other pointer is
 * NULL. */
struct dataset {
    uint32_t rows;
    uint32_t width; /* features of a row */
    const uint8_t *bytes;
    const float *floats;
    const uint8_t *classes;
    const float *targets;  /* target_width of them to a row */
    uint32_t target_width; /* 1 for classes */
    uint32_t class_count;  /* the largest class + 1; 0 for targets */
};

struct data {
    struct dataset train, validation, test;
    char *origin; /* "MNIST files in '/data'", "70000 digits drawn here": for people */
    struct buffer storage[4];
};

/**
 * Reads train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
 * t10k-labels-idx1-ubyte from `directory`; each plain or with .gz behind its name. Without the two
 * of t10k there are no test rows.
 *
 * Owner   *out: data_destroy
 * Errors  NOT_FOUND a file; DATA_LOSS a damaged one, or images and labels that do not belong
 * together; all name it
 */
struct status data_read_images(const char *directory, struct data **out);

struct data *data_draw_digits(void);          /* 60 000 + 10 000, always the same */
struct data *data_draw_linear(uint64_t seed); /* 10 000 + 1 000 */
void data_destroy(struct data *data);         /* accepts NULL */

/* Copies row rows[i] to features + i · width and its answer to `classes` or `targets`, whichever
 * the dataset has. */
void dataset_gather(const struct dataset *dataset, const uint32_t *rows, uint32_t count,
                    float *features, int32_t *classes, float *targets);

#endif
