/*
 * class_weights: weights each row of a data_split by its class, in a column "sample_weight", for
 * classes that are rare or important. Like Keras' fit(class_weight=…), which weights only the
 * training rows.
 *
 *     TRY(class_weights_read("0:1,7:2.5", arena, &weights));     other classes: 1
 *     TRY(class_weights_apply(&weights, data->train, arena, &split));
 */
#ifndef TRAINER_DATA_CLASS_WEIGHTS_H
#define TRAINER_DATA_CLASS_WEIGHTS_H

#include "trainer/data/batch_source.h"

struct arena;

#define CLASS_WEIGHTS_MAX 1000000 /* classes */

struct class_weights {
    float *of_class; /* [count]; the weight of a larger class is 1 */
    int64_t count;
};

/* Reads "CLASS:WEIGHT,…" into `arena`. INVALID_ARGUMENT a class that is not a non-negative
 * integer or occurs twice, a weight that is not a finite non-negative number. */
struct status class_weights_read(const char *text, struct arena *arena, struct class_weights *out);

/**
 * Makes a split with the columns of `base` and the weights, which are multiplied by any weights of
 * `base`. The class of a row is its value in the column "labels": an integer, or a float that is
 * rounded.
 *
 * Owner   *out lives in `arena`; base and the weights outlive it
 * Errors  INVALID_ARGUMENT the labels are not one class per row, or a class of the text is beyond
 *         the data's
 */
struct status class_weights_apply(const struct class_weights *weights,
                                  const struct data_split *base, struct arena *arena,
                                  const struct data_split **out);

#endif
