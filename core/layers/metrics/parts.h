/*
 * parts: building blocks of the formulas of metrics, and the tables of metrics, one in each file.
 * Internal to layers/.
 */
#ifndef LAYERS_METRICS_PARTS_H
#define LAYERS_METRICS_PARTS_H

#include "layers/metrics/metric.h"

struct metric_context {
    struct builder *builder;
    const struct metric *metric;
    struct endpoint output, labels;
    bool weighted;
    struct endpoint mask; /* bool: the elements to count; a null node: all */
    struct layer_context *layers;
};

/* A row of a table. */
struct metric_class {
    const char *name;
    /* The labels that it accepts: one kind, or both. */
    bool takes_classes, takes_values;
    struct endpoint (*build)(struct metric_context *c);
    double (*result)(const struct training_metric *metric, const double *totals);
    const struct layer_arg *args;
    int args_count;
    /* The number of totals for an output of this shape; NULL: 2. */
    int64_t (*totals_count)(const struct metric *metric, const struct shape *output);
    /* Checks the options for this output; NULL: nothing to check. */
    struct status (*check)(const struct metric *metric, const struct shape *output);
    /* The numbers of a metric that gives a list; 1: a single number. NULL: 1. The totals of all are
     * a matrix with a column for each number, and `result` computes one of a column. */
    int64_t (*elements)(const struct metric *metric, const struct shape *output);
};

/* The metrics of one file. metric.c lists the tables. */
struct metric_table {
    const struct metric_class *rows;
    size_t count;
};
extern const struct metric_table metric_counts, metric_curves, metric_regressions;

/* The numbers of an option that is null (0), a number (1) or a list of numbers. */
int64_t metric_numbers_count(const struct metric *metric, const char *name);
double metric_number(const struct metric *metric, const char *name, int64_t index);
/* INVALID_ARGUMENT: such an option holds anything but numbers from 0 to 1, or no number. */
struct status metric_check_numbers(const struct metric *metric, const char *name);
/* 1 where an element of x is above one of these numbers, or above `fallback` if there are none:
 * a row for each element, a column for each number. */
struct endpoint metric_above_numbers(struct metric_context *c, const char *name, double fallback,
                                     struct endpoint x);

struct arg_list metric_args_of(const struct metric_class *class);
/* Finds an option of the metric; NULL: it has no such option. */
const struct arg_value *metric_option(const struct metric *metric, const char *name);

struct endpoint metric_binary(struct metric_context *c, const char *op, struct endpoint x,
                              struct endpoint y);
struct endpoint metric_by_number(struct metric_context *c, const char *op, struct endpoint x,
                                 double number);
struct endpoint metric_cast(struct metric_context *c, struct endpoint x, enum dtype dtype);
struct endpoint metric_flat(struct metric_context *c, struct endpoint x);
struct endpoint metric_sum(struct metric_context *c, struct endpoint x); /* of all elements */
/* The examples' weights in the shape of x: 1 if the metric is unweighted; 0 where the mask is
 * false. */
struct endpoint metric_weights_like(struct metric_context *c, struct endpoint x);
/* x, times these weights. */
struct endpoint metric_weigh(struct metric_context *c, struct endpoint x);
/* The sum of the weights of the elements of x. */
struct endpoint metric_count(struct metric_context *c, struct endpoint x);
struct endpoint metric_pair(struct metric_context *c, struct endpoint a, struct endpoint b);
/* The weighted number of true elements, and of all elements. */
struct endpoint metric_share_of_true(struct metric_context *c, struct endpoint is);
struct endpoint metric_largest(struct metric_context *c, struct endpoint x);
/* The class of each example: the label, or the position of the 1 in a one-hot label. */
struct endpoint metric_classes_of(struct metric_context *c);
/* The labels as one-hot rows: 1 for the class of the label and 0 for the others. */
struct endpoint metric_labels_by_class(struct metric_context *c);
/* 1 where an element of metric_labels_by_class is not 0. */
struct endpoint metric_positives_by_class(struct metric_context *c);

/* The column of the option class_id of x [batch, classes]; all of x if the option is not given. */
struct endpoint metric_of_class(struct metric_context *c, struct endpoint x);
/* Sums over the batch, by weight: [outputs]. */
struct endpoint metric_sum_by_class(struct metric_context *c, struct endpoint x);
/* Sums the columns of a matrix: [columns]. */
struct endpoint metric_sum_columns(struct metric_context *c, struct endpoint x);
/* All elements of x as one column. */
struct endpoint metric_column(struct metric_context *c, struct endpoint x);
/* Concatenates up to five vectors. */
struct endpoint metric_concat(struct metric_context *c, int count, const struct endpoint *parts);

/* INVALID_ARGUMENT: an integer option is out of range. */
struct status metric_check_option(const struct metric *metric, const char *name, int64_t least,
                                  int64_t most);
/* UNIMPLEMENTED: the option `axis` is neither null nor -1. */
struct status metric_check_last_axis(const struct metric *metric, const struct shape *output);

static inline int64_t metric_classes_count(const struct shape *output)
{
    return output->dims[output->rank - 1];
}

/* The first total divided by the second; 0 if the second is 0. */
double metric_ratio(const struct training_metric *metric, const double *totals);
/* a / b; 0 if b is 0. */
static inline double metric_quotient(double a, double b)
{
    return b != 0 ? a / b : 0;
}

#define METRIC_EPSILON 1e-7 /* Keras' */

#endif
