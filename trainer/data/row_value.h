/*
 * row_value: what becomes of one value of a column. Internal to row_layout, whose parts are
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

/* Integers, or bools, that are no classes, such as ids. */
static inline bool row_tensor_is_integers(const struct row_tensor *tensor)
{
    return !row_tensor_is_floats(tensor) && !row_tensor_is_text(tensor) &&
           tensor->column.classes == 0;
}

/* The numbers from `least` to before `end`. Those of a file are at most int64s. */
struct integer_range {
    double least, end;
};

/* Of an integer type, or bool. */
struct integer_range row_integer_range(enum dtype dtype);

static inline double row_number(const struct column *column, size_t at)
{
    return column->kind == COLUMN_FLOAT ? (double)column->floats[at] : (double)column->ints[at];
}

/* The place of a value in the list of classes; -1: it is not there. */
int row_class(const struct schema_column *from, const struct column *column, size_t at);

static inline double row_normalised(const struct schema_column *from, double value)
{
    if (from->log)
        value = value > 0 || isnan(value) ? log1p(value) : 0;
    return (value - from->mean) / from->stddev;
}

/* The number that a dense column's value becomes. */
static inline double row_value(const struct row_part *part, const struct column *column, size_t at)
{
    if (part->from->classes != NULL)
        return row_class(part->from, column, at);
    return row_normalised(part->from, row_number(column, at));
}

/* The range between boundaries that holds a value, as Bucketize tells it: that of NaN is the
 * last. */
int64_t row_range(const struct schema_column *from, float value);

static inline double row_default(const struct schema_column *from)
{
    return row_normalised(from, from->default_value);
}

static inline bool row_is_ignored(const struct row_tensor *tensor, double value)
{
    return tensor->ignored_class != NULL && value == (double)*tensor->ignored_class;
}

/* Of two classes, -1 means the first, unless it is the class that does not count. */
static inline double row_class_number(const struct row_tensor *tensor, double value)
{
    bool is_one_of_two = tensor->is_binary || tensor->column.classes == 2;
    return value == -1 && is_one_of_two && !row_is_ignored(tensor, value) ? 0 : value;
}

/* The bucket of a value's hash, as Keras' Hashing and tf.strings.to_hash_bucket_fast compute it:
 * numbers are hashed as decimal text. */
int64_t row_bucket(const struct row_part *part, const struct column *column, size_t at);

static inline int64_t row_category(const struct row_part *part, const struct column *column,
                                   size_t at)
{
    return part->from->boundaries != NULL ? row_range(part->from, (float)row_number(column, at))
                                          : row_bucket(part, column, at);
}

/* Of a request's dense strings, the empty ones are those that are missing. */
static inline bool row_has_category(const struct column *column, size_t at)
{
    return column->kind != COLUMN_BYTES || column_text(column, at).size > 0;
}

/* The values of a dense column without any, which its default stands for. */
static inline int64_t row_defaults_count(const struct schema_column *from, size_t count)
{
    return count == 0 && from->has_default ? from->width : 0;
}

/* The class of each step of a row that has a value for each class: 1 for its own, 0 for the others.
 * Writes them to `out` [tensor->width], unless it is NULL. False: a step has no class. */
bool row_hot_classes(const struct row_tensor *tensor, const struct columns *columns, size_t row,
                     int32_t *out);

/* Writes a row's values of a dense column, or its default. */
void row_gather_dense(const struct row_tensor *tensor, const struct row_part *part,
                      const struct column *column, size_t row, float *out);

#endif
