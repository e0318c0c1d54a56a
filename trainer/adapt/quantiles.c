/*
 * quantiles: the boundaries of equally full bins, for Discretization. The summary is every distinct
 * value with its count, so the order of the rows does not matter. If there are more than
 * QUANTILES_MAX, the fewest possible low bits of all values are dropped: the error of a boundary
 * stays below 2^-(23 - bits) of its magnitude.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/float_bits.h"
#include "trainer/adapt/summary.h"

#define PENDING_MIN ((size_t)64 << 10)
/* Dropped bits: with 22 more, there are at most QUANTILES_MAX distinct values. */
#define COARSE_MAX  16

/* A value as an integer that sorts in the same order, and its count. */
struct quantile_bin {
    uint32_t key;
    int64_t count;
};

struct quantile_summary {
    struct summary summary;    /* first */
    struct quantile_bin *bins; /* in rising order */
    size_t bins_count;
    uint32_t *pending; /* keys that are not in bins yet */
    size_t pending_count, pending_capacity;
    int64_t coarse;      /* bits that are dropped */
    float *shown_values; /* for quantiles_get */
    int64_t *shown_counts;
};

static struct quantile_summary *self(struct summary *summary)
{
    return (struct quantile_summary *)summary;
}

static struct summary *quantiles_create(const struct layers_adapting *how)
{
    struct quantile_summary *quantiles = zalloc(sizeof *quantiles);

    (void)how;
    quantiles->pending_capacity = PENDING_MIN;
    quantiles->pending = zalloc(PENDING_MIN * sizeof *quantiles->pending);
    return &quantiles->summary;
}

static void quantiles_destroy(struct summary *summary)
{
    struct quantile_summary *quantiles = self(summary);

    free(quantiles->bins);
    free(quantiles->pending);
    free(quantiles->shown_values);
    free(quantiles->shown_counts);
    free(quantiles);
}

/* ---- floats as integers that sort in the same order ---- */

