#include "trainer/inputs/feeder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/plural.h"
#include "trainer/inputs/pad_rows.h"
#include "trainer/inputs/sparse_parts.h"

static const char *role_text(enum feed_role role)
{
    static const char *const texts[] = {
        [FEED_INPUT] = "input",
        [FEED_LABEL] = "label",
        [FEED_COLUMN] = "column of the loss",
        [FEED_WEIGHT] = "weight",
    };

    return texts[role];
}

/* ---- matching columns with feeds ---- */

/* The input of data without names, such as IDX files: the only input of any model. */
#define NAMELESS "x"

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

    if (pads_rows(wanted, given))
        return status_ok();
    if (given->dtype != wanted->dtype || given->layout != wanted->layout)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's %s '%s' is %s%s, but the column of the data is %s",
                            role_text(feed->role), wanted->name, tensor_spec_text(wanted),
                            feed->classes > 0 ? " of classes" : "", tensor_spec_text(given));
    bool of_row = feed->role == FEED_WEIGHT && given_size == 1;
    if (wanted_size != 0 && given_size != wanted_size && !of_row)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the model's %s '%s' is %s and takes %" PRId64
                            " number%s per row, but the column of the data is %s",
                            role_text(feed->role), wanted->name, tensor_spec_text(wanted),
                            wanted_size, plural(wanted_size), tensor_spec_text(given));
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
    if (*out < 0 && feed->role == FEED_INPUT)
        *out = data_split_column(split, NAMELESS);
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

/* ---- the feeds of a plan ---- */

/* They are those of the data, the random seed, the variables' values, the places of rows, all
 * candidates, and the scale of the loss. */

/* Limit of the endpoints of a pass: a sparse feed has three. */
static int endpoints_max(const struct training_graph *graph, const struct training_pass *pass)
{
    return 3 * graph->feeds_count + 1 + graph->variables_count + pass->lookups_count +
           pass->candidates_count + 1;
}

int feeder_data_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                          struct arena *arena, struct endpoint **out)
{
    struct endpoint *endpoints = ARENA_ARRAY(arena, struct endpoint, endpoints_max(graph, pass));
    int count = 0;

    for (int f = 0; f < graph->feeds_count; f++) {
        const struct feed_endpoints *feed = &pass->feeds[f];
        if (feed->values.node != NULL)
            endpoints[count++] = feed->values;
        if (feed->ids.node != NULL)
            endpoints[count++] = feed->ids;
        if (feed->row_splits.node != NULL)
            endpoints[count++] = feed->row_splits;
        if (feed->indices.node != NULL)
            endpoints[count++] = feed->indices;
        if (feed->sparse_shape.node != NULL)
            endpoints[count++] = feed->sparse_shape;
    }
    if (pass->random_seed.node != NULL)
        endpoints[count++] = pass->random_seed;
    *out = endpoints;
    return count;
}

int feeder_endpoints(const struct training_graph *graph, const struct training_pass *pass,
                     struct arena *arena, struct endpoint **out)
{
    int count = feeder_data_endpoints(graph, pass, arena, out);

    for (int v = 0; v < graph->variables_count; v++)
        (*out)[count++] = pass->values[v];
    for (int i = 0; i < pass->lookups_count; i++)
        (*out)[count++] = pass->lookups[i].positions;
    for (int i = 0; i < pass->candidates_count; i++)
        (*out)[count++] = pass->candidates[i];
    if (pass->loss_scale.node != NULL)
        (*out)[count++] = pass->loss_scale;
    return count;
}

