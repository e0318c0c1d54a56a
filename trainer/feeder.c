#include "trainer/feeder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

static const char *role_text(enum feed_role role)
{
    static const char *const texts[] = {
        [FEED_INPUT] = "input", [FEED_LABEL] = "label", [FEED_WEIGHT] = "weight"
    };

    return texts[role];
}

/* ---- Matching columns with feeds. ---- */

static struct status explain_missing(const struct training_feed *feed,
                                     const struct data_split *split)
{
    struct buffer columns = { 0 };

    for (int c = 0; c < split->columns_count; c++)
        buffer_printf(&columns, "%s'%s' (%s)", c > 0 ? ", " : "", split->columns[c].spec.name,
                      tensor_spec_text(&split->columns[c].spec));
    struct status status =
        status_error(STATUS_INVALID_ARGUMENT,
                     "the data have no column for the model's %s '%s' (%s); they have %.*s",
                     role_text(feed->role), feed->spec.name, tensor_spec_text(&feed->spec),
                     (int)columns.size, columns.data);
    buffer_finish(&columns);
    return status;
}

static struct status check_classes(const struct training_feed *feed,
                                   const struct data_column *column)
{
    if (feed->classes == 0 || column->classes <= feed->classes)
        return status_ok();
    return status_error(STATUS_INVALID_ARGUMENT,
                        "the model has %" PRId64 " classes, but the data have the label %" PRId64
                        " in the column '%s'; expected 0 to %" PRId64,
                        feed->classes, column->classes - 1, column->spec.name, feed->classes - 1);
}

static struct status check_column(const struct training_feed *feed,
                                  const struct data_column *column)
{
    const struct tensor_spec *wanted = &feed->spec, *given = &column->spec;
    int64_t wanted_size = tensor_spec_row_size(wanted), given_size = tensor_spec_row_size(given);

    if (given->dtype != wanted->dtype || given->layout != wanted->layout)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's %s '%s' is %s%s, but the column of the data is %s",
                            role_text(feed->role), wanted->name, tensor_spec_text(wanted),
                            feed->classes > 0 ? " of classes" : "", tensor_spec_text(given));
    if (wanted_size != 0 && given_size != wanted_size)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's %s '%s' is %s and takes %" PRId64
                            " numbers per row, but the column of the data is %s",
                            role_text(feed->role), wanted->name, tensor_spec_text(wanted),
                            wanted_size, tensor_spec_text(given));
    return check_classes(feed, column);
}

static struct status match_column(const struct training_feed *feed,
                                  const struct feed_endpoints *endpoints,
                                  const struct data_split *split, int *out)
{
    *out = -1;
    if (endpoints->values.node == NULL)
        return status_ok();
    *out = data_split_column(split, feed->spec.name);
    if (*out < 0)
        return explain_missing(feed, split);
    return check_column(feed, &split->columns[*out]);
}

struct status feeder_check(const struct training_graph *graph, const struct training_pass *pass,
                           const struct data_split *split)
{
    int column;

    for (int f = 0; f < graph->feeds_count; f++)
        TRY(match_column(&graph->feeds[f], &pass->feeds[f], split, &column));
    return status_ok();
}

/* ---- The feeds of a plan: those of the data, the variables' values, the random seed. ---- */

/* The most endpoints of a pass: a ragged feed has two. */
static int endpoints_max(const struct training_graph *graph)
{
    return 2 * graph->feeds_count + graph->variables_count + 1;
}

int feeder_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                     struct arena *arena, struct endpoint **out)
{
    struct endpoint *endpoints = ARENA_ARRAY(arena, struct endpoint, endpoints_max(graph));
    int count = 0;

    for (int f = 0; f < graph->feeds_count; f++) {
        const struct feed_endpoints *feed = &pass->feeds[f];
        if (feed->values.node != NULL)
            endpoints[count++] = feed->values;
        if (feed->row_splits.node != NULL)
            endpoints[count++] = feed->row_splits;
    }
    for (int v = 0; v < graph->variables_count; v++)
        endpoints[count++] = pass->values[v];
    if (pass->random_seed.node != NULL)
        endpoints[count++] = pass->random_seed;
    *out = endpoints;
    return count;
}

struct status feeder_create(const struct training_graph *graph, const struct training_pass *pass,
                            const struct data_split *split, struct feeder **out)
{
    struct status status = status_ok();
    struct feeder *feeder = zalloc(sizeof *feeder);

    *feeder = (struct feeder){ .graph = graph, .pass = pass };
    feeder->columns = zalloc((size_t)(graph->feeds_count + 1) * sizeof *feeder->columns);
    feeder->tensors = zalloc((size_t)endpoints_max(graph) * sizeof *feeder->tensors);
    for (int f = 0; f < graph->feeds_count; f++)
        TRY_OR(fail, match_column(&graph->feeds[f], &pass->feeds[f], split, &feeder->columns[f]));
    *out = feeder;
    return status_ok();

fail:
    feeder_destroy(feeder);
    return status;
}

void feeder_destroy(struct feeder *feeder)
{
    if (feeder == NULL)
        return;
    free(feeder->columns);
    free(feeder->tensors);
    free(feeder);
}

/* The values in the feed's shape. Unless that leaves a dimension open, it decides how a row is
 * divided: the numbers lie in the same order. */
static struct tensor values_tensor(const struct training_feed *feed, const struct tensor *values)
{
    struct shape shape = feed->spec.shape;

    if (feed->spec.layout != TENSOR_DENSE || tensor_spec_row_size(&feed->spec) == 0)
        return tensor_borrow(values->dtype, &values->shape, values->data);
    shape.dims[0] = values->shape.dims[0];
    return tensor_borrow(values->dtype, &shape, values->data);
}

struct status feeder_fill(struct feeder *feeder, const struct batch *batch,
                          const void *const *values)
{
    const struct training_graph *graph = feeder->graph;
    const struct training_pass *pass = feeder->pass;
    const struct shape two = shape_of(2);
    struct tensor *next = feeder->tensors;

    if (pass->batch != 0 && batch->rows != pass->batch)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the data end in a batch of %" PRId64
                            " rows, but the training step takes %" PRId64,
                            batch->rows, pass->batch);
    for (int f = 0; f < graph->feeds_count; f++) {
        if (feeder->columns[f] < 0)
            continue;
        const struct batch_column *column = &batch->columns[feeder->columns[f]];
        *next++ = values_tensor(&graph->feeds[f], &column->values);
        if (pass->feeds[f].row_splits.node != NULL)
            *next++ = tensor_borrow(DT_INT64, &column->row_splits.shape, column->row_splits.data);
    }
    for (int v = 0; v < graph->variables_count; v++)
        *next++ = tensor_borrow(graph->variables[v].dtype, &graph->variables[v].shape, values[v]);
    if (pass->random_seed.node != NULL)
        *next++ = tensor_borrow(DT_INT64, &two, feeder->random_seed);
    return status_ok();
}
