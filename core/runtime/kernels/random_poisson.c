/*
 * random_poisson: StatelessRandomPoisson, RandomPoisson and RandomPoissonV2, with TensorFlow's
 * numbers: Knuth's method for small rates and Hörmann's transformed rejection for others.
 */
#include <math.h>

#include "runtime/kernels/random_fill.h"
#include "runtime/kernels/random_reject.h"
#include "runtime/kernels/random_seeded.h"

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

/* A rate that is not finite would be rejected for ever. */
static double draw_poisson(struct reject_stream *stream, double rate)
{
    if (!isfinite(rate) || rate < 0)
        return NAN;
    return rate < 10 ? draw_small(stream, rate) : draw_large(stream, rate);
}

static struct status seeded_compute(struct kernel_context *k)
{
    struct philox philox;
    struct tensor *out;
    TRY(random_seeds(k, 1, &philox));
    TRY(reject_output(k, 2, false, &out));
    return reject_fill(k, philox, 2, draw_poisson, out);
}

static struct status stateful_prepare(struct prepare_context *p)
{
    struct random_seeded *seeded = prepare_state(p, sizeof *seeded, NULL);
    return random_seeded_init(prepare_node(p), seeded);
}

static struct status stateful_compute(struct kernel_context *k)
{
    /* The count of blocks, which is atomic, is all of a state that changes in a run. */
    struct random_seeded *seeded = (struct random_seeded *)kernel_state(k);
    struct tensor *out;
    TRY(reject_output(k, 1, true, &out));
    uint64_t blocks = (uint64_t)out->size * RANDOM_BLOCKS_PER_NUMBER;
    return reject_fill(k, random_seeded_take(k, seeded, blocks), 1, draw_poisson, out);
}

#define DTYPES_FLOATS  (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
#define DTYPES_NUMBERS (DTYPES_FLOATS | DTYPES(DT_INT32) | DTYPES(DT_INT64))
static const struct kernel rows[] = {
    { "StatelessRandomPoisson", DTYPES_NUMBERS, "dtype", .compute = seeded_compute,
      .costly = true },
    { "RandomPoisson", DTYPES_FLOATS, "dtype", .prepare = stateful_prepare,
      .compute = stateful_compute, .costly = true },
    { "RandomPoissonV2", DTYPES_NUMBERS, "dtype", .prepare = stateful_prepare,
      .compute = stateful_compute, .costly = true },
};
const struct kernel_table kernels_random_poisson = { rows, COUNT(rows) };
