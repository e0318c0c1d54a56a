#include "trainer/inputs/feed_fault.h"

#include <inttypes.h>
#include <math.h>

/* A value of a batch. */
struct fed_value {
    int feed;
    const struct tensor *values; /* of the feed */
    int64_t at;                  /* its place among these */
    int64_t row;
    double value;
};

static double value_at(const struct tensor *values, int64_t at)
{
    switch ((int)values->dtype) {
    case DT_FLOAT:
        return (double)tensor_floats(values)[at];
    case DT_DOUBLE:
        return ((const double *)values->data)[at];
    case DT_HALF:
        return (double)half_to_float(((const uint16_t *)values->data)[at]);
    case DT_BFLOAT16:
        return (double)bfloat16_to_float(((const uint16_t *)values->data)[at]);
    default:
        return 0;
    }
}

/* The feed's values, and their row splits; see feeder_fill_data. */
struct fed_tensors {
    const struct tensor *values, *row_splits, *indices; /* NULL: there is none */
};

static struct fed_tensors take_tensors(const struct feed_endpoints *feed,
                                       const struct tensor **next)
{
    struct fed_tensors out = { .values = (*next)++ };

    *next += feed->ids.node != NULL;
    out.row_splits = feed->row_splits.node != NULL ? (*next)++ : NULL;
    out.indices = feed->indices.node != NULL ? (*next)++ : NULL;
    *next += feed->sparse_shape.node != NULL;
    return out;
}

static int64_t row_of(const struct fed_tensors *tensors, int64_t at)
{
    const struct tensor *values = tensors->values;
    int64_t row = 0;

    if (tensors->indices != NULL)
        return ((const int64_t *)tensors->indices->data)[2 * at];
    if (tensors->row_splits == NULL)
        return at / (values->size / values->shape.dims[0]);
    while (((const int64_t *)tensors->row_splits->data)[row + 1] <= at)
        row++;
    return row;
}

static bool find_value(const struct feeder *feeder, struct fed_value *out)
{
    const struct tensor *next = feeder->tensors;

    for (int f = 0; f < feeder->graph->feeds_count; f++) {
        if (feeder->columns[f] < 0)
            continue;
        const struct fed_tensors tensors = take_tensors(&feeder->pass->feeds[f], &next);
        for (int64_t i = 0; i < tensors.values->size; i++) {
            double value = value_at(tensors.values, i);
            if (isfinite(value))
                continue;
            *out = (struct fed_value){ f, tensors.values, i, row_of(&tensors, i), value };
            return true;
        }
    }
    return false;
}

/* The rows of the batch: of dense values, or of those that have row splits. */
static int64_t rows_of(const struct feeder *feeder)
{
    const struct tensor *next = feeder->tensors;
    int64_t rows = 0;

    for (int f = 0; f < feeder->graph->feeds_count && rows == 0; f++) {
        if (feeder->columns[f] < 0)
            continue;
        const struct fed_tensors tensors = take_tensors(&feeder->pass->feeds[f], &next);
        if (tensors.row_splits != NULL)
            rows = tensors.row_splits->size - 1;
        else if (tensors.indices == NULL)
            rows = tensors.values->shape.dims[0];
    }
    return rows;
}

bool feed_fault_find(const struct feeder *feeder, const struct data_split *split,
                     struct buffer *out)
{
    struct fed_value found;

    if (!find_value(feeder, &found))
        return false;
    const struct tensor_spec *spec = &feeder->graph->feeds[found.feed].spec;
    bool whole = spec->layout == TENSOR_DENSE && !feeder->is_padded[found.feed];
    size_t row_bytes = whole ? tensor_bytes(found.values) / (size_t)found.values->shape.dims[0] : 0;
    const char *row = (const char *)found.values->data + (size_t)found.row * row_bytes;

    buffer_printf(out, "row %" PRId64 " of the batch's %" PRId64 " has %g in the model's '%s'",
                  found.row + 1, rows_of(feeder), found.value, spec->name);
    if (split->locate != NULL)
        split->locate(split, feeder->columns[found.feed], (struct bytes){ row, row_bytes }, out);
    return true;
}
