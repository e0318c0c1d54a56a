/*
 * random_truncated: ParameterizedTruncatedNormal and StatelessParameterizedTruncatedNormal, with
 * the numbers of a TensorFlow that draws them in one thread (what several threads draw depends on
 * how they share the work). A number is drawn from a normal, uniform or exponential distribution,
 * whichever is nearest, and drawn again if it is outside or by chance.
 */
#include <math.h>
#include <string.h>

#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_tools.h"
#include "runtime/kernels/random/random_fill.h"
#include "runtime/kernels/random/random_reject.h"
#include "runtime/kernels/random/random_seeded.h"
#include "runtime/kernels/shape_walk.h"

#define TRIES_MAX        1000
#define ROUNDS_PER_CHECK 1000 /* blocks or pairs of blocks between two checks of the deadline */
#define SAMPLES_PER_SET  100  /* that TensorFlow draws together if all have the same parameters */

/* ---- a stream, block by block ---- */

struct block_stream {
    struct philox philox;
    struct draw draw;
    int64_t blocks;        /* taken so far */
    struct tensor numbers; /* of PHILOX_BLOCKS blocks, in `memory` */
    int64_t numbers_first; /* the block that these begin with; -1: none */
    uint64_t memory[2 * PHILOX_BLOCKS];
};

static void stream_init(struct block_stream *stream, struct philox philox, enum dtype dtype)
{
    struct shape shape = shape_of(PHILOX_BLOCKS * (dtype == DT_DOUBLE ? 2 : 4));
    stream->philox = philox;
    stream->draw = (struct draw){ .dtype = dtype };
    stream->blocks = 0;
    stream->numbers = tensor_borrow(dtype, &shape, stream->memory);
    stream->numbers_first = -1;
}

/* The numbers of the next block; returns how many there are. */
static int stream_next(struct block_stream *stream, enum distribution distribution, double out[4])
{
    int count = stream->draw.dtype == DT_DOUBLE ? 2 : 4;
    int64_t lane = stream->blocks - stream->numbers_first;
    if (stream->numbers_first < 0 || lane >= PHILOX_BLOCKS ||
        stream->draw.distribution != distribution) {
        stream->draw.distribution = distribution;
        stream->numbers_first = stream->blocks;
        lane = 0;
        philox_fill(stream->philox, &stream->draw, stream->blocks * count, stream->memory,
                    PHILOX_BLOCKS * count);
    }
    for (int i = 0; i < count; i++)
        out[i] = floating_element(&stream->numbers, lane * count + i);
    stream->blocks++;
    return count;
}

/* ---- the numbers of one distribution ---- */

/* In units of the deviation, from the mean. The deviation is negative if the bounds are exchanged:
 * the bound that is finite, or nearer, comes first. */
struct truncated {
    enum dtype dtype;
    double mean, deviation, least, greatest;
};

/* The destination of the next numbers of a distribution. */
struct target {
    const struct kernel_context *k;
    struct tensor *out;
    int64_t at, step, left;
    int tries;
    int64_t rounds;
};

static bool has_room(const struct target *target)
{
    return target->left > 0;
}

static struct status look_at_deadline(struct target *target)
{
    return target->rounds++ % ROUNDS_PER_CHECK == 0 ? kernel_check(target->k) : status_ok();
}

static void accept(struct target *target, const struct truncated *t, double z)
{
    double number = round_to(t->dtype, round_to(t->dtype, z * t->deviation) + t->mean);
    reject_store(target->out, target->at, number);
    target->at += target->step;
    target->left--;
    target->tries = 0;
}

/* Counts a number that was drawn in vain. */
static struct status reject(struct target *target, const char *sampler)
{
    if (++target->tries < TRIES_MAX)
        return status_ok();
    return kernel_error(target->k, STATUS_INTERNAL,
                        "TruncatedNormal %s rejection sampler failed to accept a sample.", sampler);
}

static struct status draw_normal(const struct truncated *t, struct block_stream *stream,
                                 struct target *target)
{
    while (has_room(target)) {
        double z[4];
        TRY(look_at_deadline(target));
        int count = stream_next(stream, NORMAL, z);
        for (int i = 0; i < count && has_room(target); i++)
            if (z[i] >= t->least && z[i] <= t->greatest)
                accept(target, t, z[i]);
            else
                TRY(reject(target, "randn"));
    }
    return status_ok();
}

