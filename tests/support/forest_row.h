/* forest_row: runs a forest of unknown size on rows of all kinds of values. */
#ifndef SUPPORT_FOREST_ROW_H
#define SUPPORT_FOREST_ROW_H

#include <math.h>
#include <stdlib.h>

#include "runtime/kernels/forests/forest.h"

/* Runs a row of numbers i, each third one missing, and a set of one value in each column. */
static inline void forest_run_row(const struct forest *forest)
{
    size_t count = (size_t)forest->sums_count + (size_t)forest->trees_count +
                   (size_t)forest->outputs_count + 2;
    for (int i = 0; i < FOREST_INPUTS; i++)
        count += (size_t)forest->columns[i];
    float *numbers = calloc(count, sizeof *numbers), *sums = calloc(count, sizeof *sums),
          *out = calloc(count, sizeof *out);
    int32_t *values = calloc(count, sizeof *values), *leaves = calloc(count, sizeof *leaves);
    int64_t *splits = calloc(count, sizeof *splits);
    for (size_t i = 0; i < count; i++) {
        values[i] = (int32_t)i - 1;
        numbers[i] = i % 3 == 0 ? NAN : (float)i;
        splits[i] = (int64_t)i;
    }
    struct forest_features features = { numbers, numbers, values, values, splits };
    forest_predict(forest, &features, 0, sums, out);
    forest_leaves(forest, &features, 0, leaves);
    free(numbers), free(sums), free(out), free(values), free(leaves), free(splits);
}

#endif
