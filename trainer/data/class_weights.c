#include "trainer/data/class_weights.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* ---- reading ---- */

/* Reads "7:2.5" and the comma or end after it. Returns false if the text has another form. */
static bool read_pair(const char **at, int64_t *class, double *weight)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *class = strtoll(*at, &end, 10);
    if (errno != 0 || *end != ':')
        return false;
    const char *number = end + 1;
    *weight = strtod(number, &end);
    *at = *end == ',' ? end + 1 : end;
    return end != number && (*end == '\0' || (*end == ',' && **at != '\0'));
}

static struct status read_checked(const char **at, int64_t *class, double *weight)
{
    const char *start = *at;

    if (!read_pair(at, class, weight))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "'%s', expected CLASS:WEIGHT,… as in 0:1,7:2.5", start);
    if (*class >= CLASS_WEIGHTS_MAX)
        return status_error(STATUS_INVALID_ARGUMENT, "class %" PRId64 ", expected less than %d",
                            *class, CLASS_WEIGHTS_MAX);
    if (!(*weight >= 0) || !isfinite((float)*weight))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "class %" PRId64 " has the weight %g, expected a finite number from 0 "
                            "on",
                            *class, *weight);
    return status_ok();
}

static struct status count_classes(const char *text, int64_t *count)
{
    int64_t class;
    double weight;

    *count = 0;
    for (const char *at = text; at == text || *at != '\0';) {
        TRY(read_checked(&at, &class, &weight));
        *count = class < *count ? *count : class + 1;
    }
    return status_ok();
}

struct status class_weights_read(const char *text, struct arena *arena, struct class_weights *out)
{
    struct class_weights weights = { 0 };
    int64_t class;
    double weight;

    TRY(count_classes(text, &weights.count));
    weights.of_class = ARENA_ARRAY(arena, float, weights.count);
    for (int64_t c = 0; c < weights.count; c++)
        weights.of_class[c] = NAN; /* not named yet */
    for (const char *at = text; *at != '\0';) {
        TRY(read_checked(&at, &class, &weight));
        if (!isnan(weights.of_class[class]))
            return status_error(STATUS_INVALID_ARGUMENT, "class %" PRId64 " comes twice", class);
        weights.of_class[class] = (float)weight;
    }
    for (int64_t c = 0; c < weights.count; c++)
        if (isnan(weights.of_class[c]))
            weights.of_class[c] = 1;
    *out = weights;
    return status_ok();
}

/* ---- the split ---- */

struct weighted_split {
    struct data_split split; /* first */
    const struct class_weights *weights;
    const struct data_split *base;
    int labels;     /* the column's index */
    int weights_at; /* index of the weights among the columns */
};

struct weighted_source {
    struct batch_source source; /* first */
    const struct weighted_split *split;
    struct batch_source *base;
    float *weights;
    int64_t capacity;
    struct batch_column *columns; /* those of the base, and the weights */
};

/* The first of the largest numbers. */
static int64_t largest_of(const float *numbers, int64_t count)
{
    int64_t largest = 0;

    for (int64_t i = 1; i < count; i++)
        if (numbers[i] > numbers[largest])
            largest = i;
    return largest;
}

/* As in Keras, the class of a row with a number for each class is that of the largest. */
static float weight_of(const struct class_weights *weights, const struct tensor *labels,
                       int64_t row)
{
    int64_t class = -1, count = labels->shape.rank == 2 ? labels->shape.dims[1] : 1;

    if (count > 1)
        class = largest_of(tensor_floats(labels) + row * count, count);
    else if (labels->dtype != DT_FLOAT)
        class = tensor_index(labels, row);
    else if (fabsf(tensor_floats(labels)[row]) < CLASS_WEIGHTS_MAX) /* and not NaN */
        class = (int64_t)rintf(tensor_floats(labels)[row]);
    return class >= 0 && class < weights->count ? weights->of_class[class] : 1;
}

static struct status next(struct batch_source *base, int64_t rows_max, struct batch *out)
{
    struct weighted_source *source = (struct weighted_source *)base;
    const struct weighted_split *split = source->split;
    int count = split->base->columns_count;

