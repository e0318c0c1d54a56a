/*
 * training_graph: everything that a job trains, independently of its origin: the graphs of a
 * training step and of an evaluation, the names and types of their feeds, the variables with their
 * updates, and how to export the result. core/layers makes one of a model description
 * (layers_training_graph).
 *
 *     for each batch   feed graph->feeds (from the data), the variables' values and the random seed
 *                      into graph->step; fetch the loss and the updates
 *
 * A variable may be too large to be read whole. Of a variable by rows, a batch needs some rows,
 * which the graph's row_lookups compute from the batch:
 *
 *     for each batch   feed graph->feeds and the random seed; fetch the ids of all lookups
 *                      sort the ids of each variable, without repeats: these rows are its values
 *                      feed these, and where each id's row is among them, into graph->step
 *
 * A variable by keys is the same, with any int64 as an id: a hash table, which gets a row for a key
 * when training first has it.
 *
 * The training data's columns are matched with the feeds by name. The step and the evaluation are
 * graphs of their own, because they differ: dropout drops only in training. They have the same
 * feeds and variables.
 */
#ifndef GRAPH_TRAINING_GRAPH_H
#define GRAPH_TRAINING_GRAPH_H

#include "graph/graph.h"
#include "graph/signature.h"
#include "tensor/constraint.h"
#include "tensor/raw_column.h"
#include "tensor/row_keys_spec.h"

enum feed_role {
    FEED_INPUT,  /* an input of the model, also in serving */
    FEED_LABEL,  /* labels with which the loss compares the outputs */
    FEED_COLUMN, /* another column of the data that the loss reads, by this name */
    FEED_WEIGHT, /* a factor of each row's loss, or of each step's */
};

struct training_feed {
    struct tensor_spec spec; /* the shape's dimension 0 is -1 */
    enum feed_role role;
    int64_t classes; /* for a label that is a class: 0 … classes - 1. 0: not a class */
    /* One more number that is not a class and that the loss ignores; NULL: none */
    const int64_t *ignored_class;
    bool takes_shares; /* a class that may also be given as a share of each class */
    bool is_binary;    /* a label that is 0 or 1, or a probability */
    /* For an input of row numbers: how many rows the smallest table has that is read by them. 0: no
     * table is, or the graph does not tell */
    int64_t table_rows;
    bool is_example;     /* an input of serialized tf.Examples, which the graph parses */
    enum raw_values raw; /* for an input: the conversions of the schema that the graph itself
                          * applies */
};

enum variable_update {
    UPDATE_NONE,     /* keeps its value */
    UPDATE_GRADIENT, /* the optimizer applies the gradient of the loss */
    UPDATE_AVERAGE,  /* value = momentum value + (1 - momentum) update: a moving average. In a
                      * synchronous step, the update is the mean over the workers */
};

struct training_variable {
    const char *name; /* "dense/kernel": its checkpoint key */
    enum dtype dtype;
    struct shape shape;
    enum variable_update update;
    double momentum;              /* UPDATE_AVERAGE */
    struct constraint constraint; /* of the values after each update */
    /* For UPDATE_GRADIENT: above 0, an update first divides the values by spectral_divide with
     * this many iterations, and the next variable, an UPDATE_AVERAGE, as the vector. */
    uint32_t power_iterations;
    bool by_rows; /* a step reads and updates only the rows of its row_lookups */
    /* The same with 64-bit keys instead of row numbers: a hash table, of shape [-1, row…].
     * `keys` defines the initial rows; `fill` and `fill_rows` are NULL. */
    bool by_keys;
    struct row_keys_spec keys;
    bool has_seed; /* keys.seed is set; otherwise the trainer chooses one */
    /* Writes the initial value for `seed` to `out`: all elements, of dtype. By rows:
     * `rows_count` rows from `first_row` on, independently of how the rows are divided. fill
     * fails if the value comes from a file that cannot be read. */
    struct status (*fill)(const struct training_variable *variable, uint64_t seed, void *out);
    void (*fill_rows)(const struct training_variable *variable, uint64_t seed, int64_t first_row,
                      int64_t rows_count, void *out); /* by rows; otherwise NULL */
    const void *fill_context;
    bool starts_at_zero; /* all first values are 0 */
};

/* Does a step read only some rows of it? */
static inline bool training_variable_is_sparse(const struct training_variable *variable)
{
    return variable->by_rows || variable->by_keys;
}

/* A metric of an evaluation. Each batch gives totals, which are summed over all batches (and may
 * be summed over all workers); `result` computes the metric from the sums. */