struct status feeder_create(const struct training_graph *graph, const struct training_pass *pass,
                            const struct data_split *split, struct feeder **out)
{
    struct status status = status_ok();
    struct feeder *feeder = zalloc(sizeof *feeder);
    size_t variables = (size_t)graph->variables_count + 1,
           tensors = (size_t)endpoints_max(graph, pass), feeds = (size_t)graph->feeds_count + 1;

    *feeder = (struct feeder){ .graph = graph, .pass = pass };
    feeder->columns = zalloc(feeds * sizeof *feeder->columns);
    feeder->is_padded = zalloc(feeds * sizeof *feeder->is_padded);
    feeder->padded = zalloc(feeds * sizeof *feeder->padded);
    feeder->sparse = zalloc(feeds * sizeof *feeder->sparse);
    feeder->tensors = zalloc(tensors * sizeof *feeder->tensors);
    feeder->copies = zalloc(tensors * sizeof *feeder->copies);
    feeder->finders = zalloc(variables * sizeof *feeder->finders);
    feeder->rows = zalloc(variables * sizeof *feeder->rows);
    feeder->ids = zalloc((size_t)(pass->lookups_count + 1) * sizeof *feeder->ids);
    for (int f = 0; f < graph->feeds_count; f++) {
        int *column = &feeder->columns[f];
        TRY_OR(fail, match_column(&graph->feeds[f], &pass->feeds[f], split, column));
        feeder->is_padded[f] =
            *column >= 0 && pads_rows(&graph->feeds[f].spec, &split->columns[*column].spec);
    }
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
    for (int i = 0; i < endpoints_max(feeder->graph, feeder->pass); i++)
        buffer_finish(&feeder->copies[i]);
    for (int v = 0; v < feeder->graph->variables_count; v++)
        row_finder_free(&feeder->finders[v]);
    for (int f = 0; f < feeder->graph->feeds_count; f++)
        buffer_finish(&feeder->padded[f]);
    for (int f = 0; f < feeder->graph->feeds_count; f++)
        buffer_finish(&feeder->sparse[f].indices);
    free(feeder->sparse);
    free(feeder->padded);
    free(feeder->is_padded);
    free(feeder->columns);
    free(feeder->tensors);
    free(feeder->copies);
    free(feeder->finders);
    free(feeder->rows);
    free(feeder->ids);
    free(feeder);
}

/* The values in the feed's shape, which reshapes each row unless it leaves a dimension open. A
 * row with a single weight has it for all steps. */
static struct tensor values_tensor(const struct training_feed *feed, const struct tensor *values)
{
    struct shape shape = feed->spec.shape;

    if (feed->role == FEED_WEIGHT && values->size == values->shape.dims[0])
        for (int d = 1; d < shape.rank; d++)
            shape.dims[d] = 1;
    else if (feed->spec.layout != TENSOR_DENSE || tensor_spec_row_size(&feed->spec) == 0)
        return tensor_borrow(values->dtype, &values->shape, values->data);
    shape.dims[0] = values->shape.dims[0];
    return tensor_borrow(values->dtype, &shape, values->data);
}

/* Sets the tensors that divide values into rows. Returns the next free tensor. */
static struct tensor *fill_lists(struct feeder *feeder, int f, const struct batch_column *column,
                                 struct tensor *next)
{
    const struct feed_endpoints *endpoints = &feeder->pass->feeds[f];
    struct sparse_feed *sparse = &feeder->sparse[f];

    if (endpoints->ids.node != NULL)
        *next++ = tensor_borrow(DT_INT64, &column->ids.shape, column->ids.data);
    if (endpoints->row_splits.node != NULL)
        *next++ = tensor_borrow(DT_INT64, &column->row_splits.shape, column->row_splits.data);
    if (endpoints->indices.node != NULL)
        *next++ = sparse_indices(column, &sparse->indices);
    if (endpoints->sparse_shape.node != NULL)
        *next++ = sparse_shape(&feeder->graph->feeds[f].spec, column, sparse->shape);
    return next;
}

struct status feeder_fill_data(struct feeder *feeder, const struct batch *batch)
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
        if (feeder->is_padded[f])
            TRY(pad_rows(&graph->feeds[f].spec, column, graph->feeds[f].ignored_class,
                         &feeder->padded[f], next));
        else
            *next = values_tensor(&graph->feeds[f], &column->values);
        next = fill_lists(feeder, f, column, next + 1);
    }
    if (pass->random_seed.node != NULL)
        *next++ = tensor_borrow(DT_INT64, &two, feeder->random_seed);
    feeder->data_count = (int)(next - feeder->tensors);
    return status_ok();
}

/* Strings are placed after the array that refers to them. */
static void copy_texts(const struct tensor *tensor, struct buffer *copy)
{
    size_t count = (size_t)tensor->size, at = count * sizeof(struct bytes);

    for (size_t i = 0; i < count; i++)
        buffer_append(copy, tensor_strings(tensor)[i].data, tensor_strings(tensor)[i].size);
    struct bytes *texts = (struct bytes *)(void *)copy->data;
    for (size_t i = 0; i < count; i++) {
        texts[i].data = copy->data + at;
        at += texts[i].size;
    }
}

