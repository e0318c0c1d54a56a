/*
 * model: a description that is ready to train and to test. All workers in the process share one
 * training plan and one evaluation plan; each worker has a source of gradients.
 */
#ifndef TRAINER_MODEL_H
#define TRAINER_MODEL_H

#include "layers/layers.h"
#include "runtime/plan.h"
#include "trainer/data/dataset.h"
#include "trainer/job/worker.h"

struct model_options {
    enum layers_reduction reduction;
    uint32_t batch_size;
    bool sync; /* each step takes a batch from every worker */
};

struct model {
    struct arena *arena;
    const struct layers_model *description;
    struct model_options options;
    struct layers_graph training, evaluation;
    struct plan *training_plan, *evaluation_plan;
    struct resources *resources;
    struct placed_variable *variables; /* as placement_create takes them */
    int variables_count;
    uint64_t hash; /* of the graph, apart from batch size and reduction */
};

/**
 * Builds the plans. `description` outlives the model.
 *
 * Errors  INVALID_ARGUMENT a graph that cannot be built; UNIMPLEMENTED an op without a kernel or a
 * gradient
 */
struct status model_create(const struct layers_model *description,
                           const struct model_options *options, struct model **out);
void model_destroy(struct model *model); /* accepts NULL */

/* Checks that the rows fit the model's input and output. INVALID_ARGUMENT says what does not. */
struct status model_check_data(const struct layers_model *description,
                               const struct dataset *dataset);

/* First values of all variables for a seed: [variables_count], in `arena`. */
const void *const *model_first_values(const struct model *model, uint64_t seed,
                                      struct arena *arena);

/* Makes the source of gradients for worker `worker` of `workers`, on its share of the rows. Owner:
 * the source's destroy. */
struct status model_source(const struct model *model, const struct dataset *dataset, uint64_t seed,
                           uint32_t worker, uint32_t workers, struct gradient_source **out);

struct evaluation {
    double loss;     /* mean over the rows */
    double accuracy; /* of a classifier */
};

/* Runs the model with these values over all rows. CANCELLED when *stop becomes true. */
struct status model_evaluate(const struct model *model, const void *const *values,
                             const struct dataset *dataset, const _Atomic bool *stop,
                             struct evaluation *out);

#endif
