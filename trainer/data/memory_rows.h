/*
 * memory_rows: rows in memory, with the same number of features and an answer each, as a
 * data_split. Its columns are
 *
 *     x       float [?, width]; bytes 0 … 255 are scaled by 1 / 255
 *     labels  classes: int32 [?]; targets: float [?, target_width]
 */
#ifndef TRAINER_DATA_MEMORY_ROWS_H
#define TRAINER_DATA_MEMORY_ROWS_H

#include "trainer/data/batch_source.h"

/* The rows of a split. Features are bytes or floats, and answers are classes or targets; the
 * other pointers are NULL. */
struct memory_rows {
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
uint32_t memory_rows_checksum(const struct memory_rows *data);

/* Copies row rows[i] to features + i · width, and its answer to `classes` or `targets`,
 * whichever the rows have. */
void memory_rows_gather(const struct memory_rows *data, const uint32_t *rows, uint32_t count,
                        float *features, int32_t *classes, float *targets);

struct memory_split {
    struct data_split split; /* first */
    struct memory_rows rows;
    struct data_column columns[2];
};

/* Makes `out` the split of these rows (> 0), whose memory outlives it. It must not move. */
void memory_split_init(struct memory_split *out, const struct memory_rows *rows);

#endif
