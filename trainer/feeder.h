/*
 * feeder: gives a plan of a training_graph its feeds: the columns of a batch that have the feeds'
 * names, the variables' values, and the random seed.
 *
 *     count = feeder_endpoints(graph, pass, arena, &feeds);          for plan_create
 *     TRY(feeder_create(graph, pass, split, &feeder));
 *     TRY(feeder_fill(feeder, &batch, values));                      for each batch of the split
 *     TRY(plan_run(plan, run, feeder->tensors, fetches));
 */
#ifndef TRAINER_FEEDER_H
#define TRAINER_FEEDER_H

#include "graph/training_graph.h"
#include "trainer/data/batch_source.h"

struct feeder {
    const struct training_graph *graph;
    const struct training_pass *pass;
    int *columns;           /* [feeds_count]: each feed's index in a batch; -1: not fed */
    struct tensor *tensors; /* in the order of feeder_endpoints; borrowed */
    int64_t random_seed[2]; /* set it before feeder_fill */
};

/**
 * Checks that the data have what the pass is fed: a column of the same name, layout and dtype,
 * with as many elements in a row. The shapes of a row may differ otherwise: 784 pixels feed an
 * image of 28 by 28. Columns that no feed names are not used.
 *
 * Errors  INVALID_ARGUMENT names the feed, the column, and how they differ
 */
struct status feeder_check(const struct training_graph *graph, const struct training_pass *pass,
                           const struct data_split *split);

/* Lists the endpoints that a plan of this pass is fed, in `arena`; returns their number. */
int feeder_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                     struct arena *arena, struct endpoint **out);

/* Errors: as feeder_check. Graph and split outlive the feeder. */
struct status feeder_create(const struct training_graph *graph, const struct training_pass *pass,
                            const struct data_split *split, struct feeder **out);
void feeder_destroy(struct feeder *feeder); /* accepts NULL */

/* Fills feeder->tensors with a batch of the split and these values [variables_count], which are
 * borrowed, not copied. INVALID_ARGUMENT: the pass is made for another number of rows. */
struct status feeder_fill(struct feeder *feeder, const struct batch *batch,
                          const void *const *values);

#endif
