/*
 * random_gamma: StatelessRandomGammaV2 and V3, and RandomGamma, with TensorFlow's numbers: the
 * method of Marsaglia and Tsang, in doubles.
 */
#include <math.h>

#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_reject.h"
#include "runtime/kernels/random/random_seeded.h"

/* A gamma number of shape alpha. An alpha below 1 is raised by 1, and the result lowered by a power
 * of a uniform number. NaN is never rejected for long: the first test does not see alpha. */
static double draw_gamma(struct reject_stream *stream, double alpha)
{
    if (alpha == 1)
        return -log1p(-reject_uniform(stream));
    double d = alpha + (alpha < 1 ? 2.0 / 3 : -1.0 / 3), c = 1.0 / 3 / sqrt(d);
    for (;;) {
        double x = reject_normal(stream), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        double u = reject_uniform(stream);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return alpha < 1 ? d * v * pow(reject_uniform(stream), 1 / alpha) : d * v;
    }
}

static struct status seeded_compute(struct kernel_context *k)
{
    return reject_seeded(k, draw_gamma);
}

static struct status keyed_compute(struct kernel_context *k)
{
    struct philox philox;
    struct tensor *out;
    TRY(random_key(k, &philox));
    TRY(reject_output(k, 4, false, &out));
    return reject_fill(k, philox, 4, draw_gamma, out);
}

static struct status stateful_compute(struct kernel_context *k)
{
    return reject_stateful(k, draw_gamma);
}

#define DTYPES_GAMMA (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
static const struct kernel rows[] = {
    { "StatelessRandomGammaV2", DTYPES_GAMMA, "dtype", .compute = seeded_compute, .costly = true },
    { "StatelessRandomGammaV3", DTYPES_GAMMA, "dtype", .compute = keyed_compute, .costly = true },
    { "RandomGamma", DTYPES_GAMMA, "T", .prepare = random_seeded_prepare,
      .compute = stateful_compute, .costly = true },
};
const struct kernel_table kernels_random_gamma = { rows, COUNT(rows) };