    TRY(source->base->next(source->base, rows_max, out));
    const struct shape shape = shape_of(out->rows);
    const struct tensor *labels = &out->columns[split->labels].values;
    if (out->rows > source->capacity) {
        free(source->weights);
        source->capacity = out->rows;
        source->weights = zalloc((size_t)out->rows * sizeof *source->weights);
    }
    const float *given =
        split->weights_at < count ? tensor_floats(&out->columns[split->weights_at].values) : NULL;
    for (int64_t row = 0; row < out->rows; row++)
        source->weights[row] =
            (given != NULL ? given[row] : 1) * weight_of(split->weights, labels, row);
    memcpy(source->columns, out->columns, (size_t)count * sizeof *source->columns);
    source->columns[split->weights_at].values = tensor_borrow(DT_FLOAT, &shape, source->weights);
    out->columns = source->columns;
    return status_ok();
}

static struct status seek(struct batch_source *base, uint64_t rows)
{
    struct weighted_source *source = (struct weighted_source *)base;

    return source->base->seek(source->base, rows);
}

static void destroy(struct batch_source *base)
{
    struct weighted_source *source = (struct weighted_source *)base;

    source->base->destroy(source->base);
    free(source->weights);
    free(source->columns);
    free(source);
}

static struct status open_source(const struct data_split *base, const struct batch_order *order,
                                 struct batch_source **out)
{
    const struct weighted_split *split = (const struct weighted_split *)base;
    struct batch_source *of_base;

    TRY(split->base->open(split->base, order, &of_base));
    struct weighted_source *source = zalloc(sizeof *source);
    source->source = (struct batch_source){ .next = next, .seek = seek, .destroy = destroy };
    source->split = split;
    source->base = of_base;
    source->columns = zalloc((size_t)split->split.columns_count * sizeof *source->columns);
    *out = &source->source;
    return status_ok();
}

/* Class weights are a setting of the job, which tasks compare separately. */
static struct status identify(const struct data_split *base, struct buffer *out)
{
    const struct weighted_split *split = (const struct weighted_split *)base;

    return split->base->identify(split->base, out);
}

static void locate(const struct data_split *base, int column, struct bytes row, struct buffer *out)
{
    const struct data_split *inner = ((const struct weighted_split *)base)->base;

    if (inner->locate != NULL && column < inner->columns_count)
        inner->locate(inner, column, row, out);
}

static struct status check_labels(const struct class_weights *weights,
                                  const struct data_column *labels)
{
    enum dtype dtype = labels->spec.dtype;
    int64_t size = tensor_spec_row_size(&labels->spec);
    bool shares = dtype == DT_FLOAT && labels->spec.shape.rank == 2 && size > 1;

    if (labels->spec.layout != TENSOR_DENSE || (size != 1 && !shares) ||
        (dtype != DT_INT32 && dtype != DT_INT64 && dtype != DT_FLOAT))
        return status_error(STATUS_INVALID_ARGUMENT,
                            "the column 'labels' of the data is %s, expected one class per row",
                            tensor_spec_text(&labels->spec));
    int64_t classes = shares ? size : labels->classes;
    if (classes > 0 && weights->count > classes)
        return status_error(STATUS_INVALID_ARGUMENT,
                            "class %" PRId64 " has a weight, but the data have the classes 0 to "
                            "%" PRId64,
                            weights->count - 1, classes - 1);
    return status_ok();
}

struct status class_weights_apply(const struct class_weights *weights,
                                  const struct data_split *base, struct arena *arena,
                                  const struct data_split **out)
{
    struct weighted_split *split = ARENA_NEW(arena, struct weighted_split);
    int count = base->columns_count, labels = data_split_column(base, LABELS_COLUMN);
    int given = data_split_column(base, SAMPLE_WEIGHT_COLUMN);
    struct data_column *columns = ARENA_ARRAY(arena, struct data_column, count + 1);

    if (labels < 0)
        return status_error(STATUS_INVALID_ARGUMENT, "the data have no column '%s'", LABELS_COLUMN);
    TRY(check_labels(weights, &base->columns[labels]));
    memcpy(columns, base->columns, (size_t)count * sizeof *columns);
    columns[count] = (struct data_column){
        .spec = { .name = SAMPLE_WEIGHT_COLUMN, .dtype = DT_FLOAT, .shape = shape_of(-1) }
    };
    *split = (struct weighted_split){ .split = { .columns = columns,
                                                 .columns_count = count + (given < 0),
                                                 .rows = base->rows,
                                                 .open = open_source,
                                                 .identify = identify,
                                                 .locate = locate },
                                      .weights = weights,
                                      .base = base,
                                      .labels = labels,
                                      .weights_at = given < 0 ? count : given };
    *out = &split->split;
    return status_ok();
}