struct training_metric {
    const char *name; /* "accuracy" */
    int64_t totals_count;
    double (*result)(const struct training_metric *metric, const double *totals);
    bool larger_is_better;
    const void *context;
};

/* The endpoints of a feed in a graph. A null node: the graph does not use it. */
struct feed_endpoints {
    struct endpoint values;
    struct endpoint ids;        /* of a sparse feed */
    struct endpoint row_splits; /* of a ragged or sparse feed */
    /* Instead, for a graph that takes a SparseTensor: int64 [values, 2] and [2] */
    struct endpoint indices, sparse_shape;
};

/* A lookup of rows of a variable by rows or by keys. Several lookups may read the same variable:
 * its values are then the union of their rows. */
struct row_lookup {
    int variable;
    /* int64, of any shape; an id is a row's number or key. It depends only on feeds of the data and
     * the random seed, so that the ids are known before the values. */
    struct endpoint ids;
    struct endpoint positions; /* a feed, int64, in the shape of ids: the index of each id's row
                                * in the variable's values */
};

/* The candidates among which an evaluation ranks each row's own candidate: those of all rows of
 * other data. */
struct candidate_ends {
    struct endpoint vectors; /* float [batch, n], of the rows of a batch */
    struct endpoint ids;     /* [batch], of any type with equality; a null node: not used */
    struct endpoint all_vectors, all_ids; /* feeds: the same for all rows of those data */
};

/* The graph of one kind of run. All arrays are in the order of the training_graph's lists. */
struct training_pass {
    struct graph *graph;
    int64_t batch;                /* rows; 0: any number */
    struct feed_endpoints *feeds; /* [feeds_count] */
    /* [variables_count]: feeds for the variables' values. By rows or keys: [-1, row…], the
     * distinct rows of the lookups, in rising order. */
    struct endpoint *values;
    struct row_lookup *lookups;
    int lookups_count;
    /* Feeds of all candidates, after all other feeds: their vectors and, if they are used, ids. */
    struct endpoint candidates[2];
    int candidates_count;
    /* A feed, int64 [2]: the seed of random ops, different in each step. A null node: nothing is
     * random. */
    struct endpoint random_seed;
    /* A feed, a float: the factor of the loss before the gradients are taken. A null node: none,
     * or a constant. */
    struct endpoint loss_scale;
    /* Run it once, before anything else: it fills the graph's tables, which have the same names
     * in all passes. NULL: none. */
    struct node *init;
    struct endpoint loss; /* scalar float, regularization included */
    bool loss_is_sum;     /* of the rows; otherwise their mean */
    /* [variables_count], of the step: the gradient, in the shape of the variable's values, or the
     * value that is averaged. A null node: UPDATE_NONE. */
    struct endpoint *updates;
    /* [metrics_count]: float [totals_count], of the rows of the batch. NULL: a step without
     * metrics. */
    struct endpoint *metrics;
};

/* The graph that is exported. */
struct serving_graph {
    struct graph *graph;
    struct signature *signatures; /* as savedmodel_write takes them */
    int signatures_count;
    const char *init_op; /* the node that fills the tables, or NULL */
    const struct training_variable *variables;
    int variables_count;
};

/* Makes a graph for each export. Embed it as the first member. */
struct export_recipe {
    /**
     * Owner   out lives in `arena`; graph_finish(out->graph) when it is done with
     * Errors  INVALID_ARGUMENT the recipe's options do not fit the model
     */
    struct status (*build)(const struct export_recipe *recipe, struct arena *arena,
                           struct serving_graph *out);
};

struct training_graph {
    const char *name;
    struct training_feed *feeds;
    int feeds_count;
    struct training_variable *variables;
    int variables_count;
    const char *loss_name; /* "loss", "mean squared error": as it is reported */
    const struct training_metric *metrics;
    int metrics_count;
    struct training_pass step, evaluation;
    /* The part of the evaluation's graph that computes the vectors and the ids of candidates: it
     * has no other feeds of the data, and no loss. No graph: no metric ranks all candidates. */
    struct training_pass ranking;
    struct candidate_ends candidates;
    const char *ranking_metric; /* the name of the first ranking metric */
    uint64_t hash; /* of the computation, apart from the batch size and the loss's reduction */
    const struct export_recipe *recipe;
};

/* Frees what is not in the arena that the graph was made in. Accepts a zeroed one. */
void training_graph_finish(struct training_graph *graph);

#endif
