/*
 * row_value: the conversion of a single value of a column. Internal to row_layout, whose parts are
 * row_layout.c, which makes a layout, row_check.c, row_gather.c and row_lists.c.
 */
#ifndef TRAINER_DATA_ROW_VALUE_H
#define TRAINER_DATA_ROW_VALUE_H

#include <math.h>

#include "trainer/data/row_layout.h"

static inline bool row_tensor_is_text(const struct row_tensor *tensor)
{
    return tensor->column.spec.dtype == DT_STRING;
}

static inline bool row_tensor_is_floats(const struct row_tensor *tensor)
{
    return dtype_is_floating(tensor->column.spec.dtype);
}

/* Does it hold integers or bools that are not classes, such as ids? */
static inline bool row_tensor_is_integers(const struct row_tensor *tensor)
{
    return !row_tensor_is_floats(tensor) && !row_tensor_is_text(tensor) &&
           tensor->column.classes == 0;
}

/* The numbers in [least, end). Those of a file are at most int64s. */
struct integer_range {
    double least, end;
};

/* For an integer type, or bool. */
struct integer_range row_integer_range(enum dtype dtype);

static inline double row_number(const struct column *column, size_t at)
{
    return column->kind == COLUMN_FLOAT ? (double)column->floats[at]
                                        : (double)column_int(column, at);
}

/* The index of a value in the list of classes; -1: not in the list. */
int row_class(const struct schema_column *from, const struct column *column, size_t at);

static inline double row_normalised(const struct schema_column *from, double value)
{
    if (from->log)
        value = value > 0 || isnan(value) ? log1p(value) : 0;
    return (value - from->mean) / from->stddev;
}

/* The number to which a dense column's value is converted. */
static inline double row_value(const struct row_part *part, const struct column *column, size_t at)
{
    if (part->from->classes != NULL)
        return row_class(part->from, column, at);
    return row_normalised(part->from, row_number(column, at));
}

/* The range between boundaries that contains a value, as in Bucketize: for NaN, the last. */
int64_t row_range(const struct schema_column *from, float value);

static inline double row_default(const struct schema_column *from)
{
    return row_normalised(from, from->default_value);
}

static inline bool row_is_ignored(const struct row_tensor *tensor, double value)
{
    return tensor->ignored_class != NULL && value == (double)*tensor->ignored_class;
}

/* With two classes, -1 means the first, unless it is the ignored class. */
static inline double row_class_number(const struct row_tensor *tensor, double value)
{
    bool is_one_of_two = tensor->is_binary || tensor->column.classes == 2;
    return value == -1 && is_one_of_two && !row_is_ignored(tensor, value) ? 0 : value;
}

/* The hash bucket of a value, as in Keras' Hashing and tf.strings.to_hash_bucket_fast: numbers
 * are hashed as decimal text. */
int64_t row_bucket(const struct row_part *part, const struct column *column, size_t at);

static inline int64_t row_category(const struct row_part *part, const struct column *column,
                                   size_t at)
{
    return part->from->boundaries != NULL ? row_range(part->from, (float)row_number(column, at))
                                          : row_bucket(part, column, at);
}

/* In a request's dense strings, an empty one is a missing value. */
static inline bool row_has_category(const struct column *column, size_t at)
{
    return column->kind != COLUMN_BYTES || column_text(column, at).size > 0;
}

/* The number of values that the default of a dense column replaces. */
static inline int64_t row_defaults_count(const struct schema_column *from, size_t count)
{
    return count == 0 && from->has_default ? from->width : 0;
}

/* The class of each step, from one-hot values. Writes the classes to `out` [tensor->width],
 * unless it is NULL. Returns false if a step has no class. */
bool row_one_hot_classes(const struct row_tensor *tensor, const struct columns *columns, size_t row,
                         int32_t *out);

/* Writes a row's values of a dense column, or its default. */
void row_gather_dense(const struct row_tensor *tensor, const struct row_part *part,
                      const struct column *column, size_t row, float *out);

#endif
