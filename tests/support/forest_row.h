/* forest_row: limits the memory of a forest that is read, and runs a forest of any size on rows of
 * all kinds of values. */
#ifndef SUPPORT_FOREST_ROW_H
#define SUPPORT_FOREST_ROW_H

#include <math.h>
#include <stdlib.h>

#include "runtime/kernels/forests/forest.h"

/* The `may_take` of a forest_source, whose argument is a size_t: the bytes that are left. */
static inline struct status forest_take_memory(void *argument, size_t bytes)
{
    size_t *left = argument;
    if (bytes > *left)
        return status_error(STATUS_RESOURCE_EXHAUSTED, "%zu bytes", bytes);
    *left -= bytes;
    return status_ok();
}

/* A group of rows that are walked together, and some that are not. */
#define FOREST_ROWS 11

static inline float forest_number(uint32_t *seed)
{
    static const float edges[] = { NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1.0f, 1e-40f };
    *seed = *seed * 1664525 + 1013904223;
    uint32_t random = *seed >> 8;
    return random % 3 == 0 ? edges[random / 3 % COUNT(edges)] : (float)(random % 2001) / 500 - 2;
}

/* Sets have one value in each column. */
static inline void forest_fill_features(size_t count, float *numbers, int32_t *values,
                                        int64_t *splits)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < count; i++) {
        numbers[i] = forest_number(&seed);
        values[i] = (int32_t)(i * 7 % 45) - 2;
        splits[i] = (int64_t)i;
    }
}

/* Runs rows as the ops do, and plainly. False: the answers differ in a bit. */
static inline bool forest_run_rows(const struct forest *forest)
{
    size_t count = 1, outputs = FOREST_ROWS * (size_t)forest->outputs_count;
    for (int i = 0; i < FOREST_INPUTS; i++)
        count += FOREST_ROWS * (size_t)forest->columns[i];
    float *numbers = calloc(count, sizeof *numbers), *out = calloc(outputs, sizeof *out),
          *plain = calloc(outputs, sizeof *plain);
    int32_t *values = calloc(count, sizeof *values),
            *leaves = calloc((size_t)forest->trees_count + 1, sizeof *leaves);
    int64_t *splits = calloc(count, sizeof *splits);
    void *scratch = malloc(forest_scratch_bytes(forest));
    forest_fill_features(count, numbers, values, splits);
    struct forest_features features = { numbers, numbers, values, values, splits };
    forest_predict(forest, &features, 0, FOREST_ROWS, scratch, out);
    forest_predict_plainly(forest, &features, 0, FOREST_ROWS, plain);
    forest_leaves(forest, &features, FOREST_ROWS - 1, leaves);
    bool same = memcmp(out, plain, outputs * sizeof *out) == 0;
    free(numbers), free(out), free(plain), free(values), free(leaves), free(splits), free(scratch);
    return same;
}

#endif
