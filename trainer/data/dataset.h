/*
 * dataset: rows in memory, with the same number of features and an answer each, as a data_split.
 * Its columns are
 *
 *     x       float [?, width]; bytes 0 … 255 are scaled by 1 / 255
 *     labels  classes: int32 [?]; targets: float [?, target_width]
 */
#ifndef TRAINER_DATA_DATASET_H
#define TRAINER_DATA_DATASET_H

#include "trainer/data/batch_source.h"

/* The rows of a split. Features are bytes or floats, and answers are classes or targets; the
 * other pointers are NULL. */
struct dataset {
    uint32_t rows;
    uint32_t width; /* features in a row */
    const uint8_t *bytes;
    const float *floats;
    const uint8_t *classes;
    const float *targets;  /* target_width per row */
    uint32_t target_width; /* 1 for classes */
    uint32_t class_count;  /* the largest class + 1; 0 for targets */
};

/* A checksum of all rows and their answers: two tasks with the same checksum have the same data.
 * Takes about 9 ms for the 55000 rows of MNIST. */
uint32_t dataset_checksum(const struct dataset *dataset);

/* Copies row rows[i] to features + i · width, and its answer to `classes` or `targets`,
 * whichever the dataset has. */
void dataset_gather(const struct dataset *dataset, const uint32_t *rows, uint32_t count,
                    float *features, int32_t *classes, float *targets);

struct dataset_split {
    struct data_split split; /* first */
    struct dataset rows;
    struct data_column columns[2];
};

/* Makes `out` the split of these rows (> 0), whose memory outlives it. It must not move. */
void dataset_split_init(struct dataset_split *out, const struct dataset *rows);

#endif
