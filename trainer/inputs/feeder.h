/*
 * feeder: sets the feeds of a plan of a training_graph: the columns of a batch by name, the random
 * seed, the variables' values, the loss scale, and the positions of the rows of its lookups.
 *
 *     count = feeder_endpoints(graph, pass, arena, &feeds);          for plan_create
 *     TRY(feeder_create(graph, pass, split, &feeder));
 *     TRY(feeder_fill_data(feeder, &batch));                         for each batch of the split
 *     TRY(feeder_find_rows(feeder, ids_plan, run, &scratch));        if the pass has lookups
 *     …fetch feeder->rows[v] of each variable v by rows or keys…
 *     feeder_fill_values(feeder, values);
 *     TRY(plan_run(plan, run, feeder->tensors, fetches));
 *
 * The plan of the ids is fed feeder_data_endpoints, the first of feeder_endpoints, and fetches the
 * ids of all lookups.
 */
#ifndef TRAINER_INPUTS_FEEDER_H
#define TRAINER_INPUTS_FEEDER_H

#include "graph/training_graph.h"
#include "runtime/plan.h"
#include "trainer/data/batch_source.h"
#include "trainer/protocol/row_finder.h"

struct feeder {
    const struct training_graph *graph;
    const struct training_pass *pass;
    int *columns;           /* [feeds_count]: each feed's column in a batch; -1: not fed */
    bool *is_padded;        /* [feeds_count]: a ragged column feeds a dense tensor */
    struct buffer *padded;  /* [feeds_count]: its values with padding */
    struct tensor *tensors; /* in the order of feeder_endpoints; borrowed */
    struct sparse_feed {
        struct buffer indices;
        int64_t shape[2];
    } * sparse;     /* [feeds_count]: for those that the graph takes as a SparseTensor */
    int data_count; /* number of leading tensors that are data or the random seed */
    /* [pass->candidates_count]; set it before feeder_fill_values */
    const struct tensor *candidates;
    const float *loss_scale;    /* borrowed; the scale, if the pass is fed one */
    int64_t random_seed[2];     /* set it before feeder_fill_data */
    struct buffer *copies;      /* [data_count]: by feeder_copy_data */
    struct row_finder *finders; /* [variables_count], of sparse variables */
    struct row_ids *rows; /* [variables_count]: for sparse variables, set by feeder_find_rows */
    struct tensor *ids;   /* [lookups_count]: fetched */
};

/**
 * Checks that the data have a column for each feed of the pass, with the same name, layout, dtype
 * and number of elements in a row. The shapes of a row may differ: 784 pixels feed an image of 28
 * by 28. A dense feed [?,?,…] also takes a ragged column: rows are padded with zeros to the longest
 * one of the batch. Other columns are not used.
 *
 * Errors  INVALID_ARGUMENT names the feed, the column, and how they differ
 */
struct status feeder_check(const struct training_graph *graph, const struct training_pass *pass,
                           const struct data_split *split);

/* List the endpoints that a plan of this pass is fed, in `arena`; return their number. The
 * second one lists only those that do not depend on variables. */
int feeder_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                     struct arena *arena, struct endpoint **out);
int feeder_data_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                          struct arena *arena, struct endpoint **out);

/* Errors: as feeder_check. Graph and split outlive the feeder. */
struct status feeder_create(const struct training_graph *graph, const struct training_pass *pass,
                            const struct data_split *split, struct feeder **out);
void feeder_destroy(struct feeder *feeder); /* accepts NULL */

/* Feeds a batch of the split, which is borrowed, and the random seed. INVALID_ARGUMENT: the pass
 * has a different number of rows, or a padded value is not an int32. */
struct status feeder_fill_data(struct feeder *feeder, const struct batch *batch);

/* Copies the current batch, so that the source can make the next one. */
void feeder_copy_data(struct feeder *feeder);

/**
 * Computes the ids of the pass's lookups and finds feeder->rows, which are valid until the next
 * call; feeds the positions of the rows. `scratch` is used during the call only.
 *
 * Errors  those of the plan; INVALID_ARGUMENT an id out of its variable's range: names both
 */
struct status feeder_find_rows(struct feeder *feeder, const struct plan *ids, struct run *run,
                               struct row_scratch *scratch);

/* The memory that it keeps for a batch besides the batch itself. */
size_t feeder_bytes(const struct feeder *feeder);

/* Feeds these values [variables_count], which are borrowed; for variables by rows or keys, the
 * values of feeder->rows. Also feeds the candidates. */
void feeder_fill_values(struct feeder *feeder, const void *const *values);

#endif