static struct status draw_uniform(const struct truncated *t, struct block_stream *stream,
                                  struct target *target)
{
    enum dtype dtype = t->dtype;
    double width = round_to(dtype, t->greatest - t->least);
    double top = t->least < 0 ? 0 : round_to(dtype, t->least * t->least);
    while (has_room(target)) {
        double z[4], u[4];
        TRY(look_at_deadline(target));
        int count = stream_next(stream, UNIFORM, z);
        stream_next(stream, UNIFORM, u);
        for (int i = 0; i < count && has_room(target); i++) {
            z[i] = round_to(dtype, round_to(dtype, z[i] * width) + t->least);
            double power = round_to(dtype, round_to(dtype, top - round_to(dtype, z[i] * z[i])) / 2);
            if (u[i] <= round_to(dtype, exp(power)))
                accept(target, t, z[i]);
            else
                TRY(reject(target, "uniform"));
        }
    }
    return status_ok();
}

static double root_of_square_and_4(enum dtype dtype, double x)
{
    return round_to(dtype, sqrt(round_to(dtype, round_to(dtype, x * x) + 4)));
}

static struct status draw_exponential(const struct truncated *t, struct block_stream *stream,
                                      struct target *target)
{
    enum dtype dtype = t->dtype;
    double root = root_of_square_and_4(dtype, t->least);
    double alpha = round_to(dtype, round_to(dtype, t->least + root) / 2);
    while (has_room(target)) {
        double u[4];
        TRY(look_at_deadline(target));
        int count = stream_next(stream, UNIFORM, u);
        for (int i = 0; i < count && has_room(target); i += 2) {
            double log_u = round_to(dtype, log(u[i]));
            double z = round_to(dtype, round_to(dtype, -log_u / alpha) + t->least);
            double x = round_to(dtype, t->least < alpha ? alpha - z : t->least - alpha);
            double power = round_to(dtype, round_to(dtype, -x * x) / 2);
            if (u[i + 1] <= round_to(dtype, exp(power)) && z < t->greatest)
                accept(target, t, z);
            else
                TRY(reject(target, "exponential distribution"));
        }
    }
    return status_ok();
}

/* Parameters as given -> the same in units of the deviation. */
static struct status normalise(const struct kernel_context *k, struct truncated *t)
{
    if (!(t->deviation > 0 && t->least < t->greatest &&
          (isfinite(t->least) || isfinite(t->greatest))))
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Invalid parameters");
    if (t->least == -INFINITY || t->greatest < t->mean) {
        double least = t->least;
        t->least = t->greatest;
        t->greatest = least;
        t->deviation = -t->deviation;
    }
    t->least = round_to(t->dtype, round_to(t->dtype, t->least - t->mean) / t->deviation);
    t->greatest = round_to(t->dtype, round_to(t->dtype, t->greatest - t->mean) / t->deviation);
    return status_ok();
}

/* Is a uniform distribution nearer than an exponential one? */
static bool is_narrow(const struct truncated *t)
{
    enum dtype dtype = t->dtype;
    double root = root_of_square_and_4(dtype, t->least);
    double product = round_to(dtype, t->least * round_to(dtype, t->least - root));
    double power = round_to(dtype, 0.5 + round_to(dtype, product / 4));
    double above = round_to(dtype, 2 * round_to(dtype, exp(power)));
    double cutoff = round_to(dtype, above / round_to(dtype, t->least + root));
    return round_to(dtype, t->greatest - t->least) < cutoff;
}

static struct status draw_numbers(struct truncated t, struct block_stream *stream,
                                  struct target *target)
{
    double enough = round_to(t.dtype, 1.3); /* deviations inside the bounds for a normal one */
    TRY(normalise(target->k, &t));
    if ((t.least < -enough && t.greatest >= 0) || (t.greatest > enough && t.least <= 0))
        return draw_normal(&t, stream, target);
    return is_narrow(&t) ? draw_uniform(&t, stream, target) : draw_exponential(&t, stream, target);
}

/* ---- many distributions ---- */

/* Draws the numbers of a target, whose parameters go with element `i` of their shape. */
static struct status draw_target(struct block_stream *stream, int index, const struct shape *shape,
                                 int64_t i, struct target target)
{
    double values[4];
    for (int p = 0; p < 4; p++) {
        const struct tensor *parameter = kernel_input(target.k, index + p);
        int64_t at = shape_broadcast_index(shape, i, &parameter->shape);
        values[p] = real_element(parameter, at);
    }
    return draw_numbers(
        (struct truncated){ stream->draw.dtype, values[0], values[1], values[2], values[3] },
        stream, &target);
}

