/*
 * metric: a kind of metric is one row of a table (parts.h): Keras' name, its options, the function
 * that adds a batch's totals to a graph, and the function that computes the result from the totals
 * of all batches. Every loss is a metric, too: its mean. Internal to layers/.
 */
#ifndef LAYERS_METRICS_METRIC_H
#define LAYERS_METRICS_METRIC_H

#include "graph/training_graph.h"
#include "layers/losses/loss.h"

struct metric_class;

/* A metric of a description. */
struct metric {
    const char *name; /* the name in reports: "auc" */
    const struct metric_class *class;
    struct arg_value *args; /* in the order of class->args */
    struct loss loss;       /* of a loss as a metric */
    bool sums_steps;        /* the loss of an output is the sum of a row's steps, not their mean */
    int output;             /* of the model */
    bool weighted;          /* uses the examples' weights, if there are any */
    int64_t k;              /* one of the ks of FactorizedTopK (ranking.h); 0: another metric */
    /* Of a class whose result is a list: which of how many numbers this metric is. 0: it gives one
     * number */
    int64_t element, elements;
};

#define METRICS_MAX 32

/* Reads the metrics of an output: names, objects, and lists or objects of them. Appends to `out`,
 * which has room for METRICS_MAX.
 * Errors  UNIMPLEMENTED names a metric that is not known, and those that are */
struct status metrics_read(const struct json_value *value, struct arena *arena, struct metric *out,
                           int *count);

/* The mean of an output's loss over the rows, as evaluation reports it. */
struct metric metric_of_target(const struct layers_target *target, int output, const char *name);

/* The accuracy. `logits`: the outputs are logits of one class; those above 0 mean yes. */
struct status metric_read_accuracy(bool logits, struct arena *arena, struct metric *out);

/* Checks that the metric accepts the target's labels and the outputs.
 * Errors  INVALID_ARGUMENT it does not */
struct status metric_check(const struct metric *metric, const struct layers_target *target,
                           const struct shape *output);
/* The most numbers of a list that a metric gives. */
#define METRIC_ELEMENTS_MAX 1000

/* The numbers that a metric that fits gives of an output: more than 1 if the result is a list. */
int64_t metric_elements(const struct metric *metric, const struct shape *output);

/* Checks that the metric of a loss that takes classes accepts a number for each class instead.
 * Errors  INVALID_ARGUMENT it does not */
struct status metric_check_shares(const struct metric *metric);

/* Adds the totals of a batch, a float vector that is summed over batches. `all` keeps the totals of
 * a list between calls for its elements, which follow each other. */
struct endpoint metric_build(struct layer_context *context, const struct metric *metric,
                             const struct layers_head *head, struct endpoint *all);

/* The metric of an output of this shape, which turns the sums of those vectors into its result. */
struct training_metric metric_of(const struct metric *metric, const struct shape *output);

#endif
