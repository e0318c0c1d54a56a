/*
 * Built with -ffp-contract=off: a synchronous job gives the same bits on machines with and without
 * fused multiply-add.
 */
#include "trainer/job/accumulate.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clones.h"
#include "trainer/optimizers/finite.h"
#include "trainer/protocol/row_finder.h"

/* The accumulated gradient of a variable. */
struct accumulated {
    float *sum; /* for a sparse variable: over the rows of all batches */
    size_t capacity;
    /* For a sparse variable, if a step has several batches: */
    struct row_finder finders[2]; /* alternate: the rows of this step and of the next one */
    size_t taken;                 /* positions that the earlier batches have used */
    float *chosen;                /* the values of a batch's rows */
    size_t chosen_capacity;
};

struct accumulating_source {
    struct gradient_source source; /* first */
    struct gradient_source *inner;
    uint32_t batches;
    float loss_scale;
    struct client_scaling *scaling; /* holds the current loss_scale; NULL: it is constant */
    const struct placement *placement;
    struct accumulated *variables;  /* [variables_count] */
    struct variable_gradient *mean; /* [variables_count] */
    struct row_ids *rows;           /* [variables_count]: of the next step */
    struct row_scratch scratch;
    const struct row_ids **asked; /* [batches]: the answers of inner->need_rows */
    const void **values;          /* [variables_count]: for a batch */
    int current;                  /* index of the finders of the next step, if its rows were
                                     * requested */
};

CLONES static void divide_to(const float *restrict g, float by, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = g[i] / by;
}

CLONES static void add_to(const float *restrict g, float scale, float *restrict sum, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += g[i] / scale;
}

CLONES static void scale_to(const float *restrict x, float by, float *restrict out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = x[i] * by;
}

CLONES static void add_scaled(const float *restrict x, float by, float *restrict sum, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] += x[i] * by;
}

CLONES static void divide(float *sum, float by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum[i] /= by;
}

static size_t row_size(const struct placed_variable *variable)
{
    return placement_row_bytes(variable) / sizeof(float);
}

static size_t count_of(const struct placed_variable *variable,
                       const struct variable_gradient *gradient)
{
    if (placed_variable_is_sparse(variable))
        return gradient->rows.count * row_size(variable);
    return (size_t)shape_size(&variable->shape);
}

static void make_room(float **array, size_t *capacity, size_t count)
{
    if (*array == NULL || *capacity < count) {
        *array = xrealloc(*array, (count + 1) * sizeof(float));
        *capacity = count;
    }
}

/* ---- rows: a step needs the union of its batches' rows ---- */

static bool joins_rows(const struct accumulating_source *source, int v)
{
    return source->batches > 1 && placed_variable_is_sparse(&source->placement->variables[v]);
}

static struct row_finder *finder_of(const struct accumulating_source *source, int v)
{
    return &source->variables[v].finders[source->current];
}

/* A turn of rows contains all batches of a step. */
static struct status half_a_step(void)
{
    return status_error(STATUS_INTERNAL, "there are rows for some batches of a step only");
}

/* Asks for the rows of all batches of a step. *found is false if there are none now. */
static struct status ask_for_rows(struct accumulating_source *source, bool *found)
{
    *found = true;
    for (uint32_t i = 0; i < source->batches && *found; i++) {
        TRY(source->inner->need_rows(source->inner, &source->asked[i]));
        *found = source->asked[i] != NULL;
        if (!*found && i > 0)
            return half_a_step();
    }
    return status_ok();
}

static struct status find_union(struct accumulating_source *source, int v)
{
    const struct placed_variable *variable = &source->placement->variables[v];
    struct row_finder *finder = finder_of(source, v);

    if (variable->by_keys)
        row_finder_begin_keys(finder, &source->scratch);
    else
        row_finder_begin(finder, &source->scratch, variable->shape.dims[0]);
    for (uint32_t i = 0; i < source->batches; i++) {
        const struct row_ids *rows = &source->asked[i][v];
        TRY(row_finder_add(finder, rows->ids, rows->count));
    }
    row_finder_finish(finder);
    source->rows[v] = finder->rows;
    return status_ok();
}

static struct status need_rows(struct gradient_source *base, const struct row_ids **rows)
{
    struct accumulating_source *source = (struct accumulating_source *)base;
    bool found;

    if (source->batches == 1)
        return source->inner->need_rows(source->inner, rows);
    source->current = 1 - source->current;
    TRY(ask_for_rows(source, &found));
    for (int v = 0; v < source->placement->variables_count && found; v++)
        if (joins_rows(source, v))
            TRY(find_union(source, v));
    *rows = found ? source->rows : NULL;
    return status_ok();
}