/* The shape that the parameters broadcast to. */
static struct status find_shape(const struct kernel_context *k, int index, struct shape *out)
{
    *out = kernel_input(k, index)->shape;
    for (int p = 1; p < 4; p++) {
        struct shape before = *out;
        if (!status_is_ok(shape_broadcast(&before, &kernel_input(k, index + p)->shape, out)))
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "means, stddevs, minvals, maxvals must have compatible batch "
                                "dimensions: %s vs. %s vs. %s vs. %s",
                                shape_text(&kernel_input(k, index)->shape),
                                shape_text(&kernel_input(k, index + 1)->shape),
                                shape_text(&kernel_input(k, index + 2)->shape),
                                shape_text(&kernel_input(k, index + 3)->shape));
    }
    return status_ok();
}

static struct status stateless_compute(struct kernel_context *k)
{
    struct philox philox;
    struct block_stream stream;
    struct shape shape;
    struct tensor *out;
    TRY(random_seeds(k, 1, &philox));
    TRY(find_shape(k, 2, &shape));
    TRY(random_output(k, 0, &out));
    if (!reject_shape_ends_with(&out->shape, &shape))
        return kernel_error(k, STATUS_INVALID_ARGUMENT,
                            "Shape passed in must end with broadcasted shape.");
    int64_t sets = shape_size(&shape);
    stream_init(&stream, philox, out->dtype);
    for (int64_t i = 0; i < sets && out->size > 0; i++)
        TRY(draw_target(&stream, 2, &shape, i,
                        (struct target){
                            .k = k, .out = out, .at = i, .step = sets, .left = out->size / sets }));
    return status_ok();
}

/* ---- the older op: a set of numbers for each element of dimension 0 ---- */

/* Finds the number of sets, and how many numbers each has. */
static struct status find_sets(const struct kernel_context *k, const struct tensor *out,
                               int64_t *sets, int64_t *samples)
{
    static const char *const names[] = { "means", "stddevs", "minvals", "maxvals" };
    bool is_same = true;
    *sets = out->shape.dims[0];
    *samples = *sets == 0 ? 0 : out->size / *sets;
    for (int p = 0; p < 4; p++) {
        const struct tensor *parameter = kernel_input(k, p + 1);
        if (parameter->shape.rank > 1)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Input %s should be a scalar or vector, got shape: %s", names[p],
                                shape_text(&parameter->shape));
        is_same = is_same && (parameter->shape.rank == 0 || (p < 2 && parameter->size == 1));
    }
    for (int p = 0; p < 4 && !is_same; p++) {
        int64_t size = kernel_input(k, p + 1)->size;
        if (size != 1 && size != *sets)
            return kernel_error(k, STATUS_INVALID_ARGUMENT,
                                "Input %s should have length 1 or shape[0], got shape: %s",
                                names[p], shape_text(&kernel_input(k, p + 1)->shape));
    }
    if (is_same) {
        *sets = (out->size + SAMPLES_PER_SET - 1) / SAMPLES_PER_SET;
        *samples = SAMPLES_PER_SET;
    }
    return status_ok();
}

static struct status stateful_compute(struct kernel_context *k)
{
    struct block_stream stream;
    int64_t sets, samples;
    struct tensor *out;
    TRY(random_output(k, 0, &out));
    if (out->shape.rank == 0)
        return kernel_error(k, STATUS_INVALID_ARGUMENT, "Shape tensor must not be empty");
    TRY(find_sets(k, out, &sets, &samples));
    uint64_t blocks = (uint64_t)sets * 2 * TRIES_MAX * (uint64_t)(samples + 3) / 4;
    stream_init(&stream, random_seeded_take(k, kernel_state(k), blocks), out->dtype);
    const struct shape shape = shape_of(sets);
    for (int64_t i = 0; i < sets && out->size > 0; i++) {
        int64_t left = out->size - i * samples;
        TRY(draw_target(&stream, 1, &shape, i,
                        (struct target){ .k = k,
                                         .out = out,
                                         .at = i * samples,
                                         .step = 1,
                                         .left = left < samples ? left : samples }));
    }
    return status_ok();
}

#define DTYPES_FLOATS (DTYPES(DT_FLOAT) | DTYPES(DT_DOUBLE) | DTYPES(DT_HALF))
static const struct kernel rows[] = {
    { "StatelessParameterizedTruncatedNormal", DTYPES_FLOATS, "dtype", .compute = stateless_compute,
      .costly = true },
    { "ParameterizedTruncatedNormal", DTYPES_FLOATS, "dtype", .prepare = random_seeded_prepare,
      .compute = stateful_compute, .costly = true },
};
const struct kernel_table kernels_random_truncated = { rows, COUNT(rows) };
