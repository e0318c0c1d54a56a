/*
 * evaluation_sums: sums up the results of an evaluation plan over batches: the loss and the totals
 * of the metrics.
 */
#ifndef TRAINER_MODEL_EVALUATION_SUMS_H
#define TRAINER_MODEL_EVALUATION_SUMS_H

#include "trainer/model/model.h"

struct evaluation_sums {
    int64_t rows;
    double loss;
    double *totals[EVALUATION_METRICS_MAX]; /* [metrics_count][totals_count] */
};

void evaluation_sums_begin(struct evaluation_sums *sums, const struct training_graph *graph);
void evaluation_sums_finish(struct evaluation_sums *sums, const struct training_graph *graph);

/* Adds the fetches of a batch of `rows` rows: the loss and the metrics. Releases them. */
void evaluation_sums_add(struct evaluation_sums *sums, const struct training_graph *graph,
                         int64_t rows, struct tensor *fetches);

/* The same as one list of numbers, which tasks send to each other: the rows, the loss, then the
 * totals of each metric. */
size_t evaluation_sums_count(const struct training_graph *graph);
/* Adds the sums of a list. */
void evaluation_sums_read(struct evaluation_sums *sums, const struct training_graph *graph,
                          const double *list);

struct evaluation evaluation_sums_result(const struct evaluation_sums *sums,
                                         const struct training_graph *graph);

#endif
