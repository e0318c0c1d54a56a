/*
 * random_binomial: StatelessRandomBinomial and StatefulRandomBinomial, with TensorFlow's numbers:
 * sums of geometric numbers for small means, and Hörmann's transformed rejection (BTRS, 1993) for
 * others.
 */
#include <math.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_generator.h"
#include "runtime/kernels/random/random_reject.h"
#include "runtime/kernels/random/random_seeded.h"
#include "runtime/kernels/shape_walk.h"

#define CHECK_EVERY      1000 /* numbers between two checks of the deadline */
#define BLOCKS_PER_SMALL 42   /* between the streams of numbers with a small mean */
#define MEAN_LARGE       10

/* Counts the successes until the trials are used up: the trials between two are geometric. */
static double draw_small(struct reject_stream *stream, double trials, double chance)
{
    double used = 0;
    for (int32_t count = 0;; count++) {
        used += ceil(log(reject_uniform(stream)) / log1p(-chance));
        if (!(used <= trials) || count == INT32_MAX)
            return count;
    }
}

/* The remainder of Stirling's formula for ln k!. */
static double stirling_rest(double k)
{
    static const double rests[] = { 0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                    0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                    0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                    0.00833056343336287 };
    if (k <= 9)
        return rests[k > 0 ? (int)k : 0];
    double square = (k + 1) * (k + 1);
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

static double draw_large(struct reject_stream *stream, double trials, double chance)
{
    double deviation = sqrt(trials * chance * (1 - chance));
    double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * chance;
    double center = trials * chance + 0.5, tight = 0.92 - 4.2 / b, odds = chance / (1 - chance);
    double alpha = (2.83 + 5.1 / b) * deviation, mode = floor((trials + 1) * chance);
    for (;;) {
        double u = reject_uniform(stream) - 0.5, v = reject_uniform(stream);
        double shifted = 0.5 - fabs(u), k = floor((2 * a / shifted + b) * u + center);
        if (shifted >= 0.07 && v <= tight)
            return k;
        if (k < 0 || k > trials)
            continue;
        double bound = (mode + 0.5) * log((mode + 1) / (odds * (trials - mode + 1))) +
                       (trials + 1) * log((trials - mode + 1) / (trials - k + 1)) +
                       (k + 0.5) * log(odds * (trials - k + 1) / (k + 1)) + stirling_rest(mode) +
                       stirling_rest(trials - mode) - stirling_rest(k) - stirling_rest(trials - k);
        if (log(v * alpha / (a / (shifted * shifted) + b)) <= bound)
            return k;
    }
}

/* Draws number n of the stream. NaN is answered at once, because the loops below would never end
 * with it. */
static double draw_binomial(struct philox philox, int64_t n, enum dtype dtype, double trials,
                            double chance)
{
    if (trials <= 0 || chance <= 0)
        return 0;
    if (chance >= 1)
        return trials;
    if (isnan(trials) || isnan(chance))
        return NAN;
    bool flip = chance > 0.5;
    double rarer = flip ? round_to(dtype, 1 - chance) : chance;
    bool large = round_to(dtype, trials * rarer) >= MEAN_LARGE;
    uint64_t blocks = large ? RANDOM_BLOCKS_PER_NUMBER : BLOCKS_PER_SMALL;
    struct reject_stream stream = { .reader = { .philox =
                                                    philox_skip(philox, (uint64_t)n * blocks) } };
    double count = large ? draw_large(&stream, trials, rarer) : draw_small(&stream, trials, rarer);
    return flip ? trials - count : count;
}

/* Number `sample` of the parameters i is the (i · samples + sample)-th that is drawn. */
static struct status fill(struct kernel_context *k, struct philox philox, int index,
                          const struct shape *shape, struct tensor *out)
{
    const struct tensor *trials = kernel_input(k, index), *chances = kernel_input(k, index + 1);
    int64_t batches = shape_size(shape), samples = out->size == 0 ? 0 : out->size / batches;
    for (int64_t n = 0; n < out->size; n++) {
        int64_t i = n / samples, sample = n % samples;
        if (n % CHECK_EVERY == 0)
            TRY(kernel_check(k));
        double number =
            draw_binomial(philox, n, trials->dtype,
                          real_element(trials, shape_broadcast_index(shape, i, &trials->shape)),
                          real_element(chances, shape_broadcast_index(shape, i, &chances->shape)));
        reject_store(out, sample * batches + i, number);
    }
    return status_ok();
}

/* Output 0 in the shape of input `index`, and the shape of the parameters, which follow it or
 * the seeds. */
static struct status make_output(struct kernel_context *k, int index, int parameters,
                                 struct shape *shape, struct tensor **out)
{
    const struct shape *trials = &kernel_input(k, parameters)->shape,
                       *chances = &kernel_input(k, parameters + 1)->shape;
    if (!status_is_ok(shape_broadcast(trials, chances, shape)))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "counts and probs must have compatible batch dimensions: %s vs. %s",
                            shape_text(trials), shape_text(chances));
    TRY(random_output(k, index, out));
    if (!reject_shape_ends_with(&(*out)->shape, shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Shape passed in must end with broadcasted shape.");
    return status_ok();
}

static struct status stateless_compute(struct kernel_context *k)
{
    struct philox philox;
    struct shape shape;
    struct tensor *out;
    TRY(random_seeds(k, 1, &philox));
    TRY(make_output(k, 0, 2, &shape, &out));
    return fill(k, philox, 2, &shape, out);
}

static struct status stateful_compute(struct kernel_context *k)
{
    struct philox philox;
    struct shape shape;
    struct tensor *out;
    TRY(make_output(k, 2, 3, &shape, &out));
    uint64_t batches = (uint64_t)shape_size(&shape);
    uint64_t samples = batches == 0 ? 0 : (uint64_t)out->size / batches;
    TRY(random_generator_take(k, batches * 200 * (samples + 3) / 4, &philox));
    return fill(k, philox, 3, &shape, out);
}

#define DTYPES_FLOATS (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
static const struct kernel rows[] = {
    { "StatelessRandomBinomial", DTYPES_FLOATS, "T", .compute = stateless_compute, .costly = true },
    { "StatefulRandomBinomial", DTYPES_FLOATS, "T", .compute = stateful_compute, .costly = true },
};
const struct kernel_table kernels_random_binomial = { rows, COUNT(rows) };
