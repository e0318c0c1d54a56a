/*
 * raw_column: a column of raw values, and its conversion to a part of a model's input. trainer/data
 * converts training data in this way, and an exported graph the values of a request
 * (layers/serving/columns.c).
 */
#ifndef TENSOR_RAW_COLUMN_H
#define TENSOR_RAW_COLUMN_H

#include "base/bytes.h"
#include "tensor/tensor_spec.h"

struct raw_column {
    struct tensor_spec spec; /* DENSE or RAGGED; float, int64 or string. DENSE: [-1, width] */
    bool log;                /* a value becomes log(1 + value), a negative one 0 */
    double mean, stddev;     /* and then (value - mean) / stddev */
    bool has_default;        /* dense: for Examples without the feature */
    double default_value;
    struct bytes default_text; /* dense: replaces an empty text; .data NULL: not replaced */
    /* At most one of the next three: */
    int64_t hash_buckets;        /* > 0: a value, as text, is hashed to this many buckets
                                  * (fingerprint modulo buckets) */
    const struct bytes *classes; /* a value becomes its index in this list; NULL: no list */
    int classes_count;
    /* A value becomes the number of these that are not above it, or NULL */
    const float *boundaries;
    int boundaries_count;
};

/* The number of categories of the values, each of which has a column in an input of floats; 0:
 * none. */
static inline int64_t raw_column_categories(const struct raw_column *column)
{
    return column->boundaries != NULL ? column->boundaries_count + 1 : column->hash_buckets;
}

/* Stands for a missing integer in a request. */
#define RAW_INTEGER_MISSING INT64_MIN

/* May a row lack a value, which then has no bucket, as in training? */
static inline bool raw_column_may_lack_integer(const struct raw_column *column)
{
    return column->hash_buckets > 0 && column->spec.dtype == DT_INT64 &&
           column->spec.layout == TENSOR_DENSE && !column->has_default;
}

/* The preparation of an input's values by an exported graph, which saves the client from it. */
enum raw_values {
    RAW_NOTHING, /* it takes prepared values */
    RAW_SCALE,   /* it subtracts the mean and divides by the standard deviation */
    RAW_COLUMN,  /* it applies all conversions of a raw_column */
};

#endif
