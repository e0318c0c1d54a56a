/*
 * random_poisson: StatelessRandomPoisson, RandomPoisson and RandomPoissonV2, with TensorFlow's
 * numbers: Knuth's method for small rates and Hörmann's transformed rejection for others.
 */
#include <math.h>

#include "runtime/kernels/random/random_reject.h"
#include "runtime/kernels/random/random_seeded.h"

/* Counts uniform numbers until their product is below e^-rate. */
static double draw_small(struct reject_stream *stream, double rate)
{
    double limit = exp(-rate), product = 1, count = 0;
    for (;;) {
        product *= reject_uniform(stream);
        if (product <= limit)
            return count;
        count++;
    }
}

static double draw_large(struct reject_stream *stream, double rate)
{
    double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse = 1.1239 + 1.1328 / (b - 3.4);
    for (;;) {
        double u = reject_uniform(stream) - 0.5, v = reject_uniform(stream);
        double shifted = 0.5 - fabs(u);
        double count = floor((2 * a / shifted + b) * u + rate + 0.43);
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2))
            return count;
        if (count < 0 || (shifted < 0.013 && v > shifted))
            continue;
        double s = log(v * inverse / (a / (shifted * shifted) + b));
        if (s <= -rate + count * log_rate - lgamma(count + 1))
            return count;
    }
}

/* NaN would be rejected for ever, as it is in TensorFlow. A negative rate gives 0: its limit is
 * above every product. */
static double draw_poisson(struct reject_stream *stream, double rate)
{
    if (isnan(rate) || rate == INFINITY)
        return rate;
    return rate < 10 ? draw_small(stream, rate) : draw_large(stream, rate);
}

static struct status seeded_compute(struct kernel_context *k)
{
    return reject_seeded(k, draw_poisson);
}

static struct status stateful_compute(struct kernel_context *k)
{
    return reject_stateful(k, draw_poisson);
}

#define DTYPES_FLOATS  (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
#define DTYPES_NUMBERS (DTYPES_FLOATS | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "StatelessRandomPoisson", DTYPES_NUMBERS, "dtype", .compute = seeded_compute,
      .costly = true },
    { "RandomPoisson", DTYPES_FLOATS, "dtype", .prepare = random_seeded_prepare,
      .compute = stateful_compute, .costly = true },
    { "RandomPoissonV2", DTYPES_NUMBERS, "dtype", .prepare = random_seeded_prepare,
      .compute = stateful_compute, .costly = true },
};
const struct kernel_table kernels_random_poisson = { rows, COUNT(rows) };
