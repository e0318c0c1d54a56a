/*
 * model: a training graph with the plans to train and test it. All workers in the process share one
 * training plan and one evaluation plan; each worker has its own source of gradients.
 */
#ifndef TRAINER_MODEL_MODEL_H
#define TRAINER_MODEL_MODEL_H

#include "graph/training_graph.h"
#include "runtime/plan.h"
#include "trainer/data/share_source.h"
#include "trainer/job/worker.h"

struct model {
    struct arena *arena;
    const struct training_graph *graph;
    struct plan *step, *evaluation;
    struct plan *ranking; /* computes the candidates' vectors and ids; NULL: no metric ranks all
                           * candidates */
    /* Compute the ids of their lookups; NULL: no sparse variable */
    struct plan *step_ids, *evaluation_ids, *ranking_ids;
    struct resources *resources;
    struct placed_variable *variables; /* in the form that placement_create takes */
    int variables_count;
};

/**
 * Builds the plans. `graph` outlives the model. `resources` holds objects that its ops need, such
 * as tables; NULL: none. The model owns them, even if it fails.
 *
 * Errors  INVALID_ARGUMENT more than EVALUATION_METRICS_MAX metrics; UNIMPLEMENTED an op without a
 *         kernel
 */
struct status model_create(const struct training_graph *graph, struct resources *resources,
                           struct model **out);
void model_destroy(struct model *model); /* accepts NULL */

/* Sets the seeds of the hash tables, unless the graph has them. Call it before placement_create. */
void model_seed_keys(struct model *model, uint64_t seed);

/* The initial values of all variables for a seed: *out is [variables_count], in `arena`; NULL
 * for hash tables, which begin empty, and for variables by rows, whose rows [rows_count, row…]
 * model_fill_rows writes to `out`. Errors: as training_variable.fill. */
struct status model_initial_values(const struct model *model, uint64_t seed, struct arena *arena,
                                   const void *const **out);
void model_fill_rows(const struct model *model, uint64_t seed, int variable, int64_t first_row,
                     int64_t rows_count, void *out);

/**
 * Makes a worker's source of gradients, for batches of the split in this order. With `sync`, each
 * step takes a batch from every worker; otherwise the workers share the steps. The rows of up to
 * `batches` batches are requested before they are used; the source holds that many. turns: assigns
 * turns of `batches` batches to any worker; NULL: the worker reads its own part of the rows, as in
 * `order`.
 *
 * Owner   *out: its destroy
 * Errors  as feeder_check and data_split.open
 */
struct status model_source(const struct model *model, const struct data_split *split,
                           const struct batch_order *order, bool sync, uint32_t batches,
                           const struct turn_source *turns, struct gradient_source **out);

/* Makes the source multiply the loss by *scale, read at each step. The graph must have a loss
 * scale feed. */
void model_source_take_scale(struct gradient_source *source, const float *scale);

/* Makes the source add the totals of each batch to `totals`, in the layout of
 * evaluation_sums_read. The graph's step must have metrics. */
void model_source_keep_totals(struct gradient_source *source, double *totals);

#define EVALUATION_METRICS_MAX 1024

struct evaluation {
    int64_t rows;
    double loss;                            /* mean over the rows */
    double metrics[EVALUATION_METRICS_MAX]; /* [graph->metrics_count] */
};

/* The source of the variables' values in an evaluation. Embed it as the first member. */
struct evaluation_values {
    /* Returns the values of all variables, *out: [variables_count], valid until the next call;
     * for a sparse variable v, those of rows[v]. */
    struct status (*get)(struct evaluation_values *values, const struct row_ids *rows,
                         const void *const **out);
};

/* The candidates that an evaluation ranks. */
struct evaluation_candidates {
    const struct data_split *rows;
    int64_t bytes_max; /* limit of the memory for their vectors and ids */
};

/**
 * Runs the model with these values over all rows. candidates: NULL, unless model->ranking needs
 * their rows, over which it runs first.
 *
 * Errors  CANCELLED when *stop becomes true; RESOURCE_EXHAUSTED the candidates take more memory
 */
struct status model_evaluate(const struct model *model, struct evaluation_values *values,
                             const struct data_split *split,
                             const struct evaluation_candidates *candidates,
                             const _Atomic bool *stop, struct evaluation *out);

#endif
