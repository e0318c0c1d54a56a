/*
 * metric: a kind of metric is one row of the table in metric.c: Keras' name, its options, the
 * function that adds a batch's totals to a graph, and the one that makes the number of the totals
 * of all batches. Every loss is a metric, too: its mean. Internal to layers/.
 */
#ifndef LAYERS_METRICS_METRIC_H
#define LAYERS_METRICS_METRIC_H

#include "graph/training_graph.h"
#include "layers/losses/loss.h"

struct metric_class;

/* A metric of a description. */
struct metric {
    const char *name; /* as it is reported: "auc" */
    const struct metric_class *class;
    struct arg_value *args; /* in the order of class->args */
    struct loss loss;       /* of a loss as a metric */
    int output;             /* of the model */
    bool weighted;          /* takes the examples' weights, if there are any */
    int64_t k;              /* one of the ks of FactorizedTopK (ranking.h); 0: another metric */
};

#define METRICS_MAX 32

/* Reads the metrics of an output: names, objects, and lists or objects of them. Adds to `out`,
 * which has room for METRICS_MAX.
 * Errors  UNIMPLEMENTED names a metric that is not known, and those that are */
struct status metrics_read(const struct json_value *value, struct arena *arena, struct metric *out,
                           int *count);

/* The mean of an output's loss, as an evaluation reports it. */
struct metric metric_of_target(const struct loss *loss, int output, const char *name);

/* The accuracy; `logits`: the outputs are logits of one class, of which those above 0 are a yes. */
struct status metric_read_accuracy(bool logits, struct arena *arena, struct metric *out);

/* INVALID_ARGUMENT: the labels or the outputs are not those that the metric takes. */
struct status metric_check(const struct metric *metric, enum layers_labels labels,
                           const struct shape *output);

/* Adds the totals of a batch, a float vector, to be summed over batches. */
struct endpoint metric_build(struct layer_context *context, const struct metric *metric,
                             const struct layers_head *head);

/* What turns the sums of these vectors into the metric of an output of this shape. */
struct training_metric metric_of(const struct metric *metric, const struct shape *output);

#endif
