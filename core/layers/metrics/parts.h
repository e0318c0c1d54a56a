/*
 * parts: building blocks of the formulas of metrics. Internal to layers/: metric.c has the table;
 * metrics/counts.c has the metrics that count rows by class.
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
};

/* The rows of metrics/counts.c. */
extern const struct metric_class metric_count_rows[];
extern const int metric_count_rows_count;

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
/* 1 where the label is not 0. */
struct endpoint metric_positives(struct metric_context *c);
/* The labels as one-hot rows: 1 for the class of the label and 0 for the others. */
struct endpoint metric_labels_by_class(struct metric_context *c);
/* 1 where an element of metric_labels_by_class is not 0. */
struct endpoint metric_positives_by_class(struct metric_context *c);

/* INVALID_ARGUMENT: an integer option is out of range. */
struct status metric_check_option(const struct metric *metric, const char *name, int64_t least,
                                  int64_t most);

/* The numbers of positive and then of negative examples between every two thresholds: threshold
 * i is i / (thresholds - 1), and bucket i holds the outputs above threshold i, up to the next
 * one (metric.c). */
struct endpoint metric_buckets(struct metric_context *c);
int64_t metric_buckets_count(const struct metric *metric, const struct shape *output);

/* The first total divided by the second; 0 if the second is 0. */
double metric_ratio(const struct training_metric *metric, const double *totals);

#endif
