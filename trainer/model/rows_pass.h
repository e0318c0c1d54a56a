/*
 * rows_pass: runs a plan of a model over all rows of a split, batch by batch, with constant values
 * of the variables.
 */
#ifndef TRAINER_MODEL_ROWS_PASS_H
#define TRAINER_MODEL_ROWS_PASS_H

#include "trainer/model/model.h"

struct rows_pass {
    const struct training_graph *graph;
    const struct training_pass *pass;
    const struct plan *plan, *ids;   /* ids NULL: the pass has no lookups */
    const struct tensor *candidates; /* see struct feeder */
    struct evaluation_values *values;
    const _Atomic bool *stop;
    /* Takes ownership of the fetched tensors of a batch of `rows` rows. */
    struct status (*take)(void *context, int64_t rows, struct tensor *fetches);
    void *context;
};

#define ROWS_PASS_FETCHES_MAX (1 + EVALUATION_METRICS_MAX)

/* Errors  CANCELLED when *stop becomes true; those of the split, the values, the plan and `take` */
struct status rows_pass_run(const struct rows_pass *pass, const struct data_split *split);

#endif