void feeder_copy_data(struct feeder *feeder)
{
    for (int i = 0; i < feeder->data_count; i++) {
        struct tensor *tensor = &feeder->tensors[i];
        struct buffer *copy = &feeder->copies[i];
        copy->size = 0;
        buffer_reserve(copy, tensor_bytes(tensor) + 1);
        if (tensor->size > 0)
            buffer_append(copy, tensor->data, tensor_bytes(tensor));
        if (tensor->dtype == DT_STRING)
            copy_texts(tensor, copy);
        *tensor = tensor_borrow(tensor->dtype, &tensor->shape, copy->data);
    }
}

/* ---- the rows of lookups ---- */

/* Finds the rows of all lookups of a sparse variable. */
static struct status find_rows_of(struct feeder *feeder, int v, struct row_scratch *scratch)
{
    const struct training_variable *variable = &feeder->graph->variables[v];
    struct row_finder *finder = &feeder->finders[v];

    if (variable->by_keys)
        row_finder_begin_keys(finder, scratch);
    else
        row_finder_begin(finder, scratch, variable->shape.dims[0]);
    for (int i = 0; i < feeder->pass->lookups_count; i++) {
        const struct tensor *ids = &feeder->ids[i];
        if (feeder->pass->lookups[i].variable == v)
            TRY(status_in(row_finder_add(finder, tensor_int64s(ids), (size_t)ids->size), "'%s'",
                          variable->name));
    }
    row_finder_finish(finder);
    feeder->rows[v] = finder->rows;
    return status_ok();
}

/* Feeds the positions that the finders assigned to the ids, in the order of addition. */
static void fill_places(struct feeder *feeder)
{
    const struct training_graph *graph = feeder->graph;
    struct tensor *next = feeder->tensors + feeder->data_count + graph->variables_count;
    size_t *taken = zalloc((size_t)(graph->variables_count + 1) * sizeof *taken);

    for (int i = 0; i < feeder->pass->lookups_count; i++) {
        int v = feeder->pass->lookups[i].variable;
        const struct tensor *ids = &feeder->ids[i];
        next[i] = tensor_borrow(DT_INT64, &ids->shape, feeder->finders[v].places + taken[v]);
        taken[v] += (size_t)ids->size;
    }
    free(taken);
}

struct status feeder_find_rows(struct feeder *feeder, const struct plan *ids, struct run *run,
                               struct row_scratch *scratch)
{
    const struct training_graph *graph = feeder->graph;

    TRY(plan_run(ids, run, feeder->tensors, feeder->ids));
    struct status status = status_ok();
    for (int v = 0; v < graph->variables_count && status_is_ok(status); v++)
        if (training_variable_is_sparse(&graph->variables[v]))
            status = find_rows_of(feeder, v, scratch);
    if (status_is_ok(status))
        fill_places(feeder);
    tensors_release(feeder->pass->lookups_count, feeder->ids);
    run_reset(run);
    return status;
}

size_t feeder_bytes(const struct feeder *feeder)
{
    size_t bytes = 0;

    for (int i = 0; i < endpoints_max(feeder->graph, feeder->pass); i++)
        bytes += feeder->copies[i].capacity;
    for (int v = 0; v < feeder->graph->variables_count; v++)
        bytes += row_finder_bytes(&feeder->finders[v]);
    for (int f = 0; f < feeder->graph->feeds_count; f++)
        bytes += feeder->padded[f].capacity + feeder->sparse[f].indices.capacity;
    return bytes;
}

void feeder_fill_values(struct feeder *feeder, const void *const *values)
{
    const struct training_graph *graph = feeder->graph;
    struct tensor *next = feeder->tensors + feeder->data_count;
    const struct shape scalar = shape_scalar();

    for (int v = 0; v < graph->variables_count; v++) {
        const struct training_variable *variable = &graph->variables[v];
        struct shape shape = variable->shape;
        if (training_variable_is_sparse(variable))
            shape.dims[0] = (int64_t)feeder->rows[v].count;
        *next++ = tensor_borrow(variable->dtype, &shape, values[v]);
    }
    next += feeder->pass->lookups_count;
    for (int i = 0; i < feeder->pass->candidates_count; i++)
        *next++ = feeder->candidates[i];
    if (feeder->pass->loss_scale.node != NULL)
        *next = tensor_borrow(DT_FLOAT, &scalar, feeder->loss_scale);
}