/* The index of each row of the next batch among those of the step. */
static const int64_t *places_of(const struct accumulating_source *source, int v)
{
    return finder_of(source, v)->places + source->variables[v].taken;
}

/* Copies the values of a batch's rows from those of the step. */
static void choose_rows(struct accumulating_source *source, int v, size_t count,
                        const float *values)
{
    struct accumulated *variable = &source->variables[v];
    const int64_t *places = places_of(source, v);
    size_t size = row_size(&source->placement->variables[v]);

    make_room(&variable->chosen, &variable->chosen_capacity, count * size);
    for (size_t i = 0; i < count; i++)
        memcpy(variable->chosen + i * size, values + (size_t)places[i] * size,
               size * sizeof(float));
    source->values[v] = variable->chosen;
}

/* The values for this batch of `inner`. */
static const void *const *values_of(struct accumulating_source *source, uint32_t batch,
                                    const void *const *values)
{
    if (source->batches == 1 || source->inner->need_rows == NULL)
        return values;
    for (int v = 0; v < source->placement->variables_count; v++)
        if (joins_rows(source, v))
            choose_rows(source, v, source->asked[batch][v].count, values[v]);
        else
            source->values[v] = values[v];
    return source->values;
}

static void add_rows(struct accumulating_source *source, int v,
                     const struct variable_gradient *given)
{
    const int64_t *places = places_of(source, v);
    size_t size = row_size(&source->placement->variables[v]);
    float *sum = source->variables[v].sum;

    for (size_t i = 0; i < given->rows.count; i++)
        add_to(given->values + i * size, source->loss_scale, sum + (size_t)places[i] * size, size);
    source->variables[v].taken += given->rows.count;
}

/* ---- sums ---- */

/* The weight of a batch's values. `batches` moves of an average by `momentum` equal one move by
 * momentum^batches, which the ps makes, towards the values weighted like this. */
static float weight_of(const struct accumulating_source *source, double momentum, uint32_t batch)
{
    double later = (double)(source->batches - 1 - batch);

    if (momentum == 1)
        return 1 / (float)source->batches;
    return (float)(pow(momentum, later) * (1 - momentum) /
                   (1 - pow(momentum, (double)source->batches)));
}

static void take_average(struct accumulating_source *source, int v, uint32_t batch,
                         const struct variable_gradient *given)
{
    const struct placed_variable *variable = &source->placement->variables[v];
    struct accumulated *sums = &source->variables[v];
    size_t count = count_of(variable, given);
    float weight = weight_of(source, variable->momentum, batch);

    if (source->batches == 1)
        return;
    make_room(&sums->sum, &sums->capacity, count);
    if (batch == 0)
        scale_to(given->values, weight, sums->sum, count);
    else
        add_scaled(given->values, weight, sums->sum, count);
    source->mean[v].values = sums->sum;
}

static void take_rows(struct accumulating_source *source, int v, uint32_t batch,
                      const struct variable_gradient *given)
{
    struct accumulated *sums = &source->variables[v];

    source->mean[v].rows = finder_of(source, v)->rows;
    size_t count = count_of(&source->placement->variables[v], &source->mean[v]);
    make_room(&sums->sum, &sums->capacity, count);
    if (batch == 0)
        memset(sums->sum, 0, count * sizeof(float));
    add_rows(source, v, given);
    source->mean[v].values = sums->sum;
}

static void take_gradient(struct accumulating_source *source, int v, uint32_t batch,
                          const struct variable_gradient *given)
{
    struct accumulated *sums = &source->variables[v];
    size_t count = count_of(&source->placement->variables[v], given);

    make_room(&sums->sum, &sums->capacity, count);
    if (batch == 0)
        divide_to(given->values, source->loss_scale, sums->sum, count);
    else
        add_to(given->values, source->loss_scale, sums->sum, count);
    source->mean[v].values = sums->sum;
}

static void take_batch(struct accumulating_source *source, uint32_t batch,
                       const struct variable_gradient *given)
{
    for (int v = 0; v < source->placement->variables_count; v++) {
        const struct placed_variable *variable = &source->placement->variables[v];
        source->mean[v] = given[v];
        if (variable->averaged)
            take_average(source, v, batch, &given[v]);
        else if (variable->trainable && joins_rows(source, v))
            take_rows(source, v, batch, &given[v]);
        else if (variable->trainable)
            take_gradient(source, v, batch, &given[v]);
    }
}

/* ---- a scale that changes ---- */

static bool are_finite(const struct accumulating_source *source,
                       const struct variable_gradient *given)
{
    const struct placement *placement = source->placement;
    bool finite = true;

    for (int v = 0; v < placement->variables_count && finite; v++)
        if (placement->variables[v].trainable)
            finite = finite_all(
                (struct bytes){ (const char *)given[v].values,
                                count_of(&placement->variables[v], &given[v]) * sizeof(float) });
    return finite;
}

