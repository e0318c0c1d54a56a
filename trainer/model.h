/*
 * model: a training graph that is ready to train and to test. All workers in the process share one
 * training plan and one evaluation plan; each worker has a source of gradients.
 */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include "graph/training_graph.h"
#include "runtime/plan.h"
#include "trainer/data/batch_source.h"
#include "trainer/job/worker.h"

struct model {
    struct arena *arena;
    const struct training_graph *graph;
    struct plan *step, *evaluation;
    struct resources *resources;
    struct placed_variable *variables; /* as placement_create takes them */
    int variables_count;
};

/**
 * Builds the plans. `graph` outlives the model.
 *
 * Errors  INVALID_ARGUMENT more than EVALUATION_METRICS_MAX metrics; UNIMPLEMENTED an op without a
 *         kernel
 */
struct status model_create(const struct training_graph *graph, struct model **out);
void model_destroy(struct model *model); /* accepts NULL */

/* First values of all variables for a seed: [variables_count], in `arena`. */
const void *const *model_first_values(const struct model *model, uint64_t seed,
                                      struct arena *arena);

/**
 * Makes a worker's source of gradients, of batches that it takes from the split in this order. With
 * `sync`, each step takes a batch from every worker; otherwise the workers share the steps.
 *
 * Owner   *out: its destroy
 * Errors  as feeder_check and data_split.open
 */
struct status model_source(const struct model *model, const struct data_split *split,
                           const struct batch_order *order, bool sync,
                           struct gradient_source **out);

#define EVALUATION_METRICS_MAX 16

struct evaluation {
    int64_t rows;
    double loss;                            /* mean over the rows */
    double metrics[EVALUATION_METRICS_MAX]; /* [graph->metrics_count] */
};

/* Runs the model with these values over all rows. CANCELLED when *stop becomes true. */
struct status model_evaluate(const struct model *model, const void *const *values,
                             const struct data_split *split, const _Atomic bool *stop,
                             struct evaluation *out);

#endif