static uint32_t key_of(float value)
{
    uint32_t bits = bits_of_float(value == 0 ? 0 : value); /* -0 is 0 */

    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float value_of_key(uint32_t key)
{
    uint32_t bits = key >> 31 ? key & 0x7fffffffu : ~key;

    return float_of_bits(bits);
}

static uint32_t without_bits(uint32_t key, int64_t coarse)
{
    return key >> coarse << coarse;
}

/* ---- bins ---- */

static int compare_keys(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static void append_bin(struct quantile_bin *bins, size_t *count, uint32_t key, int64_t times)
{
    if (*count > 0 && bins[*count - 1].key == key)
        bins[*count - 1].count += times;
    else
        bins[(*count)++] = (struct quantile_bin){ key, times };
}

static void coarsen(struct quantile_summary *quantiles, int64_t coarse)
{
    size_t count = 0;

    quantiles->coarse = coarse;
    for (size_t i = 0; i < quantiles->bins_count; i++)
        append_bin(quantiles->bins, &count, without_bits(quantiles->bins[i].key, coarse),
                   quantiles->bins[i].count);
    quantiles->bins_count = count;
}

/* Merges ascending bins into those of the summary. */
static void merge_bins(struct quantile_summary *quantiles, const struct quantile_bin *others,
                       size_t others_count)
{
    const struct quantile_bin *mine = quantiles->bins;
    size_t total = quantiles->bins_count + others_count, count = 0, i = 0, k = 0;
    struct quantile_bin *merged = zalloc((total + 1) * sizeof *merged);

    while (i < quantiles->bins_count || k < others_count) {
        bool take_mine =
            k == others_count || (i < quantiles->bins_count && mine[i].key <= others[k].key);
        const struct quantile_bin *next = take_mine ? &mine[i++] : &others[k++];
        append_bin(merged, &count, without_bits(next->key, quantiles->coarse), next->count);
    }
    free(quantiles->bins);
    quantiles->bins = merged;
    quantiles->bins_count = count;
    while (quantiles->bins_count > QUANTILES_MAX && quantiles->coarse < COARSE_MAX)
        coarsen(quantiles, quantiles->coarse + 1);
}

static void merge_pending(struct quantile_summary *quantiles)
{
    size_t count = 0;
    struct quantile_bin *bins = zalloc((quantiles->pending_count + 1) * sizeof *bins);

    qsort(quantiles->pending, quantiles->pending_count, sizeof *quantiles->pending, compare_keys);
    for (size_t i = 0; i < quantiles->pending_count; i++)
        append_bin(bins, &count, quantiles->pending[i], 1);
    merge_bins(quantiles, bins, count);
    free(bins);
    quantiles->pending_count = 0;
    /* Merging takes time in proportion to all bins. */
    if (quantiles->bins_count > quantiles->pending_capacity) {
        quantiles->pending_capacity = quantiles->bins_count;
        quantiles->pending =
            xrealloc(quantiles->pending, quantiles->pending_capacity * sizeof *quantiles->pending);
    }
}

static float number_at(const struct tensor *values, int64_t i)
{
    return values->dtype == DT_FLOAT ? tensor_floats(values)[i] : (float)tensor_index(values, i);
}

static struct status quantiles_add(struct summary *summary, const struct tensor *values)
{
    struct quantile_summary *quantiles = self(summary);

    for (int64_t i = 0; i < values->size; i++) {
        float value = number_at(values, i);
        if (!isfinite(value))
            return status_error(STATUS_INVALID_ARGUMENT, "the data have the value %g",
                                (double)value);
        if (quantiles->pending_count == quantiles->pending_capacity)
            merge_pending(quantiles);
        quantiles->pending[quantiles->pending_count++] = key_of(value);
    }
    return status_ok();
}

static void quantiles_get(struct summary *summary, struct tensor fields[FIELDS_MAX])
{
    struct quantile_summary *quantiles = self(summary);
    const struct shape one = shape_of(1);

    merge_pending(quantiles);
    const struct shape all = shape_of((int64_t)quantiles->bins_count);
    size_t count = quantiles->bins_count + 1;
    quantiles->shown_values =
        xrealloc(quantiles->shown_values, count * sizeof *quantiles->shown_values);
    quantiles->shown_counts =
        xrealloc(quantiles->shown_counts, count * sizeof *quantiles->shown_counts);
    for (size_t i = 0; i < quantiles->bins_count; i++) {
        quantiles->shown_values[i] = value_of_key(quantiles->bins[i].key);
        quantiles->shown_counts[i] = quantiles->bins[i].count;
    }
    fields[0] = tensor_borrow(DT_INT64, &one, &quantiles->coarse);
    fields[1] = tensor_borrow(DT_FLOAT, &all, quantiles->shown_values);
    fields[2] = tensor_borrow(DT_INT64, &all, quantiles->shown_counts);
}

static struct status quantiles_merge(struct summary *summary,
                                     const struct tensor fields[FIELDS_MAX])
{
    struct quantile_summary *quantiles = self(summary);
    const struct status damaged =
        status_error(STATUS_DATA_LOSS, "quantiles of another task are damaged");
    int64_t count = fields[1].size,
            coarse = fields[0].size == 1 ? tensor_int64s(&fields[0])[0] : -1;

    if (coarse < 0 || coarse > COARSE_MAX || fields[2].size != count ||
        count > (int64_t)QUANTILES_MAX)
        return damaged;
    struct quantile_bin *bins = zalloc(((size_t)count + 1) * sizeof *bins);
    bool good = true;
    for (int64_t i = 0; i < count && good; i++) {
        float value = tensor_floats(&fields[1])[i];
        bins[i] = (struct quantile_bin){ key_of(value), tensor_int64s(&fields[2])[i] };
        good = isfinite(value) && bins[i].count > 0 && bins[i].count <= INT64_MAX >> 16 &&
               (i == 0 || bins[i - 1].key < bins[i].key);
    }
    merge_pending(quantiles);
    if (good && coarse > quantiles->coarse)
        coarsen(quantiles, coarse);
    if (good)
        merge_bins(quantiles, bins, (size_t)count);
    free(bins);
    return good ? status_ok() : damaged;
}

/* ---- Keras' summary: values at equidistant ranks, and the weight of each ---- */

struct quantile_points {
    double *values, *weights; /* numbers of float32, as Keras' */
    int64_t count;
};

/* keras/src/layers/preprocessing/discretization.py, summarize */
static struct quantile_points summarize(const struct quantile_summary *quantiles, int64_t n,
                                        double epsilon, struct arena *arena)
{
    double increment = (double)n / (1.0 / epsilon), step = increment > 1 ? increment : 1;
    int64_t rank = (int64_t)(step - 1), stride = (int64_t)step, before = 0;
    int64_t room = (n - rank + stride - 1) / stride;
    struct quantile_points points = { ARENA_ARRAY(arena, double, room),
                                      ARENA_ARRAY(arena, double, room), 0 };

    for (size_t b = 0; b < quantiles->bins_count; b++) {
        before += quantiles->bins[b].count;
        for (; rank < before; rank += stride) {
            points.values[points.count] = (double)value_of_key(quantiles->bins[b].key);
            points.weights[points.count++] = (double)(float)step;
        }
    }
    return points;
}

/* numpy.interp for one x. */
static double interpolate(double x, const double *xs, const double *ys, int64_t count)
{
    int64_t low = 0, high = count;

    while (low < high) { /* binary search for the first larger x */
        int64_t middle = (low + high) / 2;
        if (x >= xs[middle])
            low = middle + 1;
        else
            high = middle;
    }
    int64_t at = low - 1;
    if (at < 0)
        return ys[0];
    if (at >= count - 1 || xs[at] == x)
        return ys[at];
    double slope = (ys[at + 1] - ys[at]) / (xs[at + 1] - xs[at]);
    return slope * (x - xs[at]) + ys[at];
}

/* The same formula as compress_summary of Keras' Discretization. */
static struct quantile_points compress(struct quantile_points points, double epsilon,
                                       struct arena *arena)
{
    if ((double)points.count * epsilon < 1)
        return points;
    int64_t count = (int64_t)ceil(1.0 / epsilon);
    double *sums = ARENA_ARRAY(arena, double, points.count),
           *shares = ARENA_ARRAY(arena, double, points.count), before = 0;
    struct quantile_points out = { ARENA_ARRAY(arena, double, count),
                                   ARENA_ARRAY(arena, double, count), count };
    float sum = 0;

    for (int64_t i = 0; i < points.count; i++)
        sums[i] = (double)(sum += (float)points.weights[i]);
    for (int64_t i = 0; i < points.count; i++)
        shares[i] = (double)((float)sums[i] / sum);
    for (int64_t i = 0; i < count; i++) {
        double share = epsilon + (double)i * epsilon;
        double weight = interpolate(share, shares, sums, points.count);
        out.values[i] = (double)(float)interpolate(share, shares, points.values, points.count);
        out.weights[i] = (double)(float)(weight - before);
        before = weight;
    }
    return out;
}

static struct status quantiles_finish(struct summary *summary, struct arena *arena,
                                      struct layers_state *out)
{
    struct quantile_summary *quantiles = self(summary);
    struct arena *scratch = arena_create(0);
    int64_t n = 0;

    merge_pending(quantiles);
    for (size_t i = 0; i < quantiles->bins_count; i++)
        n += quantiles->bins[i].count;
    if (n == 0) {
        arena_destroy(scratch);
        return status_error(STATUS_INVALID_ARGUMENT, "there are no values");
    }
    struct quantile_points points = summarize(quantiles, n, summary->how.epsilon, scratch);
    points = compress(points, summary->how.epsilon, scratch);
    points = compress(points, 1.0 / (double)summary->how.bins, scratch);
    const struct shape shape = shape_of(points.count > 0 ? points.count - 1 : 0);
    float *boundaries = ARENA_ARRAY(arena, float, points.count + 1);
    for (int64_t i = 0; i < shape.dims[0]; i++)
        boundaries[i] = (float)points.values[i];
    out->tensors[0] = tensor_borrow(DT_FLOAT, &shape, boundaries);
    arena_destroy(scratch);
    return status_ok();
}

const struct summary_kind summary_quantiles = {
    .fields = { { "coarse", DT_INT64 }, { "values", DT_FLOAT }, { "counts", DT_INT64 } },
    .fields_count = 3,
    .state = { "bin_boundaries", NULL },
    .create = quantiles_create,
    .destroy = quantiles_destroy,
    .add = quantiles_add,
    .get = quantiles_get,
    .merge = quantiles_merge,
    .finish = quantiles_finish,
};