/* Checks the gradients of the scaled loss for overflow, as Keras does. */
static struct status look_for_overflow(struct accumulating_source *source,
                                       const struct variable_gradient *given)
{
    if (source->scaling == NULL || are_finite(source, given))
        return status_ok();
    source->scaling->overflowed = true;
    if (source->loss_scale / 2 >= FLT_MIN)
        return status_ok();
    return status_error(STATUS_OUT_OF_RANGE,
                        "the gradients are not finite although the loss scale has fallen to %g, "
                        "after %" PRIu64 " steps that were skipped: look for values in the data "
                        "that are nan, infinite or very large, or try a smaller --learning_rate",
                        (double)source->loss_scale, source->scaling->skipped);
}

static void take_mean(struct accumulating_source *source)
{
    for (int v = 0; v < source->placement->variables_count && source->batches > 1; v++)
        if (source->placement->variables[v].trainable)
            divide(source->variables[v].sum, (float)source->batches,
                   count_of(&source->placement->variables[v], &source->mean[v]));
}

static struct status step(struct gradient_source *base, const void *const *values,
                          const struct variable_gradient **gradients, float *loss)
{
    struct accumulating_source *source = (struct accumulating_source *)base;
    const struct variable_gradient *given;
    double sum = 0;
    float one;

    for (int v = 0; v < source->placement->variables_count; v++)
        source->variables[v].taken = 0;
    if (source->scaling != NULL) {
        source->loss_scale = source->scaling->scale;
        source->scaling->overflowed = false;
    }
    for (uint32_t i = 0; i < source->batches; i++) {
        const void *const *chosen = values_of(source, i, values);
        TRY(source->inner->step(source->inner, chosen, &given, &one));
        if (given == NULL) {
            *gradients = NULL;
            return i == 0 ? status_ok() : half_a_step();
        }
        TRY(look_for_overflow(source, given));
        take_batch(source, i, given);
        sum += (double)one;
    }
    take_mean(source);
    *loss = (float)(sum / source->batches);
    *gradients = source->mean;
    return status_ok();
}

static struct status seek(struct gradient_source *base, uint64_t begin, uint64_t step,
                          const struct row_place *place)
{
    const struct accumulating_source *source = (struct accumulating_source *)base;
    struct gradient_source *inner = source->inner;

    return inner->seek != NULL
               ? inner->seek(inner, begin * source->batches, step * source->batches, place)
               : status_ok();
}

static void destroy(struct gradient_source *base)
{
    struct accumulating_source *source = (struct accumulating_source *)base;

    for (int v = 0; v < source->placement->variables_count; v++) {
        struct accumulated *variable = &source->variables[v];
        row_finder_free(&variable->finders[0]);
        row_finder_free(&variable->finders[1]);
        free(variable->chosen);
        free(variable->sum);
    }
    row_scratch_free(&source->scratch);
    free(source->variables);
    free(source->mean);
    free(source->rows);
    free(source->asked);
    free(source->values);
    source->inner->destroy(source->inner);
    free(source);
}

static struct accumulating_source *make(struct gradient_source *inner, uint32_t batches,
                                        const struct placement *placement)
{
    size_t count = (size_t)placement->variables_count + 1;
    struct accumulating_source *source = zalloc(sizeof *source);
    source->source =
        (struct gradient_source){ .step = step,
                                  .destroy = destroy,
                                  .seek = seek,
                                  .need_rows = inner->need_rows != NULL ? need_rows : NULL };
    source->inner = inner;
    source->batches = batches;
    source->placement = placement;
    source->variables = zalloc(count * sizeof *source->variables);
    source->mean = zalloc(count * sizeof *source->mean);
    source->rows = zalloc(count * sizeof *source->rows);
    source->asked = zalloc((size_t)batches * sizeof *source->asked);
    source->values = zalloc(count * sizeof *source->values);
    return source;
}

struct gradient_source *accumulate_source(struct gradient_source *inner, uint32_t batches,
                                          float loss_scale, const struct placement *placement)
{
    if (batches <= 1 && loss_scale == 1)
        return inner;
    struct accumulating_source *source = make(inner, batches, placement);
    source->loss_scale = loss_scale;
    return &source->source;
}

struct gradient_source *scaled_source(struct gradient_source *inner, uint32_t batches,
                                      struct client_scaling *scaling,
                                      const struct placement *placement)
{
    struct accumulating_source *source = make(inner, batches, placement);

    source->scaling = scaling;
    return &source->source;
}
